// From ir expressions to isl: integer expressions as piecewise quasi-affine functions, conditions as sets.
//
// What is not affine (data, scalar parameters, products, floats) becomes an *opaque* parameter with a numeric interval;
// expressions that are equal up to the names of bound variables share one. A condition on data is the set where an
// opaque 0/1 parameter is 1, its negation the set where it is 0: both are exact in the opaque value, so no
// approximation needs a direction.
//
// Minima, counts of comparisons and chains of `or` make pieces that multiply. What has more of them than proofs ever
// need (kMostPieces) becomes opaque, too: its interval is kept, and a condition made of it selects a value instead of
// splitting the domain.
//
// The analysis computes in unbounded integers, the program modulo 2^n. For + - * both agree modulo 2^n, so a sum that
// is proved to lie within bounds is right however it was computed. Only an operand whose value matters by itself (of /
// % min max and comparisons) must not have wrapped: such operands are returned as obligations, or, where data is
// involved, treated as opaque values of their type.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/canonical.h"
#include "ir/pipeline.h"
#include "ir/unique_nodes.h"
#include "poly/isl_context.h"
#include "poly/value_ranges.h"

namespace pipec::poly {

/// An operand that must fit its type, wherever the expression around it is evaluated.
struct NoWrap {
    ir::Expr operand;
    isl::pw_aff value;
};

/// A translated expression and the obligations (indices into AffineTranslator::obligations) that it relies on.
template <class T>
struct Translated {
    T value;
    std::vector<int> no_wrap;
};

/// What an integer is at least and at most; empty where nothing is known.
struct CastLimits {
    std::optional<isl::pw_aff> least, greatest;
};

/// Where a condition holds and where it does not: at least there. Where `exact`, and for one value of each opaque
/// parameter, the two share no point.
struct Truth {
    isl::set holds, fails;
    bool exact = true;
};

/// Whether integers are those of the program, which wrap, or unbounded ones: `where` and extents are computed exactly.
enum class Integers { Wrapping, Exact };

/// The expressions behind opaque parameters. Those that differ in the names of bound variables alone share one: a text
/// that stands twice binds its loop's variable twice.
class Opaques {
public:
    /// `plain` is `e` without names for parts of it; it decides which expressions are equal.
    int number(const ir::Expr& e, const ir::Expr& plain);
    std::optional<int> known(const ir::Expr& plain);  ///< the number, if it has one already
    [[nodiscard]] const ir::Expr& at(std::size_t number) const { return expressions_.at(number); }

private:
    std::vector<ir::Expr> expressions_;
    ir::CanonicalVariables canonical_;
    ir::UniqueExpressions unique_;
    std::unordered_map<const ir::Node*, int> numbers_;  ///< by their unique nodes
};

class AffineTranslator {
public:
    /// `pipeline`, where given: what the definitions of its stages say of their values is known of every read.
    AffineTranslator(const IslContext& isl, ValueRanges& ranges, Integers integers = Integers::Wrapping,
                     const ir::Pipeline* pipeline = nullptr)
        : isl_(isl), ranges_(ranges), integers_(integers), pipeline_(pipeline) {}

    /// `condition`, over sizes and parameters, holds for every launch: what it says of a parameter is known from now on
    /// wherever that occurs.
    void assume(const ir::Expr& condition);

    /// Where a condition of `where` holds: a set over sizes and parameters (as opaque values), with nothing said of
    /// others. Only of exact integers.
    isl::set launch_condition(const ir::Expr& condition);

    /// Of an operand: that it does not wrap is not to be relied upon.
    void may_wrap(const ir::Node* operand) { may_wrap_.insert(operand); }

    /// The value in unbounded integers, modulo 2^n of the type the program's value.
    Translated<isl::pw_aff> integer(const ir::Expr& e);
    /// The value itself: as `integer`, with the obligation that it did not wrap.
    Translated<isl::pw_aff> exact_integer(const ir::Expr& e);
    /// The value of an index, as `integer`. Where it may wrap, terms of it that have been compared before, as in
    /// `if 0 <= a - k and a - k < n then b(a - k)`, stand for what they were there: the wrapped difference.
    Translated<isl::pw_aff> index(const ir::Expr& e);
    /// Where a Bool expression is `truth`.
    Translated<isl::set> condition(const ir::Expr& e, bool truth = true);

