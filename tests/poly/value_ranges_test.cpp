// Ranges of values against the values themselves: every operator on all 8-bit numbers and on floats that are hard, and
// random expressions. PIPEC_AUDIT=100 makes the random part a hundred times as long, PIPEC_AUDIT_SEED=7 another one.
#include "poly/value_ranges.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "ir/build.h"
#include "ir/print.h"
#include "oracle.h"
#include "random_expr.h"

namespace pipec::test::value_ranges_test {
namespace {

using ir::BinaryOp;
using ir::Builtin;
using ir::Type;
using ir::UnaryOp;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// An operator as the compiler's node and as a function of values.
struct Operator {
    std::string name;
    std::function<ir::Expr(const ir::Expr&, const ir::Expr&)> node;
    std::function<Value(const Value&, const Value&)> apply;
};

Operator binary(BinaryOp op) {
    return {std::string(ir::name(op)), [=](const ir::Expr& a, const ir::Expr& b) { return ir::binary(op, a, b); },
            [=](const Value& a, const Value& b) { return reference::evaluate(op, a, b); }};
}

/// Of the first operand alone.
Operator unary(UnaryOp op) {
    return {std::string(ir::name(op)), [=](const ir::Expr& a, const ir::Expr&) { return ir::unary(op, a); },
            [=](const Value& a, const Value&) { return reference::evaluate(op, a); }};
}

Operator call(Builtin fn) {
    return {std::string(ir::name(fn)), [=](const ir::Expr& a, const ir::Expr&) { return ir::call(fn, {a}); },
            [=](const Value& a, const Value&) {
                return reference::evaluate(fn, {&a, 1});
            }};
}

Operator call_of_both(Builtin fn) {
    return {std::string(ir::name(fn)),
            [=](const ir::Expr& a, const ir::Expr& b) {
                return ir::call(fn, {a, b});
            },
            [=](const Value& a, const Value& b) {
                const std::array both{a, b};
                return reference::evaluate(fn, both);
            }};
}

Operator square() {
    return {"square", [](const ir::Expr& a, const ir::Expr&) { return ir::binary(BinaryOp::Mul, a, a); },
            [](const Value& a, const Value&) { return reference::evaluate(BinaryOp::Mul, a, a); }};
}

Operator cast(Type to, bool saturate) {
    return {(saturate ? "saturate to " : "cast to ") + std::string(ir::name(to)),
            [=](const ir::Expr& a, const ir::Expr&) { return ir::cast(to, a, {}, saturate); },
            [=](const Value& a, const Value&) { return reference::cast(to, a, saturate); }};
}

/// The hull of the values that have been added.
struct Hull {
    Wide lo = 0, hi = 0;
    double least = 0, greatest = 0;
    bool any = false, number = false, nan = false;

