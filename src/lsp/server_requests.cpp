// What the server can do, and which feature answers which request.
#include <fmt/format.h>

#include <algorithm>

#include "format/format.h"
#include "lsp/server.h"

namespace pipec::lsp {

namespace {

std::int64_t coordinate(const Json& number) {
    if (!number.is_number_integer()) throw RequestError(ErrorCode::InvalidParams, "a position is two whole numbers");
    if (number.is_number_unsigned() && number.get<std::uint64_t>() > INT64_MAX) return INT64_MAX;
    return number.get<std::int64_t>();
}

Range range_from(const Json& range) {
    return {position_from(range.at("start")), position_from(range.at("end"))};
}

}  // namespace

Position position_from(const Json& position) {
    return {coordinate(position.at("line")), coordinate(position.at("character"))};
}

Json Server::initialize(const Json& params) {
    if (initialized_) throw RequestError(ErrorCode::InvalidRequest, "`initialize` was there already");
    initialized_ = true;
    const auto flag = [&](const char* pointer) {
        const Json::json_pointer at(pointer);
        return params.contains(at) && params[at].is_boolean() && params[at].get<bool>();
    };
    refreshes_hints_ = flag("/capabilities/workspace/inlayHint/refreshSupport");
    const Json::json_pointer directories("/initializationOptions/includeDirs");
    if (params.contains(directories) && params[directories].is_array()) {
        for (const Json& directory : params[directories]) {
            if (directory.is_string()) options_.include_dirs.push_back(directory);
        }
    }
    const Json capabilities = {
        {"positionEncoding", "utf-16"},
        {"textDocumentSync", {{"openClose", true}, {"change", 2}, {"save", true}}},
        {"hoverProvider", true},
        {"definitionProvider", true},
        {"referencesProvider", true},
        {"documentHighlightProvider", true},
        {"renameProvider", {{"prepareProvider", true}}},
        {"documentSymbolProvider", true},
        {"completionProvider", {{"triggerCharacters", {"\""}}}},
        {"signatureHelpProvider", {{"triggerCharacters", {"(", ","}}}},
        {"semanticTokensProvider", {{"legend", semantic_tokens_legend()}, {"full", true}}},
        {"documentFormattingProvider", true},
        {"codeActionProvider", {{"codeActionKinds", {"quickfix"}}}},
        {"inlayHintProvider", true},
    };
    return {{"capabilities", capabilities}, {"serverInfo", {{"name", "pipec"}, {"version", options_.version}}}};
}

void Server::add_handlers() {
    // A request about a place of a text, or about all of it.
    const auto at_place = [this](Json (*feature)(const View&, std::size_t)) {
        return [this, feature](const Json& params) {
            const Document& document = analysed(params);
            return feature(view(document), offset(document, params));
        };
    };
    const auto of_text = [this](Json (*feature)(const View&)) {
        return [this, feature](const Json& params) { return feature(view(analysed(params))); };
    };
    handlers_["textDocument/hover"] = at_place(hover);
    handlers_["textDocument/definition"] = at_place(definition);
    handlers_["textDocument/documentHighlight"] = at_place(highlights);
    handlers_["textDocument/signatureHelp"] = at_place(signature_help);
    handlers_["textDocument/prepareRename"] = at_place(prepare_rename);
    handlers_["textDocument/documentSymbol"] = of_text(document_symbols);
    handlers_["textDocument/semanticTokens/full"] = of_text(semantic_tokens);
    handlers_["textDocument/inlayHint"] = [this](const Json& params) {
        return inlay_hints(view(analysed(params)), range_from(params.at("range")));
    };
    handlers_["textDocument/codeAction"] = [this](const Json& params) {
        const Document& document = analysed(params);
        return code_actions(view(document), document.uri, range_from(params.at("range")));
    };
    handlers_["textDocument/completion"] = [this](const Json& params) {
        const Document& document = analysed(params);
        return completion(view(document), offset(document, params), document.last_good.get(), options_.include_dirs);
    };
    handlers_["textDocument/formatting"] = [this](const Json& params) { return format(params); };
    handlers_["textDocument/references"] = [this](const Json& params) { return references(params); };
    handlers_["textDocument/rename"] = [this](const Json& params) { return rename_all(params); };
}

std::size_t Server::offset(const Document& document, const Json& params) {
    return document.analysed->lines.offset(position_from(params.at("position")));
}

std::vector<const Analysis*> Server::others(const Document& document) {
    std::vector<const Analysis*> result;
    for (auto& [uri, other] : documents_) {
        if (uri == document.uri) continue;
        analyse(other);
        result.push_back(other.analysed->analysis.get());
    }
    return result;
}

Range Server::range_in(const std::string& path, SourceRange range) {
    // Every analysis that knows the file has the same text of it.
    for (const auto& [uri, document] : documents_) {
        if (!document.analysed) continue;
        const SourceManager& sources = document.analysed->analysis->sources;
        for (FileId file = 0; file < static_cast<FileId>(sources.size()); ++file) {
            if (sources.name(file) == path) return Lines(sources.text(file)).range(range.begin, range.end);
        }
    }
    return {};
}

Json Server::location(const std::string& path, SourceRange range) {
    return {{"uri", uri_of(path)}, {"range", to_json(range_in(path, range))}};
}

Json Server::references(const Json& params) {
    const Document& document = analysed(params);
    const Json::json_pointer flag("/context/includeDeclaration");
    const bool with_declaration = params.contains(flag) && params[flag].is_boolean() && params[flag].get<bool>();
    const auto places = places_of(view(document), offset(document, params), with_declaration, others(document));
    if (!places) return nullptr;
    Json result = Json::array();
    for (const auto& [path, range] : places->places) result.push_back(location(path, range));
    return result;
}

Json Server::rename_all(const Json& params) {
    const Document& document = analysed(params);
    const auto edits = rename(view(document), offset(document, params), params.at("newName").get<std::string>(),
                              others(document), request_for(document));
    Json changes = Json::object();
    for (const auto& [path, ranges] : edits) {
        Json& list = changes[uri_of(path)] = Json::array();
        for (const SourceRange& range : ranges) {
            list.push_back({{"range", to_json(range_in(path, range))}, {"newText", params["newName"]}});
        }
    }
    return {{"changes", changes}};
}

Json Server::format(const Json& params) {
    const Document& formatted = document(params);
    SourceManager sources;
    Diagnostics diags;
    const FileId file = sources.add(formatted.path, formatted.text);
    const auto text = format::format_text(sources, file, diags);
    if (!text) return nullptr;
    Json edits = Json::array();
    if (*text == formatted.text) return edits;
    // What is equal at both ends stays, so that cursors do.
    const std::string_view before = formatted.text, after = *text;
    std::size_t begin = 0;
    while (begin < before.size() && begin < after.size() && before[begin] == after[begin]) ++begin;
    while (begin > 0 && before[begin - 1] != '\n') --begin;  // at the beginning of a line
    std::size_t same = 0;
    while (same < before.size() - begin && same < after.size() - begin &&
           before[before.size() - same - 1] == after[after.size() - same - 1]) {
        ++same;
    }
    while (same > 0 && before[before.size() - same - 1] != '\n') --same;
    const Lines lines(before);
    edits.push_back({{"range", to_json(lines.range(begin, before.size() - same))},
                     {"newText", after.substr(begin, after.size() - same - begin)}});
    return edits;
}

}  // namespace pipec::lsp