    /// A let that the expressions to come may mention.
    void bind(ir::VarId var, const ir::Expr& value);
    /// What a let gives a variable; null for other variables.
    [[nodiscard]] ir::Expr let_value(ir::VarId var) const {
        const auto let = lets_.find(var);
        return let == lets_.end() ? nullptr : let->second;
    }

    /// Nothing on the way to the value of an integer wraps, as far as intervals say.
    [[nodiscard]] bool fits_its_type(const ir::Expr& e) const { return fits(ranges_.unwrapped(e), e->type); }

    /// The limits of a float that becomes an int32, over indices and sizes, as they are known of its value.
    CastLimits limits_of_cast(const ir::Expr& e);

    [[nodiscard]] const NoWrap& obligation(int index) const { return obligations_.at(static_cast<std::size_t>(index)); }
    /// The expression behind an opaque parameter.
    [[nodiscard]] const ir::Expr& opaque(int index) const { return opaques_.at(static_cast<std::size_t>(index)); }
    /// `set` with what is known of the opaque parameters that occur in it: their intervals, and what is assumed.
    [[nodiscard]] isl::set with_opaque_bounds(isl::set set) const;

private:
    isl::pw_aff value(const ir::Expr& e);
    isl::pw_aff operand(const ir::Expr& e);
    isl::pw_aff plain_operand(const ir::Expr& e);
    const Truth& truth(const ir::Expr& e);
    isl::pw_aff compute(const ir::Expr& e);
    isl::pw_aff limited(const ir::Expr& e, isl::pw_aff result);
    Truth limited(const ir::Expr& e, Truth result);
    Truth opaque_truth(const ir::Expr& e);
    void forget_data(Truth& a, Truth& b) const;
    int terms(const ir::Expr& e);
    isl::pw_aff compute_binary(const ir::Expr& e, const ir::Binary& n);
    ir::Expr for_each_value(const ir::Expr& e, const ir::Binary& n);
    isl::pw_aff compute_cast(const ir::Expr& e, const ir::Cast& n);
    Truth compute_truth(const ir::Expr& e);
    ir::Expr without_lets(const ir::Expr& e);
    isl::pw_aff make_opaque(const ir::Expr& e);
    std::optional<isl::pw_aff> known_opaque(const ir::Expr& e);
    void describe(const ir::Expr& e, Name name);
    void describe_place(const ir::Reduce& reduce, Name name);
    void describe_scaled(const ir::Binary& quotient, Name name);
    void describe_block(const ir::Binary& quotient, Name name);
    bool describe_read(const ir::Read& read, Name name);
    static ir::Expr definition_at(const ir::Read& read, const ir::Stage& stage, const ir::Expr& definition);
    bool describe_by_definition(const ir::Read& read, const ir::Stage& stage, const ir::Expr& definition, Name name);
    struct FloatLimit {
        isl::pw_aff value;  ///< integers
        Wide lo, hi;        ///< between which these are
    };
    std::optional<FloatLimit> rounded(FloatLimit limit, ir::Type type, bool upper) const;
    [[nodiscard]] FloatLimit scaled(FloatLimit limit, long n, long d, bool upper) const;
    std::optional<FloatLimit> float_limit(const ir::Expr& e, bool upper);
    std::optional<FloatLimit> limit_by_operator(const ir::Expr& e, bool upper);
    std::optional<FloatLimit> limit_of_part(const ir::Binary& product, ir::Type type, bool upper);
    std::optional<FloatLimit> limit_of_integer(const ir::Expr& e, ir::Type type, bool upper);
    std::optional<FloatLimit> limit_of_read(const ir::Expr& e, const ir::Read& read, bool upper);
    std::optional<isl::pw_aff> cast_limit(const ir::Cast& cast, bool upper);
    void describe_cast(const ir::Expr& e, Name name);
    void tie_to_float_conditions(const ir::Expr& e, Name name);
    /// An opaque value: a comparison of floats, or an integer that depends on floats.
    struct OfFloats {
        Name name;
        ir::Expr value;
        std::vector<std::size_t> conditions;  ///< of an integer: those that say something of it
    };
    void tie(const OfFloats& condition, std::size_t number, OfFloats& integer);
    bool tie_by_limits(const OfFloats& condition, const OfFloats& integer,
                       std::optional<std::pair<Name, bool>> natural = {});
    [[nodiscard]] bool makes_natural(const OfFloats& condition, bool is_so, const OfFloats& other,
                                     const OfFloats& integer);
    /// The integer is in `range` where all of these have these values.
    void add_range_where(const OfFloats& integer, const IntRange& range,
                         const std::vector<std::pair<Name, bool>>& where);
    struct IntegerLimit {
        isl::pw_aff value;       ///< a function of the sizes
        bool in_domain = false;  ///< because the range of some stage has no other points
        bool is_open = false;    ///< that of a scan whose limit is being looked for: others decide
    };
    std::optional<IntegerLimit> integer_limit(const ir::Expr& e, bool upper);
    std::optional<IntegerLimit> limit_where(const ir::Expr& condition, const ir::Expr& e, bool upper);
    std::optional<IntegerLimit> limit_by_operation(const ir::Expr& e, bool upper);
    std::optional<IntegerLimit> limit_by_interval(const ir::Expr& e, bool upper);
    std::optional<IntegerLimit> limit_of_range(const ir::Expr& lo, const ir::Expr& hi, bool upper);
    std::optional<IntegerLimit> limit_of_stage(const ir::Read& read, bool upper);
    std::optional<IntegerLimit> limit_of_scan(int stage, const ir::Expr& definition, bool upper);
    void describe_limits(const ir::Expr& e, Name name, bool is_tied);
    void add_limit(const ir::Expr& limit, Name name, bool upper, bool strict = false);
    isl::val val(Wide v) const;
    isl::pw_aff constant(Wide v) const;
    template <class T, class F>
    const T& remembered(std::unordered_map<ir::Expr, Translated<T>>& known, const ir::Expr& e, F f);

