// The kernels of the `stage` strategy: how threads have a stage's points, and the code at these (stage_kernel.cpp).
// Which of them a stage gets says stage_step.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/expr/both_sides.h"
#include "codegen/expr/pack.h"
#include "codegen/expr/rewrite.h"
#include "codegen/kernel/kernel_build.h"
#include "codegen/lower.h"
#include "fusion/group_facts.h"
#include "fusion/lane_terms.h"
#include "fusion/loop_block.h"
#include "fusion/written_out.h"
#include "ir/build.h"
#include "plan/stage_tile.h"

namespace pipec::codegen {

class StageKernel {
public:
    /// The stages have the same domain, and if they are several, it has no guard.
    StageKernel(kernel::Program& program, const std::vector<StageValue>& stages, const fusion::Choices& choices)
        : program_(program),
          choices_(choices),
          stage_(program.pipeline.stages.at(static_cast<std::size_t>(stages.front().stage))),
          domain_(program.model.domains.at(static_cast<std::size_t>(stages.front().stage))),
          rewriter_(program.pipeline, program.fast_math),
          build_(program.pipeline, rewriter_) {
        if (std::ranges::all_of(stages, [&](const StageValue& one) {
                return both_sides_are_safe(program.pipeline, program.model, one.stage);
            }))
            rewriter_.compute_both_sides();
        for (std::size_t d = 0; d < stage_.dims.size(); ++d) {
            rewriter_.index(stage_.dims[d].var, domain_.box[d]);
        }
        arrange(stages);
        block_.assign(extents_.size(), 1);
        bool short_loops = false;
        if (lane_ && inner_points() == 1 && stages.size() == 1) {
            const fusion::LoopBlock block = fusion::loop_block(stage_, stages.front().value, *lane_, extents_,
                                                               fusion::parameter_extents(program.pipeline, domain_));
            block_ = block.points;
            short_loops = block.short_loops;
        }
        rewriter_.put_loops_side_by_side(short_loops);
        if (is_block()) rewriter_.write_out_at_most(fusion::kWrittenInBlocks);
        for (const StageValue& one : stages) {
            const std::vector<ir::Dimension>& dims = program.pipeline.stages[static_cast<std::size_t>(one.stage)].dims;
            const auto terms = fusion::lane_terms(program.pipeline, one.value, lane_ ? dims[*lane_].var : -1);
            lane_terms_.along_memory = (lane_terms_.along_memory || !lane_terms_.enough) && terms.along_memory;
            lane_terms_.enough = lane_terms_.enough || terms.enough;
        }
        if (domain_.guard) guard_ = rewriter_.instance(domain_.guard, {});
        add_members(stages);
        own_rows_ = lane_ && rows_of_threads();
        if (stages.size() > 1 && !own_rows_) {
            // In one loop each term is in a register while all members add it up; straight-line code would have all
            // terms in registers until the last member has. Rows of a thread's own are worth their wide accesses.
            rewriter_.write_out_at_most(fusion::kWrittenInBlocks);
            members_.clear();
            has_simpler_ = false;
            add_members(stages);
        }
        if (inner_guard_) block_.assign(extents_.size(), 1);
        own_blocks_ = lane_ && have_own_blocks();
    }

    /// There may be straight-line code: no loops, no conditions on every point.
    [[nodiscard]] bool splits() const;
    /// Why it cannot be what a schedule asks for; none where it can.
    [[nodiscard]] std::optional<std::string> refusal() const;
    /// Columns of a thread: what a schedule asks for, or what accesses of several elements do.
    [[nodiscard]] std::int64_t width() { return choices_.columns ? std::int64_t{*choices_.columns} : best_width(); }
    [[nodiscard]] bool has_lanes() const { return lane_.has_value(); }
    /// A thread has the points of a block in one loop.
    [[nodiscard]] bool is_block() const {
        return std::ranges::any_of(block_, [](std::int64_t n) { return n > 1; });
    }
    /// The extent along the lanes, where that may be shorter than the points of a block of so many threads across; null
    /// where a block always has all of its points.
    [[nodiscard]] ir::Expr short_extent(std::int64_t threads);
    /// Points along the lanes of a block of the kernel that was built last.
    [[nodiscard]] std::int64_t across_block() { return block_points(*lane_); }
    /// Whether blocks of threads are narrow along the lanes, and tall, from now on.
    void turn_blocks(bool turned) { axes_.turned = turned; }
    /// From now on kernels have a thread for each point.
    void leave_blocks() { block_.assign(block_.size(), 1); }
    /// Of the reductions of all members.
    [[nodiscard]] const fusion::LaneTerms& lane_terms() const { return lane_terms_; }
    /// Blocks that have the same points: one for each member where these have blocks of their own.
    [[nodiscard]] std::int64_t blocks_of_points() const {
        return own_blocks_ ? static_cast<std::int64_t>(members_.size()) : 1;
    }
    /// All points, where their number is known.
    [[nodiscard]] std::optional<std::int64_t> all_points() const;
    /// From now on kernels have a warp for each point, whose lanes share out its reductions.
    void share_lanes(const std::vector<StageValue>& stages);
    kernel::Kernel build(std::int64_t width, kernel::Layout layout);
    [[nodiscard]] bool has_packs() const { return has_packs_; }

private:
    using Point = Rewriter::Bindings;
    using Role = plan::StageRole;
    struct Member {
        int stage;
        ir::Expr value, inner;  ///< at its points, and at those of the interior
    };

