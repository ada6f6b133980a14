#include "fusion/executed.h"

#include <algorithm>

#include "fusion/evaluate.h"
#include "fusion/instructions.h"
#include "fusion/written_out.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::fusion {

namespace {

/// Rounds of a loop whose bounds are not known.
constexpr double kUnknownRounds = 16;

}  // namespace

double rounds_of(const ir::Range& range, const std::vector<std::int64_t>& sizes) {
    const auto lo = evaluate(range.lo, sizes), hi = evaluate(range.hi, sizes);
    return lo && hi ? static_cast<double>(std::max<std::int64_t>(0, *hi - *lo)) : kUnknownRounds;
}

double instructions(const ir::Expr& e, const Execution& how) {
    return how.known_divisor ? kFloatDivisionAgain : instructions(e);
}

namespace {

/// A division of floats by what is no constant: what code does with the divisor alone is done once.
const ir::Expr* divisor_of(const ir::Expr& e) {
    const auto* n = ir::as<ir::Binary>(e);
    const bool divides = n != nullptr && n->op == ir::BinaryOp::Div && ir::is_float(e->type);
    return divides && ir::as<ir::FloatConstant>(n->b) == nullptr ? &n->b : nullptr;
}

/// `loop`: the reduction that `root` is the term of; may be null.
void walk_executed(ExecutedLoops& before, const ir::Expr& root, const std::vector<std::int64_t>& sizes,
                   const Execution& outer, const ir::Reduce* loop,
                   const std::function<void(const ir::Expr&, const Execution&)>& visit) {
    before.nodes.walk(root, [&](const ir::Expr& e) {
        const auto* reduce = ir::as<ir::Reduce>(e);
        double rounds = 1;
        if (reduce != nullptr) {
            for (const ir::Range& range : reduce->ranges) rounds *= rounds_of(range, sizes);
        }
        bool known_divisor = false;
        if (const ir::Expr* divisor = divisor_of(e)) {
            known_divisor = !before.divisors.insert(divisor->get()).second ||
                            (loop != nullptr && !ir::uses_variable(*divisor, loop->ranges));
        }
        const bool is_loop = reduce != nullptr && !written_out(*reduce);
        const LoopsAround around{reduce, outer.loops};
        const Execution inner{outer.times * rounds, outer.in_loop || is_loop, known_divisor,
                              is_loop ? &around : outer.loops};
        visit(e, inner);
        if (reduce != nullptr) {
            std::vector<const ir::Node*> bounds;
            for (const ir::Range& range : reduce->ranges) {
                bounds.push_back(range.lo.get());
                bounds.push_back(range.hi.get());
            }
            walk_executed(before.inner[bounds], reduce->body, sizes, inner, reduce, visit);
        }
    });
}

}  // namespace

void for_executed(ExecutedLoops& before, const ir::Expr& root, const std::vector<std::int64_t>& sizes,
                  const Execution& outer, const std::function<void(const ir::Expr&, const Execution&)>& visit) {
    walk_executed(before, root, sizes, outer, nullptr, visit);
}

}  // namespace pipec::fusion
