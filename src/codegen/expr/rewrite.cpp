// One memoised walk; folding of integers happens on the way up.
#include "codegen/expr/rewrite.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "codegen/emit/c/wide_expr.h"
#include "codegen/kernel/kernel_ir.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "support/integers.h"

namespace pipec::codegen {

using ir::BinaryOp;
using ir::Type;

namespace {

/// Lower bounds are not below it, so that they can be added and negated.
constexpr poly::Wide kFar = poly::Wide{1} << 62;

/// Products of two numbers up to it are far from the limits of what counts with them.
constexpr std::int64_t kHalfRange = std::int64_t{1} << 30;

bool compare(BinaryOp op, std::int64_t a, std::int64_t b) {
    switch (op) {
        case BinaryOp::Eq: return a == b;
        case BinaryOp::Ne: return a != b;
        case BinaryOp::Lt: return a < b;
        case BinaryOp::Le: return a <= b;
        case BinaryOp::Gt: return a > b;
        default: return a >= b;
    }
}

}  // namespace

Rewriter::Rewriter(ir::Pipeline& pipeline, bool fast_math)
    : pipeline_(pipeline),
      fast_math_(fast_math),
      sizes_(pipeline.sizes.size(), {-kernel::kVariableLimit, kernel::kVariableLimit}) {
    // Every extent is at least 1 and below the limit of indices, which bounds the sizes that stand alone in one.
    const auto bound_by = [&](const ir::Buffer& buffer) {
        for (const ir::Expr& extent : buffer.extents) {
            const auto sum = linear(extent);
            if (!sum || sum->terms.size() != 1 || sum->terms.front().second < 1) continue;
            const auto& [atom, factor] = sum->terms.front();
            const auto* size = ir::as<ir::SizeRef>(atom);
            if (size == nullptr) continue;
            auto& [least, greatest] = sizes_[static_cast<std::size_t>(size->index)];
            least = std::max(least, ceil_quotient(1 - sum->constant, factor));
            greatest = std::min(greatest, floor_quotient(kernel::kVariableLimit - sum->constant, factor));
        }
    };
    for (const ir::Buffer& input : pipeline.inputs) bound_by(input);
    for (const ir::Output& output : pipeline.outputs) bound_by(output.buffer);
}

void Rewriter::index(ir::VarId var, std::int64_t multiple, std::int64_t least, std::int64_t end) {
    sums_.clear();
    folded_.clear();
    exact_.clear();
    quotients_.clear();
    is_exact_.clear();
    index_[var] = {multiple, std::max(least, -kernel::kVariableLimit), std::min(end, kernel::kVariableLimit)};
}

void Rewriter::index(ir::VarId var, const poly::Interval& within) {
    const auto lo = linear(within.lo), hi = linear(within.hi);
    const std::int64_t least = lo ? this->least(*lo) : -kernel::kVariableLimit;
    const std::int64_t end = hi ? -this->least(Linear{}.add(*hi, -1)) : kernel::kVariableLimit;
    index(var, 1, least, end);
}

// --------------------------------------------------------------------------------------------------------------- sums

Linear& Linear::add(const Linear& other, std::int64_t factor) {
    constant += other.constant * factor;
    for (const auto& [atom, times] : other.terms) {
        const auto found = std::find_if(terms.begin(), terms.end(), [&](const auto& t) { return t.first == atom; });
        if (found == terms.end())
            terms.emplace_back(atom, times * factor);
        else
            found->second += times * factor;
    }
    std::erase_if(terms, [](const auto& term) { return term.second == 0; });
    return *this;
}

bool Linear::is_int32() const {
    // What has a negative factor is written as a subtraction.
    const auto is_factor = [](const auto& term) { return std::abs(term.second) <= INT32_MAX; };
    return constant >= INT32_MIN && constant <= INT32_MAX && std::all_of(terms.begin(), terms.end(), is_factor);
}

std::int64_t Linear::factor_of(ir::VarId var) const {
    for (const auto& [atom, factor] : terms) {
        const auto* variable = ir::as<ir::Variable>(atom);
        if (variable != nullptr && variable->id == var) return factor;
    }
    return 0;
}

std::optional<Linear> Rewriter::linear(const ir::Expr& e) {
    return e->type == Type::Int32 ? known_sum(e) : std::nullopt;
}

const std::optional<Linear>& Rewriter::known_sum(const ir::Expr& e) {
    const auto known = sums_.find(e);
    return known != sums_.end() ? known->second : sums_.emplace(e, new_sum(e)).first->second;
}

/// Of the expressions that `is_quasi_affine` admits.
std::optional<Linear> Rewriter::new_sum(const ir::Expr& e) {
    const auto atom = [&] { return Linear{{{unique(e), 1}}, 0}; };
    if (const auto constant = ir::as_int(e)) return Linear{{}, *constant};
    if (ir::as<ir::SizeRef>(e) != nullptr) return atom();
    if (const auto* n = ir::as<ir::Variable>(e)) return index_.count(n->id) > 0 ? std::optional(atom()) : std::nullopt;
    const auto of_int32 = [](const Linear& sum) { return sum.is_int32() ? std::optional(sum) : std::nullopt; };
    const auto sum = [&](const ir::Expr& a, const ir::Expr& b, std::int64_t factor) -> std::optional<Linear> {
        const std::optional<Linear>&x = known_sum(a), &y = known_sum(b);
        return x && y ? of_int32(Linear(*x).add(*y, factor)) : std::nullopt;
    };
    const auto product = [&](const ir::Expr& a, std::int64_t factor) -> std::optional<Linear> {
        const std::optional<Linear>& x = known_sum(a);
        return x ? of_int32(Linear{}.add(*x, factor)) : std::nullopt;
    };
    if (const auto* n = ir::as<ir::Unary>(e)) return n->op == ir::UnaryOp::Neg ? product(n->a, -1) : std::nullopt;
    const auto* n = ir::as<ir::Binary>(e);
    if (n == nullptr) return std::nullopt;
    switch (n->op) {
        case BinaryOp::Add: return sum(n->a, n->b, 1);
        case BinaryOp::Sub: return sum(n->a, n->b, -1);
        case BinaryOp::Mul: {
            if (const auto factor = ir::as_int(n->a)) return product(n->b, *factor);
            const auto factor = ir::as_int(n->b);
            return factor ? product(n->a, *factor) : std::nullopt;
        }
        case BinaryOp::Div:
        case BinaryOp::Mod:
            return ir::as_int(n->b).value_or(0) > 0 && known_sum(n->a) ? std::optional(atom()) : std::nullopt;
        default: return std::nullopt;
    }
}

/// Ends included, as of sizes; those of the others may be one too far.
poly::IntRange Rewriter::range_of(const ir::Expr& atom) {
    if (const auto* n = ir::as<ir::SizeRef>(atom)) {
        const auto& [least, greatest] = sizes_.at(static_cast<std::size_t>(n->index));
        return {least, greatest};
    }
    if (const auto* n = ir::as<ir::Variable>(atom)) return {index_.at(n->id).least, index_.at(n->id).end};
    const auto& n = *ir::as<ir::Binary>(atom);
    if (n.op == BinaryOp::Mod) return {0, *ir::as_int(n.b)};
    const auto known = quotients_.find(atom);
    return known != quotients_.end() ? known->second : quotients_.emplace(atom, range_of_quotient(n)).first->second;
}

/// By a positive constant. A dividend that may wrap is any Int32, or the exact integer.
poly::IntRange Rewriter::range_of_quotient(const ir::Binary& n) {
    const std::int64_t divisor = *ir::as_int(n.b);
    poly::IntRange dividend = range_of(*known_sum(n.a));
    if (!poly::fits(dividend, Type::Int32)) {
        dividend.lo = std::min<poly::Wide>(dividend.lo, INT32_MIN);
        dividend.hi = std::max<poly::Wide>(dividend.hi, INT32_MAX);
    }
    const auto quotient = [&](poly::Wide v) { return (v - (v < 0 ? divisor - 1 : 0)) / divisor; };
    return {quotient(dividend.lo), quotient(dividend.hi) + 1};
}

poly::IntRange Rewriter::range_of(const Linear& sum) {
    poly::IntRange total{sum.constant, sum.constant};
    for (const auto& [atom, factor] : sum.terms) {
        const poly::IntRange range = range_of(atom);
        total.lo += std::min(factor * range.lo, factor * range.hi);
        total.hi += std::max(factor * range.lo, factor * range.hi);
    }
    return total;
}

bool Rewriter::fits(const Linear& sum) {
    poly::IntRange total{std::min<std::int64_t>(sum.constant, 0), std::max<std::int64_t>(sum.constant, 0)};
    for (const auto& [atom, factor] : sum.terms) {
        const poly::IntRange range = range_of(atom);
        // Each partial sum must fit, in whatever order.
        total.lo += std::min<poly::Wide>({0, factor * range.lo, factor * range.hi});
        total.hi += std::max<poly::Wide>({0, factor * range.lo, factor * range.hi});
    }
    return poly::fits(total, Type::Int32);
}

bool Rewriter::is_exact(const ir::Expr& atom) {
    const auto* n = ir::as<ir::Binary>(atom);
    if (n == nullptr) return true;
    if (const auto known = is_exact_.find(atom); known != is_exact_.end()) return known->second;
    const Linear sum = *known_sum(n->a);
    const bool result = fits(sum) && std::all_of(sum.terms.begin(), sum.terms.end(),
                                                 [&](const auto& term) { return is_exact(term.first); });
    return is_exact_.emplace(atom, result).first->second;
}

std::int64_t Rewriter::least(const Linear& sum) {
    return static_cast<std::int64_t>(std::max<poly::Wide>(range_of(sum).lo, -kFar));
}

ir::Expr Rewriter::expr(const Linear& sum) {
    if (sum.terms.empty()) return unique(ir::int_constant(Type::Int32, ir::wrap_to(Type::Int32, sum.constant)));
    std::vector<std::pair<ir::Expr, std::int64_t>> terms = sum.terms;
    const auto rank = [](const auto& term) {  // what is added before what is taken away, variables before sizes
        return (term.second < 0 ? 2 : 0) + (ir::as<ir::SizeRef>(term.first) != nullptr ? 1 : 0);
    };
    std::stable_sort(terms.begin(), terms.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    const auto constant = [&](std::int64_t value) {
        return unique(ir::int_constant(Type::Int32, ir::wrap_to(Type::Int32, value)));
    };
    const auto times = [&](const ir::Expr& atom, std::int64_t factor) {
        return factor == 1 ? atom : unique(ir::binary(BinaryOp::Mul, constant(factor), atom));
    };
    ir::Expr total;
    std::int64_t rest = sum.constant;
    if (terms.front().second < 0) {
        total = constant(rest);
        rest = 0;
    }
    for (const auto& [atom, factor] : terms) {
        if (!total)
            total = times(atom, factor);
        else
            total = unique(factor > 0 ? ir::binary(BinaryOp::Add, total, times(atom, factor))
                                      : ir::binary(BinaryOp::Sub, total, times(atom, -factor)));
    }
    if (rest == 0) return total;
    const bool negative = rest < 0 && rest > INT32_MIN;
    return unique(ir::binary(negative ? BinaryOp::Sub : BinaryOp::Add, total, constant(negative ? -rest : rest)));
}

std::int64_t Rewriter::divisor_of(const std::pair<ir::Expr, std::int64_t>& term) const {
    std::int64_t factor = term.second;
    if (const auto* variable = ir::as<ir::Variable>(term.first)) {
        const auto known = index_.find(variable->id);
        if (known != index_.end()) factor *= known->second.multiple;
    }
    // (v / c) is a multiple of n where v is one of c * n.
    if (const auto* n2 = ir::as<ir::Binary>(term.first); n2 != nullptr && n2->op == BinaryOp::Div) {
        const auto divisor = ir::as_int(n2->b);
        const auto* variable = ir::as<ir::Variable>(n2->a);
        if (divisor && *divisor > 0 && variable != nullptr && index_.count(variable->id) > 0 &&
            index_.at(variable->id).multiple % *divisor == 0) {
            factor *= index_.at(variable->id).multiple / *divisor;
        }
    }
    return factor;
}

bool Rewriter::is_multiple(const std::pair<ir::Expr, std::int64_t>& term, std::int64_t n) const {
    return divisor_of(term) % n == 0;
}

/// Floor division and remainder of a sum by a positive constant: what divides evenly is taken out.
ir::Expr Rewriter::quotient(const ir::Expr& e, const ir::Binary& n, bool exact) {
    const auto divisor = ir::as_int(n.b);
    if (!divisor || *divisor <= 0 || !is_affine(n.a)) return e;
    const Linear sum = *linear(n.a);
    // A remainder by a power of two is the same however often the sum wraps.
    const bool by_bits = n.op == BinaryOp::Mod && std::has_single_bit(static_cast<std::uint64_t>(*divisor));
    if (!exact && !by_bits && !fits(sum)) return e;
    Linear whole, rest;
    for (const auto& term : sum.terms) {
        if (term.second % *divisor == 0) {
            whole.add(Linear{{{term.first, term.second / *divisor}}, 0}, 1);
        } else if (is_multiple(term, *divisor) && term.second == 1) {
            const ir::Expr part = unique(ir::binary(BinaryOp::Div, term.first, n.b));
            whole.add(Linear{{{part, 1}}, 0}, 1);
        } else {
            rest.terms.push_back(term);
        }
    }
    whole.constant = floor_quotient(sum.constant, *divisor);
    rest.constant = sum.constant - whole.constant * *divisor;
    if (!exact && !by_bits && !fits(rest)) return e;  // its constant may be further from 0
    if (n.op == BinaryOp::Mod) {
        if (rest.terms.empty()) return expr(Linear{{}, rest.constant});
        return unique(ir::binary(BinaryOp::Mod, expr(rest), n.b));
    }
    if (!rest.terms.empty()) {
        // What is between two multiples of what divides all that varies, and the divisor, does not decide.
        std::int64_t step = *divisor;
        for (const auto& term : rest.terms) step = std::gcd(step, divisor_of(term));
        rest.constant -= rest.constant % step;
        whole.add(Linear{{{unique(ir::binary(BinaryOp::Div, expr(rest), n.b)), 1}}, 0}, 1);
    }
    return expr(whole);
}

/// An index that is proved to be in bounds as an integer, so none of its quotients wraps.
ir::Expr Rewriter::exact(const ir::Expr& e) {
    const auto known = exact_.find(e);
    return known != exact_.end() ? known->second : exact_.emplace(e, new_exact(e)).first->second;
}

ir::Expr Rewriter::new_exact(const ir::Expr& e) {
    if (!is_affine(e)) return e;
    const ir::Expr inner = unique(ir::map_children(e, [&](const ir::Expr& operand) { return exact(operand); }));
    if (const auto* n = ir::as<ir::Binary>(inner); n != nullptr && (n->op == BinaryOp::Div || n->op == BinaryOp::Mod)) {
        return quotient(inner, *n, true);
    }
    const auto sum = linear(inner);
    return sum ? expr(*sum) : inner;
}

// ------------------------------------------------------------------------------------------------------------ folding

/// int(condition) << k, or times 2^k, as a choice between 2^k and 0; else null. It is one instruction less. And of sums
/// of such bits, as descriptors have them (local binary patterns), ptxas 13.0 for sm_90 makes code that gives other
/// numbers for one pixel in four; of sums of choices it does not.
ir::Expr Rewriter::chosen_bit(const ir::Expr& e, const ir::Binary& n) {
    if (!ir::is_int(e->type) || (n.op != BinaryOp::Shl && n.op != BinaryOp::Mul)) return nullptr;
    const auto* bit = ir::as<ir::Cast>(n.a);
    const auto number = ir::as_int(n.b);
    if (bit == nullptr || bit->a->type != Type::Bool || !number || *number <= 0) return nullptr;
    const bool shifts = n.op == BinaryOp::Shl;
    if (shifts ? *number >= ir::bits(e->type) : !std::has_single_bit(static_cast<std::uint64_t>(*number)))
        return nullptr;
    const std::int64_t power = shifts ? static_cast<std::int64_t>(std::uint64_t{1} << *number) : *number;
    const ir::Expr set = unique(ir::int_constant(e->type, ir::wrap_to(e->type, power)));
    return unique(ir::select(bit->a, set, unique(ir::int_constant(e->type, 0))));
}

ir::Expr Rewriter::fold_binary(const ir::Expr& e, const ir::Binary& n) {
    if (n.op == BinaryOp::And || n.op == BinaryOp::Or) {
        const bool decisive = n.op == BinaryOp::Or;
        const auto a = ir::as_int(n.a), b = ir::as_int(n.b);
        if (a) return (*a != 0) == decisive ? n.a : n.b;
        if (b && (*b != 0) != decisive) return n.a;
        return e;
    }
    if (ir::is_comparison(n.op)) {
        const auto a = ir::as_int(n.a), b = ir::as_int(n.b);
        if (a && b && !ir::is_unsigned_int(n.a->type)) return ir::bool_constant(compare(n.op, *a, *b));
        return e;
    }
    if (const ir::Expr bit = chosen_bit(e, n)) return bit;
    if (fast_math_ && ir::is_float(e->type)) return fold_float(e, n);
    if (n.op == BinaryOp::Add && ir::is_int(e->type) && !is_affine(e)) return addend_first(e, n);
    if (ir::is_int(e->type) && (n.op == BinaryOp::Min || n.op == BinaryOp::Max)) return fold_extremum(e, n);
    if (n.a->type != Type::Int32) return e;
    const auto known = folded_.find(e);
    return known != folded_.end() ? known->second : folded_.emplace(e, fold_index(e, n)).first->second;
}

ir::Expr Rewriter::fold_index(const ir::Expr& e, const ir::Binary& n) {
    switch (n.op) {
        case BinaryOp::Add:
        case BinaryOp::Sub:
        case BinaryOp::Mul: {
            const auto sum = linear(e);
            return sum ? expr(*sum) : e;
        }
        case BinaryOp::Div:
        case BinaryOp::Mod: return quotient(e, n, false);
        default: return e;
    }
}

/// Of the sums that addend_first rebuilds: more than the weights of a 15 x 15 filter.
constexpr std::size_t kMostProducts = 256;

/// a * b + c * d + rest as rest + a * b + c * d: each product is then added by the instruction that multiplies.
/// Integers wrap, so that the order changes nothing.
ir::Expr Rewriter::addend_first(const ir::Expr& e, const ir::Binary& n) {
    const auto operation = [](const ir::Expr& a, BinaryOp op) {
        const auto* binary = ir::as<ir::Binary>(a);
        return binary != nullptr && binary->op == op ? binary : nullptr;
    };
    if (operation(n.b, BinaryOp::Mul) != nullptr) return e;
    std::vector<ir::Expr> products;  // the last one first
    ir::Expr rest = n.a;
    for (const ir::Binary* sum; (sum = operation(rest, BinaryOp::Add)) != nullptr; rest = sum->a) {
        if (operation(sum->b, BinaryOp::Mul) == nullptr) return e;
        products.push_back(sum->b);
        // What is rebuilt may be shared with others: with sums of sums it doubles each time.
        if (products.size() > kMostProducts) return e;
    }
    if (operation(rest, BinaryOp::Mul) == nullptr) return e;
    ir::Expr total = unique(ir::binary(BinaryOp::Add, n.b, rest));
    for (auto product = products.rbegin(); product != products.rend(); ++product)
        total = unique(ir::binary(BinaryOp::Add, total, *product));
    return total;
}

/// Both operands cut off at the same constant: the result is, once. (Of floats a NaN would come out otherwise.) A
/// quotient of data cut off at a constant is the quotient of what is cut off.
ir::Expr Rewriter::fold_extremum(const ir::Expr& e, const ir::Binary& n) {
    if (n.a == n.b) return n.a;
    const auto* a = ir::as<ir::Binary>(n.a);
    if (const auto limit = ir::as_int(n.b); limit && a != nullptr && a->op == BinaryOp::Div && !is_affine(n.a)) {
        // min(x / d, c) is min(x, c d + d - 1) / d: a division by a power of two and an addition behind it, as of a
        // table's address, are one instruction.
        const auto divisor = ir::as_int(a->b);
        if (!divisor || *divisor < 2 || *divisor > kHalfRange) return e;
        const std::int64_t least = ir::is_unsigned_int(e->type) ? 0 : -kHalfRange;  // a large UInt64 looks negative
        if (*limit < least || *limit > kHalfRange) return e;
        const std::int64_t cut = n.op == BinaryOp::Max ? *limit * *divisor : (*limit + 1) * *divisor - 1;
        if (!std::has_single_bit(static_cast<std::uint64_t>(*divisor)) || ir::wrap_to(e->type, cut) != cut) return e;
        const ir::Expr inner = unique(ir::binary(n.op, a->a, unique(ir::int_constant(e->type, cut))));
        return unique(ir::binary(BinaryOp::Div, fold(inner), a->b));
    }
    const auto* b = ir::as<ir::Binary>(n.b);
    if (a == nullptr || b == nullptr || a->op != b->op || a->b != b->b || !ir::as_int(a->b)) return e;
    if (a->op != BinaryOp::Min && a->op != BinaryOp::Max) return e;
    const ir::Expr inner = fold(unique(ir::binary(n.op, a->a, b->a)));
    return unique(ir::binary(a->op, inner, a->b));
}

/// The least positive number that has all bits of its type.
double least_normal(Type type) {
    return type == Type::Float16 ? 0x1p-14 : type == Type::Float32 ? 0x1p-126 : 0x1p-1022;
}

/// What constants let vanish; divisions by them become multiplications.
ir::Expr Rewriter::fold_float(const ir::Expr& e, const ir::Binary& n) {
    const auto* a = ir::as<ir::FloatConstant>(n.a);
    const auto* b = ir::as<ir::FloatConstant>(n.b);
    const auto is = [](const ir::FloatConstant* c, double value) { return c != nullptr && c->value == value; };
    const auto number = [&](double v) { return unique(ir::float_constant(e->type, ir::round_to(e->type, v))); };
    switch (n.op) {
        case BinaryOp::Add:
            if (a != nullptr && b != nullptr) return number(a->value + b->value);
            return is(a, 0) ? n.b : is(b, 0) ? n.a : e;
        case BinaryOp::Sub:
            if (a != nullptr && b != nullptr) return number(a->value - b->value);
            return is(b, 0) ? n.a : is(a, 0) ? unique(ir::unary(ir::UnaryOp::Neg, n.b)) : e;
        case BinaryOp::Mul: {
            if (a != nullptr && b != nullptr) return number(a->value * b->value);
            if (is(a, 0) || is(b, 1)) return n.a;
            if (is(b, 0) || is(a, 1)) return n.b;
            return e;
        }
        case BinaryOp::Div: {
            if (b == nullptr || b->value == 0) return e;
            const double reciprocal = ir::round_to(e->type, 1 / b->value);
            if (!std::isfinite(reciprocal) || std::abs(reciprocal) < least_normal(e->type)) return e;
            return fold(unique(ir::binary(BinaryOp::Mul, n.a, number(reciprocal))));
        }
        default: return e;
    }
}

/// What is the same for all points of a tile is often a number once the point is known (the channel of an unrolled
/// dimension): an operation on numbers is its result, of any type. Otherwise null.
static ir::Expr of_constants(const ir::Expr& e) {
    const auto is_constant = [](const ir::Expr& operand) {
        return ir::as_int(operand).has_value() || ir::as<ir::FloatConstant>(operand) != nullptr;
    };
    if (const auto* n = ir::as<ir::Binary>(e); n != nullptr && is_constant(n->a) && is_constant(n->b)) {
        return ir::binary(n->op, n->a, n->b, e->range);
    }
    if (const auto* n = ir::as<ir::Unary>(e); n != nullptr && is_constant(n->a)) {
        return ir::unary(n->op, n->a, e->range);
    }
    if (const auto* n = ir::as<ir::Cast>(e); n != nullptr && is_constant(n->a)) {
        return ir::cast(e->type, n->a, e->range, n->saturate);
    }
    return nullptr;
}

ir::Expr Rewriter::fold(const ir::Expr& e) {
    if (const ir::Expr known = of_constants(e)) return known;
    if (const auto* n = ir::as<ir::Binary>(e)) return fold_binary(e, *n);
    if (const auto* n = ir::as<ir::Unary>(e)) {
        const auto a = ir::as_int(n->a);
        if (n->op == ir::UnaryOp::Not && a) return ir::bool_constant(*a == 0);
        if (n->op == ir::UnaryOp::Neg && is_affine(e)) return expr(*linear(e));
        return e;
    }
    if (const auto* n = ir::as<ir::Select>(e)) {
        if (!n->otherwise || n->then == n->otherwise) return n->then;
        const auto condition = ir::as_int(n->cond);
        return !condition ? e : *condition != 0 ? n->then : n->otherwise;
    }
    if (const auto* n = ir::as<ir::Read>(e)) {
        std::vector<ir::Expr> indices;
        for (const ir::Expr& index : n->indices) indices.push_back(exact(index));
        return ir::read(n->source, e->type, std::move(indices), e->range);
    }
    return e;
}

// --------------------------------------------------------------------------------------------------------------- walk

ir::Expr Rewriter::instance(const ir::Expr& e, const Bindings& bindings, const Hook& hook) {
    bindings_ = bindings;
    hook_ = hook ? &hook : nullptr;
    memo_.resize(1);
    memo_.front().clear();
    return rewrite(e);
}

ir::Expr Rewriter::rewrite(const ir::Expr& e) {
    if (const auto known = memo_.back().find(e.get()); known != memo_.back().end()) return known->second;
    ir::Expr result = rewrite_node(e);
    if (hook_ != nullptr) result = unique((*hook_)(result));
    memo_.back().emplace(e.get(), result);
    return result;
}

ir::Expr Rewriter::rewrite_node(const ir::Expr& e) {
    if (const auto* n = ir::as<ir::Variable>(e)) {
        const auto bound = bindings_.find(n->id);
        return unique(bound == bindings_.end() ? e : bound->second);
    }
    if (const auto* n = ir::as<ir::Let>(e)) {
        bindings_[n->var] = rewrite(n->value);
        return rewrite(n->body);
    }
    if (const auto* n = ir::as<ir::Reduce>(e)) return reduce(e, *n);
    // A condition without alternative is known to hold and not evaluated.
    if (const auto* n = ir::as<ir::Select>(e); n != nullptr && !n->otherwise) return rewrite(n->then);
    if (const auto* n = ir::as<ir::Binary>(e); n != nullptr && takes_both(*n)) {
        const ir::Expr a = rewrite(n->a);
        return both_of(n->op, a, rewrite(n->b));
    }
    const ir::Expr same = ir::map_children(e, [&](const ir::Expr& operand) { return rewrite(operand); });
    const ir::Expr one = unique(same);
    const ir::Expr folded = fold(one);
    return folded == one ? one : unique(folded);
}

}  // namespace pipec::codegen
