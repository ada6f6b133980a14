// Random programs about indices and their ranges: floor division and modulo of negatives, wraps near 2^30 and 2^31,
// casts, saturation, masks, counts, indices from data, reductions whose bounds depend on indices, pyramids of odd
// sizes, extents of 1, conditions on sizes and parameters. Reads are protected in many ways, a few of them wrongly, so
// that some programs are illegal: what is accepted must run without an access out of bounds all the same.
#pragma once

#include <string>

#include "random/tape.h"

namespace pipec::testing {

/// The text of a file with one pipeline, called `name`. Its sizes are R and C; it has a parameter m: int32.
std::string index_program(const Tape& tape, const std::string& name);

}  // namespace pipec::testing
