// What the server answers, feature by feature.
#include <algorithm>

#include "lsp/session.h"

namespace pipec::testing {
namespace {

const std::string kBlur =
    "import \"math\"\n"
    "\n"
    "/// Twice the value.\n"
    "fn twice(v, by = 2) = v * by\n"
    "\n"
    "/// A blur.\n"
    "pipeline blur(img: float32[R + 2, C]) -> out: float32[R, C] {\n"
    "    rows(y, x) = img(y, x) + img(y + 1, x) + img(y + 2, x)\n"
    "    out(y, x) = twice(rows(y, x)) / 6\n"
    "}\n";

std::string text_of(const Json& hover) {
    return hover.is_null() ? "" : hover["contents"]["value"].get<std::string>();
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(Server, SaysWhatIsWrong) {
    Session s;
    s.open(kBlur);
    EXPECT_EQ(s.diagnostics(), Json::array());
    s.open("pipeline p(img: float32[R]) -> out: float32[R] {\n    \xC3\xA9 = 1\n    out(x) = imgg(x)\n}\n");
    ASSERT_GE(s.diagnostics().size(), 1U);
    s.open("pipeline p(img: float32[R]) -> out: float32[R] {\n    /* \xF0\x9F\x98\x80 */ out(x) = imgg(x)\n}\n");
    const Json diagnostics = s.diagnostics();
    ASSERT_EQ(diagnostics.size(), 1U);
    EXPECT_EQ(diagnostics[0]["code"], "unknown-name");
    EXPECT_EQ(diagnostics[0]["severity"], 1);
    EXPECT_EQ(diagnostics[0]["range"]["start"], (Json{{"line", 1}, {"character", 22}}));
    EXPECT_EQ(diagnostics[0]["range"]["end"], (Json{{"line", 1}, {"character", 26}}));
    EXPECT_EQ(diagnostics[0]["relatedInformation"][0]["location"]["range"]["start"]["character"], 11);
}

TEST(Server, SaysWhatTheAnalysisFinds) {
    Session s;
    s.open("pipeline p(img: float32[R]) -> out: float32[R] {\n    out(x) = img(x + 1)\n}\n");
    ASSERT_EQ(s.diagnostics().size(), 1U);
    EXPECT_EQ(s.diagnostics()[0]["code"], "out-of-bounds");
}

TEST(Server, WaitsUntilTypingPauses) {
    Session s;
    s.open(kBlur);
    const auto now = Session::now();
    const std::size_t before = s.sent.size();
    s.server.receive({{"method", "textDocument/didChange"},
                      {"params",
                       {{"textDocument", {{"uri", Session::kUri}, {"version", 7}}},
                        {"contentChanges", {{{"text", "const A = B"}}}}}}},
                     now);
    ASSERT_TRUE(s.server.due().has_value());
    EXPECT_EQ(*s.server.due(), now + lsp::Server::kDebounce);
    s.server.tick(now + lsp::Server::kDebounce / 2);
    EXPECT_EQ(s.sent.size(), before);
    s.server.tick(now + lsp::Server::kDebounce);
    ASSERT_EQ(s.sent.size(), before + 1);
    EXPECT_EQ(s.sent.back()["params"]["version"], 7);
    EXPECT_EQ(s.sent.back()["params"]["diagnostics"].size(), 1U);
    EXPECT_FALSE(s.server.due().has_value());
    EXPECT_FALSE(s.server.next_job().has_value());  // of a text with errors there is no more to find
}

TEST(Server, OldAnalysesAreNotShown) {
    Session s;
    s.open(kBlur);
    s.notify("textDocument/didChange",
             {{"textDocument", {{"uri", Session::kUri}}}, {"contentChanges", {{{"text", kBlur + "\n"}}}}});
    s.server.tick(Session::now() + std::chrono::hours(1));
    const auto job = s.server.next_job();
    ASSERT_TRUE(job.has_value());
    s.notify("textDocument/didChange",
             {{"textDocument", {{"uri", Session::kUri}}}, {"contentChanges", {{{"text", "const"}}}}});
    const std::size_t before = s.sent.size();
    s.server.finish(*job, lsp::analyze(job->request));
    EXPECT_EQ(s.sent.size(), before);
}

TEST(Server, HoverTellsTypesDomainsAndDocumentation) {
    Session s;
    s.open(kBlur);
    const std::string rows = text_of(s.result("textDocument/hover", s.at("rows", 1)));
    EXPECT_TRUE(has(rows, "rows(y, x) = img(y, x)")) << rows;
    EXPECT_TRUE(has(rows, "**float32**, computed for `y in 0..R, x in 0..C`")) << rows;
    EXPECT_TRUE(has(rows, "reads `img(y..=y + 2, x)`")) << rows;
    EXPECT_TRUE(has(rows, "kernel") || has(rows, "inlined")) << rows;
    const std::string twice = text_of(s.result("textDocument/hover", s.at("twice", 1)));
    EXPECT_TRUE(has(twice, "fn twice(v, by = 2)")) << twice;
    EXPECT_TRUE(has(twice, "Twice the value.")) << twice;
    EXPECT_TRUE(has(text_of(s.result("textDocument/hover", s.at("blur(img"))), "A blur."));
    EXPECT_TRUE(has(text_of(s.result("textDocument/hover", s.at("R, C"))), "size R"));
    EXPECT_TRUE(s.result("textDocument/hover", s.at("\n\n")).is_null());
    s.open("fn f(a) = max(a, 1)\n");
    EXPECT_TRUE(has(text_of(s.result("textDocument/hover", s.at("max"))), "The greatest."));
}

TEST(Server, GoesToDefinitions) {
    Session s;
    s.open(kBlur);
    EXPECT_EQ(s.result("textDocument/definition", s.at("twice", 1))["range"]["start"],
              (Json{{"line", 3}, {"character", 3}}));
    EXPECT_EQ(s.result("textDocument/definition", s.at("out(y"))["range"]["start"]["line"], 6);
    EXPECT_EQ(s.result("textDocument/definition", s.at("x)", 1))["range"]["start"]["line"], 7);
    EXPECT_TRUE(s.result("textDocument/definition", s.at("math")).is_null());
    Session with_library({{}, "/library", ""});
    with_library.open(kBlur);
    EXPECT_EQ(with_library.result("textDocument/definition", s.at("math"))["uri"], "file:///library/math.pipe");
}

TEST(Server, ListsSymbols) {
    Session s;
    s.open(kBlur);
    const Json symbols = s.result("textDocument/documentSymbol", Session::whole());
    ASSERT_EQ(symbols.size(), 2U);
    EXPECT_EQ(symbols[0]["name"], "twice");
    EXPECT_EQ(symbols[1]["name"], "blur");
    std::vector<std::string> names;
    for (const Json& child : symbols[1]["children"]) names.push_back(child["name"]);
    std::ranges::sort(names);
    EXPECT_EQ(names, (std::vector<std::string>{"C", "R", "img", "out", "rows"}));
}

TEST(Server, Formats) {
    Session s;
    s.open("const A=1\n\n\n\nconst B = [ 1,2 ]\nconst C = 3\n");
    const Json edits = s.result("textDocument/formatting", Session::whole());
    EXPECT_EQ(s.edited(edits), "const A = 1\n\nconst B = [1, 2]\nconst C = 3\n");
    s.open("const A = 1\n");
    EXPECT_EQ(s.result("textDocument/formatting", Session::whole()), Json::array());
    s.open("const =");
    EXPECT_TRUE(s.result("textDocument/formatting", Session::whole()).is_null());
}

TEST(Server, FindsReferences) {
    Session s;
    s.open(kBlur);
    Json params = s.at("rows");
    params["context"] = {{"includeDeclaration", false}};
    EXPECT_EQ(s.result("textDocument/references", params).size(), 1U);
    params["context"] = {{"includeDeclaration", true}};
    EXPECT_EQ(s.result("textDocument/references", params).size(), 2U);
    EXPECT_EQ(s.result("textDocument/documentHighlight", s.at("img")).size(), 4U);
}

TEST(Server, Renames) {
    Session s;
    s.open(kBlur);
    const auto renamed = [&](const Json& at, const std::string& name) {
        Json params = at;
        params["newName"] = name;
        const Json answer = s.request("textDocument/rename", params);
        if (!answer.contains("result")) return std::string("refused");
        return s.edited(answer["result"]["changes"][Session::kUri]);
    };
    const std::string result = renamed(s.at("rows", 1), "lines");
    EXPECT_TRUE(has(result, "lines(y, x) = img") && has(result, "twice(lines(y, x))") && !has(result, "rows"))
        << result;
    EXPECT_TRUE(has(renamed(s.at("R, C"), "H"), "float32[H + 2, C]) -> out: float32[H, C]"));
    EXPECT_EQ(renamed(s.at("rows"), "img"), "refused");
    EXPECT_EQ(renamed(s.at("rows"), "let"), "refused");
    EXPECT_EQ(renamed(s.at("rows"), "x"), "refused");
    EXPECT_EQ(renamed(s.at("rows"), "1a"), "refused");
    EXPECT_EQ(renamed(s.at("rows"), ""), "refused");
    EXPECT_EQ(renamed(s.at("import"), "a"), "refused");
    EXPECT_EQ(s.result("textDocument/prepareRename", s.at("rows", 1))["placeholder"], "rows");
    EXPECT_TRUE(s.result("textDocument/prepareRename", s.at("import")).is_null());
}

/// The item with a label, or null.
Json item(const Json& completion, const std::string& label) {
    for (const Json& i : completion["items"]) {
        if (i["label"] == label) return i;
    }
    return nullptr;
}

TEST(Server, Completes) {
    Session s;
    s.open(kBlur);
    const Json items = s.result("textDocument/completion", s.at("/ 6"));
    EXPECT_EQ(item(items, "rows")["detail"], "rows(y, x) = img(y, x) + img(y + 1, x) + img(y + 2, x)");
    EXPECT_EQ(item(items, "twice")["detail"], "fn twice(v, by = 2)");
    EXPECT_FALSE(item(items, "y").is_null());
    EXPECT_FALSE(item(items, "sqrt").is_null());
    EXPECT_FALSE(item(items, "float32").is_null());
    EXPECT_FALSE(item(items, "PI").is_null());  // of the imported file
    EXPECT_TRUE(item(items, "by").is_null());   // of another function
    const Json gaussian = item(items, "gaussian5");
    ASSERT_TRUE(gaussian.contains("additionalTextEdits")) << gaussian;
    EXPECT_TRUE(has(s.edited(gaussian["additionalTextEdits"]), "import \"math\"\nimport \"stencil\"\n\n///"));
    s.open("// A file.\n\n/// A pipeline.\npipeline p() -> out: float32[R] { out(x) = x }\n");
    const Json first = item(s.result("textDocument/completion", s.at("x }")), "gaussian5");
    EXPECT_EQ(s.edited(first["additionalTextEdits"]).substr(0, 46),
              "// A file.\n\nimport \"stencil\"\n\n/// A pipeline.\n");
    s.open("import \"st\"\n");
    EXPECT_FALSE(item(s.result("textDocument/completion", s.at("st")), "stencil").is_null());
    s.open("// rows\n");
    EXPECT_TRUE(s.result("textDocument/completion", s.at("ws"))["items"].empty());
}

TEST(Server, CompletesInHalfOfAProgram) {
    Session s;
    s.open(kBlur);
    s.open(kBlur.substr(0, kBlur.find("twice(rows")) + "ro");
    EXPECT_FALSE(item(s.result("textDocument/completion", s.at("ro", 1)), "rows").is_null());
}

TEST(Server, HelpsWithSignatures) {
    Session s;
    s.open("fn twice(v, by = 2) = v * by\nfn f(a) = twice(a, max(a, 2))\n");
    const Json help = s.result("textDocument/signatureHelp", s.at("a, max"));
    EXPECT_EQ(help["signatures"][0]["label"], "fn twice(v, by = 2)");
    EXPECT_EQ(help["activeParameter"], 0);
    EXPECT_EQ(s.result("textDocument/signatureHelp", s.at("max"))["activeParameter"], 1);
    EXPECT_EQ(s.result("textDocument/signatureHelp", s.at("2))"))["signatures"][0]["label"], "max(a, b, ...)");
    EXPECT_TRUE(s.result("textDocument/signatureHelp", s.at("fn f")).is_null());
}

TEST(Server, FixesWhatItCan) {
    Session s;
    s.open("pipeline p(img: float32[R]) -> out: float32[R] {\n    out(x) = imgg(x)\n}\n");
    const Json fixes = s.result("textDocument/codeAction", Session::whole());
    ASSERT_EQ(fixes.size(), 1U);
    EXPECT_TRUE(has(s.edited(fixes[0]["edit"]["changes"][Session::kUri]), "out(x) = img(x)"));
    s.open(
        "pipeline p(img: float32[R + 4, C + 4]) -> out: float32[R, C] {\n    out(y, x) = gaussian5(img)(y + 2, x + "
        "2)\n}\n");
    const Json imports = s.result("textDocument/codeAction", Session::whole());
    ASSERT_EQ(imports.size(), 1U);
    EXPECT_EQ(imports[0]["title"], "Import \"stencil\"");
    s.open(s.edited(imports[0]["edit"]["changes"][Session::kUri]));
    EXPECT_EQ(s.diagnostics(), Json::array());
}

TEST(Server, HintsAtDomainsAndTypes) {
    Session s;
    s.open(kBlur);
    const Json hints = s.result("textDocument/inlayHint", Session::whole());
    std::vector<std::string> labels;
    for (const Json& h : hints) labels.push_back(h["label"]);
    EXPECT_EQ(labels, (std::vector<std::string>{"in 0..R", "in 0..C", ": float32", ": float32"}));
    EXPECT_TRUE(std::ranges::any_of(
        s.sent, [](const Json& m) { return m.value("method", "") == "workspace/inlayHint/refresh"; }));
}

TEST(Server, ColoursNames) {
    Session s;
    s.open("const N = 1\nfn f(a) = a * N\n");
    EXPECT_EQ(s.result("textDocument/semanticTokens/full", Session::whole())["data"],
              (Json{0, 6, 1, 1, 5, 1, 3, 1, 0, 1, 0, 2, 1, 2, 1, 0, 5, 1, 2, 0, 0, 4, 1, 1, 4}));
}

TEST(Server, SeesWhatOtherTextsHaveNotSaved) {
    Session s;
    const std::string library = "file:///somewhere/mine.pipe";
    s.open("fn half(v) = v / 2\n", library);
    s.open("import \"mine\"\npipeline p(img: float32[R]) -> out: float32[R] {\n    out(x) = half(img(x))\n}\n");
    EXPECT_EQ(s.diagnostics().size(), 1U);  // there is no such file on disk
}

TEST(Server, KnowsAllFunctionsOfTheLanguage) {
    for (const std::string& name : builtin_function_names()) EXPECT_NE(lsp::builtin_function(name), nullptr) << name;
}

TEST(Server, RefusesWhatItDoesNotKnow) {
    Session s;
    EXPECT_EQ(s.request("textDocument/nonsense", Json::object())["error"]["code"], -32601);
    EXPECT_EQ(s.request("textDocument/hover", Json::object())["error"]["code"], -32602);
    EXPECT_EQ(s.request("textDocument/hover", s.at(""))["error"]["code"], -32602);  // not open
    EXPECT_EQ(s.request("initialize", Json::object())["error"]["code"], -32600);
    s.open(kBlur);
    for (const Json& bad : {Json("x"), Json(1.5), Json(), Json::array()}) {
        Json params = s.at("rows");
        params["position"]["line"] = bad;
        EXPECT_EQ(s.request("textDocument/hover", params)["error"]["code"], -32602);
    }
    EXPECT_TRUE(s.request("shutdown", nullptr)["result"].is_null());
    EXPECT_EQ(s.request("textDocument/hover", s.at("rows"))["error"]["code"], -32600);
    s.notify("exit", nullptr);
    EXPECT_TRUE(s.server.finished());
    EXPECT_EQ(s.server.exit_code(), 0);
    std::vector<Json> sent;
    lsp::Server fresh({}, [&](const Json& m) { sent.push_back(m); });
    fresh.receive({{"id", 1}, {"method", "textDocument/hover"}}, Session::now());
    EXPECT_EQ(sent.back()["error"]["code"], -32002);
}

}  // namespace
}  // namespace pipec::testing
