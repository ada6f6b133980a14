// Where the arrays of a block lie in its shared memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/kernel/kernel_ir.h"
#include "plan/shared_memory.h"

namespace pipec::codegen {

using plan::align_shared;
using plan::kSharedAlignment;
using plan::kStaticSharedBytes;

/// By dimension, in elements.
std::vector<std::int64_t> strides_of(const kernel::SharedArray& array);

/// From the array's first byte to behind its last one.
std::int64_t bytes_of(const kernel::SharedArray& array);

/// The scratch memory that the arrays with an offset share, and that of the others together.
std::int64_t scratch_bytes(const kernel::Kernel& kernel);
std::int64_t own_bytes(const kernel::Kernel& kernel);

/// What the launch must ask for: the scratch, where it does not fit into what is there without asking.
std::int64_t dynamic_bytes(const kernel::Kernel& kernel);

/// Why a block of the target has no room for `bytes` of shared memory, where it has none; they are of `what` ("its
/// tiles").
std::optional<std::string> shared_refusal(std::int64_t bytes, const fusion::Target& target, std::string_view what);

}  // namespace pipec::codegen
