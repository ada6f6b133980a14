// ANTLR's parse tree to the concrete syntax tree (concrete.h).
#pragma once

#include <antlr4-runtime.h>

#include "PipeParser.h"
#include "frontend/concrete.h"

namespace pipec::syntax {

/// `tree` has no errors.
concrete::File build_concrete(grammar::PipeParser::FileContext& tree, antlr4::CommonTokenStream& tokens, FileId file);

}  // namespace pipec::syntax
