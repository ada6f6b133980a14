// Launches of windows on a GPU: kernels of their own, whose domains end at sizes that a launch knows.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/emit/c/code_names.h"
#include "codegen/emit/c/text.h"
#include "codegen/emit/cuda/cuda.h"
#include "codegen/size_version.h"
#include "codegen/wrapper/window_parts.h"

namespace pipec::codegen {

/// A pipeline for windows. Each pure stage is computed from one size to another in each dimension of no constant
/// extent, a scan to one; stages run one after the other. Outputs of which more is needed than a window (is_kept) are
/// stages in the workspace, and copied.
struct WindowProgram {
    /// A size, and what it is: an end of a stage's part, or of an output's window.
    struct End {
        int size;
        int stage = -1;   ///< of the pipeline as it was analysed
        int output = -1;  ///< otherwise: of which the window is
        std::size_t dim = 0;
        bool last = false;  ///< hi, otherwise lo
    };
    Unit analysed;
    kernel::Program program;
    std::vector<End> ends;
    std::map<std::string, int>
        kept;  ///< the stages of the program that are outputs in the workspace: of the analysed one
};

/// `options`: its schedules are not looked at.
WindowProgram window_program(const Unit& analysed, const SourceManager& sources, const CudaOptions& options);

/// As cuda_source, which is this without windows and without versions. Windows have none.
std::string cuda_source(std::string_view program, const std::string& header_name,
                        const std::vector<kernel::Program>& programs, const Origin& origin,
                        const std::vector<WindowProgram>& windows, const std::vector<LoweredVersion>& versions = {});

/// The namespace of launches of windows: plan, kernels, and what launches them. `space`: that of whole launches, which
/// has `parts`. Returns what write_window_launch needs.
CodeNames write_window_code(Writer& out, const WindowProgram& window, const WindowUnit& parts, const CodeNames& whole,
                            const std::string& space, Helpers& helpers);

/// NAME_launch_window.
void write_window_launch(Writer& out, const WindowProgram& window, const CodeNames& names, const std::string& space);

}  // namespace pipec::codegen
