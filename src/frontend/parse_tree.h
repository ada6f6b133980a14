// ANTLR's parse tree to the project's syntax tree, for the parser only.
#pragma once

#include <antlr4-runtime.h>

#include "PipeParser.h"
#include "frontend/ast.h"
#include "support/diagnostics.h"

namespace pipec::syntax {

/// Builds the tree of what parsed; statements and items with a syntax error are left out. Reports what the grammar
/// takes but the language does not: literals out of range, unknown types, operators and definitions of other languages.
ast::File build_tree(grammar::PipeParser::FileContext& file, antlr4::BufferedTokenStream& tokens,
                     const SourceManager& sources, FileId id, Diagnostics& diags);

}  // namespace pipec::syntax
