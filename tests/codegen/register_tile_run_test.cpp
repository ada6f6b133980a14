// Register tiles in the SIMT emulator against the interpreter: groups whose edges, sizes and planes are not those of a
// stencil.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <regex>

#include "codegen/lower.h"
#include "codegen/strategies/register/register_pressure.h"
#include "support_lib/compile.h"
#include "support_lib/data.h"
#include "support_lib/device.h"

namespace pipec::testing::register_tile_run_test {
namespace {

struct Program {
    const char* name;
    const char* text;
    std::vector<std::string> inlined, stages;
    std::array<int, 3> tile;
};

/// Each row is part of many sums; all rows at once take more registers than warps should have.
const char* const kManyRows = R"(import "boundary"
pipeline p(a: float32[R, C], b: float32[R, C]) -> out: float32[R, C] {
    f = mirror(a)
    g = mirror(b)
    const W = [0.01, 0.03, 0.07, 0.12, 0.17, 0.2, 0.17, 0.12, 0.07, 0.03, 0.01]
    xx(y, x) = sum(i in -5..=5) W[i + 5] * (f(y + i, x) * f(y + i, x))
    xy(y, x) = sum(i in -5..=5) W[i + 5] * (f(y + i, x) * g(y + i, x))
    yy(y, x) = sum(i in -5..=5) W[i + 5] * (g(y + i, x) * g(y + i, x))
    out(y, x) = xx(y, x - 1) * yy(y, x + 1) - xy(y, x) * xy(y, x)
})";

const Program kPrograms[] = {
    // Down and up again, the borders repeated: limits of the interior are quotients of sizes. Both levels are outputs.
    {"Level",
     R"(import "pyramid"
pipeline p(img: float32[R, C]) -> low: float32[(R + 1) / 2, (C + 1) / 2], detail: float32[R, C] {
    low = pyr_down_clamped(img, (R + 1) / 2, (C + 1) / 2)
    detail = img - pyr_up_clamped(low, R, C)
})",
     {"low.dx", "detail.ux"},
     {"low.dy", "low", "detail.uy", "detail"},
     {4, 4, 1}},
    // A tile has all planes: one of them is read by all.
    {"Planes",
     R"(pipeline p(img: float32[4, R, C]) -> out: float32[3, R, C] {
    soft(c, y, x) = (img(c, y, max(x - 1, 0)) + 2 * img(c, y, x) + img(c, y, min(x + 1, C - 1))) * 0.25
    out(c, y, x) = soft(c, y, x) / (1 + soft(3, y, x))
})",
     {},
     {"soft", "out"},
     {4, 2, 4}},
    // A loop inside of a definition has products of its own variable.
    {"Strides",
     R"(pipeline p(img: float32[200, R, C]) -> out: float32[R, C] {
    out(y, x) = (sum(k in 0..99) img(2 * k, y, x) * img(2 * k + 1, y, x)) + max(k in 0..66) img(3 * k + 1, y, x)
})",
     {},
     {"out"},
     {4, 2, 1}},
    // An image with a wide frame, far from where its readers are; a table, which any lane may ask.
    {"Frame",
     R"(pipeline p(img: uint16[R + 4, C + 37], table: uint8[256]) -> out: uint8[R, C] {
    soft(y, x) = (img(y + 2, x + 16) + img(y + 2, x + 18) + img(y, x + 17) + img(y + 4, x + 17) + 2) / 4
    out(y, x) = table(clamp((soft(y, x) + soft(y, x + 1)) / 512, 0, 255))
})",
     {},
     {"soft", "out"},
     {4, 4, 1}},
    // Points at the edges share what they load, also of a table by data.
    {"Crosses",
     R"(pipeline p(img: uint8[R + 4, C + 5], table: uint8[256]) -> out: uint8[R, C] {
    cross(y, x) = int32(table(img(y + 2, x + 2))) + img(y, x + 2) + img(y + 4, x + 2) + img(y + 2, x) + img(y + 2, x + 4)
    out(y, x) = uint8((cross(y, x) + cross(y, x + 1)) / 10)
})",
     {},
     {"cross", "out"},
     {4, 4, 1}},
    // Divisions that might be by 0 where no point is, with their edge repeated.
    {"Quotients",
     R"(pipeline p(img: int32[R, C], by: int32[R, C]) -> out: int32[R, C] {
    ratio(y, x) = img(y, x) / max(by(y, x), 1)
    again(y, x) = img(y, x) / max(ratio(y, max(x - 1, 0)) + ratio(y, min(x + 1, C - 1)), 1)
    out(y, x) = again(max(y - 1, 0), x) + again(min(y + 1, R - 1), max(x - 1, 0))
})",
     {},
     {"ratio", "again", "out"},
     {2, 2, 1}},
    // Which array is read depends on the place: a point that does not exist must not ask the wrong one.
    {"PlacesChoose",
     R"(pipeline p(img: float32[R, C], far: float32[R, (C + 1) / 2]) -> out: float32[R, C] {
    near(y, x) = img(y, x) + 1
    mixed(y, x) = if x % 2 == 0 then far(y, x / 2) else near(y, (x + 1) / 2)
    out(y, x) = mixed(y, x - 1) + mixed(y, x)
})",
     {},
     {"near", "mixed", "out"},
     {2, 2, 1}},
    // Interleaved, with a channel that all others read: a launch has two choices between kernels that are launched
    // alike.
    {"TwoChoices",
     R"(pipeline p(base: uint8[R, C, 4], a: uint8[R, C, 4]) -> out: uint8[R, C, 4] {
    out(y, x, c) = saturate<uint8>(a(y, x, c) + base(y, x, c) * (255 - a(y, x, 3)) / 256)
})",
     {},
     {"out"},
     {4, 1, 1}},
    // Statements are put into an order that takes fewer registers.
    {"ManyRows", kManyRows, {}, {"f", "g", "xx", "xy", "yy", "out"}, {4, 8, 1}},
    // A stage that lacks the last plane, which nobody asks for: tiles with all planes are in the interior all the same.
    {"PlaneThatAStageLacks",
     R"(pipeline p(img: uint8[R, C, 3]) -> out: uint8[R, C, 4] {
    v(y, x, c) = img(y, x, c) / 255.0
    least(y, x) = min(v(y, x, 0), min(v(y, x, 1), v(y, x, 2)))
    half(y, x, c) = v(y, x, c) * least(y, x)
    out(y, x, c) = saturate<uint8>(255 * (if c == 3 then least(y, x) else half(y, x, min(c, 2))))
})",
     {},
     {"v", "least", "half", "out"},
     {4, 2, 4}},
    // Channels that come first in the program, and last in memory.
    {"ChannelsRunFastest",
     R"(pipeline p(img: uint8[R, C]) -> out: uint8[3, R, C] order(1, 2, 0) {
    soft(y, x) = (img(y, max(x - 1, 0)) + img(y, min(x + 1, C - 1))) / 2
    out(c, y, x) = if (y + x) % 2 == c / 2 then uint8(soft(y, x)) else uint8(img(y, x) - c)
})",
     {},
     {"soft", "out"},
     {4, 2, 3}},
};

