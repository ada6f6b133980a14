// A pipeline may have code of its own for some values of sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/kernel/kernel_ir.h"
#include "ir/known_sizes.h"
#include "ir/pipeline.h"
#include "poly/model.h"

namespace pipec::codegen {

/// Of the pipeline with this number, where some of its sizes have certain values. It has the same arguments.
struct SizeVersion {
    std::size_t of;
    std::vector<ir::KnownSize> known;
    std::vector<ir::KnownSize> most{};  ///< sizes that are at most so much; such versions are for GPUs
    ir::Pipeline pipeline{};            ///< without the sizes that are known
    poly::Model model{};
};

/// The same as kernels.
struct LoweredVersion {
    const SizeVersion* version;
    kernel::Program program;
};

}  // namespace pipec::codegen
