// Scans of a few long lines, in blocks of each line.
//
// A line is one block of threads, however long it is. Where lines are few, most multiprocessors would have none:
//
//     s(i) = if i == 0 then x(0) else s(i - 1) + x(i)
//
// becomes a scan of each block by itself, one of what the blocks come to, and s, which combines both:
//
//     line(b, j) = if j == 0 then x(L * b) else line(b, j - 1) + x(L * b + j)
//     before(b)  = (if b == 0 then 0 else before(b - 1)) + line(b, L - 1)
//     s(i)       = (if i < L then 0 else before(i / L - 1)) + line(i / L, i % L)
#pragma once

#include <cstdint>

#include "fusion/inline.h"

namespace pipec::fusion {

/// Points of a block of a line.
inline constexpr std::int64_t kLineBlock = 4096;

/// Of associative scans (ir/associative.h) that begin at the ends of their lines alone. With `fast_math` the sums and
/// products of floats are such scans; no bit of any other result changes.
Inlined long_lines(const ir::Pipeline& pipeline, const poly::Model& model, bool fast_math);

}  // namespace pipec::fusion
