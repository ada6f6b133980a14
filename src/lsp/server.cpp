// The server's state: messages, documents, analyses. What requests answer is in server_requests.cpp and the features.
#include "lsp/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace pipec::lsp {

namespace {

/// One string for all spellings of a path, as the compiler's look-up of imports has it.
std::string canonical(const std::string& path) {
    std::error_code error;
    const auto result = std::filesystem::weakly_canonical(path, error);
    return error ? path : result.string();
}

constexpr std::size_t kMaxTextBytes = std::size_t{64} << 20U;

}  // namespace

Server::Server(ServerOptions options, std::function<void(const Json&)> send)
    : options_(std::move(options)), send_(std::move(send)) {
    add_handlers();
}

void Server::refuse(const Json& id, const RequestError& error) {
    send_(error_response(id, error));
}

void Server::receive(const Json& message, Clock::time_point now) {
    const bool object = message.is_object();
    const Json id = object && message.contains("id") ? message["id"] : Json();
    const bool valid_id = id.is_null() || id.is_string() || id.is_number_integer();
    if (!object || !valid_id) {
        refuse(nullptr, RequestError(ErrorCode::InvalidRequest, "not a message"));
        return;
    }
    if (!message.contains("method")) {
        // An answer to a request of the server's; there is nothing to do about those.
        if (!message.contains("result") && !message.contains("error")) {
            refuse(id, RequestError(ErrorCode::InvalidRequest, "a message without a method"));
        }
        return;
    }
    const bool request = message.contains("id");
    const Json params = message.contains("params") ? message["params"] : Json::object();
    try {
        if (!message["method"].is_string()) throw RequestError(ErrorCode::InvalidRequest, "the method is no string");
        const std::string method = message["method"];
        if (request) {
            send_(response(id, call(method, params)));
        } else {
            notify(method, params, now);
        }
    } catch (const RequestError& error) {
        if (request) refuse(id, error);
    } catch (const Json::exception& error) {
        if (request) refuse(id, RequestError(ErrorCode::InvalidParams, error.what()));
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& error) {
        if (request) refuse(id, RequestError(ErrorCode::InternalError, error.what()));
    }
}

Json Server::call(const std::string& method, const Json& params) {
    if (method == "initialize") return initialize(params);
    if (!initialized_) throw RequestError(ErrorCode::NotInitialized, "`initialize` comes first");
    if (shut_down_) throw RequestError(ErrorCode::InvalidRequest, "after `shutdown`");
    if (method == "shutdown") {
        shut_down_ = true;
        return nullptr;
    }
    const auto handler = handlers_.find(method);
    if (handler == handlers_.end()) throw RequestError(ErrorCode::MethodNotFound, "unknown method: " + method);
    return handler->second(params);
}

void Server::notify(const std::string& method, const Json& params, Clock::time_point now) {
    if (method == "exit") {
        finished_ = true;
        return;
    }
    if (!initialized_ || shut_down_) return;
    if (method == "textDocument/didOpen") open(params, now);
    if (method == "textDocument/didChange") change(params, now);
    if (method == "textDocument/didClose") close(params);
    if (method == "textDocument/didSave" || method == "workspace/didChangeWatchedFiles") touch_importers("", now);
}

// --------------------------------------------------------------------------------------------------------- documents

void Server::touch(Document& document, Clock::time_point due) {
    document.change = ++changes_;
    document.due = due;
}

void Server::touch_importers(const std::string& path, Clock::time_point due) {
    for (auto& [uri, other] : documents_) {
        if (!other.analysed) continue;
        const auto& dependencies = other.analysed->analysis->checked.program.dependencies;
        const bool imports = std::ranges::any_of(
            dependencies, [&](const std::string& d) { return path.empty() || canonical(d) == canonical(path); });
        // What could not be found may be there now.
        if (imports || (path.empty() && other.analysed->analysis->diags.has_errors())) touch(other, due);
    }
}

void Server::open(const Json& params, Clock::time_point now) {
    const Json& item = params.at("textDocument");
    Document opened;
    opened.uri = item.at("uri").get<std::string>();
    opened.path = path_of(opened.uri);
    opened.text = item.at("text").get<std::string>();
    opened.version = item.value("version", Json());
    if (opened.text.size() > kMaxTextBytes) opened.text.clear();
    Document& document = documents_[opened.uri] = std::move(opened);
    touch(document, now);
    touch_importers(document.path, now);
}

