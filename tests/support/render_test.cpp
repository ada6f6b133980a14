#include "support/render.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace pipec {
namespace {

constexpr DiagnosticKind<std::string> kUnknown{{"Unknown", Severity::Error, "unknown"}, "unknown name `{}`"};
constexpr DiagnosticKind<> kUnused{{"Unused", Severity::Warning, "unused"}, "unused"};

/// One file, and ranges in it found by their text.
struct Fixture {
    SourceManager sources;
    FileId file;
    Diagnostics diags;

    explicit Fixture(std::string text, std::string name = "a.pipe")
        : file(sources.add(std::move(name), std::move(text))) {}

    [[nodiscard]] SourceRange find(std::string_view what) const {
        const std::size_t at = sources.text(file).find(what);
        EXPECT_NE(at, std::string_view::npos) << what;
        return {file, static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + what.size())};
    }
    [[nodiscard]] std::string text(const TextStyle& style = {}) const { return render_text(diags, sources, style); }
    [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(render_json(diags, sources)); }
};

TEST(RenderText, ShowsPlaceLineCaretFixitNotesAndCount) {
    Fixture f("pipeline blur(img) {\n    a(x) = imgg(x)\n}\n");
    f.diags.report(kUnknown, f.find("imgg"), "imgg")
        .note(f.find("img"), "`img` is defined here")
        .suggest(f.find("imgg"), "img");
    f.diags.report(kUnused, f.find("a(x)"));
    EXPECT_EQ(f.text(),
              "a.pipe:2:12: error: unknown name `imgg` [unknown]\n"
              "    2 |     a(x) = imgg(x)\n"
              "      |            ^~~~\n"
              "      |            img\n"
              "a.pipe:1:15: note: `img` is defined here\n"
              "    1 | pipeline blur(img) {\n"
              "      |               ^~~\n"
              "a.pipe:2:5: warning: unused [unused]\n"
              "    2 |     a(x) = imgg(x)\n"
              "      |     ^~~~\n"
              "1 error and 1 warning generated.\n");
}

TEST(RenderText, NothingForNothing) {
    EXPECT_EQ(Fixture("x\n").text(), "");
}

TEST(RenderText, IdenticalReportsAppearOnce) {
    Fixture f("x y\n");
    f.diags.report(kUnknown, f.find("x"), "x");
    f.diags.report(kUnknown, f.find("y"), "x");
    f.diags.report(kUnknown, f.find("x"), "x");
    const std::string text = f.text();
    EXPECT_NE(text.find("2 errors generated."), std::string::npos) << text;
    EXPECT_EQ(f.json()["diagnostics"].size(), 2U);
}

TEST(RenderText, TabsAndWideCharactersKeepTheCaretInPlace) {
    Fixture f("\ta\tb /* 画 e\u0301 */ zz\n");
    f.diags.report(kUnused, f.find("b"));
    f.diags.report(kUnused, f.find("zz"));
    EXPECT_EQ(f.text(),
              "a.pipe:1:4: warning: unused [unused]\n"
              "    1 |     a   b /* 画 e\u0301 */ zz\n"
              "      |         ^\n"
              "a.pipe:1:17: warning: unused [unused]\n"
              "    1 |     a   b /* 画 e\u0301 */ zz\n"
              "      |                      ^~\n"
              "2 warnings generated.\n");
}

TEST(RenderText, ControlCharactersAndBadBytesAreSpeltOut) {
    Fixture f("a \x1b[31m \xff zz\n", "odd\nname.pipe");
    f.diags.report(kUnknown, f.find("zz"), "\xfe\x07");
    EXPECT_EQ(f.text(),
              "odd<U+000A>name.pipe:1:11: error: unknown name `<FE><U+0007>` [unknown]\n"
              "    1 | a <U+001B>[31m <FF> zz\n"
              "      |                     ^~\n"
              "1 error generated.\n");
}

TEST(RenderText, RangeOverSeveralLinesUnderlinesTheFirst) {
    Fixture f("ab (cd  \n  ef) gh\n");
    f.diags.report(kUnused, f.find("(cd  \n  ef)"));
    EXPECT_EQ(f.text(),
              "a.pipe:1:4: warning: unused [unused]\n"
              "    1 | ab (cd  \n"
              "      |    ^~~\n"
              "1 warning generated.\n");
}

TEST(RenderText, EmptyRangesAndTheEndOfTheFileHaveACaret) {
    Fixture f("ab\ncd\n");
    const auto end = static_cast<std::uint32_t>(f.sources.text(f.file).size());
    f.diags.report(kUnused, {f.file, 1, 1});
    f.diags.report(kUnused, {f.file, end, end});
    EXPECT_EQ(f.text(),
              "a.pipe:1:2: warning: unused [unused]\n"
              "    1 | ab\n"
              "      |  ^\n"
              "a.pipe:2:3: warning: unused [unused]\n"
              "    2 | cd\n"
              "      |   ^\n"
              "2 warnings generated.\n");
    Fixture empty("");
    empty.diags.report(kUnused, {empty.file, 0, 0});
    EXPECT_NE(empty.text().find("a.pipe:1:1: "), std::string::npos);
}

