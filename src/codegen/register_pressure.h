// An estimate of the registers that straight-line code needs.
#pragma once

#include <cstdint>

#include "codegen/kernel_ir.h"

namespace pipec::codegen {

/// The most 32-bit registers that variables take up at once where statements are executed in the order in which they
/// stand; bodies inside of others count as part of it. nvcc used 10 to 20 more, for addresses and for loads that it
/// begins early, for the tiles of blur, unsharp masking and Harris corners.
std::int64_t registers_at_once(const ir::Pipeline& pipeline, const kernel::Body& body);

}  // namespace pipec::codegen
