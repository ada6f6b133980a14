// Semantic tokens and inlay hints.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lsp/features.h"

namespace pipec::lsp {

namespace {

constexpr std::array kTokenTypes{"function", "variable", "parameter", "property", "namespace"};
constexpr std::array kTokenModifiers{"declaration", "definition", "readonly", "defaultLibrary"};
enum TokenType { Function, Variable, Parameter, Property, Namespace };
enum TokenModifier { DeclarationBit = 1, DefinitionBit = 2, ReadonlyBit = 4, LibraryBit = 8 };

struct Token {
    SourceRange range;
    int type = 0;
    int modifiers = 0;
};

Token token_of(const Declaration& d, SourceRange range) {
    switch (d.kind) {
        case NameKind::Function: return {range, Function, 0};
        case NameKind::Pipeline: return {range, Namespace, 0};
        case NameKind::Const:
        case NameKind::Size: return {range, Variable, ReadonlyBit};
        case NameKind::Stage:
        case NameKind::Array:
        case NameKind::Output: return {range, Property, 0};
        case NameKind::Input: return {range, Parameter, ReadonlyBit};
        case NameKind::Parameter:
        case NameKind::Argument: return {range, Parameter, 0};
        default: return {range, Variable, 0};
    }
}

bool before(const Position& a, const Position& b) {
    return a.line < b.line || (a.line == b.line && a.character < b.character);
}

}  // namespace

Json semantic_tokens_legend() {
    return {{"tokenTypes", kTokenTypes}, {"tokenModifiers", kTokenModifiers}};
}

Json semantic_tokens(const View& view) {
    const Analysis& analysis = view.analysis;
    std::vector<Token> tokens;
    for (const Declaration& d : analysis.names.declarations) {
        if (d.range.file != analysis.main || d.range.begin == d.range.end) continue;
        tokens.push_back(token_of(d, d.range));
        tokens.back().modifiers |= DeclarationBit;
    }
    for (const NameUse& use : analysis.names.uses) {
        if (use.range.file != analysis.main) continue;
        const Declaration& d = analysis.names.declarations[static_cast<std::size_t>(use.declaration)];
        tokens.push_back(token_of(d, use.range));
        if (use.definition) tokens.back().modifiers |= DefinitionBit;
        if (!is_on_disk(analysis, d.range.file)) tokens.back().modifiers |= LibraryBit;
    }
    std::ranges::sort(tokens, {}, [](const Token& t) { return t.range.begin; });
    Json data = Json::array();
    Position last;
    std::size_t end = 0;
    for (const Token& t : tokens) {
        if (t.range.begin < end) continue;  // a size is declared where it is first used
        end = t.range.end;
        const Range range = view.range(t.range);
        const std::int64_t line = range.start.line - last.line;
        data.push_back(line);
        data.push_back(line == 0 ? range.start.character - last.character : range.start.character);
        data.push_back(range.end.character - range.start.character);
        data.push_back(t.type);
        data.push_back(t.modifiers);
        last = range.start;
    }
    return {{"data", data}};
}

Json inlay_hints(const View& view, Range range) {
    const Analysis& analysis = view.analysis;
    Json result = Json::array();
    const auto hint = [&](std::uint32_t offset, const std::string& label, bool space_before) {
        const Position at = view.lines.position(offset);
        if (before(at, range.start) || before(range.end, at)) return;
        result.push_back({{"position", to_json(at)},
                          {"label", label},
                          {"kind", 1},
                          {"paddingLeft", space_before},
                          {"paddingRight", false}});
    };
    for (const auto& [place, facts] : analysis.stages) {
        if (place.first != analysis.main) continue;
        const StageFacts& first = facts.front();
        // Stages of loops and calls share a place in the text; only what holds for all of them is said.
        const bool same_ranges =
            std::ranges::all_of(facts, [&](const StageFacts& f) { return f.ranges == first.ranges; });
        const bool same_type = std::ranges::all_of(facts, [&](const StageFacts& f) { return f.type == first.type; });
        const std::string_view text = analysis.sources.text(first.range);
        const bool has_dimensions = text.ends_with(")");
        if (same_ranges && has_dimensions) {
            for (std::size_t d = 0; d < first.ranges.size(); ++d) {
                const SourceRange at = first.dimensions[d];
                const bool inside =
                    at.file == analysis.main && first.range.begin < at.begin && at.end < first.range.end;
                // `..k` stands for several dimensions.
                const bool spliced = inside && at.begin >= 2 && analysis.text().substr(at.begin - 2, 2) == "..";
                if (inside && !spliced && !first.ranges[d].empty()) hint(at.end, "in " + first.ranges[d], true);
            }
        } else if (same_ranges && !first.domain.empty()) {
            hint(first.range.end, "(" + first.domain + ")", false);
        }
        const std::string_view rest = analysis.text().substr(first.range.end);
        const std::size_t next = rest.find_first_not_of(" \t\r\n");
        if (same_type && next != std::string_view::npos && rest[next] != ':') {
            hint(first.range.end, ": " + first.type, false);
        }
    }
    return result;
}

}  // namespace pipec::lsp
