#include "compiler/fast_math.h"

#include <cmath>
#include <set>
#include <string>
#include <tuple>

#include "compiler/diagnostics.h"
#include "ir/visit.h"

namespace pipec::compiler {

namespace {

/// How `e` counts on values that are not finite; empty where it does not.
std::string reliance(const ir::Expr& e) {
    if (const auto* n = ir::as<ir::FloatConstant>(e)) {
        return std::isnan(n->value) ? "a constant is NaN" : std::isinf(n->value) ? "a constant is infinite" : "";
    }
    if (const auto* n = ir::as<ir::Call>(e)) return n->fn == ir::Builtin::IsNan ? "`isnan` asks for NaN" : "";
    // What only NaN decides.
    if (const auto* n = ir::as<ir::Binary>(e);
        n != nullptr && (n->op == ir::BinaryOp::Eq || n->op == ir::BinaryOp::Ne)) {
        const bool same = ir::is_float(n->a->type) && ir::structurally_equal(n->a, n->b);
        return same ? "a value is compared with itself" : "";
    }
    return "";
}

}  // namespace

void warn_of_finite_math(const std::vector<ir::Pipeline>& pipelines, Diagnostics& diags) {
    std::set<std::tuple<FileId, std::size_t, std::size_t>> reported;  // what a function says, once for all its calls
    for (const ir::Pipeline& pipeline : pipelines) {
        for (const ir::Stage& stage : pipeline.stages) {
            for (const ir::Expr& expression : ir::expressions(stage)) {
                ir::for_each_node(expression, [&](const ir::Expr& e) {
                    const std::string why = reliance(e);
                    const SourceRange range = e->range.valid() ? e->range : stage.range;
                    if (why.empty() || !reported.emplace(range.file, range.begin, range.end).second) return;
                    diags.report(diag::FiniteMath, range, why);
                });
            }
        }
    }
}

}  // namespace pipec::compiler
