// Reductions that stay loops, of several points at once. What the points of a patch read in neighbouring terms
// overlaps: a loop over several terms in each turn reads an element once for all of them, and adjacent elements in one
// access.
//
//     sum(i in -r..=r) f(y + i, x), of 4 x 4 points, 4 terms a turn: 7 accesses of 4 elements, not 64 of one
//
// The terms of each reduction are combined in their order.
#pragma once

#include <unordered_map>
#include <vector>

#include "codegen/expr/pack.h"
#include "codegen/expr/rewrite.h"
#include "codegen/kernel/kernel_build.h"
#include "codegen/kernel/kernel_ir.h"

namespace pipec::codegen {

class PointLoops {
public:
    /// `fill` as in PackWriter::load.
    PointLoops(const kernel::Program& program, KernelBuilder& build, Rewriter& rewriter, PackWriter& packs, bool fill)
        : program_(program), build_(build), rewriter_(rewriter), packs_(packs), fill_(fill) {}

    /// Writes the loops of reductions that the values evaluate for certain and whose terms overlap in what they read;
    /// the values then use the results. Other reductions stay as they are.
    void write(kernel::Body& body, std::vector<ir::Expr>& values);

    /// The same for the statements of `body`, not for what stands in branches and loops: a loop stands before the first
    /// statement that needs it, for all points whose terms need nothing that comes later.
    kernel::Body with_loops(kernel::Body body);

private:
    /// Reductions over the same ranges, with distinct terms.
    using Group = std::vector<ir::Expr>;

    /// What stands for reductions, by node.
    using Totals = std::unordered_map<const ir::Node*, ir::Expr>;

    void write(kernel::Body& body, const std::vector<ir::Expr>& values, Totals& found);
    [[nodiscard]] ir::Expr with_totals(const ir::Expr& value, const Totals& found);
    [[nodiscard]] std::vector<Group> groups(const std::vector<ir::Expr>& values);
    [[nodiscard]] bool is_sequential(const ir::Reduce& reduce);
    [[nodiscard]] bool gains(const Group& group);
    std::vector<ir::Expr> terms(const Group& group, const ir::Expr& at, std::int64_t count);
    kernel::Body& loop(kernel::Body& body, ir::VarId like, const ir::Expr& lo, const ir::Expr& hi, std::int64_t step,
                       ir::Expr& at);
    void write_loops(kernel::Body& body, const Group& group, const std::vector<ir::Expr>& totals);
    void write_turn(kernel::Body& body, const Group& group, const std::vector<ir::Expr>& totals, const ir::Expr& at,
                    std::int64_t count);

    const kernel::Program& program_;
    KernelBuilder& build_;
    Rewriter& rewriter_;
    PackWriter& packs_;
    const bool fill_;
};

}  // namespace pipec::codegen
