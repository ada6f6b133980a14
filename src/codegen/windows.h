// Functions for windows, which a file has besides those for whole images: `required` says which parts of the inputs
// windows of the outputs need, and `launch_window` computes such windows from those parts alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/emit/cuda/cuda.h"
#include "codegen/emit/host/host.h"

namespace pipec::codegen {

enum class Windows : std::uint8_t {
    None,
    Required,  ///< NAME_required
    Launch,    ///< and NAME_check_window, NAME_window_workspace_size, NAME_launch_window
};

/// As header, host_source and cuda_source without them; what those give stands unchanged in what these give. `units`
/// of the CUDA source: the pipelines before they were lowered.
std::string header(std::string_view program, const std::string& base, const std::vector<Unit>& units,
                   const Origin& origin, Windows windows);
std::string host_source(std::string_view program, const std::string& header_name, const std::vector<Unit>& units,
                        const SourceManager& sources, const Origin& origin, const fusion::Schedules& schedules,
                        Windows windows);
std::string cuda_source(std::string_view program, const std::string& header_name,
                        const std::vector<kernel::Program>& programs, const Origin& origin,
                        const std::vector<Unit>& units, Windows windows);

}  // namespace pipec::codegen
