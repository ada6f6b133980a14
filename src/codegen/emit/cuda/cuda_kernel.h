// Kernel IR as CUDA: one `__global__` function for each kernel.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/emit/c/code_names.h"
#include "codegen/emit/c/helpers.h"
#include "codegen/emit/c/text.h"
#include "codegen/kernel/kernel_ir.h"

namespace pipec::codegen {

/// What a kernel's code uses, in the order of its parameters.
struct KernelParameters {
    std::vector<ir::Source> reads, writes;    ///< arrays in global memory
    std::vector<int> sizes, params;           ///< of the pipeline
    std::vector<kernel::Argument> arguments;  ///< those that are used
    std::map<ir::Source, int> widest;         ///< bytes of an array's widest access of several elements
};
KernelParameters parameters_of(const kernel::Program& program, const kernel::Kernel& kernel);

/// What `dense` is for the views of a kernel: the template's parameter, or a constant.
enum class Density : std::uint8_t { Template, Dense, General };
std::string_view text(Density density);

/// "img_view<dense>", "rows_view<true>".
std::string view_type(const CodeNames& names, ir::Source source, Density density);
/// "img", "rows".
const std::string& source_name(const CodeNames& names, ir::Source source);

/// Two kernels in one: a template over the bytes of the widest store, and what it says of the narrower one.
struct StoreParts {
    int bytes;                      ///< of the wider one
    std::int64_t least_blocks = 0;  ///< Kernel::least_blocks of the narrower one
};

/// The kernel under the name `function`, with its comments. `parts`: where it stands for another one, too.
void write_kernel(Writer& out, const kernel::Program& program, const kernel::Kernel& kernel, const CodeNames& names,
                  const std::string& function, Density density, const std::optional<StoreParts>& parts,
                  Helpers& helpers);

}  // namespace pipec::codegen
