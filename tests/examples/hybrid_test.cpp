// Hybrid tiles: every dimension split, with every part of it in registers, blocks of many shapes; results in the SIMT
// emulator against the interpreter.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "cases.h"
#include "codegen/kernel/kernel_flow.h"
#include "codegen/lower.h"
#include "grouping.h"
#include "support/render.h"
#include "support_lib/compile.h"
#include "support_lib/device.h"
#include "support_lib/groups.h"

namespace pipec::testing::hybrid_test {
namespace {

using fusion::GroupSchedule;
using fusion::Strategy;

GroupSchedule hybrid(const std::array<int, 3>& block, const std::array<int, 3>& tile, int split, double frac_reg) {
    GroupSchedule group;
    group.strategy = Strategy::Hybrid;
    group.block = block;
    group.tile = tile;
    group.split = split;
    group.frac_reg = frac_reg;
    return group;
}

// -------------------------------------------------------------------------------------------------------- the examples

const std::array<int, 3> kBlocks[] = {{32, 4, 1}, {64, 2, 1}, {32, 1, 1}, {16, 2, 1}, {16, 4, 1},
                                      {8, 4, 1},  {8, 8, 1},  {4, 8, 1},  {8, 4, 2},  {4, 4, 2}};
const std::array<int, 3> kTiles[] = {{4, 2, 1}, {3, 1, 1}, {2, 3, 1}, {1, 4, 2}, {2, 5, 1}, {5, 1, 2}};
const double kFractions[] = {0, 0.3, 0.5, 1};

GroupSchedule choose(std::mt19937_64& rng) {
    // z is least often a dimension of a group.
    return hybrid(kBlocks[rng() % std::size(kBlocks)], kTiles[rng() % std::size(kTiles)],
                  static_cast<int>(rng() % 8) / 3, kFractions[rng() % std::size(kFractions)]);
}

class Hybrid : public ::testing::TestWithParam<std::string> {};

TEST_P(Hybrid, RandomGroupsEqualReference) {
    check_random_groups(GetParam(), choose);
}

INSTANTIATE_TEST_SUITE_P(All, Hybrid, ::testing::ValuesIn(example_files()), [](const auto& param_info) {
    return std::filesystem::path(param_info.param).stem().string();
});

// --------------------------------------------------------------------------------------- programs, as one kernel each

class Fused {
public:
    explicit Fused(const std::string& text) : compiled_(compile_text(sources_, "p.pipe", text)) {
        EXPECT_EQ(render_text(compiled_.diags, sources_), "");
    }

    void check(const GroupSchedule& schedule, const std::vector<std::pair<int, int>>& sizes) {
        SCOPED_TRACE(fmt::format("block {} tile {} split {} frac_reg {}", fmt::join(schedule.block, "x"),
                                 fmt::join(schedule.tile, "x"), schedule.split, schedule.frac_reg));
        const ir::Pipeline& pipeline = compiled_.pipelines.at(0);
        fusion::Schedule all;
        all.groups.push_back(schedule);
        for (const ir::Stage& stage : pipeline.stages) all.groups.back().stages.push_back(stage.name);
        codegen::CudaOptions options;
        options.schedules.emplace(pipeline.name, all);
        const DeviceLibrary library({{&pipeline, &compiled_.models.at(0)}}, sources_, options);
        const runner::abi::pipe_info& info = library.info(pipeline.name);
        check_pipeline(pipeline, legal_sizes(pipeline, sizes),
                       [&](const reference::Arguments& arguments, Layout layout, int run) {
                           return run_device(info, arguments, layout, static_cast<std::uint64_t>(run));
                       });
    }

