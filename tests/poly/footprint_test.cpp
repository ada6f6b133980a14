// What a tile needs, by isl, against what code generation computes: for programs made for it, with the sets written
// down, and for all groups of the examples.
#include "poly/footprint.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "support/render.h"
#include "support_lib/data.h"
#include "support_lib/groups.h"

namespace pipec::poly::footprint_test {
namespace {

class FootprintTest : public ::testing::Test {
protected:
    /// All stages as one group, in tiles.
    std::vector<Footprint> of(const std::string& text, const std::vector<std::int64_t>& tile) {
        SourceManager sources;
        const testing::Compiled compiled = testing::compile_text(sources, "test.pipe", text);
        if (!compiled.ok()) throw std::runtime_error(render_text(compiled.diags, sources));
        const ir::Pipeline& pipeline = compiled.pipelines.front();
        const Model& model = compiled.models.front();
        std::vector<int> stages;
        for (std::size_t i = 0; i < pipeline.stages.size(); ++i) stages.push_back(static_cast<int>(i));
        const auto group = make_group(pipeline, model, find_dependences(pipeline, model), stages);
        if (const auto* illegal = std::get_if<Illegal>(&group)) throw std::runtime_error(illegal->reason);
        auto result = footprints(pipeline, model, std::get<Group>(group), tile).value();
        for (const Footprint& f : result) {
            EXPECT_TRUE(f.contained && f.closed) << f.needed << "\n" << f.box;
            EXPECT_TRUE(is_subset(f.needed, f.box));
        }
        return result;
    }
    static void expect_equal(const std::string& a, const std::string& b) {
        EXPECT_TRUE(is_subset(a, b) && is_subset(b, a)) << a << "\n" << b;
    }
};

TEST_F(FootprintTest, AStencilNeedsItsTileAndAMarginInsideOfTheImage) {
    const auto f = of(R"(import "boundary"
        pipeline p(img: float32[R, C]) -> out: float32[R, C] {
            a(y in 0..R, x in 0..C) = img(y, x) * 2
            m = clamp_to_edge(a)
            out(y, x) = m(y - 1, x) + m(y + 1, x) + m(y, x + 2)
        })",
                      {16, 32});
    const auto tile = [](const std::string& y, const std::string& x) {
        return fmt::format("16 t0 <= {0} < 16 t0 + 16 and 32 t1 <= {1} < 32 t1 + 32 and 0 <= {0} < R and 0 <= {1} < C",
                           y, x);
    };
    expect_equal(f[2].needed, "[R, C, t0, t1] -> { [y, x] : " + tile("y", "x") + " }");
    // The boundary is beyond the image where the tile is at its edge.
    expect_equal(f[1].needed, "[R, C, t0, t1] -> { [y, x] : exists u, v : " + tile("u", "v") +
                                  " and ((u - 1 = y and x = v) or (u + 1 = y and x = v) or (u = y and x = v + 2)) }");
    EXPECT_TRUE(is_subset(f[0].needed,
                          "[R, C, t0, t1] -> { [y, x] : 16 t0 - 1 <= y <= 16 t0 + 16 and "
                          "32 t1 <= x <= 32 t1 + 33 and 0 <= y < R and 0 <= x < C }"));
}

TEST_F(FootprintTest, DownAndUpAgain) {
    const auto f = of(R"(pipeline p(img: float32[2 * R + 8]) -> out: float32[2 * R] {
            a(x) = img(x + 4)
            down(x) = a(2 * x - 1) + a(2 * x) + a(2 * x + 1)
            out(x) = a(x) - (down(x / 2) + down((x + 1) / 2))
        })",
                      {8});
    const std::string exists = "(exists i : 8 t0 <= i < 8 t0 + 8 and 0 <= i < 2 R and ";
    expect_equal(f[1].needed,
                 "[R, t0] -> { [x] : " + exists + "2 x <= i <= 2 x + 1) or " + exists + "2 x <= i + 1 <= 2 x + 1) }");
    // All between the first and the last point, and no more than the box.
    expect_equal(f[0].needed,
                 "[R, t0] -> { [x] : R >= 1 and 0 <= t0 and 8 t0 < 2 R and 8 t0 - 1 <= x <= 8 t0 + 9 and "
                 "-1 <= x <= 2 R + 1 }");
    EXPECT_EQ(count_points(f[0].needed, {{"R", 100}, {"t0", 2}}), 11);
    EXPECT_EQ(count_points(f[0].box, {{"R", 100}, {"t0", 2}}), 11);
    EXPECT_EQ(count_points(f[0].needed, {{"R", 100}, {"t0", 0}}), 11);
    EXPECT_EQ(count_points(f[0].needed, {{"R", 2}, {"t0", 0}}), 7);
}