    void arrange(const std::vector<StageValue>& stages);
    void add_members(const std::vector<StageValue>& stages);
    [[nodiscard]] std::vector<ir::Expr> inner_values() const;
    [[nodiscard]] std::int64_t best_width();
    [[nodiscard]] std::int64_t loaded_registers(std::int64_t width);
    [[nodiscard]] std::int64_t inner_points() const { return axes_.inner_points; }
    bool rows_of_threads();
    [[nodiscard]] bool have_own_blocks() const;
    void shape_block(std::int64_t width);
    kernel::Kernel& kernel() { return build_.kernel; }
    [[nodiscard]] std::string name(std::size_t dim) const {
        return program_.pipeline.variables.at(static_cast<std::size_t>(stage_.dims[dim].var)).name;
    }
    ir::Expr length(const ir::Expr& lo, const ir::Expr& hi);
    void place_thread(kernel::Body& body);
    ir::Expr within_points(kernel::Body& body, std::size_t dim, const ir::Expr& begin);
    [[nodiscard]] ir::Expr owned(const std::vector<ir::Expr>& places) const;
    [[nodiscard]] ir::Expr inside(const std::vector<poly::Interval>& box, bool whole);
    /// Of the lanes of a warp that have the same point, one stores; null: each lane has its own.
    ir::Expr first_lane() {
        if (!shares_lanes_) return nullptr;
        return ir::binary(ir::BinaryOp::Eq, build_.special(kernel::Special::Id::ThreadX), constant(0));
    }
    PackWriter packs();
    kernel::Body interior_body();
    kernel::Body loop_body();
    kernel::Body point_body();
    kernel::Body thread_body(kernel::Layout layout);
    kernel::Body body_of_each_member(kernel::Layout layout);
    std::vector<Point> points_of_thread();
    void add_point(kernel::Body& values, kernel::Body& stores, const Point& point, bool inner);
    std::vector<ir::Expr> indices_of(const Point& point);
    [[nodiscard]] const std::string& name_of(const Member& member) const {
        return program_.pipeline.stages[static_cast<std::size_t>(member.stage)].name;
    }
    /// Points of a thread in a dimension, and how far apart they are.
    [[nodiscard]] std::int64_t points(std::size_t dim) const {
        return dim == *lane_ ? width_ * block_[dim] : block_[dim];
    }
    [[nodiscard]] std::int64_t distance(std::size_t dim) {
        return dim == *lane_ && block_[dim] > 1 ? kernel().block[0] : 1;
    }
    /// Of a block.
    [[nodiscard]] std::int64_t threads(std::size_t dim) {
        switch (axes_.roles[dim]) {
            case Role::Lane: return kernel().block[0];
            case Role::Row: return kernel().block[1];
            case Role::Layer: return kernel().block[2];
            default: return 1;
        }
    }
    [[nodiscard]] std::int64_t block_points(std::size_t dim) { return points(dim) * threads(dim); }
    [[nodiscard]] static ir::Source target(const Member& member) { return {ir::Source::Kind::Stage, member.stage}; }

    kernel::Program& program_;
    const fusion::Choices choices_;
    const ir::Stage stage_;  // the first one; copies: adding variables must not move them
    const poly::Domain domain_;
    Rewriter rewriter_;
    std::vector<Member> members_;
    ir::Expr guard_;
    std::vector<poly::Interval> interior_;              ///< of all members
    ir::Expr inner_guard_;                              ///< that of the domain, there
    bool has_simpler_ = false;                          ///< code of the interior is another one
    std::vector<int> order_;                            ///< dimensions from outermost to innermost in memory
    std::vector<std::optional<std::int64_t>> extents_;  ///< those that are constant, by dimension
    plan::StageAxes axes_;
    std::optional<std::size_t> lane_;

    // Of the kernel that is being built:
    KernelBuilder build_;
    std::int64_t width_ = 1;
    std::vector<std::int64_t> block_;  ///< fusion::LoopBlock::points
    std::vector<ir::Expr> at_;         ///< where the thread is, by dimension; the first column for the lane dimension
    std::map<std::size_t, ir::Expr>
        owned_from_;  ///< of dimensions whose last block is moved back: the first place stored
    bool has_packs_ = false;
    bool own_rows_ = false;  ///< rows_of_threads()
    bool shares_lanes_ = false;
    bool own_blocks_ = false;  ///< plan::have_own_blocks
    ir::Expr member_;          ///< where they have: the number of the one that a block computes
    fusion::LaneTerms lane_terms_;
};

}  // namespace pipec::codegen