void PrintTo(const Program& program, std::ostream* out) {
    *out << program.name;
}

class RegisterTile : public ::testing::TestWithParam<Program> {};

TEST_P(RegisterTile, EqualsReference) {
    const Program& program = GetParam();
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "p.pipe", program.text);
    for (const Diagnostic& d : compiled.diags.all()) ASSERT_NE(d.severity, Severity::Error) << d.message;
    const std::vector<codegen::Unit> units{{&compiled.pipelines.front(), &compiled.models.front()}};
    fusion::GroupSchedule group;
    group.stages = program.stages;
    group.strategy = fusion::Strategy::RegisterTile;
    group.block = {32, 2, 1};
    group.tile = program.tile;
    codegen::CudaOptions options;
    options.schedules["p"] = fusion::Schedule{program.inlined, {group}};
    const DeviceLibrary library(units, sources, options);
    std::mt19937_64 rng(20261121);
    for (const auto& [rows, columns] : {std::pair(1, 1), std::pair(4, 7), std::pair(41, 399), std::pair(32, 512)}) {
        SCOPED_TRACE(fmt::format("{} x {}", rows, columns));
        const reference::Arguments arguments =
            random_arguments(*units.front().pipeline, {{"R", rows}, {"C", columns}}, Fill::Smooth, rng);
        const auto actual = run_device(library.info("p"), arguments, Layout::Dense, rng());
        for (const auto& [output, array] : reference::run(*units.front().pipeline, arguments)) {
            ASSERT_EQ(difference(array, actual.at(output)), "") << output;
        }
    }
}

