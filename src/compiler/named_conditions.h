// Conditions that have a name: `inside(n) = 0 <= row(n) < H`, asked in `if inside(n) then q(row(n)) else 0`.
#pragma once

#include <optional>

#include "ir/pipeline.h"

namespace pipec::compiler {

/// The pipeline with conditions that are stages written out where they are asked, as far as they are short; none where
/// there are no such conditions. Proofs then see what a condition says of places; code computes it again for each
/// reader, so that this is for pipelines that are refused otherwise.
[[nodiscard]] std::optional<ir::Pipeline> with_conditions_written_out(const ir::Pipeline& pipeline);

}  // namespace pipec::compiler
