// Small integers of a register tile, two in a register: a point in the lower half, and the one half a tile's rows below
// it in the upper half. As the number low + 2^16 * high both are added, and multiplied with constants, at once; no sum
// may leave 0 to 2^16 - 1 where halves are told apart, while what it is made of may. Minima and maxima tell them apart.
#include <algorithm>
#include <bit>
#include <functional>

#include "codegen/strategies/register/register_code.h"
#include "ir/build.h"
#include "support/integers.h"

namespace pipec::codegen {

using ir::BinaryOp;
using ir::Type;

namespace {

constexpr std::int64_t kHalf = 0xffff;
/// With fewer additions and multiplications bringing numbers together costs more than it saves.
constexpr int kFewestOperations = 3;

ir::Expr bits(std::int64_t low, std::int64_t high) {
    return ir::int_constant(Type::UInt32, ir::wrap_to(Type::UInt32, low + high * (kHalf + 1)));
}

/// Both halves divided by 2^shift.
ir::Expr shifted(const ir::Expr& e, std::int64_t shift) {
    return ir::binary(BinaryOp::BitAnd, ir::binary(BinaryOp::Shr, e, bits(shift, 0)),
                      bits(kHalf >> shift, kHalf >> shift));
}

/// Where ranges fit, casts of integers change nothing.
ir::Expr without_casts(const ir::Expr& e) {
    const auto* cast = ir::as<ir::Cast>(e);
    return cast == nullptr ? e : without_casts(cast->a);
}

/// The exponent of an operation that divides by a power of two, rounding down.
std::optional<std::int64_t> shift_of(const ir::Binary& n) {
    const auto b = ir::as_int(n.b);
    if (!b || *b < 0) return std::nullopt;
    if (n.op == BinaryOp::Shr && *b < 16) return b;
    const auto divisor = static_cast<std::uint64_t>(*b);
    if (n.op == BinaryOp::Div && *b <= kHalf && std::has_single_bit(divisor)) return std::countr_zero(divisor);
    return std::nullopt;
}

}  // namespace

/// How many of its own rows the upper half of a stage is below the lower one; 0 where there are no halves.
std::int64_t RegisterCode::half_distance(const Member& m) const {
    // Rows that are fetched ahead come one after the other.
    if (!interior_ || !shape_.halves || tile_.prefetch > 0 || !tile_.row_dim) return 0;
    if (slice_rows_ % (2 * poly::tile_unit(space_.group, static_cast<int>(*tile_.row_dim))) != 0) return 0;
    for (const poly::Alignment& a : m.alignment) {
        if (a.dim == static_cast<int>(*tile_.row_dim)) return slice_rows_ / 2 / a.scale;
    }
    return 0;
}

std::size_t RegisterCode::row_of(const Member& m) const {
    std::size_t d = 0;
    while (!is_row(m, d)) ++d;
    return d;
}

/// Minima and maxima of both halves are one instruction of devices of capability 9.0 and newer.
bool RegisterCode::has_halves_of(BinaryOp op) const {
    return (op == BinaryOp::Min || op == BinaryOp::Max) && picks_halves_;
}

/// The range of a stage that is computed in halves; none for others.
std::optional<RegisterCode::Range> RegisterCode::half_range(const Member& m) {
    if (const auto known = half_ranges_.find(m.stage); known != half_ranges_.end()) return known->second;
    std::optional<Range> range;
    if (half_distance(m) > 0 && ir::is_int(m.definition.type)) {
        int operations = 0;
        range = half_range(formula(m, place(m, Offsets(m.alignment.size(), 0))), operations);
        if (range && (range->lo < 0 || range->hi > kHalf || operations < kFewestOperations)) range.reset();
    }
    return half_ranges_[m.stage] = range;
}

/// The range of what is made of small integers by operations that halves have, and in which nothing wraps.
std::optional<RegisterCode::Range> RegisterCode::half_range(const ir::Expr& e, int& operations) {
    std::optional<Range> a, b, result;
    if (const auto value = ir::as_int(e)) {
        result = Range{*value, *value};
    } else if (const auto* cast = ir::as<ir::Cast>(e)) {
        if (ir::is_int(cast->a->type)) result = half_range(cast->a, operations);
    } else if (const auto* unary = ir::as<ir::Unary>(e); unary != nullptr && unary->op == ir::UnaryOp::Neg) {
        if ((a = half_range(unary->a, operations))) result = Range{-a->hi, -a->lo};
    } else if (const auto* read = ir::as<ir::Read>(e)) {
        const Member* p = read->source.kind == ir::Source::Kind::Stage ? space_.member(read->source.index) : nullptr;
        if (p != nullptr) result = half_range(*p);
        if (!result && (e->type == Type::UInt8 || e->type == Type::UInt16))
            result = Range{0, e->type == Type::UInt8 ? 0xff : kHalf};
    } else if (const auto* n = ir::as<ir::Binary>(e)) {
        if (!ir::is_int(e->type)) return std::nullopt;
        ++operations;
        a = half_range(n->a, operations);
        if (!a) return std::nullopt;
        if (const auto shift = shift_of(*n)) {
            if (a->lo >= 0 && a->hi <= kHalf) result = Range{a->lo >> *shift, a->hi >> *shift};
        } else if (b = half_range(n->b, operations); b) {
            if (has_halves_of(n->op) && std::min(a->lo, b->lo) >= 0 && std::max(a->hi, b->hi) <= kHalf) {
                const bool least = n->op == BinaryOp::Min;
                result = least ? Range{std::min(a->lo, b->lo), std::min(a->hi, b->hi)}
                               : Range{std::max(a->lo, b->lo), std::max(a->hi, b->hi)};
            }
            if (n->op == BinaryOp::Add) result = Range{a->lo + b->lo, a->hi + b->hi};
            if (n->op == BinaryOp::Sub) result = Range{a->lo - b->hi, a->hi - b->lo};
            if (n->op == BinaryOp::Mul && (a->lo == a->hi || b->lo == b->hi)) {
                const auto [lo, hi] = std::minmax({a->lo * b->lo, a->lo * b->hi, a->hi * b->lo, a->hi * b->hi});
                result = Range{lo, hi};
            }
        }
    }
    const auto fits = [&](std::int64_t v) { return std::abs(v) <= INT32_MAX && ir::wrap_to(e->type, v) == v; };
    return result && fits(result->lo) && fits(result->hi) ? result : std::nullopt;
}

/// A point of a stage that is computed in halves, alone.
Value RegisterCode::half(const Member& m, const Offsets& offsets) {
    const std::size_t row = row_of(m);
    const bool high = offsets[row] >= half_distance(m);
    Offsets low = offsets;
    if (high) low[row] -= half_distance(m);
    const Halves& both = halves(m, low);
    const auto make = [](BinaryOp op, const ir::Expr& a, std::int64_t b) { return ir::binary(op, a, bits(b, 0)); };
    Value value = both.value;
    // A cast to 8 bits cuts the upper half off where no more than 8 are left of the lower one.
    const bool cut = ir::bits(m.definition.type) == 8 && both.shift >= 8;
    if (high)
        value.expr = make(BinaryOp::Shr, value.expr, 16 + both.shift);
    else if (!cut)
        value.expr = make(BinaryOp::BitAnd, value.expr, kHalf);
    if (!high && both.shift > 0) value.expr = make(BinaryOp::Shr, value.expr, both.shift);
    value.expr = ir::cast(m.definition.type, value.expr);
    return value;
}

/// A stage's point and the one below, as one variable. A division at the end is left to who reads it.
const RegisterCode::Halves& RegisterCode::halves(const Member& m, const Offsets& low) {
    const auto key = std::make_pair(m.stage, low);
    if (const auto known = halves_.find(key); known != halves_.end()) return known->second;
    Offsets high = low;
    high[row_of(m)] += half_distance(m);
    At first{m, low, formula(m, place(m, low))}, second{m, high, formula(m, place(m, high))};
    // Where conditions on indices are known, points may have other formulas than the first one had.
    const Range range = *half_range(m);
    for (const At* at : {&first, &second}) {
        int operations = 0;
        const auto now = half_range(at->e, operations);
        halves_hold_ = halves_hold_ && now && now->lo >= range.lo && now->hi <= range.hi;
    }
    std::int64_t shift = 0;
    const auto* a = ir::as<ir::Binary>(without_casts(first.e));
    const auto* b = ir::as<ir::Binary>(without_casts(second.e));
    if (a != nullptr && b != nullptr && a->op == b->op && a->b == b->b && shift_of(*a)) {
        shift = *shift_of(*a);
        first.e = a->a;
        second.e = b->a;
    }
    packs_ = true;
    Value value = halves_of(first, second);
    value.expr = define(name(m, low) + "_halves", value.expr);
    return halves_.emplace(key, Halves{value, shift}).first->second;
}

/// The same, divided.
Value RegisterCode::divided_halves(const Member& m, const Offsets& low) {
    const Halves& both = halves(m, low);
    if (both.shift == 0) return both.value;
    const auto key = std::make_pair(m.stage, low);
    if (const auto known = divided_.find(key); known != divided_.end()) return known->second;
    Value value = both.value;
    value.expr = define(name(m, low) + "_halves", shifted(rewriter().unique(value.expr), both.shift));
    return divided_.emplace(key, value).first->second;
}

/// low + 2^16 * high, modulo 2^32.
Value RegisterCode::halves_of(const At& low, const At& high) {
    const auto make = [&](BinaryOp op, const ir::Expr& a, const ir::Expr& b) {
        return rewriter().unique(ir::binary(op, a, b));
    };
    const auto part = [](const At& at, const ir::Expr& e) { return At{at.m, at.offsets, e}; };
    if (const auto a = ir::as_int(low.e), b = ir::as_int(high.e); a && b) return {rewriter().unique(bits(*a, *b)), {}};
    const auto* cast = ir::as<ir::Cast>(low.e);
    if (const auto* other = ir::as<ir::Cast>(high.e); cast != nullptr && other != nullptr)
        return halves_of(part(low, cast->a), part(high, other->a));
    const auto* unary = ir::as<ir::Unary>(low.e);
    if (const auto* other = ir::as<ir::Unary>(high.e); unary != nullptr && other != nullptr) {
        Value value = halves_of(part(low, unary->a), part(high, other->a));
        value.expr = rewriter().unique(ir::unary(ir::UnaryOp::Neg, value.expr));
        return value;
    }
    const auto* n = ir::as<ir::Binary>(low.e);
    if (const auto* other = ir::as<ir::Binary>(high.e); n != nullptr && other != nullptr && n->op == other->op) {
        const bool same = n->a == other->a || n->b == other->b;  // equal expressions are one node
        const auto constant = [](const ir::Expr& e) { return bits(*ir::as_int(e), 0); };
        Value value;
        if (const auto shift = shift_of(*n); shift && same) {
            value = halves_of(part(low, n->a), part(high, other->a));
            value.expr = rewriter().unique(shifted(value.expr, *shift));
            return value;
        }
        if (n->op == BinaryOp::Mul && ir::as_int(n->b) && same) {
            value = halves_of(part(low, n->a), part(high, other->a));
            value.expr = make(BinaryOp::Mul, rewriter().unique(constant(n->b)), value.expr);
            return value;
        }
        if (n->op == BinaryOp::Mul && ir::as_int(n->a) && same) {
            value = halves_of(part(low, n->b), part(high, other->b));
            value.expr = make(BinaryOp::Mul, rewriter().unique(constant(n->a)), value.expr);
            return value;
        }
        const bool picks = has_halves_of(n->op);
        if (n->op == BinaryOp::Add || n->op == BinaryOp::Sub || picks) {
            value = halves_of(part(low, n->a), part(high, other->a));
            const Value second = halves_of(part(low, n->b), part(high, other->b));
            const ir::Builtin pick = n->op == BinaryOp::Min ? ir::Builtin::MinHalves : ir::Builtin::MaxHalves;
            value.expr = picks ? rewriter().unique(ir::call(pick, {value.expr, second.expr}))
                               : make(n->op, value.expr, second.expr);
            value.reach.add(second.reach, 0);
            return value;
        }
    }
    return read_halves(low, high);
}

/// What is read: of a stage in halves as it is, of others brought together, by the lane whose columns they are.
Value RegisterCode::read_halves(const At& low, const At& high) {
    const auto* a = ir::as<ir::Read>(low.e);
    const auto* b = ir::as<ir::Read>(high.e);
    if (a == nullptr || b == nullptr || a->source != b->source)
        return together(resolve(low.m, low.offsets, low.e), resolve(high.m, high.offsets, high.e), "halves");
    const std::string text = name_of(a->source);
    const Member* p = a->source.kind == ir::Source::Kind::Stage ? space_.member(a->source.index) : nullptr;
    if (p != nullptr && half_range(*p)) {
        Offsets offsets = member_offsets(*p, *a), other = member_offsets(*p, *b);
        other[row_of(*p)] -= half_distance(*p);
        if (offsets == other) {
            const auto [own, lanes] = own_offsets(*p, offsets);
            return fetched(divided_halves(*p, own), lanes, name(*p, own) + "_halves");
        }
    }
    if (p == nullptr) {
        const auto first = own_read(low.e), second = own_read(high.e);
        if (first && second && first->second == second->second)
            return fetched(together(first->first, second->first, text), first->second, text + "_halves");
    }
    return together(resolve(low.m, low.offsets, low.e), resolve(high.m, high.offsets, high.e), text);
}

Value RegisterCode::together(const Value& low, const Value& high, const std::string& name) {
    const auto key = std::make_pair(rewriter().unique(low.expr).get(), rewriter().unique(high.expr).get());
    if (const auto known = together_.find(key); known != together_.end()) return known->second;
    const auto wide = [](const ir::Expr& e) { return ir::cast(Type::UInt32, e); };
    Value value = low;
    value.reach.add(high.reach, 0);
    value.expr = define(name + "_halves", ir::binary(BinaryOp::Add, wide(low.expr),
                                                     ir::binary(BinaryOp::Shl, wide(high.expr), bits(16, 0))));
    return together_.emplace(key, value).first->second;
}

}  // namespace pipec::codegen
