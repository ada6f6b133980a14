// Diagnostics as JSON, for editors and scripts.
#include <nlohmann/json.hpp>

#include "support/render.h"

namespace pipec {
namespace {

using Json = nlohmann::ordered_json;

void add_place(Json& object, SourceRange range, const SourceManager& sources) {
    if (!range.valid()) return;
    const LineColumn begin = sources.position(range.file, range.begin);
    const LineColumn end = sources.position(range.file, std::max(range.begin, range.end));
    object["file"] = sources.name(range.file);
    object["line"] = begin.line;
    object["column"] = begin.column;
    object["endLine"] = end.line;
    object["endColumn"] = end.column;
}

Json to_json(const Diagnostic& d, const SourceManager& sources) {
    Json object;
    object["severity"] = d.severity == Severity::Error ? "error" : "warning";
    object["id"] = d.id;
    object["message"] = d.message;
    add_place(object, d.range, sources);
    object["notes"] = Json::array();
    for (const DiagnosticNote& note : d.notes) {
        Json& item = object["notes"].emplace_back();
        item["message"] = note.message;
        add_place(item, note.range, sources);
    }
    object["fixits"] = Json::array();
    for (const FixIt& fixit : d.fixits) {
        Json& item = object["fixits"].emplace_back();
        item["text"] = fixit.text;
        add_place(item, fixit.range, sources);
    }
    return object;
}

}  // namespace

std::string render_json(const Diagnostics& diagnostics, const SourceManager& sources) {
    Json document;
    document["version"] = 1;
    document["diagnostics"] = Json::array();
    for (const Diagnostic& d : distinct(diagnostics)) document["diagnostics"].push_back(to_json(d, sources));
    return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace pipec
