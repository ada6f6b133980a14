// What is wrong with a text, and what can be done about it.
#include <fmt/format.h>

#include <algorithm>

#include "lsp/features.h"
#include "support/render.h"

namespace pipec::lsp {

Json to_json(const Position& position) {
    return {{"line", position.line}, {"character", position.character}};
}
Json to_json(const Range& range) {
    return {{"start", to_json(range.start)}, {"end", to_json(range.end)}};
}

namespace {

/// The place in the main file where something in an imported file is shown: the import that leads to it.
SourceRange import_of(const Analysis& analysis, FileId file) {
    const Program& program = analysis.checked.program;
    const auto imports =
        std::ranges::find(program.resolved_imports, analysis.main, &std::pair<FileId, std::vector<int>>::first);
    const ast::Import* found = nullptr;
    std::size_t number = 0;
    for (const ast::Item& item : program.main.items) {
        const auto* import = std::get_if<ast::Import>(&item.value);
        if (import == nullptr) continue;
        if (found == nullptr) found = import;  // what an import imports is shown at the first one
        if (imports != program.resolved_imports.end() && number < imports->second.size()) {
            const int index = imports->second[number];
            if (index >= 0 && program.files[static_cast<std::size_t>(index)].file.id == file) return import->path_range;
        }
        ++number;
    }
    return found == nullptr ? SourceRange{analysis.main, 0, 0} : found->path_range;
}

Json location(const Analysis& analysis, SourceRange range) {
    const Lines lines(analysis.sources.text(range.file));
    return {{"uri", uri_of(analysis.sources.name(range.file))},
            {"range", to_json(lines.range(range.begin, range.end))}};
}

Json to_json(const View& view, const Diagnostic& d) {
    const Analysis& analysis = view.analysis;
    std::string message = d.message;
    SourceRange range = d.range;
    if (!range.valid()) range = {analysis.main, 0, 0};
    Json related = Json::array();
    if (range.file != analysis.main) {
        const LineColumn at = analysis.sources.position(range.file, range.begin);
        message = fmt::format("{}:{}: {}", analysis.sources.name(range.file), at.line, message);
        if (is_on_disk(analysis, range.file)) {
            related.push_back({{"location", location(analysis, range)}, {"message", valid_utf8(d.message)}});
        }
        range = import_of(analysis, range.file);
    }
    for (const DiagnosticNote& note : d.notes) {
        if (note.range.valid() && is_on_disk(analysis, note.range.file)) {
            related.push_back({{"location", location(analysis, note.range)}, {"message", valid_utf8(note.message)}});
        } else {
            message += "\n" + note.message;
        }
    }
    Json result = {{"range", to_json(view.range(range))},
                   {"severity", d.severity == Severity::Error ? 1 : 2},
                   {"source", "pipec"},
                   {"code", d.id},
                   {"message", valid_utf8(message)}};
    if (!related.empty()) result["relatedInformation"] = related;
    if (d.id.starts_with("unused-")) result["tags"] = {1};
    return result;
}

bool overlap(const Range& a, const Range& b) {
    const auto before = [](const Position& p, const Position& q) {
        return p.line < q.line || (p.line == q.line && p.character < q.character);
    };
    return !before(a.end, b.start) && !before(b.end, a.start);
}

Json action(const std::string& title, Json diagnostic, const std::string& uri, Json edits, bool preferred) {
    return {{"title", title},
            {"kind", "quickfix"},
            {"diagnostics", {std::move(diagnostic)}},
            {"isPreferred", preferred},
            {"edit", {{"changes", {{uri, std::move(edits)}}}}}};
}

}  // namespace

Json diagnostics_json(const View& view) {
    Json result = Json::array();
    for (const Diagnostic& d : distinct(view.analysis.diags)) result.push_back(to_json(view, d));
    return result;
}

Json code_actions(const View& view, const std::string& uri, Range range) {
    Json result = Json::array();
    for (const Diagnostic& d : distinct(view.analysis.diags)) {
        if (d.range.file != view.analysis.main || !overlap(view.range(d.range), range)) continue;
        const Json diagnostic = to_json(view, d);
        Json edits = Json::array();
        std::string title;
        for (const FixIt& fix : d.fixits) {
            if (fix.range.file != view.analysis.main) continue;
            edits.push_back({{"range", to_json(view.range(fix.range))}, {"newText", fix.text}});
            title = fix.text.empty()
                        ? fmt::format("Remove `{}`", view.analysis.sources.text(fix.range))
                        : fmt::format("{} `{}`", fix.range.begin == fix.range.end ? "Insert" : "Write", fix.text);
        }
        if (!edits.empty()) result.push_back(action(valid_utf8(title), diagnostic, uri, edits, true));
        if (d.id != "unknown-name") continue;
        const auto [first, last] = library_names().equal_range(view.analysis.sources.text(d.range));
        for (auto found = first; found != last; ++found) {
            const std::string& file = found->second.file;
            result.push_back(action(fmt::format("Import \"{}\"", file), diagnostic, uri,
                                    Json::array({import_edit(view, file)}), std::distance(first, last) == 1));
        }
    }
    return result;
}

}  // namespace pipec::lsp
