// A pipeline may have code of its own for some value of a size.
#pragma once

#include <cstdint>

#include "codegen/kernel/kernel_ir.h"
#include "ir/pipeline.h"
#include "poly/model.h"

namespace pipec::codegen {

/// Of the pipeline with this number, where one of its sizes has a value. It has the same arguments.
struct SizeVersion {
    std::size_t of;
    int size;
    std::int64_t value;
    ir::Pipeline pipeline{};  ///< without the size
    poly::Model model{};
};

/// The same as kernels.
struct LoweredVersion {
    const SizeVersion* version;
    kernel::Program program;
};

}  // namespace pipec::codegen