    /// The kernel, or why there is none.
    std::variant<codegen::kernel::Step, std::string> step(const GroupSchedule& schedule) {
        codegen::kernel::Program program{compiled_.pipelines.at(0), compiled_.models.at(0), fusion::default_target()};
        std::vector<int> stages;
        for (std::size_t i = 0; i < program.pipeline.stages.size(); ++i) stages.push_back(static_cast<int>(i));
        const auto group = poly::make_group(program.pipeline, program.model,
                                            poly::find_dependences(program.pipeline, program.model), stages);
        return codegen::group_step(program, std::get<poly::Group>(group), schedule, sources_);
    }
    int shuffles(const GroupSchedule& schedule) {
        int count = 0;
        const auto made = step(schedule);
        codegen::kernel::for_each_stmt(
            std::get<codegen::kernel::Step>(made).variants.at(0).body, [&](const codegen::kernel::Stmt& stmt) {
                count += std::holds_alternative<codegen::kernel::Shuffle>(stmt.value) ? 1 : 0;
            });
        return count;
    }
    std::string refusal(const GroupSchedule& schedule) {
        const auto made = step(schedule);
        const auto* reason = std::get_if<std::string>(&made);
        return reason == nullptr ? "" : *reason;
    }

private:
    SourceManager sources_;
    Compiled compiled_;
};

const std::vector<std::pair<int, int>> kSizes{{1, 3}, {6, 20}, {37, 150}};

constexpr const char* kCross = R"(
pipeline p(img: float32[R + 6, C + 6]) -> out: float32[R, C] {
    a(y, x) = img(y, x) + 2 * img(y + 2, x + 1)
    b(y, x) = a(y, x) + 3 * a(y + 1, x + 2) - a(y + 2, x)
    out(y, x) = b(y, x) + b(y + 2, x + 2) + 5 * a(y + 3, x + 1) + 7 * b(y + 1, x)
})";

TEST(HybridPrograms, AllTypesOfLoads) {
    Fused program(kCross);
    program.check(hybrid({32, 2, 1}, {4, 3, 1}, 0, 0), kSizes);
    for (const int split : {0, 1}) {
        program.check(hybrid({32, 2, 1}, {4, 3, 1}, split, 0.5), kSizes);
        program.check(hybrid({8, 8, 1}, {3, 2, 1}, split, 1), kSizes);
    }
}

TEST(HybridPrograms, DistancesOfSeveralWarps) {
    Fused program(R"(
pipeline p(img: float32[R + 20, C + 80]) -> out: float32[R, C] {
    a(y, x) = 2 * img(y, x)
    b(y, x) = a(y, x) + 3 * a(y + 9, x + 40) - a(y + 4, x + 32)
    out(y, x) = b(y, x + 33) + b(y + 9, x)
})");
    program.check(hybrid({32, 1, 1}, {5, 2, 1}, 0, 0.6), kSizes);
    program.check(hybrid({8, 4, 1}, {8, 3, 1}, 0, 0.5), kSizes);
    program.check(hybrid({4, 8, 1}, {3, 3, 1}, 1, 1), kSizes);
    program.check(hybrid({16, 2, 1}, {2, 8, 1}, 1, 0.5), kSizes);
}

TEST(HybridPrograms, ScalesAndBoundaries) {
    Fused program(R"(
pipeline p(img: float32[R, C]) -> out: float32[R, C], small: float32[(R + 1) / 2, (C + 1) / 2] {
    smooth(y, x) = img(y, max(x - 1, 0)) + img(y, x) + img(y, min(x + 1, C - 1))
    both(y, x) = smooth(max(y - 1, 0), x) + smooth(y, x) + smooth(min(y + 1, R - 1), x)
    small(y, x) = both(2 * y, 2 * x) + both(2 * y, min(2 * x + 1, C - 1))
    wide(y, x) = small(y, max(x - 1, 0)) + small(y, x)
    up(y, x) = wide(y / 2, x / 2) + smooth(y, x)
    out(y, x) = if (y + x) % 3 == 0 then up(y, x) else up(y, max(x - 2, 0)) - up(min(y + 1, R - 1), x)
})");
    program.check(hybrid({8, 4, 1}, {4, 2, 1}, 0, 0.5), kSizes);
    program.check(hybrid({16, 4, 1}, {2, 4, 1}, 1, 1), kSizes);
    // The interior of `both` ends with its domain or where `smooth` does.
    EXPECT_GT(program.shuffles(hybrid({4, 8, 1}, {3, 2, 1}, 0, 1)), 0);
    program.check(hybrid({4, 8, 1}, {3, 2, 1}, 0, 1), kSizes);
}

TEST(HybridPrograms, WholeDimensionsNarrowTypesAndTables) {
    Fused program(R"(
pipeline p(img: uint8[3, R, C + 4]) -> out: uint8[3, R, C], gray: uint16[R, C + 2] {
    rows(c, y, x) = int16(img(c, y, x)) - int16(img(c, y, x + 2))
    gray(y, x) = uint16(abs(int32(rows(0, y, x)) + 2 * int32(rows(1, y, x)) + int32(rows(2, y, x))))
    table(i in 0..16) = float32(i * i)
    odd(y, x) = gray(y, x) % 2 == 1
    out(c, y, x) = if odd(y, x + 1) then uint8(int32(gray(y, x) % 100) + int32(table(int32(gray(y, x + 2)) % 16)) / 3)
                   else uint8(int32(rows(c, y, x + 1)) & 127)
})");
    program.check(hybrid({32, 2, 1}, {3, 2, 1}, 0, 1), kSizes);
    program.check(hybrid({8, 4, 1}, {3, 3, 1}, 1, 0.6), kSizes);
}

TEST(HybridPrograms, ThreeDimensions) {
    Fused program(R"(
pipeline p(img: float32[N + 4, R + 4, C + 4]) -> out: float32[N, R, C] {
    a(z, y, x) = img(z, y, x) + 2 * img(z + 2, y + 1, x + 2)
    out(z, y, x) = a(z, y, x) + 3 * a(z + 2, y + 1, x + 2) - a(z + 1, y + 2, x + 1) + 5 * a(z, y + 2, x)
})");
    const std::vector<std::pair<int, int>> sizes{{1, 3}, {5, 9}, {11, 26}};
    for (const int split : {0, 1, 2}) program.check(hybrid({4, 4, 2}, {2, 2, 3}, split, 0.6), sizes);
    program.check(hybrid({8, 2, 4}, {2, 1, 2}, 2, 1), sizes);
}

// ------------------------------------------------------------------------------------------------------ what is made

TEST(HybridPrograms, ShufflesAreShared) {
    Fused program(R"(
pipeline p(img: float32[R, C + 2]) -> out: float32[R, C] {
    a(y, x) = 2 * img(y, x)
    out(y, x) = a(y, x) * a(y, x + 1) + a(y, x + 1) * a(y, x + 2) + a(y, x)
})");
    // Of each of the two iterations one from the lane before, and one from the lane before that.
    EXPECT_EQ(program.shuffles(hybrid({32, 1, 1}, {4, 1, 1}, 0, 0.5)), 4);
    EXPECT_EQ(program.shuffles(hybrid({32, 1, 1}, {4, 1, 1}, 0, 0)), 0);
    // Along the other dimension a lane needs its own elements only.
    EXPECT_EQ(program.shuffles(hybrid({32, 1, 1}, {1, 4, 1}, 1, 1)), 8);
}

TEST(HybridPrograms, Refusals) {
    Fused program(kCross);
    EXPECT_EQ(program.refusal(hybrid({32, 1, 1}, {4, 1, 1}, 2, 0.5)), "the group has no dimension 2 to split");
    EXPECT_EQ(program.refusal(hybrid({32, 1, 1}, {4, 1, 1}, 0, 1.5)),
              "1.5 is no part of a tile: it must be from 0 to 1");
    EXPECT_EQ(program.refusal(hybrid({32, 1, 1}, {0, 1, 1}, 0, 1)), "a tile has at least one point");
    EXPECT_EQ(program.refusal(hybrid({32, 1, 1}, {8, 16, 1}, 0, 1)),
              "304 registers of a lane would hold values, more than 200");
    EXPECT_EQ(program.refusal(hybrid({32, 1, 1}, {32, 32, 1}, 0, 1)),
              "a lane would compute more than 2048 points in registers");
    EXPECT_EQ(program.refusal(hybrid({32, 16, 1}, {64, 8, 1}, 0, 0)),
              "its tiles take 2887936 bytes of shared memory, but a block of NVIDIA H100 SXM has 232448");
}

}  // namespace
}  // namespace pipec::testing::hybrid_test