    void add(const Value& v) {
        any = true;
        if (ir::is_float(v.type)) {
            if (std::isnan(v.f)) {
                nan = true;
                return;
            }
            least = number ? std::min(least, v.f) : v.f;
            greatest = number ? std::max(greatest, v.f) : v.f;
        } else {
            lo = number ? std::min(lo, wide(v)) : wide(v);
            hi = number ? std::max(hi, wide(v)) : wide(v);
        }
        number = true;
    }
    void add(const Hull& other) {
        if (other.number && !number) {
            const bool had_nan = nan;
            *this = other;
            nan = nan || had_nan;
            return;
        }
        any = any || other.any;
        nan = nan || other.nan;
        if (!other.number) return;
        lo = std::min(lo, other.lo);
        hi = std::max(hi, other.hi);
        least = std::min(least, other.least);
        greatest = std::max(greatest, other.greatest);
    }
    [[nodiscard]] bool is_in(const ValueRange& range) const {
        if (const auto* i = std::get_if<IntRange>(&range)) return !number || (i->lo <= lo && hi <= i->hi);
        const auto& f = std::get<FloatRange>(range);
        return (f.nan || !nan) && (!number || (f.lo <= least && greatest <= f.hi));
    }
    [[nodiscard]] std::string text(bool is_float) const {
        return is_float ? test::text(FloatRange{least, greatest, nan}) : test::text(IntRange{lo, hi});
    }
};

/// Pairs of ranges with ends among `ends` (places in `values`, which are in order), with and without NaN for floats.
/// The range of every result must hold the hull of the results; `tight` counts those that are equal to it.
void check_pairs(const Operator& op, Type type, const std::vector<Value>& values, const std::vector<std::size_t>& ends,
                 bool second_matters) {
    ir::Pipeline pipeline;
    const ir::VarId va = ir::new_variable(pipeline, "a", type), vb = ir::new_variable(pipeline, "b", type);
    const ir::Expr e = op.node(ir::variable(va, type), ir::variable(vb, type));
    const bool floats = ir::is_float(type);
    const Value nan = floats ? reference::real(type, kNan) : Value{};
    const std::size_t count = values.size();
    // hulls[b] of one range of a, for each b; the last one is of b = NaN.
    std::vector<Hull> hulls(count + 1);
    for (std::size_t i = 0; i < ends.size(); ++i) {
        for (std::size_t j = i; j < ends.size(); ++j) {
            for (const bool a_nan : {false, true}) {
                if (a_nan && !floats) continue;
                for (std::size_t b = 0; b <= count; ++b) {
                    if (b == count && !floats) continue;
                    if (!second_matters && b > 0) break;
                    const Value& second = b == count ? nan : values[b];
                    hulls[b] = {};
                    for (std::size_t a = ends[i]; a <= ends[j]; ++a) hulls[b].add(op.apply(values[a], second));
                    if (a_nan) hulls[b].add(op.apply(nan, second));
                }
                for (std::size_t k = 0; k < (second_matters ? ends.size() : 1); ++k) {
                    for (std::size_t l = k; l < (second_matters ? ends.size() : 1); ++l) {
                        for (const bool b_nan : {false, true}) {
                            if (b_nan && (!floats || !second_matters)) continue;
                            Hull hull;
                            if (second_matters) {
                                for (std::size_t b = ends[k]; b <= ends[l]; ++b) hull.add(hulls[b]);
                                if (b_nan) hull.add(hulls[count]);
                            } else {
                                hull = hulls[0];
                            }
                            const auto range = [&](std::size_t lo, std::size_t hi, bool with_nan) -> ValueRange {
                                if (floats) return FloatRange{values[lo].f, values[hi].f, with_nan};
                                return IntRange{wide(values[lo]), wide(values[hi])};
                            };
                            poly::ValueRanges ranges(pipeline, {});
                            const ValueRange a = range(ends[i], ends[j], a_nan), b = range(ends[k], ends[l], b_nan);
                            ranges.bind(va, a);
                            ranges.bind(vb, b);
                            const ValueRange result = ranges.of(e);
                            ASSERT_TRUE(hull.is_in(result))
                                << op.name << " of " << ir::name(type) << ": a in " << text(a) << ", b in " << text(b)
                                << " gives " << hull.text(ir::is_float(e->type)) << ", not " << text(result);
                        }
                    }
                }
            }
        }
    }
}

/// Places of the values near the ends, near 0 and at powers of two.
std::vector<std::size_t> places(const std::vector<Value>& values, const std::vector<int>& wanted) {
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto v = static_cast<int>(values[i].i);
        if (std::find(wanted.begin(), wanted.end(), v) != wanted.end()) result.push_back(i);
    }
    return result;
}

class Of8Bits : public ::testing::TestWithParam<Type> {
protected:
    Of8Bits() {
        for (Wide v = poly::type_range(GetParam()).lo; v <= poly::type_range(GetParam()).hi; ++v) {
            values_.push_back(number(GetParam(), v));
        }
        std::vector<int> wanted{-128, -127, -65, -64, -9, -8, -3,  -2,  -1,  0,   1,   2,
                                3,    7,    8,   9,   63, 64, 126, 127, 128, 129, 254, 255};
        if (audit_factor() > 1) {
            for (int v = -128; v < 256; v += 5) wanted.push_back(v);
            for (int v = -17; v < 18; ++v) wanted.push_back(v);
        }
        ends_ = places(values_, wanted);
    }
    void check(const Operator& op, bool second_matters) { check_pairs(op, GetParam(), values_, ends_, second_matters); }
    std::vector<Value> values_;
    std::vector<std::size_t> ends_;
};

TEST_P(Of8Bits, BinaryOperators) {
    for (int op = 0; op < static_cast<int>(BinaryOp::And); ++op) check(binary(static_cast<BinaryOp>(op)), true);
}

TEST_P(Of8Bits, UnaryOperatorsAndCasts) {
    check(unary(UnaryOp::Neg), false);
    check(unary(UnaryOp::BitNot), false);
    check(square(), false);
    if (ir::is_signed_int(GetParam())) check(call(Builtin::Abs), false);
    for (const Type to : kIntegerTypes) {
        if (to == GetParam()) continue;
        check(cast(to, false), false);
        check(cast(to, true), false);
    }
    for (const Type to : kFloatTypes) check(cast(to, false), false);
}

INSTANTIATE_TEST_SUITE_P(ValueRanges, Of8Bits, ::testing::Values(Type::Int8, Type::UInt8),
                         [](const auto& tested) { return std::string(ir::name(tested.param)); });

class OfFloats : public ::testing::TestWithParam<Type> {
protected:
    OfFloats() {
        for (const double v : float_edges(GetParam())) values_.push_back(reference::real(GetParam(), v));
        // A dozen ends, spread over all values: with infinities and 0, neighbours of what rounds.
        const std::size_t step = std::max<std::size_t>(1, values_.size() / (audit_factor() > 1 ? 20 : 10));
        for (std::size_t i = 0; i < values_.size(); ++i) {
            const double v = values_[i].f;
            if (i % step == 0 || v == 0 || std::isinf(v)) ends_.push_back(i);
        }
    }
    void check(const Operator& op, bool second_matters) { check_pairs(op, GetParam(), values_, ends_, second_matters); }
    std::vector<Value> values_;
    std::vector<std::size_t> ends_;
};

TEST_P(OfFloats, BinaryOperators) {
    for (const BinaryOp op : {BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Min, BinaryOp::Max,
                              BinaryOp::Lt, BinaryOp::Le, BinaryOp::Eq, BinaryOp::Ne}) {
        check(binary(op), true);
    }
    for (const Builtin fn : {Builtin::Pow, Builtin::Hypot, Builtin::Atan2}) check(call_of_both(fn), true);
}

TEST_P(OfFloats, FunctionsAndCasts) {
    ends_.resize(values_.size());
    for (std::size_t i = 0; i < ends_.size(); ++i) ends_[i] = i;
    check(unary(UnaryOp::Neg), false);
    check(square(), false);
    for (int fn = 0; fn <= static_cast<int>(Builtin::IsNan); ++fn) {
        if (ir::arity(static_cast<Builtin>(fn)) == 1) check(call(static_cast<Builtin>(fn)), false);
    }
    for (const Type to : kIntegerTypes) check(cast(to, false), false);
    for (const Type to : kFloatTypes) {
        if (to != GetParam()) check(cast(to, false), false);
    }
}

INSTANTIATE_TEST_SUITE_P(ValueRanges, OfFloats, ::testing::ValuesIn(kFloatTypes),
                         [](const auto& tested) { return std::string(ir::name(tested.param)); });

class OfIntegers : public ::testing::TestWithParam<Type> {};

/// To floats above all: there 64 bits are rounded, once.
TEST_P(OfIntegers, CastsOfEdges) {
    const Type from = GetParam();
    std::vector<Value> values;
    for (const Wide v : edges(from)) values.push_back(number(from, v));
    std::vector<std::size_t> ends(values.size());
    for (std::size_t i = 0; i < ends.size(); ++i) ends[i] = i;
    for (const Type to : kFloatTypes) check_pairs(cast(to, false), from, values, ends, false);
    for (const Type to : kIntegerTypes) {
        if (to == from) continue;
        check_pairs(cast(to, false), from, values, ends, false);
        check_pairs(cast(to, true), from, values, ends, false);
    }
}

INSTANTIATE_TEST_SUITE_P(ValueRanges, OfIntegers, ::testing::ValuesIn(kIntegerTypes),
                         [](const auto& tested) { return std::string(ir::name(tested.param)); });

/// 2^54 + 2^30 + 1 lies above the middle of two floats; as a double it lies on it.
TEST(ValueRanges, OfAnInt64AsAFloatIsRoundedOnce) {
    ir::Pipeline pipeline;
    const ir::VarId v = ir::new_variable(pipeline, "v", Type::Int64);
    poly::ValueRanges ranges(pipeline, {});
    const Wide least = (Wide{1} << 54) + (Wide{1} << 30) + 1;
    ranges.bind(v, IntRange{least, least});
    const auto range = std::get<FloatRange>(ranges.of(ir::cast(Type::Float32, ir::variable(v, Type::Int64))));
    EXPECT_EQ(range, (FloatRange{0x1p54 + 0x1p31, 0x1p54 + 0x1p31, false}));
}

/// Both are far beyond what is counted; their difference is anything.
TEST(ValueRanges, NumbersTooLargeToCountDoNotCancel) {
    ir::Pipeline pipeline;
    const ir::Expr x = ir::variable(ir::new_variable(pipeline, "x"), Type::Int32);
    poly::ValueRanges ranges(pipeline, {});
    ranges.bind(0, IntRange{99999, 99999});
    ir::Expr power = x;
    for (int i = 0; i < 7; ++i) power = ir::binary(BinaryOp::Mul, power, x);
    const ir::Expr more = ir::binary(BinaryOp::Mul, power, x);
    EXPECT_EQ(ranges.integer(ir::binary(BinaryOp::Sub, more, power)), poly::type_range(Type::Int32));
    EXPECT_EQ(ranges.integer(ir::binary(BinaryOp::Add, more, ir::unary(UnaryOp::Neg, power))),
              poly::type_range(Type::Int32));
}

/// `if a == at then value else 0`
ir::Expr if_at(const ir::Expr& a, std::int64_t at, const ir::Expr& value) {
    const ir::Expr condition = ir::binary(BinaryOp::Eq, a, ir::int_constant(Type::Int32, at));
    return ir::select(condition, value, ir::int_constant(Type::Int32, 0));
}

ir::Expr sum_of(const std::vector<ir::Expr>& terms) {
    ir::Expr sum = terms.front();
    for (std::size_t i = 1; i < terms.size(); ++i) sum = ir::binary(BinaryOp::Add, sum, terms[i]);
    return sum;
}

TEST(ValueRanges, OfATermThatAnIndexChoosesAreThoseOfTheTerms) {
    const ir::Pipeline pipeline;
    poly::ValueRanges ranges(pipeline, {}, {});
    ranges.bind(0, poly::IntRange{-5, 5});
    ranges.bind(1, poly::IntRange{-5, 5});
    const ir::Expr a = ir::variable(0, Type::Int32), b = ir::variable(1, Type::Int32);
    const auto number = [](std::int64_t n) { return ir::int_constant(Type::Int32, n); };
    const auto of = [&](const std::vector<ir::Expr>& terms) {
        return std::get<poly::IntRange>(ranges.of(sum_of(terms)));
    };
    EXPECT_EQ(of({if_at(a, 0, number(7)), if_at(a, 1, number(60)), if_at(a, 3, number(9))}), (poly::IntRange{0, 60}));
    EXPECT_EQ(of({if_at(a, 0, number(-7)), if_at(a, 1, b)}), (poly::IntRange{-7, 5}));
    // One place twice, two indices, or another term: terms add up.
    EXPECT_EQ(of({if_at(a, 0, number(7)), if_at(a, 0, number(60))}), (poly::IntRange{0, 67}));
    EXPECT_EQ(of({if_at(a, 0, number(7)), if_at(b, 1, number(60))}), (poly::IntRange{0, 67}));
    EXPECT_EQ(of({if_at(a, 0, number(7)), if_at(a, 1, number(60)), b}), (poly::IntRange{-5, 65}));
    // Rows and columns of a table.
    const auto at_both = [&](std::int64_t row, std::int64_t column, std::int64_t value) {
        const ir::Expr both = ir::binary(BinaryOp::And, ir::binary(BinaryOp::Eq, a, number(row)),
                                         ir::binary(BinaryOp::Eq, b, number(column)));
        return ir::select(both, number(value), number(0));
    };
    EXPECT_EQ(of({at_both(0, 0, 4), at_both(0, 1, 5), at_both(1, 0, 6)}), (poly::IntRange{0, 6}));
}

/// What was found out with a variable's range is forgotten with it.
TEST(ValueRanges, FollowAVariableThatIsBoundAgain) {
    ir::Pipeline pipeline;
    const ir::VarId v = ir::new_variable(pipeline, "v");
    const ir::Expr e = ir::binary(BinaryOp::Add, ir::variable(v, Type::Int32), ir::int_constant(Type::Int32, 1));
    poly::ValueRanges ranges(pipeline, {});
    ranges.bind(v, IntRange{0, 5});
    EXPECT_EQ(ranges.integer(e), (poly::IntRange{1, 6}));
    ranges.bind(v, IntRange{-7, 7});
    EXPECT_EQ(ranges.integer(e), (poly::IntRange{-6, 8}));
    EXPECT_EQ(ranges.unwrapped(e), (poly::IntRange{-6, 8}));
}

TEST(ValueRanges, HoldTheValuesOfRandomExpressions) {
    const int count = 3000 * audit_factor();
    for (int i = 0; i < count; ++i) {
        const unsigned seed = audit_seed() * 1'000'003u + static_cast<unsigned>(i);
        RandomExpr make(seed, {.floats = true, .constants = 30, .variables = 2, .sizes = 2});
        std::vector<IntRange> sizes;
        for (std::size_t s = 0; s < make.pipeline.sizes.size(); ++s) {
            const auto range = std::get<IntRange>(make.any_range(Type::Int32));
            constexpr Wide kLimit = Wide{1} << 30;
            sizes.push_back({std::clamp(range.lo, -kLimit, kLimit), std::clamp(range.hi, -kLimit, kLimit)});
        }
        std::vector<ValueRange> variables;
        for (std::size_t v = 0; v < make.index_variables.size(); ++v) variables.push_back(make.any_range(Type::Int32));
        const int kind = make.pick(0, 9);
        const int depth = make.pick(1, 5);
        const ir::Expr e = kind == 0   ? make.boolean(depth)
                           : kind <= 4 ? make.real(make.one_of(kFloatTypes), depth)
                                       : make.integer(make.one_of(kIntegerTypes), depth);
        poly::ValueRanges ranges(make.pipeline, sizes);
        for (std::size_t v = 0; v < variables.size(); ++v) ranges.bind(make.index_variables[v], variables[v]);
        const ValueRange range = ranges.of(e);
        const bool is_integer = ir::is_int(e->type);
        const IntRange unwrapped = is_integer ? ranges.unwrapped(e) : IntRange{};
        for (int trial = 0; trial < 12; ++trial) {
            Oracle oracle;
            for (const IntRange& size : sizes) oracle.sizes.push_back(make.inside(Type::Int32, size));
            for (const auto& param : make.pipeline.params) oracle.params.push_back(make.any(param.type));
            for (std::size_t v = 0; v < variables.size(); ++v) {
                oracle.variables[make.index_variables[v]] = make.inside(Type::Int32, variables[v]);
            }
            const Value value = oracle(e);
            ASSERT_TRUE(is_in(range, value)) << "seed " << seed << ": " << ir::to_string(make.pipeline, e) << " is "
                                             << text(value) << ", not in " << text(range);
            if (is_integer && poly::fits(unwrapped, e->type)) {
                ASSERT_TRUE(is_in(unwrapped, value)) << "seed " << seed << ": " << ir::to_string(make.pipeline, e)
                                                     << " is " << text(value) << ", not in " << text(unwrapped);
            }
        }
    }
}

/// A condition about a part of `e`, or about anything.
ir::Expr condition_about(RandomExpr& make, const ir::Expr& e, int depth) {
    constexpr std::array kComparisons{BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt,
                                      BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge};
    if (depth > 0 && make.chance(50)) {
        return ir::binary(make.one_of(std::array{BinaryOp::And, BinaryOp::Or}), condition_about(make, e, depth - 1),
                          condition_about(make, e, depth - 1));
    }
    if (make.chance(10)) return ir::unary(UnaryOp::Not, condition_about(make, e, depth - 1));
    if (make.chance(10)) return make.boolean(2);
    std::vector<ir::Expr> parts;
    ir::for_each_node(e, [&](const ir::Expr& node) {
        if (node->type != Type::Bool) parts.push_back(node);
    });
    if (parts.empty()) return make.boolean(2);
    const ir::Expr part = make.one_of(parts);
    ir::Expr other;
    if (make.chance(60)) {
        const Value v = make.any(part->type);
        other = ir::is_float(part->type) ? ir::float_constant(part->type, v.f) : ir::int_constant(part->type, v.i);
    } else {
        other = ir::is_float(part->type) ? make.real(part->type, 1) : make.integer(part->type, 1);
    }
    return make.chance(70) ? ir::binary(make.one_of(kComparisons), part, other)
                           : ir::binary(make.one_of(kComparisons), other, part);
}

/// Where a condition holds, and where it does not: NaN fails most comparisons, and integers wrap.
TEST(ValueRanges, HoldTheValuesBehindRandomConditions) {
    const int count = 6000 * audit_factor();
    int narrower = 0, tried = 0;
    for (int i = 0; i < count; ++i) {
        const unsigned seed = audit_seed() * 1'000'033u + static_cast<unsigned>(i);
        RandomExpr make(seed, {.floats = true, .constants = 40, .variables = 2, .sizes = 1});
        std::vector<ValueRange> variables;
        for (std::size_t v = 0; v < make.index_variables.size(); ++v) variables.push_back(make.any_range(Type::Int32));
        const auto random = [&](Type type) {
            return ir::is_float(type) ? make.real(type, make.pick(1, 3)) : make.integer(type, make.pick(1, 3));
        };
        const Type type = make.chance(50) ? make.one_of(kFloatTypes) : make.one_of(kIntegerTypes);
        const ir::Expr e = random(type);
        const ir::Expr condition = condition_about(make, e, 2);
        const bool truth = make.chance(60);
        const ir::Expr choice = truth ? ir::select(condition, e, random(type)) : ir::select(condition, random(type), e);
        poly::ValueRanges ranges(make.pipeline, {IntRange{1, 1000}});
        ranges.believe_float_conditions();
        for (std::size_t v = 0; v < variables.size(); ++v) ranges.bind(make.index_variables[v], variables[v]);
        ranges.of(condition);  // binds its lets
        const ValueRange anywhere = ranges.of(e), range = ranges.of(e, {{condition, truth}}),
                         either = ranges.of(choice);
        ASSERT_EQ(ranges.of(e), anywhere) << "seed " << seed;
        if (!(range == anywhere)) ++narrower;
        for (int trial = 0; trial < 20; ++trial) {
            Oracle oracle;
            oracle.sizes.push_back(make.inside(Type::Int32, IntRange{1, 1000}));
            for (const auto& param : make.pipeline.params) oracle.params.push_back(make.any(param.type));
            for (std::size_t v = 0; v < variables.size(); ++v) {
                oracle.variables[make.index_variables[v]] = make.inside(Type::Int32, variables[v]);
            }
            for (const ir::Expr& root : {e, condition, choice}) oracle.know_lets_of(root);
            const Value chosen = oracle(choice);
            ASSERT_TRUE(is_in(either, chosen)) << "seed " << seed << ": " << ir::to_string(make.pipeline, choice)
                                               << " is " << text(chosen) << ", not in " << text(either);
            if ((oracle(condition).i != 0) != truth) continue;
            ++tried;
            const Value value = oracle(e);
            ASSERT_TRUE(is_in(range, value)) << "seed " << seed << ": " << ir::to_string(make.pipeline, e) << " where "
                                             << ir::to_string(make.pipeline, condition) << " is " << truth << " is "
                                             << text(value) << ", not in " << text(range);
        }
    }
    EXPECT_GT(narrower, count / 20);
    EXPECT_GT(tried, count);
}

/// `a * min(n / a, w)` is at most n, but for two roundings: every float32 near powers of two, and random ones.
TEST(ValueRanges, OfWhatIsScaledToFit) {
    ir::Pipeline pipeline;
    for (const Type type : {Type::Float32, Type::Float64}) {
        const ir::Expr a = ir::variable(ir::new_variable(pipeline, "a", type), type);
        const ir::Expr n = ir::variable(ir::new_variable(pipeline, "n", type), type);
        const ir::Expr w = ir::variable(ir::new_variable(pipeline, "w", type), type);
        const ir::VarId ids[] = {ir::as<ir::Variable>(a)->id, ir::as<ir::Variable>(n)->id, ir::as<ir::Variable>(w)->id};
        const ir::Expr e = ir::binary(BinaryOp::Mul, a, ir::binary(BinaryOp::Min, w, ir::binary(BinaryOp::Div, n, a)));
        std::mt19937_64 rng(5);
        const auto random = [&](double least, double most) {
            const double v = std::exp(std::uniform_real_distribution<double>(std::log(least), std::log(most))(rng));
            const double near = rng() % 3 == 0 ? std::exp2(std::round(std::log2(v))) : v;
            return ir::round_to(type, near * (1 + static_cast<double>(static_cast<int>(rng() % 9) - 4) *
                                                      (type == Type::Float32 ? 0x1p-23 : 0x1p-52)));
        };
        for (int i = 0; i < 20000; ++i) {
            const bool tiny = i % 5 == 0;
            const double of_a = random(1, 1e9), of_n = random(tiny ? 1e-44 : 1, tiny ? 1e-30 : 1e6);
            poly::ValueRanges ranges(pipeline, {});
            ranges.bind(ids[0], FloatRange{1, of_a, false});
            ranges.bind(ids[1], FloatRange{0, of_n, false});
            Oracle oracle;
            oracle.variables[ids[0]] = reference::real(type, of_a);
            oracle.variables[ids[1]] = reference::real(type, of_n);
            oracle.variables[ids[2]] = reference::real(type, i % 7 == 0 ? kNan : random(1e-3, 1e12));
            const ValueRange range = ranges.of(e);
            const Value value = oracle(e);
            ASSERT_TRUE(is_in(range, value))
                << i << ": " << of_a << ", " << of_n << ": " << text(value) << " is not in " << text(range);
            const double most = std::get<FloatRange>(range).hi;
            ASSERT_TRUE(tiny || most <= of_n * (1 + 0x1p-20)) << i << ": " << most;
        }
    }
}

TEST(ValueRanges, ConditionsOnFloats) {
    ir::Pipeline pipeline;
    const ir::VarId v = ir::new_variable(pipeline, "v", Type::Float32);
    const ir::Expr x = ir::variable(v, Type::Float32);
    const auto number = [](double n) { return ir::float_constant(Type::Float32, n); };
    const auto scaled = ir::cast(Type::Int32, ir::binary(BinaryOp::Mul, x, number(256)));
    poly::ValueRanges ranges(pipeline, {});
    const ir::Expr inside =
        ir::binary(BinaryOp::And, ir::binary(BinaryOp::Le, number(0), x), ir::binary(BinaryOp::Lt, x, number(1)));
    const ir::Expr outside =
        ir::binary(BinaryOp::Or, ir::binary(BinaryOp::Lt, x, number(0)), ir::binary(BinaryOp::Ge, x, number(1)));
    // Code of another kind of floats must not count on it.
    EXPECT_EQ(std::get<IntRange>(ranges.of(scaled, {{inside, true}})), poly::type_range(Type::Int32));
    ranges.believe_float_conditions();
    EXPECT_EQ(std::get<IntRange>(ranges.of(scaled, {{inside, true}})), (IntRange{0, 255}));
    // NaN is not outside either, and gives 0.
    EXPECT_EQ(std::get<IntRange>(ranges.of(scaled, {{outside, false}})), (IntRange{0, 255}));
    EXPECT_EQ(std::get<IntRange>(ranges.of(scaled, {{outside, true}})), poly::type_range(Type::Int32));
    // float32 has numbers below 1 that 3 times are rounded to 3.
    const auto tripled = ir::cast(Type::Int32, ir::binary(BinaryOp::Mul, x, number(3)));
    EXPECT_EQ(std::get<IntRange>(ranges.of(tripled, {{inside, true}})), (IntRange{0, 2}));
    const auto rounded = ir::cast(Type::Int32, ir::binary(BinaryOp::Add, x, number(16777216)));
    EXPECT_EQ(std::get<IntRange>(ranges.of(rounded, {{inside, true}})), (IntRange{16777216, 16777216}));
    const auto close = ir::cast(Type::Int32, ir::binary(BinaryOp::Add, x, number(255)));
    EXPECT_EQ(std::get<IntRange>(ranges.of(close, {{inside, true}})), (IntRange{255, 256}));
}

}  // namespace
}  // namespace pipec::test::value_ranges_test
