// Which loops of a host source are compiled in several versions, for processors with wider vectors; the loader takes
// the one for the processor that it is on.
#pragma once

#include <string_view>
#include <vector>

#include "ir/pipeline.h"
#include "poly/model.h"

namespace pipec::codegen {

/// By stage: its loop is worth it. Those that do most of the work at usual sizes, as long as the versions are not too
/// much code: a C++ compiler takes as long for each of them as for the first one.
std::vector<bool> versioned_stages(const ir::Pipeline& pipeline, const poly::Model& model);

/// What a function of which there are versions begins with.
inline constexpr std::string_view kVersions = "PIPE_VERSIONS ";

/// What a file that has such functions begins with, before anything is included: it defines the macro.
extern const std::string_view kVersionsHead;

}  // namespace pipec::codegen
