// A pipeline where some sizes have values that are known.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/pipeline.h"

namespace pipec::ir {

/// A size, by number, with a value.
struct KnownSize {
    int size;
    std::int64_t value;
};

/// The pipeline with these sizes, which stand for extents of inputs or for parameters, as constants and without them in
/// its list. It has the same buffers and parameters, and combines the terms of reductions in the same order. None where
/// no launch has such values, as a condition says, or where a stage is then without a reader.
std::optional<Pipeline> with_known_sizes(Pipeline pipeline, const std::vector<KnownSize>& known);

}  // namespace pipec::ir
