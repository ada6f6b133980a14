// Kernels that are the same code: the same filter over two images is written once.
#pragma once

#include <cstddef>

#include "codegen/kernel/kernel_ir.h"

namespace pipec::codegen {

/// True where the text of `a` serves for `b`: their kernel IR differs in names, comments and remarks alone, and the
/// arrays that take each other's places, in the order of the kernels' parameters, have views of one type. What the host
/// computes for a launch (grids, values of arguments) may differ.
bool same_code(const kernel::Program& program, const kernel::Kernel& a, const kernel::Kernel& b);

/// A number that kernels of the same code share, and hardly any others, so that few have to be compared. Takes time
/// linear in the kernel's nodes.
std::size_t shape_of(const kernel::Kernel& kernel);

}  // namespace pipec::codegen
