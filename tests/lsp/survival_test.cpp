// The server outlives any text and any message: random edits of real programs, requests about random places, and
// messages with parts exchanged for others.
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "lsp/session.h"
#include "support/big_stack.h"

namespace pipec::testing {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kStack = std::size_t{256} << 20U;

std::vector<std::string> programs() {
    std::vector<std::string> result;
    for (const char* directory : {"examples", "stdlib", "tests/diagnostics", "tests/editors/scopes"}) {
        for (const auto& entry : fs::directory_iterator(fs::path(PIPEC_SOURCE_DIR) / directory)) {
            if (entry.path().extension() != ".pipe") continue;
            std::ifstream in(entry.path(), std::ios::binary);
            std::stringstream text;
            text << in.rdbuf();
            result.push_back(lsp::valid_utf8(text.str()));
        }
    }
    std::ranges::sort(result);
    return result;
}

Json random_position(std::mt19937_64& rng, std::size_t lines) {
    const auto number = [&](std::size_t most) -> std::int64_t {
        switch (rng() % 20) {
            case 0: return -1;
            case 1: return INT64_MAX;
            default: return static_cast<std::int64_t>(rng() % (most + 2));
        }
    };
    return {{"line", number(lines)}, {"character", number(60)}};
}

const std::vector<std::string> kRequests = {
    "hover",      "definition",    "references", "documentHighlight",   "rename",    "prepareRename", "documentSymbol",
    "completion", "signatureHelp", "formatting", "semanticTokens/full", "inlayHint", "codeAction"};

Json random_params(std::mt19937_64& rng, std::size_t lines) {
    return {{"textDocument", {{"uri", Session::kUri}}},
            {"position", random_position(rng, lines)},
            {"range", {{"start", random_position(rng, lines)}, {"end", random_position(rng, lines)}}},
            {"newName", rng() % 2 == 0 ? "renamed" : "y"},
            {"context", {{"includeDeclaration", rng() % 2 == 0}}},
            {"options", Json::object()}};
}

TEST(Survival, OfAnyEdit) {
    run_on_big_stack(kStack, [] {
        static const std::vector<std::string> kPieces = {"",
                                                         "{",
                                                         "}",
                                                         "(",
                                                         ")",
                                                         "\"",
                                                         "/*",
                                                         "*/",
                                                         "//",
                                                         "\n",
                                                         "if ",
                                                         "let ",
                                                         "in ",
                                                         ";",
                                                         "..",
                                                         "=",
                                                         "where",
                                                         " + ",
                                                         "[",
                                                         "]",
                                                         "0x",
                                                         "\xF0\x9F\x98\x80",
                                                         "\xC3\xA9",
                                                         "\xE2\x80\xAE",
                                                         "9999",
                                                         "1e999",
                                                         "- - -",
                                                         "\r",
                                                         "\t",
                                                         "import \"stencil\"\n",
                                                         "fn f(a) = f(a)\n",
                                                         "for i in 0..100000 { }",
                                                         "x = x\n",
                                                         std::string(1, '\0')};
        std::mt19937_64 rng(11);
        const auto texts = programs();
        Session s;
        for (int round = 0; round < 40; ++round) {
            s.sent.clear();
            const std::string& text = texts[rng() % texts.size()];
            const std::size_t lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
            s.open(text);
            for (int edit = 0; edit < 12; ++edit) {
                Json start = random_position(rng, lines), end = start;
                if (rng() % 3 == 0) end["character"] = start["character"].get<std::int64_t>() / 2 + 3;
                if (rng() % 12 == 0) end = random_position(rng, lines);
                s.notify(
                    "textDocument/didChange",
                    {{"textDocument", {{"uri", Session::kUri}, {"version", edit}}},
                     {"contentChanges",
                      {{{"range", {{"start", start}, {"end", end}}}, {"text", kPieces[rng() % kPieces.size()]}}}}});
                for (int i = 0; i < 4; ++i) {
                    const Json answer =
                        s.request("textDocument/" + kRequests[rng() % kRequests.size()], random_params(rng, lines));
                    ASSERT_TRUE(answer.contains("result") || answer["error"]["code"] == -32803) << answer;
                    ASSERT_NO_THROW(static_cast<void>(lsp::framed(answer)));
                }
                if (edit % 6 == 5) s.settle();
            }
        }
    });
}

TEST(Survival, OfEveryPrefixOfAProgram) {
    run_on_big_stack(kStack, [] {
        const std::string text = programs().front();
        Session s;
        for (std::size_t n = 0; n < text.size(); n += 7) {
            s.notify("textDocument/didOpen",
                     {{"textDocument", {{"uri", Session::kUri}, {"text", lsp::valid_utf8(text.substr(0, n))}}}});
            Json params = {{"textDocument", {{"uri", Session::kUri}}},
                           {"position", {{"line", 100000}, {"character", 0}}}};
            EXPECT_TRUE(s.request("textDocument/completion", params).contains("result"));
            EXPECT_TRUE(s.request("textDocument/hover", params).contains("result"));
            EXPECT_TRUE(s.request("textDocument/documentSymbol", params).contains("result"));
        }
    });
}

/// A value with one of its parts exchanged for something else.
void damage(Json& value, std::mt19937_64& rng) {
    if (value.is_structured() && !value.empty() && rng() % 4 != 0) {
        auto part = value.begin();
        std::advance(part, static_cast<std::ptrdiff_t>(rng() % value.size()));
        if (rng() % 5 == 0) {
            value.erase(part);
        } else {
            damage(*part, rng);
        }
        return;
    }
    const Json others[] = {nullptr,        true,          -1,         1e300,    "", "textDocument/hover", Json::array(),
                           Json::object(), {{"line", 0}}, UINT64_MAX, {1, 2, 3}};
    value = others[rng() % std::size(others)];
}

TEST(Survival, OfAnyMessage) {
    run_on_big_stack(kStack, [] {
        std::mt19937_64 rng(12);
        Session s;
        s.open("fn f(a) = a\npipeline p(img: float32[R]) -> out: float32[R] { out(x) = f(img(x)) }\n");
        for (int i = 0; i < 6000; ++i) {
            Json message = {{"jsonrpc", "2.0"},
                            {"id", i},
                            {"method", "textDocument/" + kRequests[rng() % kRequests.size()]},
                            {"params", random_params(rng, 2)}};
            if (rng() % 3 == 0) {
                message["method"] = rng() % 2 == 0 ? "textDocument/didChange" : "textDocument/didOpen";
                message["params"]["contentChanges"] = {{{"range", message["params"]["range"]}, {"text", "a"}}};
                message["params"]["textDocument"]["text"] = "fn f(a) = a";
                message.erase("id");
            }
            for (std::uint64_t n = rng() % 3; n > 0; --n) damage(message, rng);
            s.server.receive(message, Session::now());
            s.sent.clear();
        }
        s.settle();
        s.open("const A = B\n");
        EXPECT_EQ(s.diagnostics().size(), 1U);
    });
}

}  // namespace
}  // namespace pipec::testing
