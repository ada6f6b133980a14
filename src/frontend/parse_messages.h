// What is said about a syntax error, for the parser only.
#pragma once

#include <antlr4-runtime.h>

#include <optional>

#include "support/diagnostics.h"
#include "support/source.h"

namespace pipec::syntax {

/// Reports that `found` cannot stand where the parser is. Finds the most telling words for it. Returns the index of the
/// token where parsing should go on, where that is known: the next statement, whose beginning the one before swallowed.
std::optional<std::size_t> report_syntax_error(antlr4::Parser& parser, const antlr4::Token& found,
                                               const SourceManager& sources, FileId file, Diagnostics& diags);

}  // namespace pipec::syntax