    /// Something that always holds, and the opaque values with which it has to be said.
    struct Fact {
        isl::set set;
        std::vector<Name> opaques;
    };

    const IslContext& isl_;
    ValueRanges& ranges_;
    Integers integers_;
    const ir::Pipeline* pipeline_;
    // By nodes that stay alive here, so that no other node can get the address of one.
    std::unordered_map<ir::Expr, Translated<isl::pw_aff>> values_;
    std::unordered_map<ir::Expr, Translated<Truth>> conditions_;
    std::unordered_map<const ir::Node*, int> terms_;  ///< of conditions
    std::vector<Fact> facts_;
    using IntegerLimits = std::unordered_map<ir::Expr, std::optional<IntegerLimit>>;
    std::array<IntegerLimits, 2> integer_limits_;  ///< least and greatest
    /// Of scans, by stage: what is known, or taken to hold of what one reads of itself.
    std::array<std::map<int, std::optional<IntegerLimit>>, 2> scan_limits_;
    bool open_wins_ = false;  ///< a maximum with what is being looked for has no limit, rather than the other's
    std::unordered_map<ir::VarId, std::pair<ir::Expr, ir::Expr>>
        dimensions_;  ///< ranges of those of stages that are read
    std::vector<OfFloats> float_conditions_, of_floats_;
    std::unordered_set<int> described_;     ///< opaque values of which it is known what their operators say
    std::unordered_map<int, bool> linked_;  ///< of opaque sums: whether a fact says what they are where nothing wraps
    bool prefers_known_ = false;            ///< an index is being translated, see index()
    int inside_definitions_ = 0;            ///< of stages that are read, one inside of another
    std::unordered_set<const ir::Node*> may_wrap_;
    std::unordered_map<ir::VarId, ir::Expr> lets_;
    std::unordered_map<ir::Expr, ir::Expr> without_lets_;
    Opaques opaques_;
    std::vector<NoWrap> obligations_;
    std::vector<int> open_obligations_;  ///< of the expression being translated
};

}  // namespace pipec::poly
