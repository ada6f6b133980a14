// The one style of .pipe files: text to text.
//
// Line breaks of the author's are kept where the style has places for them: between statements, and in a statement
// behind commas, operators, `=`, `then` and `in`, and before `else`. The rest follows: spaces, indentation, blank lines
// (at most one in a row), blocks, breaks in lines longer than kMaxColumns. docs/editors.md shows it.
#pragma once

#include <optional>
#include <string>

#include "support/diagnostics.h"
#include "support/source.h"

namespace pipec::format {

inline constexpr int kMaxColumns = 120;
inline constexpr int kIndent = 4;

/// The formatted text of a file; none where it has syntax errors, which are reported. Formatting what was formatted
/// changes nothing, and the tokens but for semicolons, which are left out, are the same before and after, as are the
/// comments. Recurses as deep as the program nests. Throws std::logic_error where that would not hold.
std::optional<std::string> format_text(const SourceManager& sources, FileId file, Diagnostics& diags);

}  // namespace pipec::format
