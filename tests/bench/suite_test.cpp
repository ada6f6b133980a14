// The programs of bench/suite: what the host target computes equals the reference interpreter, bit by bit, at a small
// size. They are compiled without optimisation, many in one file: other tests vary flags, sizes, values and layouts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "support/render.h"
#include "support_lib/compile.h"
#include "support_lib/data.h"
#include "support_lib/host.h"

namespace pipec::testing {
namespace {

constexpr int kParts = 4;

std::vector<std::string> programs(int part) {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(PIPEC_SOURCE_DIR "/bench/suite")) {
        if (entry.path().extension() == ".pipe") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    std::vector<std::string> result;
    for (std::size_t i = static_cast<std::size_t>(part); i < files.size(); i += kParts) result.push_back(files[i]);
    return result;
}

/// A program's text. `polar` has a million points, of which a part is enough for the interpreter.
std::string text_of(const std::string& file) {
    std::string text = read_file(file);
    if (std::filesystem::path(file).stem() != "polar") return text;
    const std::string all = "float32[1440, 1024]";
    const std::size_t at = text.find(all);
    if (at == std::string::npos) throw std::runtime_error("polar.pipe has no " + all);
    return text.replace(at, all.size(), "float32[360, 256]");
}

/// The first legal sizes of some odd ones.
std::map<std::string, std::int64_t> sizes_of(const ir::Pipeline& pipeline) {
    for (const auto& [first, second] : {std::pair{3, 7}, {5, 2}, {1, 1}}) {
        std::map<std::string, std::int64_t> sizes;
        for (std::size_t i = 0; i < pipeline.sizes.size(); ++i) {
            sizes[pipeline.sizes[i].name] = i % 2 == 0 ? first : second;
        }
        if (sizes_are_legal(pipeline, sizes)) return sizes;
    }
    throw std::runtime_error("no legal sizes for " + pipeline.name);
}

class Suite : public ::testing::TestWithParam<int> {};

TEST_P(Suite, HostEqualsReference) {
    SourceManager sources;
    std::vector<Compiled> compiled;
    for (const std::string& file : programs(GetParam())) {
        compiled.push_back(compile_text(sources, file, text_of(file)));
        ASSERT_EQ(render_text(compiled.back().diags, sources), "");
        ASSERT_EQ(compiled.back().pipelines.size(), 1u) << file;
        EXPECT_EQ(compiled.back().pipelines.front().name, std::filesystem::path(file).stem().string());
    }
    std::vector<codegen::Unit> units;
    for (const Compiled& c : compiled) units.push_back({&c.pipelines.front(), &c.models.front()});
    const HostLibrary library(units, sources, "-O0");
    for (const Compiled& c : compiled) {
        const ir::Pipeline& pipeline = c.pipelines.front();
        std::mt19937_64 rng(20261123);
        const reference::Arguments arguments = random_arguments(pipeline, sizes_of(pipeline), Fill::Smooth, rng);
        const auto expected = reference::run(pipeline, arguments);
        const auto actual = run_host(library.info(pipeline.name), arguments);
        ASSERT_EQ(expected.size(), actual.size());
        for (const auto& [output, array] : expected) {
            EXPECT_EQ(difference(array, actual.at(output)), "") << "`" << output << "` of `" << pipeline.name << "`";
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Parts, Suite, ::testing::Range(0, kParts));

}  // namespace
}  // namespace pipec::testing
