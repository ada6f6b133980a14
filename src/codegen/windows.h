// Functions for windows, which a file has besides those for whole images: NAME_required says which parts of the inputs
// windows of the outputs need, and NAME_launch_window computes such windows from those parts alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/emit/host/host.h"
#include "codegen/size_version.h"

namespace pipec::codegen {

/// As header and host_source, which are these without windows and without versions; what those give stands unchanged in
/// what these give with windows. Windows have no versions.
/// The CUDA source with windows is in emit/cuda/cuda_window.h.
std::string header(std::string_view program, const std::string& base, const std::vector<Unit>& units,
                   const Origin& origin, bool windows);
std::string host_source(std::string_view program, const std::string& header_name, const std::vector<Unit>& units,
                        const SourceManager& sources, const Origin& origin, const fusion::Schedules& schedules,
                        bool windows, const std::vector<SizeVersion>& versions = {});

}  // namespace pipec::codegen
