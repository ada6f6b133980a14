// The affine form of integer expressions against their values: wherever the obligations hold, the form is the value
// modulo 2^n of the type, a condition's set says where it is true, and opaque values are in their intervals.
// PIPEC_AUDIT=100 looks at a hundred times as many expressions, PIPEC_AUDIT_SEED=7 at others.
#include <gtest/gtest.h>
#include <isl/point.h>
#include <isl/val.h>

#include <iostream>

#include "ir/build.h"
#include "ir/print.h"
#include "ir/widen.h"
#include "oracle.h"
#include "poly/isl_affine.h"
#include "random_expr.h"
#include "reference/exact.h"

namespace pipec::poly::affine_test {
namespace {

using ir::Type;
using test::Oracle;
using test::RandomExpr;
using test::Value;

constexpr Wide kSizeLimit = Wide{1} << 30;

isl::val to_val(const IslContext& isl, Wide v) {
    const bool negative = v < 0;
    const auto magnitude = static_cast<unsigned long>(negative ? -v : v);
    const isl::val result = isl::manage(isl_val_int_from_ui(isl.ctx().get(), magnitude));
    return negative ? result.neg() : result;
}

/// `v` modulo 2^64.
std::uint64_t low_bits(const IslContext& isl, const isl::val& v) {
    const isl::val modulus = to_val(isl, Wide{1} << 32).mul(to_val(isl, Wide{1} << 32));
    std::uint64_t result = 0;
    isl_val_get_abs_num_chunks(v.mod(modulus).get(), sizeof result, &result);
    return result;
}

/// One point: values of sizes, variables and opaque parameters.
class Point {
public:
    Point(const IslContext& isl, Oracle& oracle, const AffineTranslator& affine)
        : isl_(isl), oracle_(oracle), affine_(affine) {}

    /// Null outside of the function's domain.
    isl::val at(const isl::pw_aff& function) {
        isl_space* space = isl_pw_aff_get_domain_space(function.get());
        isl_point* point = isl_point_zero(isl_space_copy(space));
        for (const Name name : names_in(function)) {
            const std::string id = isl_.id(name).name();
            const int position = isl_space_find_dim_by_name(space, isl_dim_param, id.c_str());
            point =
                isl_point_set_coordinate_val(point, isl_dim_param, position, to_val(isl_, value_of(name)).release());
        }
        isl_space_free(space);
        const isl::val result = isl::manage(isl_pw_aff_eval(function.copy(), point));
        return result.is_nan() ? isl::val() : result;
    }

    bool is_in(const isl::set& set) {
        isl_set* fixed = set.copy();
        for (const Name name : names_in(set)) {
            const std::string id = isl_.id(name).name();
            const int position = isl_set_find_dim_by_name(fixed, isl_dim_param, id.c_str());
            fixed = isl_set_fix_val(fixed, isl_dim_param, static_cast<unsigned>(position),
                                    to_val(isl_, value_of(name)).release());
        }
        return !isl::manage(fixed).is_empty();
    }

    /// This point's values of the names in a function.
    isl::set mentioning(const isl::pw_aff& function) {
        isl::set result = isl_.everything();
        for (const Name name : names_in(function)) {
            const isl::pw_aff value = isl_.everything().pw_aff_on_domain(to_val(isl_, value_of(name)));
            result = result.intersect(isl_.value(name).eq_set(value));
        }
        return result;
    }

