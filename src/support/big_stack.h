// Running a deeply recursive function: the passes and the interpreter recurse through expressions and stages, as deep
// as a program's longest chain of them, which is more than an ordinary stack holds.
#pragma once

#include <cstddef>
#include <functional>

namespace pipec {

/// Calls `f` on a thread of its own with a stack of `bytes` (address space; memory is used only as deep as `f` goes)
/// and waits for it. Passes on what `f` throws; throws std::system_error where there is no such thread to be had.
void run_on_big_stack(std::size_t bytes, const std::function<void()>& f);

/// Bytes of stack used between `base`, the address of a local variable of a caller, and here.
std::size_t stack_used_since(const void* base);

}  // namespace pipec
