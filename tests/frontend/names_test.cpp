// The table of names: that it agrees with elaboration wherever that went, and what it knows where elaboration did not
// go.
#include "frontend/names.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace pipec {
namespace {

namespace fs = std::filesystem;

struct Names {
    SourceManager sources;
    Diagnostics diags;
    NameTable table;
    ElaborationRecord record;

    Names(const std::string& name, const std::string& text) {
        const FileId main = sources.add(name, text);
        const Program program = load_program(sources, main, {}, diags);
        table = collect_names(program, sources);
        if (!diags.has_errors()) elaborate(program, sources, diags, &record);
    }

    /// Where the `nth` occurrence of `text` in the first file is declared, as "line:column name"; "" for nowhere.
    std::string declared(const std::string& text, std::size_t nth = 0) {
        std::size_t at = sources.text(0).find(text);
        while (nth-- > 0) at = sources.text(0).find(text, at + 1);
        for (const NameUse& use : table.uses) {
            if (use.range.file != 0 || use.range.begin != at) continue;
            const Declaration& d = table.declarations[static_cast<std::size_t>(use.declaration)];
            const LineColumn place = sources.position(d.range.file, d.range.begin);
            return std::to_string(place.line) + ":" + std::to_string(place.column) + " " + d.name;
        }
        return "";
    }
};

std::string read(const fs::path& path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

TEST(Names, AgreeWithElaboration) {
    std::size_t compared = 0;
    for (const char* directory : {"examples", "stdlib", "bench", "tests"}) {
        for (const auto& entry : fs::recursive_directory_iterator(fs::path(PIPEC_SOURCE_DIR) / directory)) {
            if (entry.path().extension() != ".pipe" || !entry.is_regular_file()) continue;
            const Names names(entry.path().string(), read(entry.path()));
            if (names.diags.has_errors()) continue;
            std::map<ElaborationRecord::Place, int> known;
            for (const NameUse& use : names.table.uses) known[{use.range.file, use.range.begin}] = use.declaration;
            std::map<ElaborationRecord::Place, int> declared;
            for (std::size_t i = 0; i < names.table.declarations.size(); ++i) {
                const SourceRange r = names.table.declarations[i].range;
                declared[{r.file, r.begin}] = static_cast<int>(i);
            }
            for (const auto& [use, declaration] : names.record.uses) {
                if (declared.contains(use)) continue;  // the first name of a size
                const LineColumn at = names.sources.position(use.first, use.second);
                ASSERT_TRUE(known.contains(use)) << names.sources.name(use.first) << ":" << at.line << ":" << at.column;
                // Of outputs and arrays, elaboration names another of their places.
                const Declaration& found = names.table.declarations[static_cast<std::size_t>(known[use])];
                if (found.kind == NameKind::Output || found.kind == NameKind::Array) continue;
                ASSERT_EQ(std::pair(found.range.file, found.range.begin), declaration)
                    << names.sources.name(use.first) << ":" << at.line << ":" << at.column;
                ++compared;
            }
        }
    }
    EXPECT_GE(compared, 5000U);
}

TEST(Names, AreKnownWhereElaborationDoesNotGo) {
    Names names("a.pipe",
                "const N = 3\n"
                "fn uncalled(f, n = N) {\n"
                "    for i in 0..n { if i > 1 { g[i](..k, y) = f(..k, y + i) * N } }\n"
                "    h(y) = let a = f(y), b = a in sum(j in 0..n) (a + b * j)\n"
                "    accumulate t(z in 0..4): int32 = 0 { for y in 0..4 { let q = y t(q) += y } }\n"
                "    return h\n"
                "}\n");
    EXPECT_EQ(names.declared("N)"), "1:7 N");
    EXPECT_EQ(names.declared("n { if"), "2:16 n");
    EXPECT_EQ(names.declared("i > 1"), "3:9 i");
    EXPECT_EQ(names.declared("k, y + i"), "3:39 k");
    EXPECT_EQ(names.declared("f(..k, y + i"), "2:13 f");
    EXPECT_EQ(names.declared("a in"), "4:16 a");
    EXPECT_EQ(names.declared("j)\n"), "4:39 j");
    EXPECT_EQ(names.declared("t(q)"), "5:16 t");
    EXPECT_EQ(names.declared("q) +="), "5:62 q");
    EXPECT_EQ(names.declared("h\n}"), "4:5 h");
}

TEST(Names, OfPortsAndSizes) {
    Names names("a.pipe",
                "pipeline p(img: uint8[R, C], k: int32 = 2) -> out: uint8[R, C] where R > 2 {\n"
                "    out(y, x) = img(y, x)\n"
                "}\n");
    EXPECT_EQ(names.declared("R, C] where"), "1:23 R");
    EXPECT_EQ(names.declared("R > 2"), "1:23 R");
    EXPECT_EQ(names.declared("out(y"), "1:47 out");
    EXPECT_EQ(names.declared("img(y"), "1:12 img");
    EXPECT_EQ(names.declared("R, C], k"), "");  // the declaration itself
}

TEST(Names, OfPartsOfPrograms) {
    Names names("a.pipe",
                "pipeline p(img: uint8[R, C]) -> out: uint8[R, C] {\n"
                "    good = img\n"
                "    bad(y, x) = + \n"
                "    out(y, x) = good(y, x) + missing(y, x)\n"
                "}\n");
    EXPECT_TRUE(names.diags.has_errors());
    EXPECT_EQ(names.declared("good(y"), "2:5 good");
    EXPECT_EQ(names.declared("missing"), "");
}

TEST(Names, ValuesAreRecorded) {
    const Names names("a.pipe",
                      "const N = 3\nconst W = [[1, 2], [3, 4]]\n"
                      "pipeline p(img: uint8[R, C]) -> out: uint8[R, C] {\n"
                      "    let half = R / 2\n"
                      "    out(y, x) = img(y, x) + uint8(N * W[0][1] + half)\n}\n");
    const auto value = [&](const std::string& name) {
        const auto found = names.record.values.find({0, static_cast<std::uint32_t>(names.sources.text(0).find(name))});
        return found == names.record.values.end() ? std::string() : found->second.front();
    };
    EXPECT_EQ(value("N = 3"), "3");
    EXPECT_EQ(value("W ="), "table of 2 x 2");
    EXPECT_EQ(value("half ="), "int32");
}

}  // namespace
}  // namespace pipec
