#include "fusion/evaluate.h"

#include <unordered_map>

#include "ir/build.h"

namespace pipec::fusion {

namespace {

/// Shared nodes are evaluated once.
class Evaluation {
public:
    explicit Evaluation(const std::vector<std::int64_t>& sizes) : sizes_(sizes) {}

    std::optional<std::int64_t> of(const ir::Expr& e) {
        if (const auto constant = ir::as_int(e)) return constant;
        if (const auto* size = ir::as<ir::SizeRef>(e)) return sizes_.at(static_cast<std::size_t>(size->index));
        const auto known = values_.find(e.get());
        if (known != values_.end()) return known->second;
        return values_[e.get()] = operation(e);
    }

private:
    std::optional<std::int64_t> operation(const ir::Expr& e) {
        if (const auto* select = ir::as<ir::Select>(e)) {
            const auto cond = of(select->cond);
            if (!cond) return std::nullopt;
            return of(*cond != 0 || !select->otherwise ? select->then : select->otherwise);
        }
        if (const auto* unary = ir::as<ir::Unary>(e); unary != nullptr && !ir::is_float(e->type)) {
            const auto a = of(unary->a);
            return a ? ir::as_int(ir::unary(unary->op, ir::constant(e->type, *a))) : std::nullopt;
        }
        const auto* binary = ir::as<ir::Binary>(e);
        if (binary == nullptr || ir::is_float(binary->a->type)) return std::nullopt;
        const auto a = of(binary->a), b = a ? of(binary->b) : std::nullopt;
        if (!a || !b) return std::nullopt;
        // The IR's own folding knows what each operator means.
        return ir::as_int(ir::binary(binary->op, ir::constant(binary->a->type, *a), ir::constant(binary->b->type, *b)));
    }

    const std::vector<std::int64_t>& sizes_;
    std::unordered_map<const ir::Node*, std::optional<std::int64_t>> values_;
};

}  // namespace

std::optional<std::int64_t> evaluate(const ir::Expr& e, const std::vector<std::int64_t>& sizes) {
    return Evaluation(sizes).of(e);
}

}  // namespace pipec::fusion
