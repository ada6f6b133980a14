// Text to syntax tree. The only place that knows ANTLR is parse.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "frontend/ast.h"
#include "support/diagnostics.h"
#include "support/source.h"

namespace pipec {

/// Parses a file. Reports syntax errors (several, with recovery) and returns what could be understood: items and
/// statements with an error are left out. Brackets nested deeper than kMaxNesting, and expressions whose tree is deeper
/// than kMaxDepth (a sum of n terms is n - 1 deep), are errors, so that no later pass can exhaust the stack.
ast::File parse(const SourceManager& sources, FileId file, Diagnostics& diags);
inline constexpr int kMaxNesting = 256;
inline constexpr int kMaxDepth = 2500;

/// The type that a name of another language most likely means: `float`, `u8`, ...
std::optional<ir::Type> foreign_type(std::string_view name);

/// The tokens, one a line, for `--emit tokens`.
std::string dump_tokens(const SourceManager& sources, FileId file);

}  // namespace pipec
