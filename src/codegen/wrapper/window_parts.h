// Which parts of buffers and stages windows of the outputs need, in the code of a launch.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/emit/c/code_names.h"
#include "codegen/emit/c/helpers.h"
#include "codegen/emit/c/text.h"
#include "codegen/emit/host/host.h"

namespace pipec::codegen {

/// The fields of a buffer in NAME_window. Without dimensions an output has `wanted` alone, and an input nothing.
struct WindowFields {
    std::string lo, hi, wanted;
};
WindowFields window_fields(const ArgumentNames::Buffer& buffer);

/// A pipeline as it was analysed, before stages are computed inside of others: what reads what is plainest there, and
/// the parts of its stages are those of the stages that are left later.
struct WindowUnit {
    Unit unit;
    std::vector<std::string> stages;  ///< names of its stages' parts; those of outputs are the buffers'
};

/// `names` are those of what the code is made of; names of other stages are added. `left`: the stages that have some.
WindowUnit window_unit(const Unit& analysed, const ir::Pipeline& left, CodeNames& names);

/// `struct Parts`, with a Part for each buffer and stage, and
///
///     pipe_status make_parts(const NAME_args& args, const NAME_window& window, Report& report, Plan& plan,
///                            Parts& parts);
///
/// which checks the arguments (without pointers and strides) and the outputs' windows. For the pipeline's own
/// namespace, behind write_plan.
void write_parts(Writer& out, const WindowUnit& windows, const CodeNames& names, Helpers& helpers);

}  // namespace pipec::codegen