    /// All operands are in the ranges of their types.
    bool hold(const std::vector<int>& obligations) {
        return std::all_of(obligations.begin(), obligations.end(), [&](int o) {
            const NoWrap& n = affine_.obligation(o);
            const isl::val v = at(n.value);
            const IntRange bounds = type_range(n.operand->type);
            return v.is_null() || (v.ge(to_val(isl_, bounds.lo)) && v.le(to_val(isl_, bounds.hi)));
        });
    }

private:
    Wide value_of(Name name) {
        switch (name.kind) {
            case Name::Kind::Size: return test::wide(oracle_.sizes.at(static_cast<std::size_t>(name.index)));
            case Name::Kind::Variable: return test::wide(oracle_.variables.at(name.index));
            default: return test::wide(oracle_(affine_.opaque(name.index)));
        }
    }
    const IslContext& isl_;
    Oracle& oracle_;
    const AffineTranslator& affine_;
};

/// The opaque values that occur are in the intervals that proofs give them.
void check_opaque_values(Oracle& oracle, const AffineTranslator& affine, ValueRanges& ranges,
                         const std::vector<Name>& names) {
    for (const Name name : names) {
        if (name.kind != Name::Kind::Opaque) continue;
        const ir::Expr& e = affine.opaque(name.index);
        ASSERT_TRUE(test::is_in(ranges.of(e), oracle(e)));
    }
}

struct Counts {
    int values = 0, conditions = 0, loose = 0, skipped = 0, abandoned = 0;
};

/// One random expression at random points.
void check(unsigned seed, Counts& counts) {
    RandomExpr make(seed, {.floats = seed % 4 == 0, .constants = 75, .variables = 2, .sizes = 2});
    IslContext isl(200'000);
    std::vector<IntRange> sizes;
    for (int s = 0; s < 2; ++s) {
        // A size that `where` fixes makes constants of products, which may wrap.
        const Wide fixed = Wide{make.chance(30) ? 3 : 1} << make.pick(0, 28);
        sizes.push_back(make.chance(30)   ? IntRange{fixed, fixed}
                        : make.chance(50) ? IntRange{1, kSizeLimit - 1}
                                          : IntRange{1, 1 + make.pick(0, 3000)});
    }
    std::vector<IntRange> variables;
    for (int v = 0; v < 2; ++v) {
        const auto range = std::get<IntRange>(make.any_range(Type::Int32));
        variables.push_back(make.chance(50) ? range : IntRange{make.pick(-9, 0), make.pick(1, 5000)});
    }
    ValueRanges ranges(make.pipeline, sizes);
    for (std::size_t v = 0; v < variables.size(); ++v) ranges.bind(make.index_variables[v], variables[v]);
    AffineTranslator affine(isl, ranges);
    const bool condition = make.chance(30);
    const int depth = make.pick(1, 4);
    const Type type = make.chance(60) ? Type::Int32 : make.one_of(test::kIntegerTypes);
    const ir::Expr e = condition ? make.boolean(depth) : make.integer(type, depth);
    const auto describe = [&](const Value& value) {
        return "seed " + std::to_string(seed) + ": " + ir::to_string(make.pipeline, e) + " is " + test::text(value);
    };
    try {
        std::optional<Translated<isl::pw_aff>> value, exact, index;
        std::optional<Translated<isl::set>> holds, fails;
        if (condition) {
            holds = affine.condition(e, true);
            fails = affine.condition(e, false);
        } else {
            value = affine.integer(e);
            exact = affine.exact_integer(e);
            for_each_node(e, [&](const ir::Expr& part) {  // comparisons make operands that may wrap opaque
                if (ir::is_int(part->type) && make.pick(0, 1) == 0) {
                    affine.condition(ir::binary(ir::BinaryOp::Lt, part, ir::int_constant(part->type, 1)));
                }
            });
            index = affine.index(e);
        }
        for (int trial = 0; trial < 6; ++trial) {
            Oracle oracle;
            oracle.know_lets_of(e);
            for (const IntRange& size : sizes) oracle.sizes.push_back(make.inside(Type::Int32, size));
            for (const auto& param : make.pipeline.params) oracle.params.push_back(make.any(param.type));
            for (std::size_t v = 0; v < variables.size(); ++v) {
                oracle.variables[make.index_variables[v]] = make.inside(Type::Int32, variables[v]);
            }
            const Value expected = oracle(e);
            Point point(isl, oracle, affine);
            if (condition) {
                check_opaque_values(oracle, affine, ranges, names_in(holds->value));
                for (const auto* truth : {&*holds, &*fails}) {
                    if (!point.hold(truth->no_wrap)) {
                        ++counts.skipped;
                        continue;
                    }
                    ++counts.conditions;
                    // A side that is too complex is said to be everywhere.
                    const bool inside = point.is_in(truth->value), wanted = (expected.i != 0) == (truth == &*holds);
                    ASSERT_TRUE(inside || !wanted) << describe(expected) << "\n" << truth->value;
                    counts.loose += inside != wanted ? 1 : 0;
                }
                continue;
            }
            for (const auto* form : {&*value, &*exact, &*index}) {
                check_opaque_values(oracle, affine, ranges, names_in(form->value));
                ASSERT_TRUE(point.is_in(affine.with_opaque_bounds(point.mentioning(form->value))))
                    << describe(expected);
                if (!point.hold(form->no_wrap)) {
                    ++counts.skipped;
                    continue;
                }
                ++counts.values;
                const isl::val actual = point.at(form->value);
                ASSERT_FALSE(actual.is_null()) << describe(expected) << "\n" << form->value;
                if (form == &*exact) {
                    ASSERT_TRUE(actual.eq(to_val(isl, test::wide(expected)))) << describe(expected) << "\n" << actual;
                }
                const std::uint64_t modulo =
                    test::wide(test::number(type, static_cast<Wide>(low_bits(isl, actual)))) == test::wide(expected);
                ASSERT_TRUE(modulo) << describe(expected) << "\n" << actual << " by " << form->value;
            }
        }
    } catch (const isl::exception_quota&) {
        ++counts.abandoned;  // too much for isl, which refuses the program then
    }
}

/// A condition of `where` in exact integers, by its widened form.
void check_exact(unsigned seed, int& conditions, int& loose) {
    RandomExpr make(seed, {.floats = seed % 4 == 0, .constants = 75, .variables = 0, .sizes = 2});
    IslContext isl(200'000);
    ValueRanges ranges(make.pipeline, std::vector<IntRange>(2, IntRange{-kSizeLimit, kSizeLimit}));
    AffineTranslator affine(isl, ranges, Integers::Exact);
    const ir::Expr e = make.boolean(make.pick(1, 4));
    const ir::Expr wide = ir::widened(e);
    try {
        const isl::set holds = affine.condition(wide).value, fails = affine.condition(wide, false).value;
        for (int trial = 0; trial < 6; ++trial) {
            Oracle oracle;
            oracle.know_lets_of(wide);
            for (int s = 0; s < 2; ++s) {
                oracle.sizes.push_back(make.inside(Type::Int32, IntRange{1 - kSizeLimit, kSizeLimit - 1}));
            }
            for (const auto& param : make.pipeline.params) oracle.params.push_back(make.any(param.type));
            const auto leaf = [&](const ir::Expr& n) { return oracle(n); };
            bool expected = false;
            try {
                expected = reference::evaluate_exactly(e, leaf).i != 0;
            } catch (const reference::Error&) {
                continue;  // such a launch is refused
            }
            check_opaque_values(oracle, affine, ranges, names_in(holds));
            Point point(isl, oracle, affine);
            ++conditions;
            const std::string what = "seed " + std::to_string(seed) + ": " + ir::to_string(make.pipeline, e);
            ASSERT_TRUE(point.is_in(expected ? holds : fails)) << what;
            loose += point.is_in(expected ? fails : holds) ? 1 : 0;
        }
    } catch (const isl::exception_quota&) {
    }
}

TEST(AffineForms, OfConditionsInExactIntegers) {
    int conditions = 0, loose = 0;
    const int count = 500 * test::audit_factor();
    for (int i = 0; i < count && !::testing::Test::HasFailure(); ++i) {
        check_exact(test::audit_seed() * 1'000'003u + static_cast<unsigned>(i), conditions, loose);
    }
    EXPECT_GT(conditions, count);
    EXPECT_LT(loose, conditions / 20);
}

TEST(AffineForms, AreTheValuesOfRandomExpressions) {
    Counts counts;
    const int count = 1500 * test::audit_factor();
    for (int i = 0; i < count && !::testing::Test::HasFailure(); ++i) {
        check(test::audit_seed() * 1'000'003u + static_cast<unsigned>(i), counts);
    }
    std::cout << counts.values << " values, " << counts.conditions << " conditions, " << counts.skipped
              << " with an obligation that does not hold, " << counts.abandoned << " expressions too hard\n";
    EXPECT_GT(counts.values, count);
    EXPECT_GT(counts.conditions, count / 2);
    EXPECT_LT(counts.abandoned, count / 20);
    EXPECT_LT(counts.loose, counts.conditions / 20);
}

}  // namespace
}  // namespace pipec::poly::affine_test
