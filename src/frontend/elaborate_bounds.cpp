// Extents and explicit ranges. They are computed as exact integers when a launch is prepared, and the analysis needs
// them affine in the sizes; so they are written in the few operators that both know: + - * / % min max, comparisons and
// `if`.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <unordered_map>

#include "frontend/elaborator.h"
#include "ir/build.h"
#include "ir/tree_size.h"
#include "ir/visit.h"
#include "ir/without_lets.h"

namespace pipec::elab {

namespace {

using ir::BinaryOp;
using ir::Type;

/// What a bound cannot use: where that stands, what it is, and what to do instead.
struct Refusal {
    ir::Expr part;
    std::string what;
    std::string advice;
};

/// Writes an expression over sizes in a bound's operators. Its values are those of the program as long as nothing
/// wraps, and what wraps is no valid extent or bound.
class BoundWriter {
public:
    /// Null where `refusal` says why not.
    ir::Expr write(const ir::Expr& e) {
        if (refusal) return nullptr;
        if (const auto found = done_.find(e.get()); found != done_.end()) return found->second;
        ir::Expr result = std::visit([&](const auto& n) { return node(e, n); }, e->value);
        if (refusal) return nullptr;
        done_.emplace(e.get(), result);
        return result;
    }

    std::optional<Refusal> refusal;

private:
    static constexpr int kGreatestShift = 30;  // of an int32 that stays positive

    ir::Expr refuse(const ir::Expr& part, std::string what, std::string advice) {
        if (!refusal) refusal = Refusal{part, std::move(what), std::move(advice)};
        return nullptr;
    }
    static ir::Expr integer(std::int64_t value) { return ir::int_constant(Type::Int32, value); }

    ir::Expr node(const ir::Expr& e, const ir::IntConstant& n) {
        if (e->type == Type::Bool || e->type == Type::Int32) return e;
        const bool fits = n.value >= INT32_MIN && n.value <= INT32_MAX;
        if (!fits) return refuse(e, fmt::format("the constant {}", n.value), "sizes and extents are below 2^30");
        return ir::int_constant(Type::Int32, n.value, e->range);
    }
    ir::Expr node(const ir::Expr& e, const ir::SizeRef&) { return e; }
    ir::Expr node(const ir::Expr& e, const ir::Variable& n) { return lets_.contains(n.id) ? lets_.at(n.id) : e; }
    ir::Expr node(const ir::Expr&, const ir::Let& n) {
        ir::Expr value = write(n.value);
        lets_[n.var] = std::move(value);
        return write(n.body);
    }

    ir::Expr node(const ir::Expr& e, const ir::Unary& n) {
        const ir::Expr a = operand(e, n.a);
        if (!a) return nullptr;
        if (n.op == ir::UnaryOp::BitNot) return ir::binary(BinaryOp::Sub, integer(-1), a, e->range);
        return a == n.a ? e : ir::unary(n.op, a, e->range);
    }

    ir::Expr node(const ir::Expr& e, const ir::Binary& n) {
        const ir::Expr a = operand(e, n.a);
        const ir::Expr b = a ? operand(e, n.b) : nullptr;
        if (!b) return nullptr;
        switch (n.op) {
            case BinaryOp::Shl:
            case BinaryOp::Shr: return shift(e, n.op, a, b);
            case BinaryOp::BitAnd: return ir::as_int(a) ? mask(e, b, a) : mask(e, a, b);
            case BinaryOp::BitOr:
            case BinaryOp::BitXor:
                return refuse(e, fmt::format("`{}`", ir::name(n.op)), "`&` with a mask such as 7 or ~7 is possible");
            default: return a == n.a && b == n.b ? e : ir::binary(n.op, a, b, e->range);
        }
    }

    /// Operands of `e`: integers that count as what they are, or conditions.
    ir::Expr operand(const ir::Expr& e, const ir::Expr& a) {
        if (ir::is_float(a->type)) {
            return refuse(a, "floats", "`/` of integers rounds down: `R * 3 / 2` for `int32(R * 1.5)`");
        }
        if (a->type == Type::UInt32 || a->type == Type::UInt64) {
            return refuse(e, std::string(ir::name(a->type)), "sizes are int32; leave out the cast");
        }
        return write(a);
    }

    ir::Expr shift(const ir::Expr& e, BinaryOp op, const ir::Expr& a, const ir::Expr& b) {
        const auto constant = ir::as_int(b);
        const std::int64_t count = constant.value_or(0) & (ir::bits(e->type) - 1);
        if (!constant || count > kGreatestShift) {
            return refuse(e, constant ? fmt::format("a shift by {}", count) : "a shift by what is not constant",
                          fmt::format("shifts by constants of 0 to {} are possible", kGreatestShift));
        }
        const BinaryOp same = op == BinaryOp::Shl ? BinaryOp::Mul : BinaryOp::Div;
        return ir::binary(same, a, integer(std::int64_t{1} << count), e->range);
    }

    /// a & (2^k - 1) = a mod 2^k in two's complement, a & -2^k = a - a mod 2^k.
    ir::Expr mask(const ir::Expr& e, const ir::Expr& a, const ir::Expr& b) {
        const auto constant = ir::as_int(b);
        if (constant == 0) return integer(0);
        if (constant == -1) return a;
        const bool high = constant.value_or(0) < 0;
        const auto step = static_cast<std::uint64_t>(high ? -*constant : constant.value_or(0) + 1);
        if (!constant || !std::has_single_bit(step) || step > (std::uint64_t{1} << kGreatestShift)) {
            return refuse(e, constant ? "this mask" : "`&` of two sizes",
                          "masks of the form 2^k - 1 or -2^k, such as 7 and ~7, are possible");
        }
        const ir::Expr power = integer(static_cast<std::int64_t>(step));
        if (!high) return ir::binary(BinaryOp::Mod, a, power, e->range);
        return ir::binary(BinaryOp::Mul, ir::binary(BinaryOp::Div, a, power, e->range), power, e->range);
    }

