// Which values an expression can take, as numeric intervals: types, clamps, masks, casts and arithmetic bound what the
// affine analysis cannot follow (data, scalar parameters, products).
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "ir/pipeline.h"
#include "poly/model.h"

namespace pipec::poly {

/// Nodes that the terms of a reduction have together, at most, where its range is found from each of them.
inline constexpr std::int64_t kMostTermNodes = 10'000;

/// Wide enough for sums and products of 64-bit values.
__extension__ typedef __int128 Wide;

/// lo <= value <= hi.
struct IntRange {
    Wide lo, hi;
    friend bool operator==(const IntRange&, const IntRange&) = default;
};

/// Indices of domains are below it in magnitude: launches refuse sizes for which they are not.
constexpr long kIndexLimit = 1L << 30;
/// Of sizes, and of both ends of every domain: launches check that they are below the limit in magnitude.
inline constexpr IntRange kSizeRange{-kIndexLimit + 1, kIndexLimit - 1};

/// lo <= value <= hi, or, with `nan`, possibly NaN. The ends may be infinite: then the value may be.
struct FloatRange {
    double lo, hi;
    bool nan;
    friend bool operator==(const FloatRange&, const FloatRange&) = default;
};

using ValueRange = std::variant<IntRange, FloatRange>;

/// An end of a FloatRange that is not known.
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

IntRange type_range(ir::Type integer_or_bool);
/// All values of a type.
ValueRange type_range_of(ir::Type type);
bool fits(const IntRange& range, ir::Type type);

struct StageRanges;

/// Ranges of expressions, given those of the sizes and of the variables bound so far; a variable that is not bound can
/// have any value of its type. Results are remembered by node, and forgotten where a variable gets another range.
class ValueRanges {
public:
    /// `params`: what `where` says of the parameters; without it they have the ranges of their types.
    ValueRanges(const ir::Pipeline& pipeline, std::vector<IntRange> sizes, std::vector<ValueRange> params = {});

    /// From now on, reads of stages are in the ranges of their definitions (poly/stage_ranges.h). Without it they have
    /// those of their types. `boxes` is what is known of their domains.
    void know_stages(KnownBoxes boxes = {}) {
        knows_stages_ = true;
        boxes_ = std::move(boxes);
    }
    /// The next stage gives values in this range.
    void know_stage(const ValueRange& values) { stages_.push_back(values); }
    /// What was found out about stages; null where nobody asked for it.
    [[nodiscard]] const StageRanges* found_of_stages() const { return found_.get(); }
    /// The values that the last stage told to know_stage gives, from now on.
    void know_last_stage_as(const ValueRange& values);
    /// From now on, conditions on floats count. Code may compute floats that differ from the language's (-ffast-math),
    /// so this is for proofs alone, whose indices such code clamps (clamp_casts.h).
    void believe_float_conditions() { believes_floats_ = true; }

    void bind(ir::VarId var, ValueRange range);
    /// The index of a domain, lo <= var < hi: launches refuse domains that reach 2^30 or beyond in magnitude.
    void bind_index(ir::VarId var, const ir::Expr& lo, const ir::Expr& hi);
    /// A let: the variable's range is that of its value.
    void bind(ir::VarId var, const ir::Expr& value);

    /// The range of an expression's value, overflow wrapped as the language says.
    ValueRange of(const ir::Expr& e);
    /// The same of an integer or Bool expression.
    IntRange integer(const ir::Expr& e);
    /// The range that + - * and negation (through lets and branches) give in unbounded integers: where it fits the
    /// type, nothing wraps. Where it does not, the value is only congruent, modulo 2^n, to something in it: a single
    /// number there is no constant.
    IntRange unwrapped(const ir::Expr& e);

    /// A condition, and whether it holds.
    struct Given {
        ir::Expr condition;
        bool truth;
    };
    /// The range of an expression where conditions hold or fail, as far as they compare something that occurs in it.
    ValueRange of(const ir::Expr& e, const std::vector<Given>& given);

private:
    /// What is known of a part of an expression, for as long as a condition is taken to hold.
    struct Assumed {
        ir::Expr part;
        ValueRange range;
        bool exact = false;  ///< an integer that has not wrapped
    };
    /// `range_of(e)` where `given`.
    template <class F>
    auto within(const Given& given, const ir::Expr& e, F range_of) -> decltype(range_of(e));
    void assume_of(const Given& given, std::vector<Assumed>& assumed);
    void assume_comparison(const ir::Binary& comparison, bool truth, std::vector<Assumed>& assumed);
    /// The nodes in `e`, and in the lets that it mentions, that are one of the parts; none where there are many nodes.
    std::vector<Assumed> occurrences(const std::vector<Assumed>& parts, const ir::Expr& e);
    void begin_assuming(std::vector<Assumed> assumed);
    void remember_assumed();

    /// That range of a sum of which at most one term is not 0: it holds 0 and each of them. None for other expressions.
    std::optional<IntRange> chosen_term(const ir::Expr& e);
    std::optional<IntRange> chosen_term(const ir::Binary& sum);

    template <class T>
    ValueRange node(const ir::Node& node, const T& n);
    FloatRange real(const ir::Expr& e);
    ValueRange read(const ir::Read& read, ir::Type type);

    const ir::Pipeline& pipeline_;
    std::vector<IntRange> sizes_;
    std::vector<ValueRange> params_;
    ValueRange reduction(const ir::Reduce& n, ir::Type type);
    std::optional<IntRange> total(const ir::Reduce& n, ir::Type type);
    /// What the product of a positive float and something that is at most `n / factor` is at most; infinity for others.
    double most_of_scaled(ir::Type type, const ir::Expr& factor, const ir::Expr& scale);

    std::unordered_map<ir::VarId, ValueRange> variables_;
    std::unordered_set<ir::VarId> asked_unbound_;  ///< variables that had no range when an expression asked for it
    std::unordered_map<ir::VarId, ir::Expr> lets_;
    // By nodes that stay alive here, so that no other node can get the address of one.
    std::unordered_map<ir::Expr, ValueRange> known_;
    std::unordered_map<ir::Expr, IntRange> known_unwrapped_;
    bool knows_stages_ = false;
    KnownBoxes boxes_;
    std::vector<ValueRange> stages_;  ///< the first ones
    std::shared_ptr<const StageRanges> found_;
    bool believes_floats_ = false;
    std::vector<std::vector<Assumed>> assumed_;  ///< conditions that are taken to hold, one inside of another
    std::int64_t assumed_nodes_ = 0;             ///< looked at for them
    /// What variables were before they were bound inside of a condition that is taken to hold.
    std::vector<std::pair<ir::VarId, std::optional<ValueRange>>> bound_before_;
};

/// Points of a loop's range, at most, as far as the ranges tell.
[[nodiscard]] Wide most_points(ValueRanges& ranges, const ir::Range& loop);

/// For expressions of a pipeline, with what a model of it says of sizes and parameters; null: nothing.
[[nodiscard]] ValueRanges ranges_within(const ir::Pipeline& pipeline, const Model* within);

}  // namespace pipec::poly
