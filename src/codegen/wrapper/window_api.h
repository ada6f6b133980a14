// The functions for windows that all targets share: what is held of buffers, where stages are placed, and the public
// functions around a launch.
#pragma once

#include <string>
#include <vector>

#include "codegen/wrapper/window_parts.h"

namespace pipec::codegen {

/// A statement that returns the status of a call unless it is PIPE_OK.
void check_status(Writer& out, const std::string& call);

/// An output of which a launch of windows computes all that is needed in the workspace, which may be more than its
/// window: one that other stages read, a scan or an accumulate.
bool is_kept(const ir::Pipeline& pipeline, int stage);

/// Statements that fill in what the caller's memory holds of each buffer: `plan.HELD` by `held`, from `window`, `args`
/// and `parts`.
void write_holds(Writer& out, const ir::Pipeline& pipeline, const CodeNames& names,
                 const std::vector<std::string>& held);

/// Places a stage's part in a region of the workspace, or notes it where only tiles hold it (`region` is empty).
void place_part(Writer& out, const ir::Stage& stage, const std::string& part, const std::string& space,
                const std::string& region);

/// `check_window_pointers(args, report, plan)`, for the pipeline's own namespace.
void write_window_pointers(Writer& out, const ir::Pipeline& pipeline, const CodeNames& names,
                           const std::vector<std::string>& held, const std::string& plan);

/// The public functions NAME_required and NAME_window_info.
void write_required(Writer& out, const WindowUnit& windows, const CodeNames& names, const std::string& space);
void write_window_info(Writer& out, const WindowUnit& windows, const CodeNames& names);

/// NAME_check_window and NAME_window_workspace_size. `plan`: the struct in the namespace `space` that its plan_window
/// makes.
void write_window_queries(Writer& out, const CodeNames& names, const std::string& space, const std::string& plan);

/// The head of NAME_launch_window and its checks, which leave `plan` and `report`; the workspace's are not among them.
void open_window_launch(Writer& out, const CodeNames& names, const std::string& space, const std::string& plan);

}  // namespace pipec::codegen
