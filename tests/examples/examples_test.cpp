// Every program in examples/: the host target against the reference interpreter, on sizes that are prime, minimal, tiny
// and no multiple of anything, on values as images have them and on extreme ones, and on images that lie in memory in
// every way that the interface allows. Integers and floats must be equal, bit by bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "support/render.h"
#include "support_lib/compile.h"
#include "support_lib/data.h"
#include "support_lib/host.h"

namespace pipec::testing {
namespace {

using Sizes = std::map<std::string, std::int64_t>;

std::vector<std::string> example_files() {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(PIPEC_SOURCE_DIR "/examples")) {
        if (entry.path().extension() == ".pipe") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    return files;
}

/// Legal sizes for a pipeline, whatever its size parameters are: the two largest cycle through these pairs.
std::vector<Sizes> interesting_sizes(const ir::Pipeline& pipeline) {
    constexpr std::pair<int, int> kPairs[] = {{1, 1}, {1, 7},  {2, 1},   {3, 2},  {5, 11},
                                              {8, 8}, {13, 6}, {17, 19}, {16, 33}};
    std::vector<Sizes> result;
    for (const auto& [first, second] : kPairs) {
        Sizes sizes;
        for (std::size_t i = 0; i < pipeline.sizes.size(); ++i)
            sizes[pipeline.sizes[i].name] = i % 2 == 0 ? first : second;
        if (sizes_are_legal(pipeline, sizes)) result.push_back(sizes);
    }
    return result;
}

std::string to_text(const Sizes& sizes) {
    std::string text;
    for (const auto& [name, value] : sizes) text += fmt::format(" {}={}", name, value);
    return text;
}

void expect_equal(const std::map<std::string, reference::Array>& expected,
                  const std::map<std::string, reference::Array>& actual, const std::string& what) {
    ASSERT_EQ(expected.size(), actual.size());
    for (const auto& [output, array] : expected) {
        EXPECT_EQ(difference(array, actual.at(output)), "") << "`" << output << "`" << what;
    }
}

void check_pipeline(const ir::Pipeline& pipeline, const HostLibrary& library) {
    const runner::abi::pipe_info& info = library.info(pipeline.name);
    const std::vector<Sizes> all_sizes = interesting_sizes(pipeline);
    ASSERT_GE(all_sizes.size(), 3u) << "too few legal sizes for `" << pipeline.name << "`";
    std::mt19937_64 rng(20240607);
    for (const Fill fill : {Fill::Smooth, Fill::Extreme, Fill::Constant}) {
        for (std::size_t i = 0; i < all_sizes.size(); ++i) {
            if (fill != Fill::Smooth && i % 2 == 0) continue;
            const reference::Arguments arguments = random_arguments(pipeline, all_sizes[i], fill, rng);
            const auto expected = reference::run(pipeline, arguments);
            // One more layout for each size, so that all of them occur.
            for (const Layout layout : {Layout::Dense, kLayouts[i % std::size(kLayouts)]}) {
                const std::string what = fmt::format(" of `{}` with{}, fill {}, {} images", pipeline.name,
                                                     to_text(all_sizes[i]), static_cast<int>(fill), name(layout));
                SCOPED_TRACE(what);
                expect_equal(expected, run_host(info, arguments, layout), what);
                if (::testing::Test::HasFailure()) return;
            }
        }
    }
}

class Examples : public ::testing::TestWithParam<std::string> {};

TEST_P(Examples, HostEqualsReference) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, GetParam(), read_file(GetParam()));
    ASSERT_EQ(render_text(compiled.diags, sources), "");
    ASSERT_FALSE(compiled.pipelines.empty());
    std::vector<codegen::Unit> units;
    for (std::size_t i = 0; i < compiled.pipelines.size(); ++i) {
        units.push_back({&compiled.pipelines[i], &compiled.models[i]});
    }
    const HostLibrary library(units, sources);
    for (const ir::Pipeline& pipeline : compiled.pipelines) check_pipeline(pipeline, library);
}

INSTANTIATE_TEST_SUITE_P(All, Examples, ::testing::ValuesIn(example_files()), [](const auto& param_info) {
    return std::filesystem::path(param_info.param).stem().string();
});

}  // namespace
}  // namespace pipec::testing
