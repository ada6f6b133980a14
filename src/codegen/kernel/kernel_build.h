// Pieces from which strategies build kernels: arithmetic of sizes for the host, and what a kernel is given at its
// launch.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/expr/rewrite.h"
#include "codegen/kernel/kernel_ir.h"
#include "ir/build.h"
#include "ir/pipeline.h"

namespace pipec::codegen {

using kernel::kWarp;

/// Int32 expressions.
inline ir::Expr constant(std::int64_t value) {
    return ir::int_constant(ir::Type::Int32, value);
}
inline ir::Expr sum(const ir::Expr& a, const ir::Expr& b) {
    return ir::binary(ir::BinaryOp::Add, a, b);
}
inline ir::Expr difference(const ir::Expr& a, const ir::Expr& b) {
    return ir::binary(ir::BinaryOp::Sub, a, b);
}
inline ir::Expr product(const ir::Expr& a, const ir::Expr& b) {
    return ir::binary(ir::BinaryOp::Mul, a, b);
}
/// a and b; a null one is true.
inline ir::Expr both(const ir::Expr& a, const ir::Expr& b) {
    return !a ? b : !b ? a : ir::binary(ir::BinaryOp::And, a, b);
}

/// What the host evaluates exactly, in 64 bits: + - min max of sizes and constants, with constant factors, and floor
/// division and modulo by positive constants.
bool is_size_arithmetic(const ir::Expr& e);

/// hi - lo of a range, at least 0; none where it is no constant.
std::optional<std::int64_t> constant_extent(const ir::Expr& lo, const ir::Expr& hi);

/// How many tiles of `points` points a range has; 0 where it is empty.
ir::Expr tile_count(const ir::Expr& lo, const ir::Expr& hi, std::int64_t points);

/// Both at least 0. Constants do not wrap but stop at the greatest Int32, which is more than any launch has.
ir::Expr count_product(const ir::Expr& a, const ir::Expr& b);

/// 1 where `a` is at least `b`, otherwise 0 or less: an extent of a grid that is launched there alone.
inline ir::Expr at_least(const ir::Expr& a, const ir::Expr& b) {
    return ir::binary(ir::BinaryOp::Min, sum(difference(a, b), constant(1)), constant(1));
}

/// ceil(a / b).
ir::Expr ceil_div(const ir::Expr& a, std::int64_t b);

/// Adds a statement to a body.
template <class S>
S& add(kernel::Body& body, S stmt) {
    return body.emplace_back().value.emplace<S>(std::move(stmt));
}

namespace kernel {

/// What a statement evaluates where it stands, of the kinds that straight-line code computes with.
std::vector<ir::Expr*> own_values(Stmt& stmt);
/// The variables that it defines.
std::vector<ir::VarId> own_variables(const Stmt& stmt);

}  // namespace kernel

/// Adds to a kernel what its statements need, with the variables for it, which the rewriter knows as indices.
class KernelBuilder {
public:
    KernelBuilder(ir::Pipeline& pipeline, Rewriter& rewriter) : pipeline_(pipeline), rewriter_(rewriter) {}

    kernel::Kernel kernel;

    /// An expression over the sizes: itself where it is a constant or a size, otherwise an argument. Where it is below
    /// `least` the grid is empty.
    ir::Expr argument(const std::string& name, const ir::Expr& value, std::int64_t least = -kernel::kVariableLimit + 1);
    /// The same for what only divides, or gives the rest of, values that are not negative; it is positive itself.
    ir::Expr divisor(const std::string& name, const ir::Expr& value);
    /// Argument::turn.
    ir::Expr turn(const std::string& name);
    /// Argument::repetition.
    ir::Expr repetition(const std::string& name);
    /// One variable for each special.
    ir::Expr special(kernel::Special::Id id);
    /// A value of type Int32 that is an index from `least` to below `end`, and a multiple of `multiple`.
    ir::Expr define(kernel::Body& body, const std::string& name, const ir::Expr& value,
                    std::int64_t least = -kernel::kVariableLimit + 1, std::int64_t multiple = 1,
                    std::int64_t end = kernel::kVariableLimit);
    /// For values that are no indices.
    ir::VarId variable(const std::string& name, ir::Type type);
    /// Opens a loop in `body` and returns its body; `at` becomes its variable.
    kernel::Body& loop(kernel::Body& body, const std::string& name, const ir::Expr& lo, const ir::Expr& hi,
                       const ir::Expr& step, ir::Expr& at, bool unroll = false);
    /// Opens an `if` in `body` and returns its branch; `body` itself where there is no condition.
    static kernel::Body& guarded(kernel::Body& body, const ir::Expr& condition);

private:
    ir::Expr argument(const kernel::Argument& wanted, const std::string& name);
    ir::Expr index(ir::VarId var, std::int64_t least, std::int64_t multiple = 1,
                   std::int64_t end = kernel::kVariableLimit);

    ir::Pipeline& pipeline_;
    Rewriter& rewriter_;
};

}  // namespace pipec::codegen
