// Launches of windows on the host: the same functions compute the stages, over parts of their domains, on buffers that
// hold just the windows.
#pragma once

#include <string>
#include <vector>

#include "codegen/emit/c/code_names.h"
#include "codegen/emit/c/text.h"
#include "codegen/emit/host/host_group.h"
#include "codegen/wrapper/window_parts.h"

namespace pipec::codegen {

/// What a launch of windows has besides one of whole images. `kept` outputs are computed in the workspace, and their
/// windows copied: those that other stages read, beyond the window, scans and accumulates.
struct HostWindows {
    WindowUnit windows;
    std::vector<std::string> held;  ///< by buffer: what of it the caller's memory holds
    std::vector<std::string> kept;  ///< by output: where the workspace has it; empty: nowhere
    std::vector<int> regions;       ///< by output: its region, behind those of stages; -1: none

    [[nodiscard]] int region_count(const Regions& of_stages) const;
};

HostWindows host_windows(const Unit& analysed, const HostProgram& program, const Regions& regions, CodeNames& names);

/// `struct WindowPlan`, a Plan, and plan_window, which makes one of the arguments; behind write_parts.
void write_window_plan(Writer& out, const Unit& unit, const HostWindows& windows, const CodeNames& names,
                       const Regions& regions);

/// The views of the caller's buffers and of kept outputs, at the beginning of run_window; the copies at its end.
void write_window_views(Writer& out, const Unit& unit, const HostWindows& windows, const CodeNames& names);
void write_window_copies(Writer& out, const Unit& unit, const HostWindows& windows, const CodeNames& names);

/// NAME_check_window, NAME_window_workspace_size and NAME_launch_window.
void write_window_api(Writer& out, const Unit& unit, const HostWindows& windows, const CodeNames& names,
                      const Regions& regions, const std::string& space);

}  // namespace pipec::codegen
