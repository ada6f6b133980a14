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

/// `found` begins a function inside of the block that the parser is in, further right than the line that opens it:
/// further left the block's end is missing.
bool is_nested_function(antlr4::Parser& parser, const antlr4::Token& found);

}  // namespace pipec::syntax
