// From isl back to ir: quasi-affine functions and sets as expressions a person can read, and the simplification that
// makes them so.
#pragma once

#include <optional>
#include <vector>

#include "ir/pipeline.h"
#include "poly/isl_context.h"

namespace pipec::poly {

/// An Int32 expression with the value of `value` wherever that is defined; pieces become selects.
ir::Expr to_expr(const isl::pw_aff& value);

/// A Bool expression that holds exactly in the set (a set of parameters with known integer divisions).
ir::Expr to_condition(const isl::set& set);

/// A function equal to `value` on its domain, for all sizes in `context`, defined for all sizes, in as few pieces as
/// can be found: one affine function, the minimum or maximum of several, or what isl has. Where `value` is undefined
/// (an empty range) the result is at most `outside`; without `outside` anything will do.
isl::pw_aff simplify(const IslContext& isl, const isl::pw_aff& value, const isl::set& context,
                     const std::optional<isl::pw_aff>& outside);

/// The affine function that is the greatest (or least) value of the parameter `index` in `set` for all sizes in
/// `context` for which there is one, where that is found among the bounds of the set's convex parts; it is at most
/// `outside` (if given) for all other sizes. Much cheaper than isl's parametric maximum of a union.
std::optional<isl::pw_aff> affine_extremum(const IslContext& isl, const isl::set& set, Name index, bool greatest,
                                           const isl::set& context, const std::optional<isl::pw_aff>& outside);

/// Affine functions of the sizes such that each convex part of `set` has one that no value of `index` in it exceeds
/// (or, not `greatest`, is less than).
std::vector<isl::pw_aff> bounds_of_parts(const IslContext& isl, const isl::set& set, Name index, bool greatest);

/// One affine function that is at least (at most) each of `bounds`, wherever all sizes are at least 0: coefficient by
/// coefficient.
isl::pw_aff beyond_all(const IslContext& isl, const std::vector<isl::pw_aff>& bounds, bool greatest);

}  // namespace pipec::poly
