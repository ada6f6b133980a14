#include "fusion/written_out.h"

#include <algorithm>
#include <utility>

#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::fusion {

namespace {

/// Nodes that written-out terms have in all, at most.
constexpr std::int64_t kMostTermNodes = 4000;
/// Where the order of the terms cannot be told, twice as many may be written out if they are small: no order keeps the
/// code from sharing what neighbouring points read, and no term waits for the one before.
constexpr std::int64_t kMostSmallTermNodes = 1500;
/// Loops that are made as one: each has a total of its own in a register.
constexpr std::int64_t kMostSideBySide = 16;

/// Nothing where there are more than `most`, or nobody knows how many.
std::optional<std::int64_t> terms(const ir::Reduce& reduce, std::int64_t most, const KnownBound& bound) {
    std::int64_t count = 1;
    for (const ir::Range& range : reduce.ranges) {
        const auto lo = bound(range.lo), hi = bound(range.hi);
        if (!lo || !hi || *hi - *lo > most) return std::nullopt;
        count *= std::max<std::int64_t>(0, *hi - *lo);
        if (count > most) return std::nullopt;
    }
    return count;
}

}  // namespace

bool written_out(const ir::Reduce& reduce, std::int64_t most, const KnownBound& bound) {
    const bool free = !ir::depends_on_order(reduce.op, reduce.body->type);
    const auto own = terms(reduce, free ? 2 * most : most, bound);
    if (!own) return false;
    if (*own > most && *own * ir::node_count(reduce.body) > kMostSmallTermNodes) return false;
    most = std::max(most, *own);
    // A reduction without terms still has one of each in it.
    std::int64_t all = std::max<std::int64_t>(1, *own);
    for (const auto* inner = ir::as<ir::Reduce>(reduce.body); inner != nullptr;
         inner = ir::as<ir::Reduce>(inner->body)) {
        const auto more = terms(*inner, most, [](const ir::Expr& e) { return ir::as_int(e); });
        if (!more) return false;
        all *= std::max<std::int64_t>(1, *more);
        if (all > most) return false;
    }
    return *own * ir::node_count(reduce.body) <= kMostTermNodes;
}

std::optional<SideBySide> side_by_side(const ir::Reduce& reduce, bool short_loops) {
    if (written_out(reduce)) return std::nullopt;
    const auto constant = [](const ir::Expr& e) { return ir::as_int(e); };
    std::vector<ir::Range> outer;
    std::int64_t count = 1;
    bool one_operator = true;
    const ir::Reduce* loop = &reduce;
    while (const auto own = terms(*loop, kMostSideBySide, constant)) {
        if (count * *own > kMostSideBySide || ir::as<ir::Reduce>(loop->body) == nullptr) {
            if (!short_loops) return std::nullopt;
            break;
        }
        count *= *own;
        outer.insert(outer.end(), loop->ranges.begin(), loop->ranges.end());
        loop = ir::as<ir::Reduce>(loop->body);
        one_operator = one_operator && loop->op == reduce.op;
    }
    const bool differ = std::ranges::any_of(loop->ranges, [&](const ir::Range& range) {
        return ir::uses_variable(range.lo, outer) || ir::uses_variable(range.hi, outer);
    });
    if (count < 2 || differ || ir::gives_place(reduce.op) || ir::gives_place(loop->op) ||
        count * ir::node_count(loop->body) > kMostSmallTermNodes) {
        return std::nullopt;
    }
    if (!one_operator || ir::depends_on_order(reduce.op, reduce.body->type)) outer.clear();
    return SideBySide{count, loop, std::move(outer)};
}

bool has_loops(const ir::Expr& e) {
    bool found = false;
    ir::for_each_node(e, [&](const ir::Expr& node) {
        const auto* reduce = ir::as<ir::Reduce>(node);
        found = found || (reduce != nullptr && !written_out(*reduce));
    });
    return found;
}

bool written_out(const ir::Reduce& reduce, std::int64_t most) {
    return written_out(reduce, most, [](const ir::Expr& e) { return ir::as_int(e); });
}

}  // namespace pipec::fusion
