// The invariants of ir/expr.h and ir/pipeline.h as a check, run after elaboration and after every pass (tests, debug).
#pragma once

#include <string>
#include <vector>

#include "ir/pipeline.h"

namespace pipec::ir {

/// What is wrong, one sentence each; empty when the pipeline is well-formed: types agree, variables are in scope and
/// bound once, sources exist and stand before their readers, ranks match, outputs have explicit ranges, accumulates
/// too, sizes' expressions are Int32 over sizes only.
std::vector<std::string> verify(const Pipeline& pipeline);

}  // namespace pipec::ir
