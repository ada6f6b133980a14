// Where the vectors of a group's members begin. Live-outs are stored as vectors of the image, which are aligned there.
// What only lies in shared memory may begin anywhere: every array there is aligned, and the choice decides how many
// accesses it takes to read global memory, and to read the array.
#pragma once

#include <cstdint>

#include "codegen/kernel/kernel_ir.h"
#include "poly/group.h"

namespace pipec::codegen {

/// The group with a reach that is rounded to vectors of so many columns.
poly::Group with_vectors(const kernel::Program& program, const poly::Group& group, std::int64_t columns);

}  // namespace pipec::codegen
