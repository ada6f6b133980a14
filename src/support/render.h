// Diagnostics as text for people and as JSON for programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostics.h"
#include "support/source.h"

namespace pipec {

struct TextStyle {
    bool color = false;
    /// Longer source lines are cut to a window of this many columns around the caret.
    std::size_t width = 100;
};

/// Every diagnostic in the order of the reports (identical ones once), each with its place, the source line, a caret,
/// its fix-its and notes; then a line that counts them. Empty when there are none.
///
///     blur.pipe:3:17: error: unknown name `imgg` [unknown-name]
///         3 |     blury(y, x) = imgg(y, x)
///           |                   ^~~~
///           |                   img
///     blur.pipe:1:15: note: `img` is defined here
///     1 error generated.
std::string render_text(const Diagnostics& diagnostics, const SourceManager& sources, const TextStyle& style = {});

/// One JSON document, also when there are no diagnostics:
///
///     {"version": 1, "diagnostics": [{"severity", "id", "message", "file", "line", "column", "endLine", "endColumn",
///       "notes": [{"message", "file", ...}], "fixits": [{"text", "file", "line", "column", "endLine", "endColumn"}]}]}
///
/// Lines and columns start at 1, columns count code points, the end is exclusive. The keys of a place are left out
/// where a diagnostic or note has none. Bytes that are not UTF-8 become U+FFFD.
std::string render_json(const Diagnostics& diagnostics, const SourceManager& sources);

/// The diagnostics in the order of their reports, without the second and later of identical ones.
std::vector<Diagnostic> distinct(const Diagnostics& diagnostics);

}  // namespace pipec