TEST_F(FootprintTest, ChannelsAreNeededAsAWhole) {
    const auto f = of(R"(pipeline p(img: float32[3, R, C]) -> out: float32[R, C] {
            a(c, y, x) = img(c, y, x) * 2
            out(y, x) = a(0, y, x) + a(2, y, x)
        })",
                      {4, 8});
    expect_equal(f[0].needed,
                 "[R, C, t0, t1] -> { [c, y, x] : (c = 0 or c = 2) and 0 <= y < R and 0 <= x < C and "
                 "4 t0 <= y < 4 t0 + 4 and 8 t1 <= x < 8 t1 + 8 }");
    EXPECT_EQ(count_points(f[0].box, {{"R", 100}, {"C", 100}, {"t0", 1}, {"t1", 1}}), 3 * 4 * 8);
}

std::vector<std::string> example_files() {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(PIPEC_SOURCE_DIR "/examples")) {
        if (entry.path().extension() == ".pipe") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    return files;
}

/// Points of all members in a tile of the interior of a large image: those of the boxes, those needed; none where such
/// a tile is not found.
std::pair<std::int64_t, std::int64_t> points_of(const ir::Pipeline& pipeline, const std::vector<Footprint>& footprints,
                                                const std::vector<std::int64_t>& tile) {
    std::map<std::string, std::int64_t> parameters;
    for (const ir::SizeParameter& size : pipeline.sizes) parameters[size.name] = 2048;
    if (!testing::sizes_are_legal(pipeline, parameters)) return {};
    // A dimension of a few channels has one tile.
    for (std::size_t first = 0; first < (std::size_t{1} << tile.size()); ++first) {
        for (std::size_t g = 0; g < tile.size(); ++g)
            parameters[fmt::format("t{}", g)] = (first >> g) % 2 == 1 ? 0 : 512 / tile[g];
        if (count_points(footprints.back().needed, parameters) == 0) continue;
        std::pair<std::int64_t, std::int64_t> sum;
        for (const Footprint& f : footprints) {
            sum.first += count_points(f.box, parameters);
            sum.second += count_points(f.needed, parameters);
        }
        return sum;
    }
    return {};
}

class Examples : public ::testing::TestWithParam<std::string> {};

/// A few groups of a pipeline with many, or all of them (PIPEC_ALL_GROUPS=1).
TEST_P(Examples, BoxesHaveWhatTilesNeed) {
    SourceManager sources;
    const testing::Compiled compiled = testing::compile_text(sources, GetParam(), testing::read_file(GetParam()));
    int exact = 0, boxes = 0;
    double most = 0;
    for (std::size_t i = 0; i < compiled.pipelines.size(); ++i) {
        const testing::Inlined program = testing::inline_cheap(compiled.pipelines[i], compiled.models[i]);
        for (const Group& group : testing::some_of(testing::legal_groups(program))) {
            std::vector<std::int64_t> tile;
            for (int g = 0; g < group.rank; ++g) {
                const std::int64_t unit = tile_unit(group, g);
                tile.push_back((std::int64_t{g + 1 == group.rank ? 32 : 8} + unit - 1) / unit * unit);
            }
            // What all boxes read being in boxes is proof enough where sets become too many.
            const Options options{.max_operations = 200'000};
            auto found = footprints(program.pipeline, program.model, group, tile, true, options);
            ++(found ? exact : boxes);
            if (found) {
                const auto [of_boxes, needed] = points_of(program.pipeline, *found, tile);
                if (needed > 0) most = std::max(most, static_cast<double>(of_boxes) / static_cast<double>(needed));
            }
            if (!found) found = footprints(program.pipeline, program.model, group, tile, false);
            ASSERT_TRUE(found);
            for (const Footprint& f : *found) {
                EXPECT_TRUE(f.contained) << to_string(program.pipeline, group) << f.needed << "\n" << f.box;
                EXPECT_TRUE(f.closed) << to_string(program.pipeline, group) << f.box;
            }
            if (HasFailure()) return;
        }
    }
    fmt::print("{} groups exactly, {} by their boxes, which have up to {:.3f} times as many points as are needed\n",
               exact, boxes, most);
    EXPECT_GT(exact, 0);
}

INSTANTIATE_TEST_SUITE_P(All, Examples, ::testing::ValuesIn(example_files()), [](const auto& param_info) {
    return std::filesystem::path(param_info.param).stem().string();
});

}  // namespace
}  // namespace pipec::poly::footprint_test
