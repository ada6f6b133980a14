// Names and variables, by address: from the symbols that the linker has left in a shared object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace simt {

/// Where the shared object lies that holds an address, in this thread. Zeros where there is none.
struct Module {
    std::string path;
    std::uintptr_t base = 0;
    std::uintptr_t begin = 0, end = 0;
    std::uintptr_t tls_begin = 0, tls_end = 0;  ///< both 0 before the first access to it
};
Module module_of(const void* address);

/// "blur.cu:12" for a return address, as far as it can be found.
std::string place(const void* return_address);
/// The name of a kernel without namespaces, template arguments and parameters.
std::string kernel_name(const void* kernel);
/// A __shared__ variable, placed from the begin of its module's thread-local storage.
struct SharedVariable {
    std::size_t begin, bytes;
};
/// Those that a kernel declares.
std::vector<SharedVariable> shared_variables(const void* kernel);

/// The __shared__ variable at an address, and the byte in it: "byte 12 of `tile`, which has 256".
std::string shared_name(const Module& module, std::uintptr_t address);

}  // namespace simt
