// An estimate of the registers that straight-line code needs.
#pragma once

#include <cstdint>

#include "codegen/kernel/kernel_ir.h"

namespace pipec::codegen {

inline constexpr std::int64_t kRegisterBytes = 4;

/// Bytes of registers that a variable takes; `packed`: one of several elements in a register, as they were loaded.
std::int64_t register_bytes(const ir::Pipeline& pipeline, ir::VarId var, bool packed);

/// The most 32-bit registers that variables take up at once where statements are executed in the order in which they
/// stand; bodies inside of others count as part of it. nvcc used 10 to 20 more, for addresses and for loads that it
/// begins early, for the tiles of blur, unsharp masking and Harris corners.
std::int64_t registers_at_once(const ir::Pipeline& pipeline, const kernel::Body& body);

/// How many of the kernel's blocks a multiprocessor is to have room for, so that nvcc gives a thread as many
/// registers as straight-line code needs that first loads all that it reads; `at_once` of them by the estimate above.
/// Left to itself, nvcc takes fewer and loads later, one value after another: reductions of images by two took 1.2
/// times as long on an H200. 0: nvcc may choose, which is as good where few registers are needed.
std::int64_t blocks_for_registers(std::int64_t at_once, const kernel::Kernel& kernel, const fusion::Gpu& gpu);

/// 32-bit registers of a lane for values that are alive at the same time: what addresses, indices and values on the way
/// leave of all that a thread can have.
std::int64_t registers_for_values(const fusion::Gpu& gpu);

}  // namespace pipec::codegen
