// What the polyhedral analysis finds out about a pipeline, as plain data: consumers need not know isl.
//
// All bounds are Int32 expressions over the sizes only (ir::SizeRef, +, -, *, floor division and modulo by constants,
// min, max, select), valid for every launch whose sizes satisfy the pipeline's context.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/pipeline.h"
#include "support/diagnostics.h"

namespace pipec::poly {

/// lo <= i < hi. For an empty range hi <= lo.
struct Interval {
    ir::Expr lo, hi;
};

/// Where a stage is computed. The box is what is allocated and looped over. `guard` is null where every point of the
/// box is computed; otherwise it is a Bool over the stage's dimension variables and the sizes, and only points where it
/// holds are computed (and read by anyone).
struct Domain {
    std::vector<Interval> box;
    ir::Expr guard;
    /// For some sizes that the program admits an index reaches 2^30 in magnitude: a launch must refuse those.
    bool may_be_too_large = false;
};

/// For each stage a box that its points are taken to lie in, or nothing. The explicit dimensions have their bounds.
using KnownBoxes = std::vector<std::optional<std::vector<Interval>>>;

/// How a launch learns a size: `numerator = extent - constant` of one buffer's dimension, which must be divisible by
/// `divisor` (> 0); buffer.extent = divisor * size + constant, possibly with sizes already solved in `rest`:
///     size = (extent - rest) / divisor,   rest an Int32 expression over sizes solved before.
/// With from == Explicit the caller passes it.
struct SizeSolution {
    enum class From { Input, Output, Explicit } from = From::Explicit;
    int size = -1;    ///< index into Pipeline::sizes
    int buffer = -1;  ///< index of the input or output
    int dim = -1;
    std::int64_t divisor = 1;
    ir::Expr rest;
};

/// The interval of each dimension of an input that is read (the hull), over the sizes; all of a dimension where the
/// hull is too expensive to find.
struct InputFootprint {
    std::vector<Interval> box;
};

/// What proofs take for granted of an integer that was a float: lo <= cast <= hi, fewer than the values of its type.
struct CastRange {
    ir::Expr cast;
    std::int64_t lo, hi;
};

/// least <= value <= greatest.
struct KnownRange {
    std::int64_t least, greatest;
};

struct Model {
    std::vector<Domain> domains;             ///< one for each stage
    std::vector<SizeSolution> sizes;         ///< in the order in which they can be solved; one for each size
    std::vector<InputFootprint> footprints;  ///< one for each input
    /// The context as the wrapper must check it: every `where` condition of the program. (That every extent is at least
    /// 1 and below 2^30 and equal to its expression is checked besides.)
    std::vector<ir::Expr> checks;
    /// What the context says of each size and of each integer parameter alone; none of floats. A pipeline that was made
    /// of the analysed one may have more sizes, of which this says nothing.
    std::vector<std::optional<KnownRange>> size_ranges, param_ranges;
    /// Casts from floats in indices and in the bounds of loops. Floats that are not rounded as the language says may
    /// leave these ranges (clamp_casts.h).
    std::vector<CastRange> casts;
};

struct Options {
    /// Bound on isl's work for one question; exceeding it is an error that says which stage asked.
    unsigned long max_operations = 1'000'000;
};

/// Infers domains from the outputs upward, proves every access in bounds, and solves the sizes; reports what cannot be
/// proved, with a counterexample. None when an error was reported.
std::optional<Model> analyze(const ir::Pipeline& pipeline, Diagnostics& diags, const Options& options = {});

/// The model as text for `--emit domains`.
std::string to_string(const ir::Pipeline& pipeline, const Model& model);

}  // namespace pipec::poly
