// The IR as text, for `--emit pipeline`, golden tests and messages.
#pragma once

#include <string>

#include "ir/pipeline.h"

namespace pipec::ir {

/// One expression in the language's own syntax, with the user's names and as few parentheses as precedence allows;
/// casts print as `float32(x)`.
std::string to_string(const Pipeline& pipeline, const Expr& e);

/// The whole pipeline, a stage per line (accumulates: several), deterministic.
std::string to_string(const Pipeline& pipeline);

}  // namespace pipec::ir
