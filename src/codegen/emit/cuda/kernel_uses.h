// What kernels use: expressions, and arrays by whole statements.
#pragma once

#include <cstddef>
#include <vector>

#include "codegen/expr/uses.h"
#include "codegen/kernel/kernel_ir.h"

namespace pipec::codegen {

Uses uses_of(const kernel::Body& body);

/// An array that a statement accesses as a whole statement, and how many elements.
struct Access {
    ir::Source array;
    std::size_t count = 0;
    bool writes = false;
};
std::vector<Access> accesses_of(const kernel::Stmt& stmt);

ir::Type element_type(const kernel::Program& program, const kernel::Kernel& kernel, ir::Source source);

}  // namespace pipec::codegen
