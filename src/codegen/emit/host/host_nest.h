// How the host computes a stage in a box of its points: the order of the loops, and the code of points at which
// boundary conditions decide nothing.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ir/pipeline.h"
#include "poly/model.h"

namespace pipec::codegen {

/// Innermost loops of no more iterations than this are unrolled, and the loop around them is vectorised.
inline constexpr std::int64_t kUnrolled = 4;

/// The loops of a stage. Those inside of the vectors have constant bounds, and run over all of the domain.
struct Nest {
    std::vector<std::size_t> order;  ///< dimensions, outermost first
    std::size_t vector = 0;          ///< position in `order` of the loop that is run as vectors

    [[nodiscard]] bool is_unrolled(std::size_t dim) const;
};
Nest nest_of(const ir::Pipeline& pipeline, const poly::Model& model, std::size_t stage);

/// hi - lo of a dimension of the stage's domain, where both are constants.
std::optional<std::int64_t> constant_extent(const poly::Domain& domain, std::size_t dim);

/// A dimension of which each remainder has its own code: its index is period * variable + remainder.
struct Period {
    std::int64_t period = 1;
    std::size_t dim = 0;
    ir::VarId variable = -1;  ///< where period > 1
};

struct PointCode {
    std::vector<std::int64_t> at;  ///< by position in the nest from that of the vectors on: remainder, then indices
    ir::Expr value;
};

/// The code of the points of a row (host_points.h).
struct RowCode {
    Period along;                              ///< the row's dimension
    Period across;                             ///< one outside of it
    std::vector<std::vector<PointCode>> rows;  ///< by remainder of `across`; empty: points need no code of their own

    [[nodiscard]] bool is_used() const { return !rows.empty(); }
};

/// What a pure stage is where it needs no conditions.
struct InnerCode {
    ir::Expr value, guard;  ///< `guard` may be null
    RowCode row;
    /// By dimension: where that is, besides the domain. Null ends are those of the domain.
    std::vector<poly::Interval> limits;

    [[nodiscard]] bool is_everywhere() const;
    [[nodiscard]] bool is_limited(std::size_t dim) const { return limits[dim].lo || limits[dim].hi; }
};
/// Nothing where that is not simpler than the stage's definition, or much longer. Adds variables to `pipeline`.
std::optional<InnerCode> inner_code(ir::Pipeline& pipeline, const poly::Model& model, std::size_t stage,
                                    const Nest& nest);

}  // namespace pipec::codegen
