// What is known about the sizes before any stage is looked at, and how a launch learns them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "ir/pipeline.h"
#include "poly/isl_affine.h"
#include "poly/isl_context.h"
#include "poly/model.h"
#include "support/diagnostics.h"

namespace pipec::poly {

/// lo <= index < hi, functions of the sizes, in both worlds.
struct Bounds {
    isl::pw_aff lo, hi;
    ir::Expr lo_expr, hi_expr;
};

/// Explicit bounds of a stage; empty where a dimension has none.
using ExplicitBounds = std::vector<std::optional<Bounds>>;

struct SizeContext {
    /// Every extent is at least 1 and the affine part of `where` holds: the context of every question.
    isl::set assumed;
    /// The same with every extent and size below 2^30 in magnitude. Questions that this decides are asked again with
    /// it: isl's numbers stay small without.
    isl::set bounded;
    std::vector<IntRange> ranges;             ///< numeric, one for each size
    std::vector<ValueRange> params;           ///< one for each parameter, as its type and `where` bound it
    std::vector<std::vector<Bounds>> inputs;  ///< 0 <= index < extent
    std::vector<ExplicitBounds> stages;
};

/// Translates extents, explicit ranges and `where`; reports those that are not affine, empty ranges, conditions that
/// cannot hold or always do. None after an error.
std::optional<SizeContext> size_context(const IslContext& isl, const ir::Pipeline& pipeline, Diagnostics& diags);

/// The same of an accepted program, or of one that was made from it: nothing is reported, and ranges may be empty.
std::optional<SizeContext> size_context(const IslContext& isl, const ir::Pipeline& pipeline);

/// Ranges and affine forms of the program's expressions, wherever its `where` holds.
struct ProgramValues {
    ProgramValues(const IslContext& isl, const ir::Pipeline& pipeline, const SizeContext& sizes,
                  const KnownBoxes& boxes = {});
    ProgramValues(const ProgramValues&) = delete;
    ProgramValues& operator=(const ProgramValues&) = delete;

    ValueRanges ranges;
    AffineTranslator affine;
};

/// The points of `violation` that a launch can have; isl's numbers stay small where there are none at all.
isl::set admitted(const SizeContext& sizes, const isl::set& violation);

/// Which extent gives which size: inputs before outputs, coefficient 1 before others.
std::vector<SizeSolution> solve_sizes(const ir::Pipeline& pipeline, const IslContext& isl);

/// The weakest condition on the sizes, within the context, that excludes every point of `violation`, where it is a
/// single comparison and can hold.
std::optional<ir::Expr> weakest_remedy(const IslContext& isl, const SizeContext& sizes, const isl::set& violation);

/// "R = 3" for the least sizes of a set over sizes alone, "" without sizes.
std::string example_sizes(const IslContext& isl, const ir::Pipeline& pipeline, const isl::set& sizes);

}  // namespace pipec::poly