TEST(RenderText, LongLinesAreCutAroundTheCaret) {
    const std::string filler(300, 'a');
    Fixture f(filler + " here " + filler + "\n");
    f.diags.report(kUnused, f.find("here"));
    EXPECT_EQ(f.text({.color = false, .width = 30}),
              "a.pipe:1:302: warning: unused [unused]\n"
              "    1 | ...aaaaaaaaa here aaaaaaaaaaaaaaa...\n"
              "      |              ^~~~\n"
              "1 warning generated.\n");
    Fixture start("here " + filler + "\n");
    start.diags.report(kUnused, start.find("here"));
    EXPECT_NE(start.text({.color = false, .width = 20}).find("    1 | here aaaaaaaaaaaaaaa...\n      | ^~~~\n"),
              std::string::npos);
    Fixture end(filler + " here\n");
    end.diags.report(kUnused, end.find("here"));
    EXPECT_NE(end.text({.color = false, .width = 20})
                  .find("    1 | ...aaaaaaaaaaaaaaa here\n      |                    ^~~~\n"),
              std::string::npos)
        << end.text({.color = false, .width = 20});
}

TEST(RenderText, RangeBeyondTheWindowEndsAtItsEdge) {
    Fixture f(std::string(500, 'b') + "\n");
    f.diags.report(kUnused, {f.file, 0, 500});
    for (std::size_t at = 0, next = 0;
         (next = f.text({.color = false, .width = 50}).find('\n', at)) != std::string::npos; at = next + 1) {
        EXPECT_LE(next - at, 50U + 8 + 3);
    }
}

TEST(RenderText, SeveralFixitsShareALineWhereThereIsRoom) {
    Fixture f("a && b && c\n");
    const SourceRange second{f.file, 7, 9};
    f.diags.report(kUnused, f.find("a && b && c")).suggest(second, "and").suggest(f.find("&&"), "and");
    EXPECT_NE(f.text().find("      | ^~~~~~~~~~~\n      |   and  and\n"), std::string::npos) << f.text();

    Fixture tight("ab\n");
    tight.diags.report(kUnused, tight.find("a")).suggest(tight.find("a"), "first").suggest(tight.find("b"), "second");
    EXPECT_NE(tight.text().find("      | ^\n      | first\n      |  second\n"), std::string::npos) << tight.text();
}

TEST(RenderText, FixitThatRemovesShowsDashesAndOneElsewhereItsOwnLine) {
    Fixture f("float x;\nab\n");
    f.diags.report(kUnused, f.find("x")).suggest(f.find("float "), "").suggest(f.find("ab"), "cd");
    EXPECT_NE(f.text().find("    1 | float x;\n"
                            "      |       ^\n"
                            "      | ------\n"
                            "    2 | ab\n"
                            "      | cd\n"),
              std::string::npos)
        << f.text();
}

TEST(RenderText, ReportsWithoutAPlaceNameTheProgram) {
    Fixture f("x\n");
    f.diags.report(kUnused, {}).note("advice");
    EXPECT_EQ(f.text(), "pipec: warning: unused [unused]\nnote: advice\n1 warning generated.\n");
}

TEST(RenderText, ColoursWrapWordsAndChangeNothingElse) {
    Fixture f("ab cd\n");
    f.diags.report(kUnknown, f.find("cd"), "cd").note(f.find("ab"), "here").suggest(f.find("cd"), "ab");
    std::string colored = f.text({.color = true, .width = 100});
    EXPECT_NE(colored.find("\x1b[1;31merror: \x1b[0m"), std::string::npos);
    EXPECT_NE(colored.find("\x1b[1;32m^~\x1b[0m"), std::string::npos);
    std::string stripped;
    for (std::size_t i = 0; i < colored.size(); ++i) {
        if (colored[i] == '\x1b') {
            i = colored.find('m', i);
        } else {
            stripped += colored[i];
        }
    }
    EXPECT_EQ(stripped, f.text());
}

TEST(RenderJson, HasEverythingThatTextHas) {
    Fixture f("é img\nab\n");
    f.diags.report(kUnknown, f.find("img"), "img")
        .note(f.find("ab"), "here")
        .note("advice")
        .suggest(f.find("img"), "im");
    f.diags.report(kUnused, {});
    const nlohmann::json document = f.json();
    EXPECT_EQ(document["version"], 1);
    const nlohmann::json& d = document["diagnostics"][0];
    EXPECT_EQ(d["severity"], "error");
    EXPECT_EQ(d["id"], "unknown");
    EXPECT_EQ(d["message"], "unknown name `img`");
    EXPECT_EQ(d["file"], "a.pipe");
    EXPECT_EQ(d["line"], 1);
    EXPECT_EQ(d["column"], 3);
    EXPECT_EQ(d["endLine"], 1);
    EXPECT_EQ(d["endColumn"], 6);
    EXPECT_EQ(d["notes"][0]["line"], 2);
    EXPECT_EQ(d["notes"][1]["message"], "advice");
    EXPECT_FALSE(d["notes"][1].contains("line"));
    EXPECT_EQ(d["fixits"][0]["text"], "im");
    EXPECT_EQ(d["fixits"][0]["endColumn"], 6);
    EXPECT_EQ(document["diagnostics"][1]["severity"], "warning");
    EXPECT_FALSE(document["diagnostics"][1].contains("file"));
}

TEST(RenderJson, IsValidForAnyBytes) {
    Fixture f("\xff\xfe x\n", "bad\xff.pipe");
    f.diags.report(kUnknown, f.find("x"), "\xc3(\x01\"\\");
    const nlohmann::json document = f.json();
    EXPECT_EQ(document["diagnostics"][0]["file"], "bad\uFFFD.pipe");
    EXPECT_EQ(document["diagnostics"][0]["message"], "unknown name `\uFFFD(\x01\"\\`");
}

TEST(RenderJson, IsADocumentAlsoWithoutDiagnostics) {
    EXPECT_EQ(Fixture("x\n").json(), nlohmann::json::parse(R"({"version": 1, "diagnostics": []})"));
}

}  // namespace
}  // namespace pipec
