// Hover, definition, signature help, symbols, highlights.
#include <fmt/format.h>

#include <algorithm>

#include "lsp/features.h"

namespace pipec::lsp {

namespace {

std::string code(const std::string& text) {
    return "```pipe\n" + text + "\n```\n";
}

/// The type and the value that are known of a declaration.
std::string value_line(const Analysis& analysis, const Declaration& d) {
    const auto found = analysis.record.values.find({d.range.file, d.range.begin});
    if (found == analysis.record.values.end()) return "";
    std::string result;
    for (const std::string& value : found->second) result += (result.empty() ? "" : ", ") + value;
    return result;
}

/// What is known of the stages that a definition makes.
std::string stage_lines(const Analysis& analysis, const Declaration& d) {
    constexpr std::size_t kMost = 3;
    std::vector<const StageFacts*> facts;
    const auto add = [&](SourceRange range) {
        const auto found = analysis.stages.find({range.file, range.begin});
        if (found == analysis.stages.end()) return;
        for (const StageFacts& f : found->second) facts.push_back(&f);
    };
    add(d.range);
    // Outputs and elements of arrays are defined elsewhere.
    for (const NameUse& use : analysis.names.uses) {
        if (use.definition && &analysis.names.declarations[static_cast<std::size_t>(use.declaration)] == &d) {
            add(use.range);
        }
    }
    std::string result;
    for (std::size_t i = 0; i < facts.size() && i < kMost; ++i) {
        const StageFacts& f = *facts[i];
        const std::string label = facts.size() > 1 ? fmt::format("`{}`: ", f.name) : "";
        result +=
            fmt::format("\n{}**{}**{}\n", label, f.type, f.domain.empty() ? "" : ", computed for `" + f.domain + "`");
        for (const std::string& read : f.reads) result += fmt::format("- reads `{}`\n", read);
        if (!f.place.empty()) result += fmt::format("- {}\n", f.place);
    }
    if (facts.size() > kMost) result += fmt::format("\nand {} more\n", facts.size() - kMost);
    return result;
}

Json markdown(const std::string& text, const Range& range) {
    return {{"contents", {{"kind", "markdown"}, {"value", valid_utf8(text)}}}, {"range", to_json(range)}};
}

int symbol_kind(NameKind kind) {
    constexpr int kFunction = 12, kVariable = 13, kConstant = 14, kModule = 2, kField = 8, kArray = 18, kInterface = 11,
                  kParameter = 26;
    switch (kind) {
        case NameKind::Function: return kFunction;
        case NameKind::Pipeline: return kModule;
        case NameKind::Const: return kConstant;
        case NameKind::Stage: return kField;
        case NameKind::Array: return kArray;
        case NameKind::Input:
        case NameKind::Output: return kInterface;
        case NameKind::Parameter: return kParameter;
        default: return kVariable;
    }
}

bool holds(SourceRange outer, SourceRange inner) {
    return outer.file == inner.file && outer.begin <= inner.begin && inner.end <= outer.end;
}

}  // namespace

Json hover(const View& view, std::size_t offset) {
    const Analysis& analysis = view.analysis;
    if (const auto name = name_at(analysis, offset)) {
        const Declaration& d = analysis.names.declarations[static_cast<std::size_t>(name->declaration)];
        std::string text = code(signature(analysis, d));
        if (const std::string value = value_line(analysis, d); !value.empty()) text += "\n" + value + "\n";
        text += stage_lines(analysis, d);
        if (!d.doc.empty()) text += "\n" + d.doc + "\n";
        if (d.range.file != analysis.main && d.of_file) {
            text += fmt::format("\n*{}*\n", analysis.sources.name(d.range.file));
        }
        return markdown(text, view.range(name->range));
    }
    const std::string_view word = word_at(analysis.text(), offset);
    const auto begin = static_cast<std::size_t>(word.data() - analysis.text().data());
    const Range range = view.lines.range(begin, begin + word.size());
    if (const BuiltinFunction* f = builtin_function(word)) {
        return markdown(code(fmt::format("{}({})", f->name, f->arguments)) + "\n" + std::string(f->meaning) + "\n",
                        range);
    }
    return nullptr;
}

namespace {

/// Where a range of a file is looked at; null where that file is not on disk.
Json location(const View& view, FileId file, SourceRange range) {
    std::string path(view.analysis.sources.name(file));
    constexpr std::string_view kLibrary = "<stdlib>/";
    if (path.starts_with(kLibrary) && !view.library.empty()) {
        path = view.library + "/" + path.substr(kLibrary.size());
    } else if (!is_on_disk(view.analysis, file)) {
        return nullptr;
    }
    const Lines lines(view.analysis.sources.text(file));
    return {{"uri", uri_of(path)}, {"range", to_json(lines.range(range.begin, range.end))}};
}

/// The file that the import at a byte means.
std::optional<FileId> import_at(const Analysis& analysis, std::size_t offset) {
    const Program& program = analysis.checked.program;
    std::size_t number = 0;
    for (const ast::Item& item : program.main.items) {
        const auto* import = std::get_if<ast::Import>(&item.value);
        if (import == nullptr) continue;
        if (offset < import->path_range.begin || offset > import->path_range.end) {
            ++number;
            continue;
        }
        for (const auto& [file, imports] : program.resolved_imports) {
            if (file != analysis.main || number >= imports.size() || imports[number] < 0) continue;
            return program.files[static_cast<std::size_t>(imports[number])].file.id;
        }
    }
    return std::nullopt;
}

}  // namespace

Json definition(const View& view, std::size_t offset) {
    if (const auto file = import_at(view.analysis, offset)) return location(view, *file, {*file, 0, 0});
    const auto name = name_at(view.analysis, offset);
    if (!name) return nullptr;
    const SourceRange at = view.analysis.names.declarations[static_cast<std::size_t>(name->declaration)].range;
    return location(view, at.file, at);
}

Json signature_help(const View& view, std::size_t offset) {
    const std::string_view text = view.analysis.text();
    // Backwards to the bracket that is open here; what is in comments and strings is taken for code.
    int depth = 0, argument = 0;
    constexpr std::size_t kFar = 4000;
    std::size_t open = std::min(offset, text.size());
    for (std::size_t steps = 0;; ++steps) {
        if (open == 0 || steps > kFar) return nullptr;
        const char c = text[--open];
        if (c == ')' || c == ']') ++depth;
        if (c == ',' && depth == 0) ++argument;
        if (c == '{' || c == '}') return nullptr;
        if ((c == '(' || c == '[') && depth-- == 0) break;
    }
    if (text[open] != '(') return nullptr;
    std::string label, doc;
    std::vector<std::string> arguments;
    const std::string_view word = word_at(text, open);
    if (word.empty()) return nullptr;
    const auto name = name_at(view.analysis, open);
    if (name) {
        const Declaration& d = view.analysis.names.declarations[static_cast<std::size_t>(name->declaration)];
        if (d.kind != NameKind::Function) return nullptr;
        label = signature(view.analysis, d);
        doc = d.doc;
        arguments = d.arguments;
    } else if (const BuiltinFunction* f = builtin_function(word)) {
        label = fmt::format("{}({})", f->name, f->arguments);
        doc = f->meaning;
        for (std::size_t at = 0; at < f->arguments.size();) {
            const std::size_t end = std::min(f->arguments.find(", ", at), f->arguments.size());
            arguments.emplace_back(f->arguments.substr(at, end - at));
            at = end + 2;
        }
    } else {
        return nullptr;
    }
    Json parameters = Json::array();
    for (const std::string& a : arguments) parameters.push_back({{"label", valid_utf8(a)}});
    const Json one = {{"label", valid_utf8(label)},
                      {"documentation", {{"kind", "markdown"}, {"value", valid_utf8(doc)}}},
                      {"parameters", parameters}};
    return {{"signatures", {one}}, {"activeSignature", 0}, {"activeParameter", argument}};
}

Json document_symbols(const View& view) {
    const auto& declarations = view.analysis.names.declarations;
    // A declaration belongs to the innermost function or pipeline around it.
    std::vector<int> owners;
    for (std::size_t i = 0; i < declarations.size(); ++i) {
        const NameKind kind = declarations[i].kind;
        const bool owner = kind == NameKind::Function || kind == NameKind::Pipeline;
        if (declarations[i].range.file == view.analysis.main && owner) owners.push_back(static_cast<int>(i));
    }
    std::map<int, Json> children;
    Json result = Json::array();
    const auto symbol = [&](const Declaration& d) -> Json {
        return {{"name", d.name},
                {"kind", symbol_kind(d.kind)},
                {"detail", valid_utf8(d.kind == NameKind::Function ? signature(view.analysis, d) : "")},
                {"range", to_json(view.range(d.whole))},
                {"selectionRange", to_json(view.range(d.range))}};
    };
    for (const Declaration& d : declarations) {
        const bool shown = d.kind != NameKind::Variable && d.kind != NameKind::Splice && d.kind != NameKind::Argument;
        if (!shown || d.range.file != view.analysis.main || !holds(d.whole, d.range)) continue;
        if (d.kind == NameKind::Function || d.kind == NameKind::Pipeline || d.of_file) continue;
        for (const int owner : owners) {
            if (!holds(declarations[static_cast<std::size_t>(owner)].whole, d.whole)) continue;
            Json& list = children.try_emplace(owner, Json::array()).first->second;
            list.push_back(symbol(d));
            break;
        }
    }
    for (std::size_t i = 0; i < declarations.size(); ++i) {
        const Declaration& d = declarations[i];
        if (d.range.file != view.analysis.main || !(d.of_file || d.kind == NameKind::Pipeline)) continue;
        Json one = symbol(d);
        if (const auto found = children.find(static_cast<int>(i)); found != children.end()) {
            one["children"] = found->second;
        }
        result.push_back(std::move(one));
    }
    return result;
}

Json highlights(const View& view, std::size_t offset) {
    const auto places = places_of(view, offset, true, {});
    if (!places) return nullptr;
    Json result = Json::array();
    for (const auto& [path, range] : places->places) {
        if (range.file == view.analysis.main) result.push_back({{"range", to_json(view.range(range))}});
    }
    return result;
}

}  // namespace pipec::lsp
