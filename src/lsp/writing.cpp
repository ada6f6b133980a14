// References and rename.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "lsp/features.h"

namespace pipec::lsp {

namespace {

/// A declaration as other analyses know it: the file's path and where the name begins.
using Identity = std::pair<std::string, std::uint32_t>;

Identity identity(const Analysis& analysis, const Declaration& d) {
    return {std::string(analysis.sources.name(d.range.file)), d.range.begin};
}

void add_places(const Analysis& analysis, const Identity& wanted, bool with_declaration, Places& result) {
    const auto& declarations = analysis.names.declarations;
    const auto add = [&](SourceRange range) {
        const std::pair place(std::string(analysis.sources.name(range.file)), range);
        const bool known = std::ranges::any_of(result.places, [&](const auto& other) {
            return other.first == place.first && other.second.begin == range.begin;
        });
        if (!known && is_on_disk(analysis, range.file)) result.places.push_back(place);
    };
    for (std::size_t i = 0; i < declarations.size(); ++i) {
        if (identity(analysis, declarations[i]) != wanted) continue;
        result.name = declarations[i].name;
        if (with_declaration) add(declarations[i].range);
        for (const NameUse& use : analysis.names.uses) {
            if (use.declaration == static_cast<int>(i)) add(use.range);
        }
    }
}

bool is_identifier(std::string_view name) {
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0) return false;
    return std::ranges::all_of(name, [](unsigned char c) { return c < 0x80 && (std::isalnum(c) != 0 || c == '_'); });
}

/// What each use means, by its number: the same before and after a change that only renames.
std::vector<int> meanings(const NameTable& table) {
    std::vector<int> result{static_cast<int>(table.declarations.size())};
    for (const NameUse& use : table.uses) result.push_back(use.declaration);
    return result;
}

/// The text with names replaced; places are in the order of the text.
std::string renamed(std::string_view text, const std::vector<SourceRange>& places, const std::string& name) {
    std::string result;
    std::size_t at = 0;
    for (const SourceRange& place : places) {
        result += text.substr(at, place.begin - at);
        result += name;
        at = place.end;
    }
    return result + std::string(text.substr(at));
}

}  // namespace

std::optional<Places> places_of(const View& view, std::size_t offset, bool with_declaration,
                                const std::vector<const Analysis*>& others) {
    const auto name = name_at(view.analysis, offset);
    if (!name) return std::nullopt;
    const Identity wanted =
        identity(view.analysis, view.analysis.names.declarations[static_cast<std::size_t>(name->declaration)]);
    Places result;
    add_places(view.analysis, wanted, with_declaration, result);
    for (const Analysis* other : others) add_places(*other, wanted, with_declaration, result);
    return result;
}

Json prepare_rename(const View& view, std::size_t offset) {
    const auto name = name_at(view.analysis, offset);
    if (!name) return nullptr;
    const Declaration& d = view.analysis.names.declarations[static_cast<std::size_t>(name->declaration)];
    if (!is_on_disk(view.analysis, d.range.file)) return nullptr;
    return {{"range", to_json(view.range(name->range))}, {"placeholder", d.name}};
}

std::map<std::string, std::vector<SourceRange>> rename(const View& view, std::size_t offset, const std::string& name,
                                                       const std::vector<const Analysis*>& others,
                                                       AnalysisRequest request) {
    const Analysis& analysis = view.analysis;
    const auto at = name_at(analysis, offset);
    if (!at) throw RequestError(ErrorCode::RequestFailed, "there is no name here");
    const Declaration& d = analysis.names.declarations[static_cast<std::size_t>(at->declaration)];
    if (!is_on_disk(analysis, d.range.file)) {
        throw RequestError(ErrorCode::RequestFailed, fmt::format("`{}` is in the standard library", d.name));
    }
    if (!is_identifier(name)) {
        throw RequestError(ErrorCode::RequestFailed, "a name consists of letters, digits and underscores");
    }
    const auto places = places_of(view, offset, true, others);
    std::map<std::string, std::vector<SourceRange>> edits;
    std::vector<SourceRange> here;
    for (const auto& [path, range] : places->places) {
        edits[path].push_back(range);
        if (range.file == analysis.main && path == analysis.sources.name(analysis.main)) here.push_back(range);
    }
    // A name that is taken, a keyword, or a name that would hide others: the new text is tried.
    std::ranges::sort(here, {}, &SourceRange::begin);
    request.full = false;
    request.text = renamed(analysis.text(), here, name);
    const bool elsewhere = d.range.file != analysis.main;
    const auto changed = analyze(request);
    const bool same = meanings(changed->names) == meanings(analysis.names) ||
                      (elsewhere && changed->names.declarations.size() == analysis.names.declarations.size());
    if (!same || (!analysis.diags.has_errors() && !elsewhere && changed->diags.has_errors())) {
        throw RequestError(
            ErrorCode::RequestFailed,
            fmt::format("`{}` cannot be called `{}`: that name means something else here", d.name, name));
    }
    return edits;
}

}  // namespace pipec::lsp
