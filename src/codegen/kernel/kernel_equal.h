// Kernels that are the same code: the same filter over two images is written once.
#pragma once

#include <cstddef>

#include "codegen/kernel/kernel_ir.h"

namespace pipec::codegen {

/// True where the text of `a` serves for `b`: their kernel IR differs in names, comments and remarks alone, and the
/// arrays that take each other's places, in the order of the kernels' parameters, have views of one type. What the host
/// computes for a launch (grids, values of arguments) may differ.
bool same_code(const kernel::Program& program, const kernel::Kernel& a, const kernel::Kernel& b);

/// True where the text of `wide` serves for `narrow` if each of its stores of several elements is made in parts of at
/// most store_bytes(narrow). In registers that the compiler is to leave (least_blocks) they may differ, too.
bool same_but_stores(const kernel::Program& program, const kernel::Kernel& wide, const kernel::Kernel& narrow);

/// Bytes of the widest store of several elements into an array in global memory; 0 where there is none.
int store_bytes(const kernel::Program& program, const kernel::Kernel& kernel);

/// A number that kernels of the same code share, and hardly any others, so that few have to be compared. Takes time
/// linear in the kernel's nodes.
std::size_t shape_of(const kernel::Kernel& kernel);

}  // namespace pipec::codegen
