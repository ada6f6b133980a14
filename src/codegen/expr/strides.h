// Strides that are constants, by the layout that arrays have where nobody asks for another one.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/pipeline.h"
#include "poly/model.h"

namespace pipec::codegen {

/// Stages in the workspace lie dense, last dimension innermost, but for the padding of the first row from inside that
/// has at least so many bytes.
inline constexpr std::int64_t kPaddedRow = 512;

/// The strides of a dense buffer, by dimension, in elements; 0 for those that depend on sizes. {0, 3, 1} for an
/// interleaved RGB image [R, C, 3] in the order of its dimensions.
std::vector<std::int64_t> known_strides(const ir::Buffer& buffer);

/// The same of what a source names: an input, a stage in the workspace, an output's stage.
std::vector<std::int64_t> known_strides(const ir::Pipeline& pipeline, const poly::Model& model, ir::Source source);

/// The buffer that a source is, or null for a stage in the workspace.
const ir::Buffer* buffer_of(const ir::Pipeline& pipeline, ir::Source source);

/// The dimensions of a source from outermost to innermost in memory.
std::vector<int> memory_order(const ir::Pipeline& pipeline, ir::Source source);

}  // namespace pipec::codegen