TEST(RegisterTileLanes, LoadWhatMostReadsAskFor) {
    const std::string text = R"(pipeline p(img: float32[R, C + 64]) -> out: float32[R, C] {
        out(y, x) = img(y, x + 31) + img(y, x + 32) + img(y, x + 33)
    })";
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "p.pipe", text);
    fusion::GroupSchedule group;
    group.stages = {"out"};
    group.strategy = fusion::Strategy::RegisterTile;
    group.block = {32, 1, 1};
    group.tile = {4, 1, 1};
    codegen::CudaOptions options;
    options.schedules["p"] = fusion::Schedule{{}, {group}};
    const codegen::kernel::Program program =
        codegen::lower({&compiled.pipelines.front(), &compiled.models.front()}, sources, options);
    // One lane at each side serves its neighbours; were a lane's columns those of the same number, nine would.
    EXPECT_NE(to_string(program).find("tile_x * 30"), std::string::npos) << to_string(program);
}

codegen::kernel::Program lowered(const std::string& text, const fusion::GroupSchedule& group) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "p.pipe", text);
    codegen::CudaOptions options;
    options.schedules["p"] = fusion::Schedule{{}, {group}};
    return codegen::lower({&compiled.pipelines.front(), &compiled.models.front()}, sources, options);
}

TEST(RegisterTileOrder, RowsGoIntoSumsBeforeTheNextIsLoaded) {
    fusion::GroupSchedule group;
    group.stages = {"f", "g", "xx", "xy", "yy", "out"};
    group.strategy = fusion::Strategy::RegisterTile;
    group.block = {32, 2, 1};
    group.tile = {4, 8, 1};
    const codegen::kernel::Program program = lowered(kManyRows, group);
    EXPECT_NE(to_string(program).find("xx_0_0_sum"), std::string::npos) << to_string(program);
    EXPECT_EQ(program.steps.front().variants.front().least_blocks, 0);  // nvcc chooses how many registers it takes
    EXPECT_LT(codegen::registers_at_once(program.pipeline, program.steps.front().variants.front().body), 128);
}

/// How often a word stands in the code for tiles at the edges, of the first kernel.
int at_edges(const std::string& text, const std::string& word) {
    const std::size_t begin = text.find("} else {");
    const std::string edges = text.substr(begin, text.find(" kernel ", begin) - begin);
    int count = 0;
    for (std::size_t at = edges.find(word); at != std::string::npos; at = edges.find(word, at + 1)) ++count;
    return count;
}

/// Selects there.
int choices_at_edges(const std::string& text) {
    return at_edges(text, " then ");
}

// A condition on the planes of a tile that has all of them is no limit of the interior: then no tile would be in it.
TEST(RegisterTilePlanes, AreInTheInterior) {
    fusion::GroupSchedule group;
    group.stages = {"out"};
    group.strategy = fusion::Strategy::RegisterTile;
    group.block = {32, 4, 1};
    group.tile = {2, 2, 4};
    const auto text = to_string(lowered(R"(pipeline p(img: float32[4, R, C]) -> out: float32[4, R, C] {
        out(c, y, x) = if c < 3 then img(c, y, x) * img(3, y, x) else img(3, y, x)
    })",
                                        group));
    EXPECT_EQ(text.find("if false"), std::string::npos) << text;
    EXPECT_TRUE(std::regex_search(text, std::regex("define out_3_0_0_2 = img_[0-9]+\n"))) << text;  // at the edges, too
}

// A plane that a stage lacks, and that nobody reads, is no limit of the interior either.
TEST(RegisterTilePlanes, ThatAStageLacksAreInTheInterior) {
    fusion::GroupSchedule group;
    group.stages = {"half", "out"};
    group.strategy = fusion::Strategy::RegisterTile;
    group.block = {32, 4, 1};
    group.tile = {2, 2, 4};
    const auto text = to_string(lowered(R"(pipeline p(img: float32[3, R, C]) -> out: float32[4, R, C] {
        half(c, y, x) = img(c, y, x) / 3
        out(c, y, x) = if c == 3 then 1.0 else half(min(c, 2), y, x)
    })",
                                        group));
    EXPECT_EQ(text.find("false"), std::string::npos) << text;
}

// A lane stores its part of an interleaved row in one piece: 4 columns of 3 bytes are 3 accesses.
TEST(RegisterTilePlanes, ThatRunFastestAreStoredWithTheirRow) {
    fusion::GroupSchedule group;
    group.stages = {"out"};
    group.strategy = fusion::Strategy::RegisterTile;
    group.block = {32, 1, 1};
    group.tile = {4, 1, 3};
    const std::string text = to_string(lowered(R"(pipeline p(img: uint8[R, C]) -> out: uint8[3, R, C] order(1, 2, 0) {
        out(c, y, x) = uint8(img(y, x) - c)
    })",
                                               group));
    EXPECT_NE(text.find("= out_0_0, out_1_0, out_2_0, out_0_1\n"), std::string::npos) << text;
}

