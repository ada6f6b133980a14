// The IR as text, for `--emit pipeline`, golden tests and messages.
#pragma once

#include <string>
#include <vector>

#include "ir/pipeline.h"

namespace pipec::ir {

/// One expression in the language's own syntax, with the user's names and as few parentheses as precedence allows;
/// casts print as `float32(x)`. Where that would take more than 1000 operators because some are shared, a shared one is
/// written where it is met first, as `{1: a * a}`, and then stands as `{1}`.
std::string to_string(const Pipeline& pipeline, const Expr& e);

/// The same for an expression of a kernel; `locals` are the names of its arrays.
std::string to_string(const Pipeline& pipeline, const Expr& e, const std::vector<std::string>& locals);

/// The extents of a buffer, `R, 2 * C`; a size that has a default stands with it where
/// the outputs first have it, `H = R / 2`. The buffer is one of the pipeline's.
std::string extents_text(const Pipeline& pipeline, const Buffer& buffer);

/// The whole pipeline, a stage per line (accumulates: several), deterministic.
std::string to_string(const Pipeline& pipeline);

}  // namespace pipec::ir
