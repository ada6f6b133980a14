// The isl context of one analysis and the naming convention that all its sets share.
//
// Every named value is an isl *parameter*, so that expressions of one stage combine without any bookkeeping of spaces:
//
//     s<k>  size parameter k            v<id>  variable (dimension of a stage, reduction variable)
//     o<k>  opaque value k: what the affine analysis cannot look into, with a numeric interval
//
// Sets and piecewise affine expressions live in the parameter space ("[s0, v3] -> { : 0 <= v3 < s0 }"). Only at the
// end some parameters become set dimensions (`as_tuple`) to ask isl for bounds or points.
#pragma once

#include <isl/aff.h>
#include <isl/cpp.h>
#include <isl/set.h>

#include <compare>
#include <optional>
#include <string>
#include <vector>

#include "support/source.h"

namespace pipec::poly {

/// A parameter of the convention above.
struct Name {
    enum class Kind : char { Size = 's', Variable = 'v', Opaque = 'o' };
    Kind kind;
    int index;
    friend auto operator<=>(const Name&, const Name&) = default;
};

/// Owns the isl context; every isl object made with it must be gone before it is.
class IslContext {
public:
    explicit IslContext(unsigned long max_operations);
    ~IslContext();
    IslContext(const IslContext&) = delete;
    IslContext& operator=(const IslContext&) = delete;

    [[nodiscard]] isl::ctx ctx() const { return isl::ctx(ctx_); }
    /// Starts a new question: isl's operations are counted from here. The budget of a question halves with every eight
    /// that were given up, so that all of these together cost at most sixteen times the first one's. `what` and `range`
    /// say what it is about, for the error when it is too expensive.
    void begin_question(SourceRange range, std::string what);
    /// A further part of the question, of which there may be many: the budget starts anew, or a share of it does.
    void next_part(unsigned share = 1) const { renew_budget(share); }
    /// `f()`, or none where that takes more than what is left of the question's budget; the budget then starts anew,
    /// for what else is to be said about the question.
    template <class F>
    auto attempt(F f) const -> std::optional<decltype(f())> {
        try {
            return f();
        } catch (const isl::exception& failure) {
            if (!is_budget(failure)) throw;
            give_up();
            return std::nullopt;
        }
    }
    /// Counts a question that was given up; its budget starts anew.
    void give_up() const;
    /// Whether a failure is that of a question's budget; isl's C functions say so by a null pointer.
    [[nodiscard]] bool is_budget(const isl::exception& failure) const;
    [[nodiscard]] const std::string& question() const { return question_; }
    [[nodiscard]] SourceRange question_range() const { return question_range_; }

    [[nodiscard]] isl::id id(Name name) const;
    [[nodiscard]] isl::pw_aff value(Name name) const;
    [[nodiscard]] isl::pw_aff constant(long value) const;
    /// { : } and { : false } over no parameters.
    [[nodiscard]] isl::set everything() const;
    [[nodiscard]] isl::set nothing() const;
    [[nodiscard]] isl::multi_id tuple(const std::vector<Name>& names) const;

private:
    void renew_budget(unsigned share = 1) const;

    isl_ctx* ctx_;
    unsigned long max_operations_;
    mutable unsigned given_up_ = 0;  ///< questions that took more than their budget
    std::string question_ = "the sizes";
    SourceRange question_range_;
};

/// The parameters that really occur, in isl's order.
std::vector<Name> names_in(const isl::set& set);
std::vector<Name> names_in(const isl::pw_aff& value);
bool contains(const std::vector<Name>& names, Name name);

/// The coefficient of a parameter; 0 where it does not occur.
isl::val coefficient(const isl::aff& aff, Name name);

/// Existential quantification over parameters.
isl::set project_out(const IslContext& isl, isl::set set, const std::vector<Name>& names);

/// [p] -> { : S } as { [p...] : S }: the named parameters, in that order, become the dimensions.
isl::set as_tuple(const IslContext& isl, const isl::set& set, const std::vector<Name>& names);

/// Thrown where a number of an answer is too large to be written down; isl's own are of any size.
struct NumberTooLarge : isl::exception {
    NumberTooLarge() : isl::exception("a number in it does not fit 64 bits") {}
    using isl::exception::exception;
};

/// The numerator. Throws NumberTooLarge where it is beyond 2^62, so that sums of two do not overflow.
long to_long(const isl::val& v);

/// A point of a parameter set, lexicographically least in the order of `names` (all that occur in the set) where isl
/// can find that one. None when the set is empty.
std::optional<std::vector<long>> least_point(const IslContext& isl, const isl::set& set,
                                             const std::vector<Name>& names);

}  // namespace pipec::poly
