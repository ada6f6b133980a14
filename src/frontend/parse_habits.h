// Spellings of other languages that tokens show by themselves, for the parser only: members, namespaces, casts, loops
// and declarations of C. What the parser says at its first error would be about what follows them.
#pragma once

#include <antlr4-runtime.h>

#include "support/diagnostics.h"
#include "support/source.h"

namespace pipec::syntax {

/// After a failed parse: reports such spellings, and hides or replaces their tokens so that the rest can be parsed.
/// No program without errors gets here.
void mend_habits(antlr4::CommonTokenStream& tokens, const SourceManager& sources, FileId file, Diagnostics& diags);

}  // namespace pipec::syntax
