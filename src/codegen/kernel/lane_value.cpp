#include "codegen/kernel/lane_value.h"
#include "support/integers.h"

#include <algorithm>
#include <map>

namespace pipec::codegen::kernel {

using ir::BinaryOp;

namespace {

/// Indices stay far below; what does not fit an Int32 would have wrapped.
constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();

using Numbers = std::vector<std::int64_t>;
using Terms = std::vector<std::pair<int, std::int64_t>>;

LaneValue make(Terms terms, Numbers numbers) {
    for (std::int64_t& n : numbers) {
        if (n > kLargest || n < -kLargest - 1) n = kUnknown;
    }
    return std::make_shared<const LaneValues>(LaneValues{std::move(terms), std::move(numbers)});
}

std::int64_t number(const Numbers& n, std::size_t i) {
    return n[n.size() == 1 ? 0 : i];
}

/// Thread by thread; `f` also gets kUnknown.
template <class F>
Numbers by_thread(const Numbers& a, const Numbers& b, F f) {
    Numbers result(std::max(a.size(), b.size()));
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = f(number(a, i), number(b, i));
    return result;
}

/// Thread by thread, where both are known.
template <class F>
Numbers of_known(const Numbers& a, const Numbers& b, F f) {
    if (a.empty() || b.empty()) return {};
    return by_thread(a, b, [&](std::int64_t x, std::int64_t y) {
        return x == kUnknown || y == kUnknown ? kUnknown : static_cast<std::int64_t>(f(x, y));
    });
}

/// The numbers of a value that is nothing but numbers.
Numbers plain(const LaneValue& a) {
    return a->terms.empty() && !a->is_unknown() ? a->numbers : Numbers{kUnknown};
}

LaneValue scaled(const LaneValue& a, std::int64_t factor) {
    return lane_sum(lane_number(0), a, factor);
}

/// floor(a / d) or a mod d: of sums whose factors are multiples of d, so that floor(number / d) is all that is left to
/// compute.
LaneValue divided(const LaneValue& a, std::int64_t d, bool quotient) {
    Terms terms = a->terms;
    for (auto& [id, factor] : terms) {
        if (factor % d != 0) return unknown_value();
        factor /= d;
    }
    Numbers numbers = of_known(a->numbers, {d}, [&](std::int64_t x, std::int64_t) {
        return quotient ? floor_quotient(x, d) : x - d * floor_quotient(x, d);
    });
    return make(quotient ? std::move(terms) : Terms{}, std::move(numbers));
}

template <class F>
LaneValue compare(const LaneValue& difference, F f) {
    return make({}, of_known(plain(difference), {0}, f));
}

}  // namespace

LaneValue unknown_value() {
    static const LaneValue kNothing = std::make_shared<const LaneValues>();
    return kNothing;
}
LaneValue lane_number(std::int64_t n) {
    return make({}, {n});
}
LaneValue lane_numbers(std::vector<std::int64_t> numbers) {
    return make({}, std::move(numbers));
}
LaneValue lane_unknown(int id) {
    return make({{id, 1}}, {0});
}

LaneValue lane_sum(const LaneValue& a, const LaneValue& b, std::int64_t factor) {
    if (a->is_unknown() || b->is_unknown()) return unknown_value();
    Terms terms = a->terms;
    if (!b->terms.empty()) {
        std::map<int, std::int64_t> sum(terms.begin(), terms.end());
        for (const auto& [id, f] : b->terms) sum[id] += f * factor;
        std::erase_if(sum, [](const auto& term) { return term.second == 0; });
        terms.assign(sum.begin(), sum.end());
    }
    return make(std::move(terms),
                of_known(a->numbers, b->numbers, [&](std::int64_t x, std::int64_t y) { return x + y * factor; }));
}

LaneValue lane_binary(BinaryOp op, const LaneValue& a, const LaneValue& b) {
    if (ir::is_logical(op)) {
        const std::int64_t decides = op == BinaryOp::Or ? 1 : 0;
        return make({}, by_thread(plain(a), plain(b), [&](std::int64_t x, std::int64_t y) {
                        if (x == decides || y == decides) return decides;
                        return x == kUnknown || y == kUnknown ? kUnknown : 1 - decides;
                    }));
    }
    if (a->is_unknown() || b->is_unknown()) return unknown_value();
    const auto difference = [&] { return lane_sum(a, b, -1); };
    switch (op) {
        case BinaryOp::Add: return lane_sum(a, b);
        case BinaryOp::Sub: return difference();
        case BinaryOp::Mul:
            if (b->terms.empty() && b->is_uniform()) return scaled(a, b->numbers[0]);
            if (a->terms.empty() && a->is_uniform()) return scaled(b, a->numbers[0]);
            return make({}, of_known(plain(a), plain(b), [](std::int64_t x, std::int64_t y) { return x * y; }));
        case BinaryOp::Div:
        case BinaryOp::Mod:
            if (!b->terms.empty() || !b->is_uniform() || b->numbers[0] <= 0) return unknown_value();
            return divided(a, b->numbers[0], op == BinaryOp::Div);
        case BinaryOp::Min:
        case BinaryOp::Max:
            return lane_select(lane_binary(op == BinaryOp::Min ? BinaryOp::Lt : BinaryOp::Gt, a, b), a, b);
        case BinaryOp::Eq: return compare(difference(), [](std::int64_t d, std::int64_t) { return d == 0; });
        case BinaryOp::Ne: return compare(difference(), [](std::int64_t d, std::int64_t) { return d != 0; });
        case BinaryOp::Lt: return compare(difference(), [](std::int64_t d, std::int64_t) { return d < 0; });
        case BinaryOp::Le: return compare(difference(), [](std::int64_t d, std::int64_t) { return d <= 0; });
        case BinaryOp::Gt: return compare(difference(), [](std::int64_t d, std::int64_t) { return d > 0; });
        case BinaryOp::Ge: return compare(difference(), [](std::int64_t d, std::int64_t) { return d >= 0; });
        case BinaryOp::BitAnd:
            return make({}, of_known(plain(a), plain(b), [](std::int64_t x, std::int64_t y) { return x & y; }));
        case BinaryOp::BitXor:
            return make({}, of_known(plain(a), plain(b), [](std::int64_t x, std::int64_t y) { return x ^ y; }));
        default: return unknown_value();
    }
}

LaneValue lane_not(const LaneValue& a) {
    return make({}, of_known(plain(a), {0}, [](std::int64_t x, std::int64_t) { return x == 0; }));
}

LaneValue lane_select(const LaneValue& condition, const LaneValue& then, const LaneValue& otherwise) {
    const Numbers choice = plain(condition);
    const auto all = [&](auto f) { return std::all_of(choice.begin(), choice.end(), f); };
    if (all([](std::int64_t c) { return c != kUnknown && c != 0; })) return then;
    if (all([](std::int64_t c) { return c == 0; })) return otherwise;
    const LaneValue& either = then->is_unknown() ? otherwise : then;
    const Numbers nothing{kUnknown}, &a = then->is_unknown() ? nothing : then->numbers;
    const Numbers& b = otherwise->is_unknown() ? nothing : otherwise->numbers;
    if (either->is_unknown() || (&a != &nothing && &b != &nothing && then->terms != otherwise->terms))
        return unknown_value();
    Numbers numbers(std::max({choice.size(), a.size(), b.size()}));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const std::int64_t c = number(choice, i), x = number(a, i), y = number(b, i);
        numbers[i] = x == y ? x : c == kUnknown ? kUnknown : c != 0 ? x : y;
    }
    return make(either->terms, std::move(numbers));
}

LaneValue lane_merge(const std::vector<std::uint8_t>& where, const LaneValue& a, const LaneValue& b) {
    return lane_select(lane_numbers(Numbers(where.begin(), where.end())), a, b);
}

}  // namespace pipec::codegen::kernel
