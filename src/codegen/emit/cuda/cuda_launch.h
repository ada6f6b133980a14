// Host code of a `.cu` around its kernels: the types of their arrays, choosing a variant, launching.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "codegen/emit/c/code_names.h"
#include "codegen/emit/c/helpers.h"
#include "codegen/emit/c/text.h"
#include "codegen/emit/cuda/cuda_kernel.h"
#include "codegen/kernel/kernel_ir.h"
#include "codegen/wrapper/wrapper.h"

namespace pipec::codegen {

/// A kernel's function. `is_new`: none before it is the same code, so that it has to be written.
struct KernelFunction {
    std::string name;
    bool is_new = true;
    std::optional<StoreParts> parts{};  ///< of a new one: it is a template, for the next variant, too
    int store_bytes = 0;                ///< with which the template is launched; 0: it is none
};
/// What a step's functions are called.
struct StepNames {
    std::string launcher;
    std::vector<KernelFunction> kernels;  ///< one for each variant
};
/// Takes a name for everything in `names`. Kernels that are the same code share a function.
std::vector<StepNames> step_names(const kernel::Program& program, CodeNames& names);

/// `template <bool dense> using NAME_view = View<...>` for every array.
void write_view_types(Writer& out, const kernel::Program& program, const CodeNames& names, const Regions& regions);

/// A step's kernels, and the function that launches the first of them whose needs hold.
void write_step(Writer& out, const kernel::Program& program, const kernel::Step& step, const CodeNames& names,
                const StepNames& functions, Helpers& helpers);

/// `template <bool dense> pipe_status run(args, plan, workspace, stream)`: all steps, or those whose `condition`, an
/// expression, holds.
void write_run(Writer& out, const kernel::Program& program, const CodeNames& names,
               const std::vector<StepNames>& functions, const Regions& regions, Helpers& helpers,
               const std::function<std::string(std::size_t step)>& condition = nullptr);

/// The end of a launch whose arguments are checked: the workspace's check, and the call of run.
void write_device_run(Writer& out, const kernel::Program& program, const CodeNames& names, const Regions& regions,
                      const std::string& space);

/// A function that checks its arguments and launches: the public one, or a version's.
void write_launch(Writer& out, const kernel::Program& program, const CodeNames& names, const Regions& regions,
                  const std::string& space, const std::string& signature, const VersionSpaces& versions);

}  // namespace pipec::codegen
