// How a stage reads itself: which definitions are scans.
#pragma once

#include <optional>
#include <string>

#include "ir/pipeline.h"

namespace pipec::ir {

/// Of a scan's reads of itself: code keeps so many values of a line in registers.
inline constexpr std::int64_t kMostScanDistance = 32;

/// What the reads of a stage in its own definition make of it.
struct SelfReads {
    std::optional<Scan> scan;  ///< none where the stage does not read itself, or not as a scan does
    std::string problem;       ///< what is wrong with one of the reads; empty where all are right
    SourceRange range;         ///< of that read
};

/// `stage` is the one with number `index`, `value` its definition.
[[nodiscard]] SelfReads find_scan(const Stage& stage, int index, const Expr& value);

/// How many points of the scan's dimension lie between the point and the one that it reads; `read` is one of the scan's
/// reads of itself.
[[nodiscard]] int scan_distance(const Stage& scan, const Read& read);

/// A scan's reads of itself are, in a dimension, from the point's own index minus `below` to that plus `above`.
struct ScanReach {
    std::int64_t below = 0, above = 0;
    bool wraps = false;  ///< modulo the dimension's extent, as `(x + 1) % C` is
};

/// None where the definition `value` of the stage does not say so, or more than kMostScanDistance, or where it reads
/// anything at a place that the scan's values tell.
[[nodiscard]] std::optional<ScanReach> scan_reach(const Stage& stage, int index, const Expr& value, std::size_t dim);

/// The definition of a scan with reads of itself at `x - 1` in the place of `(x - 1 + C) % C`, in the dimension `dim`,
/// in which its reach wraps: what lies beside a point, wherever that comes from.
[[nodiscard]] Expr without_wrapping(const Stage& stage, int index, const Expr& value, std::size_t dim);

/// Of how many of the last slices that a scan computes other stages read points: a constant where they read those
/// alone, at the same slice for all of their points, as `out(y, x) = f(n, y, x)` does. None of an output and of what
/// nobody reads.
[[nodiscard]] std::optional<std::int64_t> last_slices_read(const Pipeline& pipeline, int stage);

/// The expression reads the source.
[[nodiscard]] bool reads(const Expr& e, Source source);

}  // namespace pipec::ir
