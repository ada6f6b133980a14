#include "fusion/evaluate.h"

#include "ir/build.h"

namespace pipec::fusion {

std::optional<std::int64_t> evaluate(const ir::Expr& e, const std::vector<std::int64_t>& sizes) {
    if (const auto constant = ir::as_int(e)) return constant;
    if (const auto* size = ir::as<ir::SizeRef>(e)) return sizes.at(static_cast<std::size_t>(size->index));
    if (const auto* select = ir::as<ir::Select>(e)) {
        const auto cond = evaluate(select->cond, sizes);
        if (!cond) return std::nullopt;
        return evaluate(*cond != 0 || !select->otherwise ? select->then : select->otherwise, sizes);
    }
    if (const auto* unary = ir::as<ir::Unary>(e); unary != nullptr && !ir::is_float(e->type)) {
        const auto a = evaluate(unary->a, sizes);
        return a ? ir::as_int(ir::unary(unary->op, ir::constant(e->type, *a))) : std::nullopt;
    }
    const auto* binary = ir::as<ir::Binary>(e);
    if (binary == nullptr || ir::is_float(binary->a->type)) return std::nullopt;
    const auto a = evaluate(binary->a, sizes), b = evaluate(binary->b, sizes);
    if (!a || !b) return std::nullopt;
    // The IR's own folding knows what each operator means.
    return ir::as_int(ir::binary(binary->op, ir::constant(binary->a->type, *a), ir::constant(binary->b->type, *b)));
}

}  // namespace pipec::fusion