void Server::change(const Json& params, Clock::time_point now) {
    Document& changed = document(params);
    for (const Json& edit : params.at("contentChanges")) {
        const std::string text = edit.at("text").get<std::string>();
        std::string result =
            edit.contains("range") && !edit["range"].is_null()
                ? edited(changed.text,
                         {position_from(edit["range"].at("start")), position_from(edit["range"].at("end"))}, text)
                : text;
        if (result.size() <= kMaxTextBytes) changed.text = std::move(result);
    }
    changed.version = params.at("textDocument").value("version", Json());
    touch(changed, now + kDebounce);
    touch_importers(changed.path, now + kDebounce);
}

void Server::close(const Json& params) {
    const Document closed = document(params);
    documents_.erase(closed.uri);
    send_(notification("textDocument/publishDiagnostics", {{"uri", closed.uri}, {"diagnostics", Json::array()}}));
    touch_importers(closed.path, Clock::now());
}

Server::Document& Server::document(const Json& params) {
    const auto found = documents_.find(params.at("textDocument").at("uri").get<std::string>());
    if (found == documents_.end()) throw RequestError(ErrorCode::InvalidParams, "this text is not open");
    return found->second;
}

// ---------------------------------------------------------------------------------------------------------- analyses

AnalysisRequest Server::request_for(const Document& document) const {
    AnalysisRequest request;
    request.path = document.path;
    request.text = document.text;
    request.include_dirs = options_.include_dirs;
    for (const auto& [uri, other] : documents_) {
        if (uri != document.uri) request.open_files.emplace(canonical(other.path), other.text);
    }
    return request;
}

void Server::set_analysis(Document& document, std::shared_ptr<const Analysis> analysis) {
    // Elaboration takes only programs without syntax errors.
    if (!analysis->diags.has_errors() || !analysis->record.uses.empty()) document.last_good = analysis;
    const std::string_view text = analysis->text();
    document.analysed.emplace(Analysed{std::move(analysis), Lines(text)});
    document.analysed_change = document.change;
    publish(document);
}

void Server::analyse(Document& document) {
    document.due.reset();
    if (document.analysed_change == document.change) return;
    set_analysis(document, lsp::analyze(request_for(document)));
    document.full_wanted = !document.analysed->analysis->diags.has_errors();
}

Server::Document& Server::analysed(const Json& params) {
    Document& found = document(params);
    analyse(found);
    return found;
}

View Server::view(const Document& document) const {
    return {*document.analysed->analysis, document.analysed->lines, options_.library};
}

void Server::publish(const Document& document) {
    Json params = {{"uri", document.uri}, {"diagnostics", diagnostics_json(view(document))}};
    if (document.version.is_number_integer()) params["version"] = document.version;
    send_(notification("textDocument/publishDiagnostics", std::move(params)));
}

std::optional<Server::Clock::time_point> Server::due() const {
    std::optional<Clock::time_point> first;
    for (const auto& [uri, document] : documents_) {
        if (document.due && (!first || *document.due < *first)) first = document.due;
    }
    return first;
}

void Server::tick(Clock::time_point now) {
    for (auto& [uri, document] : documents_) {
        if (document.due && *document.due <= now) analyse(document);
    }
}

std::optional<Job> Server::next_job() {
    for (auto& [uri, document] : documents_) {
        if (!document.full_wanted || document.analysed_change != document.change) continue;
        document.full_wanted = false;
        Job job{uri, document.change, request_for(document)};
        job.request.full = true;
        return job;
    }
    return std::nullopt;
}

void Server::finish(const Job& job, std::shared_ptr<const Analysis> analysis) {
    const auto found = documents_.find(job.uri);
    if (found == documents_.end() || found->second.change != job.change) return;
    set_analysis(found->second, std::move(analysis));
    if (!refreshes_hints_) return;
    send_(
        {{"jsonrpc", "2.0"}, {"id", fmt::format("pipec-{}", ++requests_)}, {"method", "workspace/inlayHint/refresh"}});
}

}  // namespace pipec::lsp
