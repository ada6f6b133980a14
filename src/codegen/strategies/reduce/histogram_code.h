// The kernel of one histogram_plan.h, in three parts: what a thread has of the points (histogram_items.cpp), what it
// does with them (histogram_updates.cpp), and what a block keeps of the table (histogram_kernel.cpp).
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/expr/rewrite.h"
#include "codegen/kernel/kernel_build.h"
#include "codegen/kernel/kernel_ir.h"
#include "codegen/strategies/reduce/histogram_plan.h"
#include "codegen/strategies/reduce/update_facts.h"
#include "ir/build.h"

namespace pipec::codegen {

class HistogramKernel {
public:
    HistogramKernel(kernel::Program& program, int stage, const std::vector<ir::Update>& updates,
                    const HistogramPlan& plan, bool follows)
        : program_(program),
          target_{ir::Source::Kind::Stage, stage},
          stage_(program.pipeline.stages.at(static_cast<std::size_t>(stage))),
          updates_(updates),
          domain_(updates.front().domain),
          op_(updates.front().op),
          box_(program.model.domains.at(static_cast<std::size_t>(stage)).box),
          plan_(plan),
          follows_(follows),
          rewriter_(program.pipeline, program.fast_math),
          build_(program.pipeline, rewriter_),
          identity_(ir::identity(op_, stage_.type)) {
        often_same_ =
            (!in_shared() || plan_.first_rows > 0) && std::ranges::all_of(updates, [&](const ir::Update& update) {
                return may_share_targets(update, domain_[plan_.lane].var);
            });
    }

    kernel::Kernel build(kernel::Layout layout);
    [[nodiscard]] bool has_packs() const { return has_packs_; }

private:
    /// What the block has of the table.
    static constexpr ir::Source kShared{ir::Source::Kind::Local, 0};

    using Table = HistogramPlan::Table;
    using Point = Rewriter::Bindings;

    /// What an update needs at a point.
    struct Ready {
        ir::Expr guard, value;
        std::vector<ir::Expr> indices;
    };

    // ------------------------------------------------------------------------------------- items (histogram_items.cpp)

    [[nodiscard]] kernel::Kernel& kernel() { return build_.kernel; }
    [[nodiscard]] std::string name(std::size_t range) const {
        return program_.pipeline.variables.at(static_cast<std::size_t>(domain_[range].var)).name;
    }
    [[nodiscard]] bool is_inner(std::size_t range) const {
        return std::find(plan_.inner.begin(), plan_.inner.end(), range) != plan_.inner.end();
    }
    [[nodiscard]] std::int64_t unit(std::size_t range) const {
        return range == plan_.lane ? plan_.columns : plan_.row && range == *plan_.row ? plan_.rows : 1;
    }
    [[nodiscard]] bool in_shared() const { return plan_.table != Table::Global; }
    ir::Expr thread() { return build_.special(kernel::Special::Id::ThreadX); }

    ir::Expr first_of(std::size_t range);
    ir::Expr take(kernel::Body& body, ir::Expr& rest, const ir::Expr& count, bool is_last, const std::string& name);
    kernel::Body& items(kernel::Body& body);
    kernel::Body& items_of_all(kernel::Body& body);
    kernel::Body& items_of_region(kernel::Body& body);
    void place(std::size_t range, kernel::Body& body, const ir::Expr& first, const ir::Expr& number);
    void reach(kernel::Body& body);
    [[nodiscard]] ir::Expr end_of_region(std::size_t i, bool last);

    // --------------------------------------------------------------------------------- updates (histogram_updates.cpp)

    [[nodiscard]] ir::Expr inside(std::size_t range, bool all_points);
    void points(kernel::Body& body);
    kernel::Body straight_line();
    kernel::Body point_by_point();
    Ready ready(const ir::Update& update, const Point& point);
    /// Of values that are the same.
    using Names = std::map<ir::Expr, ir::Expr>;
    struct Cell {
        ir::Expr cell;
        std::vector<ir::Expr> found;  ///< conditions that must hold
    };
    ir::Expr named(kernel::Body& body, const ir::Expr& value, const char* name, Names& names);
    void name_indices(kernel::Body& body, Ready& update, Names& names);
    Cell cell_of(kernel::Body& body, const Ready& update, Names& names);
    void update_shared(kernel::Body& body, const ir::Expr& cell, const ir::Expr& value);
    void perform(kernel::Body& body, const Ready& update, Names names, bool within);
    void perform_all(kernel::Body& body, std::vector<Ready>& updates, Names names, bool within);
    void perform_in_region(kernel::Body& body, std::vector<std::vector<Ready>>& all);
    bool perform_merged(kernel::Body& body, std::vector<Ready>& updates, Names& names, bool within);

    // ---------------------------------------------------------------------------- shared memory (histogram_kernel.cpp)

    void begin_shared();
    [[nodiscard]] bool waits_late() const;
    void bring_to_table();

    kernel::Program& program_;
    ir::Source target_;
    const ir::Stage stage_;  // copies: adding variables must not move them
    const std::vector<ir::Update> updates_;
    const std::vector<ir::Range> domain_;
    const ir::ReduceOp op_;
    const std::vector<poly::Interval> box_;
    const HistogramPlan plan_;
    const bool follows_;
    Rewriter rewriter_;
    KernelBuilder build_;
    ir::Expr identity_;
    bool often_same_ = false;  ///< kernel::Atomic::often_same, of updates in global memory

    // Of the kernel that is being built:
    std::vector<ir::Expr> at_;      ///< by range: the thread's first point; null for inner ranges
    ir::Expr copy_, part_;          ///< which copy the thread has, and the first cell of the block's part of the table
    std::vector<ir::Expr> region_;  ///< by range: where the region begins
    std::vector<ir::Expr> begin_;   ///< by dimension of the table: the first index in shared memory
    bool has_packs_ = false;
};

}  // namespace pipec::codegen
