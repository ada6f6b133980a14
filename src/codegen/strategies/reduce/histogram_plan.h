// How updates that share targets are made where the table, or a part of it, is small enough to lie in shared memory:
// what a thread and a block have of the points, and where the table lies (plan/histogram_table.h). All of it is decided
// in these two, as far as a schedule leaves it open (fusion::HistogramShape).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "fusion/schedule.h"
#include "fusion/target.h"
#include "ir/pipeline.h"
#include "plan/histogram_table.h"
#include "poly/model.h"

namespace pipec::codegen {

struct HistogramPlan : plan::HistogramTable {
    // The ranges of the updates' loops. All others are numbered point by point.
    std::size_t lane = 0;            ///< neighbouring threads have neighbouring points of it, each `columns`
    std::optional<std::size_t> row;  ///< of which a thread has `rows` points
    std::vector<std::size_t> inner;  ///< all of whose points each thread has
    std::int64_t columns = 1, rows = 1;

    bool has_registers = false;  ///< for so many blocks registers suffice
    bool merge = false;
    std::int64_t region_rows = 1, region_columns = 1;  ///< points

    /// Of what is in shared memory, by dimension of the table.
    std::vector<std::int64_t> extents;
    /// Where that is not the whole dimension: the index of the first update grows along some ranges and falls along
    /// others, so that its value at the region's ends is the first that is reached. Along those in both it does one or
    /// the other.
    struct Dimension {
        bool moves = false;
        std::set<ir::VarId> grows, falls;
    };
    std::vector<Dimension> dims;

    [[nodiscard]] fusion::HistogramShape shape() const;
};

/// None where the loops are not such that points can be dealt out. Of several updates all have the first one's domain
/// and operator. The updates need no order.
std::optional<HistogramPlan> plan_histogram(const ir::Pipeline& pipeline, const poly::Model& model,
                                            const fusion::Gpu& gpu, int stage, const std::vector<ir::Update>& updates,
                                            const fusion::HistogramShape& asked);

/// At every point of the updates' domain the element exists.
bool exists_everywhere(const ir::Pipeline& pipeline, const poly::Model& model, const std::vector<ir::Range>& domain,
                       const ir::Read& read);

}  // namespace pipec::codegen
