// Every access of a kernel to memory, and of the host code beside it.
#pragma once

#include <cstddef>

#include "engine/shadow.h"

namespace simt {

/// Checks and records an access of the running lane (or, outside of kernels, of the host). `pc` is a return address.
template <Access access>
void on_access(const void* pointer, std::size_t bytes, const void* pc);

/// What is in shared memory there is lost: as if nobody had written it. Anything else is out of bounds.
void forget_shared(const void* pointer, std::size_t bytes, const void* pc);

}  // namespace simt
