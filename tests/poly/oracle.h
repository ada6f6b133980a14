// What expressions are worth, by the reference interpreter's arithmetic: what the tests hold ranges and affine forms
// against.
#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "ir/visit.h"
#include "poly/value_ranges.h"
#include "reference/numeric.h"

namespace pipec::test {

using poly::FloatRange;
using poly::IntRange;
using poly::ValueRange;
using poly::Wide;
using reference::Value;

inline Wide wide(const Value& v) {
    return v.type == ir::Type::UInt64 ? Wide{static_cast<std::uint64_t>(v.i)} : Wide{v.i};
}

inline Value number(ir::Type type, Wide v) {
    return reference::integer(type, static_cast<std::int64_t>(static_cast<std::uint64_t>(v)));
}

inline bool is_in(const ValueRange& range, const Value& v) {
    if (const auto* i = std::get_if<IntRange>(&range)) return i->lo <= wide(v) && wide(v) <= i->hi;
    const auto& f = std::get<FloatRange>(range);
    return std::isnan(v.f) ? f.nan : f.lo <= v.f && v.f <= f.hi;
}

inline std::string text(Wide v) {
    if (v < 0) return "-" + text(-v);
    return (v < 10 ? "" : text(v / 10)) + static_cast<char>('0' + static_cast<int>(v % 10));
}
inline std::string text(const Value& v) {
    return ir::is_float(v.type) ? std::to_string(v.f) : text(wide(v));
}
inline std::string text(const ValueRange& range) {
    if (const auto* i = std::get_if<IntRange>(&range)) return "[" + text(i->lo) + ", " + text(i->hi) + "]";
    const auto& f = std::get<FloatRange>(range);
    return "[" + std::to_string(f.lo) + ", " + std::to_string(f.hi) + (f.nan ? "] or NaN" : "]");
}

/// Evaluates expressions over variables, sizes and parameters; nothing is read.
class Oracle {
public:
    std::map<ir::VarId, Value> variables;
    std::vector<Value> sizes, params;
    /// The values of lets, for parts of an expression by themselves.
    std::map<ir::VarId, ir::Expr> lets;

    void know_lets_of(const ir::Expr& root) {
        ir::for_each_node(root, [&](const ir::Expr& e) {
            if (const auto* n = ir::as<ir::Let>(e)) lets.insert_or_assign(n->var, n->value);
        });
    }

    Value operator()(const ir::Expr& e) {
        const auto at = [](const std::vector<Value>& values, int i) { return values.at(static_cast<std::size_t>(i)); };
        return std::visit(
            ir::overloaded{
                [&](const ir::IntConstant& n) { return reference::integer(e->type, n.value); },
                [&](const ir::FloatConstant& n) { return reference::real(e->type, n.value); },
                [&](const ir::Variable& n) {
                    const auto known = variables.find(n.id);
                    return known != variables.end() ? known->second : (*this)(lets.at(n.id));
                },
                [&](const ir::SizeRef& n) { return at(sizes, n.index); },
                [&](const ir::ParamRef& n) { return at(params, n.index); },
                [&](const ir::Unary& n) { return reference::evaluate(n.op, (*this)(n.a)); },
                [&](const ir::Binary& n) { return reference::evaluate(n.op, (*this)(n.a), (*this)(n.b)); },
                [&](const ir::Cast& n) { return reference::cast(e->type, (*this)(n.a), n.saturate); },
                [&](const ir::Call& n) {
                    std::vector<Value> args;
                    for (const ir::Expr& arg : n.args) args.push_back((*this)(arg));
                    return reference::evaluate(n.fn, args);
                },
                [&](const ir::Select& n) { return (*this)((*this)(n.cond).i != 0 ? n.then : n.otherwise); },
                [&](const ir::Let& n) {
                    variables[n.var] = (*this)(n.value);
                    return (*this)(n.body);
                },
                [&](const auto&) -> Value { throw std::logic_error("not in these expressions"); },
            },
            e->value);
    }
};

/// Values of an integer type at which something happens: its ends, 0, around powers of two and around the middle of a
/// power of two and the next float.
inline std::vector<Wide> edges(ir::Type type) {
    const IntRange bounds = poly::type_range(type);
    std::set<Wide> all{bounds.lo, bounds.lo + 1, bounds.hi - 1, bounds.hi};
    for (const int power : {0, 1, 2, 3, 5, 7, 8, 11, 15, 16, 24, 30, 31, 32, 53, 54, 62, 63, 64}) {
        for (const Wide half_place : {Wide{0}, (Wide{1} << power) >> 24, (Wide{1} << power) >> 53}) {
            for (int d = -1; d <= 1; ++d) {
                const Wide magnitude = (Wide{1} << power) + half_place + d;
                for (const Wide v : {magnitude, -magnitude}) {
                    if (bounds.lo <= v && v <= bounds.hi) all.insert(v);
                }
            }
        }
    }
    return {all.begin(), all.end()};
}

/// Values of a float type, in order: 0, subnormals, ends, neighbours of 1 and of what integers and halves end at.
inline std::vector<double> float_edges(ir::Type type) {
    const double infinity = std::numeric_limits<double>::infinity();
    std::set<double> all{0.0, infinity};
    const auto add = [&](double v) { all.insert(ir::round_to(type, v)); };
    for (const double v : {0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 5.0, 10.0, 100.0, 255.0, 2048.0, 65504.0, 65519.0})
        add(v);
    const int digits = type == ir::Type::Float16 ? 11 : type == ir::Type::Float32 ? 24 : 53;
    for (const int power : {-30, -1, 0, 7, 8, 15, 16, 24, 31, 32, 53, 63, 64, 100}) {
        const double v = std::ldexp(1.0, power);
        for (const double next : {-1.0, -0.5, 0.0, 1.0}) add(v + next * std::ldexp(v, 1 - digits));
    }
    for (const double v : {0x1p-24, 0x1p-14, 0x1p-149, 0x1p-126, 0x1p-1074, 0x1p-1022, 0x1.fffffep127, 0x1p1023})
        add(v);
    const std::vector<double> positive(all.begin(), all.end());
    for (const double v : positive) all.insert(-v);
    return {all.begin(), all.end()};
}

/// How much larger than usual a run is: PIPEC_AUDIT=100 takes a hundred times as long.
inline int audit_factor() {
    const char* text = std::getenv("PIPEC_AUDIT");
    return text == nullptr ? 1 : std::max(1, std::atoi(text));
}

/// The first seed of a run: PIPEC_AUDIT_SEED.
inline unsigned audit_seed() {
    const char* text = std::getenv("PIPEC_AUDIT_SEED");
    return text == nullptr ? 1 : static_cast<unsigned>(std::atoi(text));
}

}  // namespace pipec::test
