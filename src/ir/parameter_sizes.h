// Integer parameters that ranges and extents use. Proofs and code know them as sizes: such a size has the name of its
// parameter, which no other size can have, and its value is what the caller gives the parameter.
#pragma once

#include <optional>

#include "ir/pipeline.h"

namespace pipec::ir {

/// The parameter whose value the size is; none for a size of its own.
inline std::optional<std::size_t> parameter_of(const Pipeline& pipeline, std::size_t size) {
    for (std::size_t i = 0; i < pipeline.params.size(); ++i) {
        if (pipeline.params[i].name == pipeline.sizes.at(size).name) return i;
    }
    return std::nullopt;
}

/// `e` with parameters of type int32 replaced by their sizes. `add`: a parameter that has none gets one; otherwise it
/// stays.
Expr parameters_as_sizes(Pipeline& pipeline, const Expr& e, bool add);

/// The same for all that the pipeline computes, whose sizes stay the ones it has.
void replace_parameters_by_sizes(Pipeline& pipeline);

}  // namespace pipec::ir
