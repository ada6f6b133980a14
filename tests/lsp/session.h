// A language server in this process, as a client sees it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lsp/server.h"

namespace pipec::testing {

using lsp::Json;

class Session {
public:
    explicit Session(lsp::ServerOptions options = {})
        : server(std::move(options), [this](const Json& m) { sent.push_back(m); }) {
        request("initialize", {{"capabilities", {{"workspace", {{"inlayHint", {{"refreshSupport", true}}}}}}}});
        notify("initialized", Json::object());
    }

    /// The whole answer.
    Json request(const std::string& method, const Json& params) {
        const int id = ++number;
        server.receive({{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}}, now());
        for (auto m = sent.rbegin(); m != sent.rend(); ++m) {
            if (m->contains("id") && (*m)["id"] == id && !m->contains("method")) return *m;
        }
        ADD_FAILURE() << "no answer to " << method;
        return {};
    }
    Json result(const std::string& method, const Json& params) {
        const Json answer = request(method, params);
        EXPECT_TRUE(answer.contains("result")) << method << ": " << answer;
        return answer.value("result", Json());
    }
    void notify(const std::string& method, const Json& params) {
        server.receive({{"jsonrpc", "2.0"}, {"method", method}, {"params", params}}, now());
    }

    void open(const std::string& text, const std::string& uri = kUri) {
        notify("textDocument/didOpen",
               {{"textDocument", {{"uri", uri}, {"languageId", "pipe"}, {"version", 1}, {"text", text}}}});
        texts[uri] = text;
        settle();
    }
    /// Everything that time would bring.
    void settle() {
        server.tick(now() + std::chrono::hours(1));
        while (const auto job = server.next_job()) server.finish(*job, lsp::analyze(job->request));
    }
    /// The last diagnostics of a text.
    Json diagnostics(const std::string& uri = kUri) {
        for (auto m = sent.rbegin(); m != sent.rend(); ++m) {
            if (m->value("method", "") == "textDocument/publishDiagnostics" && (*m)["params"]["uri"] == uri) {
                return (*m)["params"]["diagnostics"];
            }
        }
        return nullptr;
    }

    /// Where `word` stands for the `nth` time (from 0), `inside` characters on.
    Json at(const std::string& word, std::size_t nth = 0, std::size_t inside = 0, const std::string& uri = kUri) {
        const std::string& text = texts[uri];
        std::size_t place = text.find(word);
        while (nth-- > 0 && place != std::string::npos) place = text.find(word, place + 1);
        EXPECT_NE(place, std::string::npos) << word;
        return {{"textDocument", {{"uri", uri}}},
                {"position", lsp::to_json(lsp::Lines(text).position(place + inside))}};
    }
    static Json whole(const std::string& uri = kUri) {
        return {{"textDocument", {{"uri", uri}}},
                {"range", {{"start", {{"line", 0}, {"character", 0}}}, {"end", {{"line", 100000}, {"character", 0}}}}},
                {"options", Json::object()},
                {"context", {{"diagnostics", Json::array()}}}};
    }
    /// The text with edits of the protocol made.
    std::string edited(const Json& edits, const std::string& uri = kUri) {
        std::vector<Json> sorted(edits.begin(), edits.end());
        std::ranges::stable_sort(sorted, [](const Json& a, const Json& b) {
            const Json &p = a["range"]["start"], &q = b["range"]["start"];
            return std::pair(p["line"].get<int>(), p["character"].get<int>()) >
                   std::pair(q["line"].get<int>(), q["character"].get<int>());
        });
        std::string text = texts[uri];
        for (const Json& e : sorted) {
            text = lsp::edited(text, {lsp::position_from(e["range"]["start"]), lsp::position_from(e["range"]["end"])},
                               e["newText"].get<std::string>());
        }
        return text;
    }
    static lsp::Server::Clock::time_point now() { return lsp::Server::Clock::now(); }

    static constexpr const char* kUri = "file:///somewhere/a.pipe";
    lsp::Server server;
    std::vector<Json> sent;
    std::map<std::string, std::string> texts;
    int number = 0;
};

}  // namespace pipec::testing
