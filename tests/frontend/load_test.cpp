// Imports: where they are found, each file once, cycles, what is reported, dependencies.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "frontend/elaborate.h"
#include "frontend/stdlib.h"

namespace pipec {
namespace {

namespace fs = std::filesystem;

class Load : public testing::Test {
protected:
    Load() : root(fs::temp_directory_path() / ("pipec_load_" + std::to_string(::getpid()))) {
        fs::remove_all(root);
        fs::create_directories(root);
    }
    ~Load() override { fs::remove_all(root); }

    std::string write(const std::string& name, const std::string& text) {
        const fs::path path = root / name;
        fs::create_directories(path.parent_path());
        std::ofstream(path) << text;
        return path.string();
    }
    Program load(const std::string& text, const std::vector<std::string>& include_dirs = {}) {
        const FileId main = sources.add(write("main.pipe", text), text);
        return load_program(sources, main, {include_dirs}, diags);
    }
    [[nodiscard]] std::vector<std::string> ids() const {
        std::vector<std::string> result;
        for (const Diagnostic& d : diags.all()) result.emplace_back(d.id);
        return result;
    }
    /// What the n-th import of a file was resolved to.
    static std::string resolved(const Program& program, FileId file, std::size_t n) {
        for (const auto& [id, imports] : program.resolved_imports) {
            if (id != file) continue;
            const int index = imports.at(n);
            return index < 0 ? "nothing" : program.files.at(static_cast<std::size_t>(index)).resolved;
        }
        return "no such file";
    }

    fs::path root;
    SourceManager sources;
    Diagnostics diags;
};

using Ids = std::vector<std::string>;

TEST_F(Load, BesideTheImporterWithAndWithoutExtension) {
    const std::string a = write("a.pipe", "const A = 1\n");
    const std::string b = write("lib/b.pipe", "import \"c\"\n");
    const std::string c = write("lib/c.pipe", "const C = 1\n");
    const Program program = load("import \"a\"\nimport \"a.pipe\"\nimport \"lib/b\"\n");
    EXPECT_EQ(ids(), Ids{});
    EXPECT_EQ(resolved(program, program.main.id, 0), a);
    EXPECT_EQ(resolved(program, program.main.id, 1), a);
    EXPECT_EQ(resolved(program, program.main.id, 2), b);
    EXPECT_EQ(resolved(program, program.files.at(1).file.id, 0), c);
    EXPECT_EQ(program.dependencies, (std::vector<std::string>{a, b, c}));
}

TEST_F(Load, TheSearchGoesBesideThenIncludeDirsThenTheLibrary) {
    const std::string first = write("inc1/stencil.pipe", "const N = 1\n");
    write("inc2/stencil.pipe", "const N = 2\n");
    const std::string only_second = write("inc2/other.pipe", "const M = 2\n");
    const std::vector<std::string> dirs = {(root / "inc1").string(), (root / "inc2").string()};
    const Program program = load("import \"stencil\"\nimport \"other\"\n", dirs);
    EXPECT_EQ(ids(), Ids{});
    EXPECT_EQ(resolved(program, program.main.id, 0), first);
    EXPECT_EQ(resolved(program, program.main.id, 1), only_second);

    const std::string beside = write("stencil.pipe", "const N = 0\n");
    const Program again = load("import \"stencil\"\n", dirs);
    EXPECT_EQ(resolved(again, again.main.id, 0), beside);
}

TEST_F(Load, TheLibraryIsEmbeddedByteForByte) {
    const Program program = load("import \"stencil\"\n");
    EXPECT_EQ(ids(), Ids{});
    EXPECT_EQ(resolved(program, program.main.id, 0), "<stdlib>/stencil.pipe");
    EXPECT_TRUE(program.dependencies.empty());
    std::size_t files = 0;
    for (const auto& entry : fs::directory_iterator(fs::path(PIPEC_SOURCE_DIR) / "stdlib")) {
        if (entry.path().extension() != ".pipe") continue;
        std::ifstream stream(entry.path(), std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(stream), {}};
        EXPECT_EQ(stdlib_file(entry.path().stem().string()), text);
        ++files;
    }
    EXPECT_EQ(stdlib_names().size(), files);
    EXPECT_EQ(stdlib_file("nothing"), std::nullopt);
}

TEST_F(Load, OneFileByTwoWaysIsParsedOnce) {
    write("shared.pipe", "const S = 1\n");
    write("dir/a.pipe", "import \"../shared\"\n");
    const Program program = load("import \"shared\"\nimport \"dir/../shared\"\nimport \"dir/a\"\n");
    EXPECT_EQ(ids(), Ids{});
    EXPECT_EQ(program.files.size(), 2U);
    EXPECT_EQ(resolved(program, program.files.at(1).file.id, 0), program.files.at(0).resolved);
}

TEST_F(Load, CyclesAreCutAndNamed) {
    write("a.pipe", "import \"b\"\n");
    write("b.pipe", "import \"a\"\nimport \"main\"\n");
    const Program program = load("import \"a\"\n");
    ASSERT_EQ(ids(), (Ids{"import-cycle", "import-cycle"}));
    const std::string message = diags.all()[0].message;
    EXPECT_LT(message.find("a.pipe"), message.find("b.pipe"));
    EXPECT_EQ(message.find("main.pipe"), std::string::npos);
    EXPECT_NE(diags.all()[1].message.find("main.pipe"), std::string::npos);
    EXPECT_EQ(program.files.size(), 2U);
    EXPECT_EQ(resolved(program, program.files.at(1).file.id, 0), "nothing");
}

TEST_F(Load, AMissingFileSaysWhereItWasLookedForAndWhatIsClose) {
    const Program program = load("import \"stencl\"\n", {(root / "inc").string()});
    ASSERT_EQ(ids(), Ids{"import-not-found"});
    const Diagnostic& d = diags.all()[0];
    ASSERT_GE(d.notes.size(), 2U);
    EXPECT_NE(d.notes[0].message.find((root / "stencl.pipe").string()), std::string::npos);
    EXPECT_NE(d.notes[1].message.find((root / "inc/stencl.pipe").string()), std::string::npos);
    ASSERT_EQ(d.fixits.size(), 1U);
    EXPECT_EQ(d.fixits[0].text, "\"stencil\"");
    EXPECT_EQ(sources.text(d.range), "\"stencl\"");
    EXPECT_EQ(resolved(program, program.main.id, 0), "nothing");
}

TEST_F(Load, WhatIsThereButCannotBeReadIsNotPassedOver) {
    write("stencil.pipe/inside", "");
    load("import \"stencil\"\n");
    EXPECT_EQ(ids(), Ids{"import-unreadable"});
    EXPECT_NE(diags.all()[0].message.find("directory"), std::string::npos);
}

TEST_F(Load, ADanglingLinkCannotBeRead) {
    fs::create_symlink(root / "nowhere", root / "link.pipe");
    load("import \"link\"\n");
    EXPECT_EQ(ids(), Ids{"import-unreadable"});
}

TEST_F(Load, ErrorsInImportedFilesAreReportedThere) {
    write("bad.pipe", "const A = \n");
    const Program program = load("import \"bad\"\n");
    ASSERT_EQ(ids(), Ids{"syntax-error"});
    EXPECT_EQ(diags.all()[0].range.file, program.files.at(0).file.id);
}

}  // namespace
}  // namespace pipec
