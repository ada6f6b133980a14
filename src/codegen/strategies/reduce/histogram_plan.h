// How updates that share targets are made where the table, or a part of it, is small enough to lie in shared memory:
// what a thread and a block have of the points, and what a block keeps of the table. All of it is decided here, as far
// as a schedule leaves it open (fusion::HistogramShape).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "fusion/schedule.h"
#include "fusion/target.h"
#include "ir/pipeline.h"
#include "poly/model.h"

namespace pipec::codegen {

struct HistogramPlan {
    enum class Table : std::uint8_t {
        Whole,   ///< a block has all of it, or one of `parts` equal parts
        Region,  ///< a block has the points of a region, and what most of them reach
        Global   ///< none of it is in shared memory
    };

    // The ranges of the updates' loops. All others are numbered point by point.
    std::size_t lane = 0;            ///< neighbouring threads have neighbouring points of it, each `columns`
    std::optional<std::size_t> row;  ///< of which a thread has `rows` points
    std::vector<std::size_t> inner;  ///< all of whose points each thread has
    std::int64_t columns = 1, rows = 1;

    std::int64_t threads = 256;
    std::int64_t blocks = 1;     ///< of a multiprocessor
    bool has_registers = false;  ///< for so many blocks registers suffice
    bool merge = false;
    std::int64_t copies = 1, parts = 1;
    std::int64_t region_rows = 1, region_columns = 1;  ///< points

    Table table = Table::Global;
    /// Of what is in shared memory, by dimension of the table.
    std::vector<std::int64_t> extents;
    std::int64_t cells = 0;  ///< their product; Whole: of one of the parts
    /// Where that is not the whole dimension: the index of the first update grows along some ranges and falls along
    /// others (`falls`), so that its value at the region's ends is the first that is reached.
    struct Dimension {
        bool moves = false;
        std::set<ir::VarId> falls;
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
