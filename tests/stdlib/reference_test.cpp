// docs/stdlib.md is made from the doc comments of stdlib/*.pipe. PIPEC_UPDATE_GOLDEN=1 writes it anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "frontend/parse.h"
#include "frontend/stdlib.h"

namespace pipec::test {
namespace {

/// The comment at the top of a file, without its slashes: the prose above the first blank line that follows it.
std::string opening(std::string_view text) {
    std::string result;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line) && line.starts_with("//");) {
        result += line.substr(std::min<std::size_t>(3, line.size())) + "\n";
    }
    return result;
}

/// Plain text as a cell of a table.
std::string cell(std::string text) {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    std::string result;
    for (const char c : text) {
        if (c == '|' || c == '*') result += '\\';
        result += c == '\n' ? ' ' : c;
    }
    return result;
}

std::string signature(const ast::Fn& fn, const SourceManager& sources) {
    std::string result = fn.name.text + "(";
    for (std::size_t i = 0; i < fn.params.size(); ++i) {
        result += (i > 0 ? ", " : "") + fn.params[i].name.text;
        if (const auto& value = fn.params[i].default_value) {
            result += " = " + std::string(sources.text(value->range));
        }
    }
    return result + ")";
}

std::string reference_page() {
    std::string page =
        "# The standard library\n\n<!-- Made from the comments in stdlib/*.pipe by stdlib_test. -->\n\n"
        "`import \"name\"` brings in a file's functions and constants. A function `f(img)` of images works on any rank "
        "that has the dimensions it mentions.\n*Halo* is how far from its own point a function reads.\n";
    for (const std::string_view name : stdlib_names()) {
        const std::string text(*stdlib_file(name));
        SourceManager sources;
        Diagnostics diags;
        const ast::File file = parse(sources, sources.add(std::string(name), text), diags);
        EXPECT_FALSE(diags.has_errors()) << name;

        page += "\n## " + std::string(name) + "\n\n" + opening(text);
        std::string constants;
        std::string table = "\n| function | |\n| --- | --- |\n";
        for (const ast::Item& item : file.items) {
            if (const auto* fn = std::get_if<ast::Fn>(&item.value)) {
                EXPECT_FALSE(fn->doc.empty()) << fn->name.text << " has no `///` comment";
                table += "| `" + signature(*fn, sources) + "` | " + cell(fn->doc) + " |\n";
            } else if (const auto* constant = std::get_if<ast::Const>(&item.value)) {
                constants += (constants.empty() ? "`" : ", `") + constant->name.text + "`";
            }
        }
        if (!constants.empty()) page += "\nConstants: " + constants + ".\n";
        page += table;
    }
    return page;
}

TEST(StdlibReference, PageSaysWhatTheCommentsSay) {
    const std::string path = PIPEC_SOURCE_DIR "/docs/stdlib.md";
    const std::string page = reference_page();
    if (std::getenv("PIPEC_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << page;
    std::ifstream in(path);
    std::stringstream current;
    current << in.rdbuf();
    EXPECT_EQ(current.str(), page) << "run stdlib_test with PIPEC_UPDATE_GOLDEN=1";
}

}  // namespace
}  // namespace pipec::test