// What is read with its edge repeated is in a register that is known, though no such point exists: in columns of stages
// that read global memory, in rows also of what is made of these.
TEST(RegisterTileEdges, ClampsMeanThePointItself) {
    fusion::GroupSchedule group;
    group.stages = {"a.dy", "a", "b.dy", "b.dx", "b"};
    group.strategy = fusion::Strategy::RegisterTile;
    group.block = {32, 1, 1};
    group.tile = {4, 1, 1};
    const std::string text = to_string(lowered(R"(import "pyramid"
    pipeline p(img: float32[R, C]) -> b: float32[(R + 3) / 4, (C + 3) / 4] {
        a = pyr_down_clamped(img, level_size(R, 1), level_size(C, 1))
        b = pyr_down_clamped(a, level_size(R, 2), level_size(C, 2))
    })",
                                               group));
    // b is made of b.dy in columns that a does not have: chosen among five for each of five.
    EXPECT_EQ(choices_at_edges(text), 5 * 4) << text;
}

// nvcc is asked to keep registers for what is loaded first: where that is much, and in the kernel for 16 bytes only.
TEST(RegisterTileRegisters, AreKeptForWhatIsLoadedFirst) {
    fusion::GroupSchedule group;
    group.stages = {"out"};
    group.strategy = fusion::Strategy::RegisterTile;
    group.block = {32, 4, 1};
    const auto limits = [&](int rows) {
        group.tile = {4, rows, 1};
        const std::string text = to_string(lowered(R"(pipeline p(img: float32[R + 8, C]) -> out: float32[R, C] {
            out(y, x) = img(y, x) + img(y + 8, x)
        })",
                                                   group));
        int count = 0;
        for (std::size_t at = text.find("registers for "); at != std::string::npos;
             at = text.find("registers for ", at + 1)) {
            ++count;
        }
        return count;
    };
    EXPECT_EQ(limits(1), 0);
    EXPECT_EQ(limits(9), 1);
}

// At the edges all rows of a tile are computed at a time where that takes few registers, otherwise two.
TEST(RegisterTileEdges, AreCutIntoSlicesWhereRegistersAreFew) {
    fusion::GroupSchedule group;
    group.stages = {"out"};
    group.strategy = fusion::Strategy::RegisterTile;
    group.block = {32, 1, 1};
    const auto has_slices = [&](int columns, int rows) {
        group.tile = {columns, rows, 1};
        const std::string text = to_string(lowered(R"(pipeline p(img: float32[R, C + 8]) -> out: float32[R, C] {
            out(y, x) = sum(j in 0..9) img(y, x + j)
        })",
                                                   group));
        return text.find("slice") != std::string::npos;
    };
    EXPECT_FALSE(has_slices(1, 4));
    EXPECT_TRUE(has_slices(2, 8));
}

// At the edges neighbours that read the same elements load them once.
TEST(RegisterTileEdges, ShareLoads) {
    fusion::GroupSchedule group;
    group.stages = {"out"};
    group.strategy = fusion::Strategy::RegisterTile;
    group.block = {32, 1, 1};
    group.tile = {2, 4, 1};
    const std::string text = to_string(lowered(R"(pipeline p(img: float32[R + 2, C + 2]) -> out: float32[R, C] {
        out(y, x) = sum(i in 0..3, j in 0..3) img(y + i, x + j)
    })",
                                               group));
    EXPECT_EQ(at_edges(text, "img("), (4 + 2) * (2 + 2)) << text;
}

// At the edges loads stand in no branch of their point, so that all of them are on their way at a time.
TEST(RegisterTileEdges, LoadWithoutBranches) {
    fusion::GroupSchedule group;
    group.stages = {"edge", "out"};
    group.strategy = fusion::Strategy::RegisterTile;
    group.block = {32, 1, 1};
    group.tile = {1, 1, 1};
    const std::string text = to_string(lowered(R"(import "boundary"
    pipeline p(img: float32[R, C]) -> out: float32[R, C] {
        edge = clamp_to_edge(img)
        out(y, x) = edge(y, x - 1) + edge(y, x + 1)
    })",
                                               group));
    EXPECT_NE(text.find("max(min("), std::string::npos) << text;
    EXPECT_EQ(choices_at_edges(text), 0) << text;
}

INSTANTIATE_TEST_SUITE_P(All, RegisterTile, ::testing::ValuesIn(kPrograms),
                         [](const auto& param_info) { return std::string(param_info.param.name); });

}  // namespace
}  // namespace pipec::testing::register_tile_run_test