    ir::Expr node(const ir::Expr& e, const ir::Cast& n) {
        if (n.a->type == Type::Bool) {
            const ir::Expr condition = write(n.a);
            return condition ? ir::select(condition, integer(1), integer(0), e->range) : nullptr;
        }
        const ir::Expr a = operand(e, n.a);
        if (!a) return nullptr;
        const Type to = e->type;
        if (ir::is_float(to) || to == Type::UInt32 || to == Type::UInt64) return operand(e, e);
        const bool holds_all = ir::int_min(to) <= ir::int_min(n.a->type) && ir::int_max(to) >= ir::int_max(n.a->type);
        if (holds_all) return a;
        const auto least = static_cast<std::int64_t>(ir::int_min(to));
        const auto greatest = static_cast<std::int64_t>(ir::int_max(to));
        if (n.saturate) {
            const ir::Expr at_least = ir::binary(BinaryOp::Max, a, integer(least), e->range);
            return ir::binary(BinaryOp::Min, at_least, integer(greatest), e->range);
        }
        if (to == Type::Int32) return a;  // of an int64: wraps for no valid bound
        const ir::Expr from_zero = ir::binary(BinaryOp::Add, a, integer(-least), e->range);
        const ir::Expr wrapped = ir::binary(BinaryOp::Mod, from_zero, integer(greatest - least + 1), e->range);
        return ir::binary(BinaryOp::Sub, wrapped, integer(-least), e->range);
    }

    ir::Expr node(const ir::Expr& e, const ir::Call& n) {
        const ir::Expr a = n.args.empty() ? nullptr : operand(e, n.args[0]);
        if (!a) return nullptr;
        if (n.fn != ir::Builtin::Abs) return refuse(e, fmt::format("`{}`", ir::name(n.fn)), "");
        return ir::binary(BinaryOp::Max, a, ir::unary(ir::UnaryOp::Neg, a, e->range), e->range);
    }

    ir::Expr node(const ir::Expr& e, const ir::Select& n) {
        if (!n.otherwise) return refuse(e, "an `if` without `else`", "say what holds otherwise, or use `where`");
        const ir::Expr cond = write(n.cond);
        const ir::Expr then = cond ? operand(e, n.then) : nullptr;
        const ir::Expr otherwise = then ? operand(e, n.otherwise) : nullptr;
        if (!otherwise) return nullptr;
        const bool same = cond == n.cond && then == n.then && otherwise == n.otherwise;
        return same ? e : ir::select(cond, then, otherwise, e->range);
    }

    ir::Expr node(const ir::Expr& e, const ir::Reduce&) {
        return refuse(e, "a reduction that is a loop", "one of up to 64 constant points is written out");
    }
    // Reported before: what is not over sizes; floats stand in casts and comparisons.
    template <class Other>
    ir::Expr node(const ir::Expr& e, const Other&) {
        return ir::is_float(e->type) ? operand(e, e) : refuse(e, "this", "");
    }

    std::unordered_map<const ir::Node*, ir::Expr> done_;
    std::unordered_map<ir::VarId, ir::Expr> lets_;
};

}  // namespace

/// Stages whose values follow from the place alone, as `first(z) = max(z - half, 0)`, count as functions in bounds.
ir::Expr Elaborator::without_reads_of_places(const ir::Expr& e) {
    std::unordered_map<ir::Expr, ir::Expr> done;
    const std::function<ir::Expr(const ir::Expr&)> write = [&](const ir::Expr& part) -> ir::Expr {
        if (!contents_.of(part).reads) return part;
        if (const auto found = done.find(part); found != done.end()) return found->second;
        ir::Expr result = ir::map_children(part, write);
        const auto* read = ir::as<ir::Read>(result);
        if (read != nullptr && read->source.kind == ir::Source::Kind::Stage) {
            const ir::Stage& stage = p_.stages.at(static_cast<std::size_t>(read->source.index));
            const auto* pure = std::get_if<ir::Pure>(&stage.definition);
            if (pure != nullptr && pure->value && !stage.scan && ir::is_int(stage.type)) {
                std::map<ir::VarId, ir::Expr> indices;
                for (std::size_t d = 0; d < stage.dims.size(); ++d)
                    indices.emplace(stage.dims[d].var, read->indices[d]);
                // Copies of a let would bind its variable to other values.
                result = write(ir::substitute(ir::WithoutLets().of(pure->value), indices));
            }
        }
        return done.emplace(part, result).first->second;
    };
    ir::Expr result = write(e);
    const bool is_function = !contents_.of(result).reads && ir::tree_size(result, kMaxBoundSize) < kMaxBoundSize;
    return is_function ? result : e;
}

ir::Expr Elaborator::bound(const ir::Expr& e, SourceRange range, const char* what) {
    BoundWriter writer;
    ir::Expr result = writer.write(e);
    if (writer.refusal) {
        const auto& [part, used, advice] = *writer.refusal;
        Report r = report(diag::BoundOperator, part->range.valid() ? part->range : range, what, used);
        if (!advice.empty()) r.note(advice);
        r.note("a bound is made of sizes and constants by `+ - * / %`, `min`, `max`, `abs`, `clamp` and `if`");
        return nullptr;
    }
    if (ir::tree_size(result, kMaxBoundSize) < kMaxBoundSize) return result;
    report(diag::TooDeep, range, "the expression that this expands to");
    return nullptr;
}

}  // namespace pipec::elab
