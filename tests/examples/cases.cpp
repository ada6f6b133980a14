#include "cases.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace pipec::testing {

std::vector<std::string> example_files() {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(PIPEC_SOURCE_DIR "/examples")) {
        if (entry.path().extension() == ".pipe") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    return files;
}

const std::vector<std::pair<int, int>>& odd_pairs() {
    static const std::vector<std::pair<int, int>> kPairs = {{1, 1}, {1, 7},  {2, 1},   {3, 2},  {5, 11},
                                                            {8, 8}, {13, 6}, {17, 19}, {16, 33}};
    return kPairs;
}

std::vector<Sizes> legal_sizes(const ir::Pipeline& pipeline, const std::vector<std::pair<int, int>>& pairs) {
    std::vector<Sizes> result;
    for (const auto& [first, second] : pairs) {
        Sizes sizes;
        for (std::size_t i = 0; i < pipeline.sizes.size(); ++i)
            sizes[pipeline.sizes[i].name] = i % 2 == 0 ? first : second;
        if (sizes_are_legal(pipeline, sizes)) result.push_back(sizes);
    }
    return result;
}

namespace {

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

}  // namespace

void check_pipeline(const ir::Pipeline& pipeline, const std::vector<Sizes>& all_sizes, const Runner& runner) {
    ASSERT_GE(all_sizes.size(), 3u) << "too few legal sizes for `" << pipeline.name << "`";
    std::mt19937_64 rng(20240607);
    int run = 0;
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
                expect_equal(expected, runner(arguments, layout, run++), what);
                if (::testing::Test::HasFailure()) return;
            }
        }
    }
}

}  // namespace pipec::testing
