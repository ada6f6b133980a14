// The invariants of ir/expr.h and ir/pipeline.h as a check, run after elaboration and after every pass (tests, debug).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/pipeline.h"

namespace pipec::ir {

/// What is wrong, one sentence each; empty when the pipeline is well-formed: types agree, variables are in scope and
/// bound once, sources exist and stand before their readers, ranks match, outputs have explicit ranges, accumulates
/// too, sizes' expressions are Int32 over sizes only.
std::vector<std::string> verify(const Pipeline& pipeline);

/// An array of a kernel: what Source::Kind::Local stands for.
struct LocalArray {
    Type type = Type::Float32;
    std::size_t rank = 0;
};

/// The same for one expression of a kernel, which may use these variables and arrays and read every input and stage.
std::vector<std::string> verify(const Pipeline& pipeline, const Expr& e, const std::set<VarId>& variables,
                                const std::vector<LocalArray>& locals);

}  // namespace pipec::ir
