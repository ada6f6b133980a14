// Answers about a text, in the protocol's JSON. Each is a function of an analysis; places are those of its main file.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lsp/analysis.h"
#include "lsp/message.h"
#include "lsp/text.h"

namespace pipec::lsp {

Json to_json(const Position& position);
Json to_json(const Range& range);
/// Throws RequestError and Json::exception.
Position position_from(const Json& position);

/// The analysed text with its lines.
struct View {
    const Analysis& analysis;
    const Lines& lines;
    std::string library;  ///< a directory with the standard library's files, to be looked at; empty: there is none

    [[nodiscard]] Range range(SourceRange r) const { return lines.range(r.begin, r.end); }
};

// ------------------------------------------------------------------------------------------------------- diagnostics
/// The `diagnostics` of a publication.
Json diagnostics_json(const View& view);
/// Quick fixes for what is wrong in `range`: the fix-its of diagnostics, and imports that are missing.
Json code_actions(const View& view, const std::string& uri, Range range);

// ------------------------------------------------------------------------------------------------------- reading
Json hover(const View& view, std::size_t offset);
Json definition(const View& view, std::size_t offset);
/// The call around a byte: its function and the argument that stands there.
Json signature_help(const View& view, std::size_t offset);
Json document_symbols(const View& view);
/// All places of the name at a byte, in the main file.
Json highlights(const View& view, std::size_t offset);
/// Inferred types and domains behind the left sides of stages. Needs a full analysis.
Json inlay_hints(const View& view, Range range);
/// Names and what they are, for colours.
Json semantic_tokens(const View& view);
Json semantic_tokens_legend();

// ------------------------------------------------------------------------------------------------------- writing
/// Where the declaration that the name at a byte means is written, and where it is used, in all the analyses.
struct Places {
    std::string name;
    std::vector<std::pair<std::string, SourceRange>> places;  ///< by path
};
/// Places in files that are on disk, or open. `others` are the analyses of other open texts.
std::optional<Places> places_of(const View& view, std::size_t offset, bool with_declaration,
                                const std::vector<const Analysis*>& others);
Json prepare_rename(const View& view, std::size_t offset);
/// The places, by path, that become `name`. `request` is what the view is the analysis of. Throws RequestError where
/// the name cannot be changed, or where that would change what other names mean.
std::map<std::string, std::vector<SourceRange>> rename(const View& view, std::size_t offset, const std::string& name,
                                                       const std::vector<const Analysis*>& others,
                                                       AnalysisRequest request);

/// `last_good` is an earlier analysis, of a text without syntax errors, or null.
Json completion(const View& view, std::size_t offset, const Analysis* last_good,
                const std::vector<std::string>& include_dirs);

// ------------------------------------------------------------------------------------------------------- words
/// `fn gaussian(f, sigma, radius)`, `const N = 3`, ...: the declaration as a line of code.
std::string signature(const Analysis& analysis, const Declaration& declaration);

/// A function of the language itself.
struct BuiltinFunction {
    std::string_view name;
    std::string_view arguments;  ///< `a, b`
    std::string_view meaning;
};
const BuiltinFunction* builtin_function(std::string_view name);

/// Functions and constants of the standard library, by name, with the file that has them.
struct LibraryName {
    std::string file;
    std::string signature, doc;
    bool function = false;
};
const std::multimap<std::string, LibraryName, std::less<>>& library_names();

/// The edit that makes a text import a file of the standard library.
Json import_edit(const View& view, const std::string& file);

}  // namespace pipec::lsp
