// The paper's cost function: its lines against arithmetic written out, its minimisation and the search over groups
// against all there is.
#include "cost/paper_cost.h"

#include <gtest/gtest.h>

#include <bit>
#include <map>

#include "../fusion/all_groupings.h"
#include "../fusion/programs.h"
#include "cost/cost_models.h"
#include "fusion/automatic.h"
#include "fusion/inline.h"

namespace pipec::cost::paper_cost_test {
namespace {

using namespace fusion;
using testing::Grouped;
using testing::kBlur;

constexpr const char* kPyramid = R"(
pipeline p(img: float32[3, 2 * R + 2, 2 * C + 2]) -> out: float32[3, 2 * R, 2 * C] {
    down(c, y in 0..R + 1, x in 0..C + 1) = (img(c, 2 * y, 2 * x) + img(c, 2 * y + 1, 2 * x + 1)) / 2
    up(c, y in 0..2 * R, x in 0..2 * C) = (down(c, y / 2, x / 2) + down(c, y / 2 + 1, x / 2 + 1)) / 2
    out(c, y, x) = img(c, y, x) - up(c, y, x)
})";

TEST(PaperCost, Algorithm2LineByLine) {
    const Grouped blur(kBlur, {"rows", "out"});
    const Gpu gpu = known_gpu("v100").value();
    const PaperPoint point{{4, 2, 1}, {32, 8, 1}, 5, 32};
    const PaperCost cost = paper_cost(*blur.facts, gpu, point).value();

    const double tile_volume = 4 * 2, warps = 8, threads = 256;
    // Scratch of `rows`: two rows of 4 x 32 columns and the overlap; half of the four iterations in registers.
    const double whole = 2 * (128 + 2) * 4 * warps, shared = 2 * (64 + 2) * 4 * warps;
    EXPECT_DOUBLE_EQ(cost.shared_per_block, shared);
    const double registers = (whole - shared) / threads / 4 + blur.stages[0].registers + blur.stages[1].registers;
    EXPECT_DOUBLE_EQ(cost.registers_per_thread, registers);
    // A warp's 32 columns of four bytes, in three rows.
    EXPECT_DOUBLE_EQ(cost.transactions, 3 * 4 * tile_volume);
    const double blocks = 23;             // min(96 KB / 4224 bytes, 32)
    EXPECT_DOUBLE_EQ(cost.occupancy, 1);  // min(23 blocks x 8 warps, 64 warps), and enough registers
    EXPECT_DOUBLE_EQ(cost.mem_time, 32 * cost.transactions / (898e9 * 32 / (80 * 64)));
    const double clocks = 2 * (4 * (7 + 3) + 19);
    EXPECT_DOUBLE_EQ(cost.compute_time, clocks / 1.53e9 * tile_volume);
    EXPECT_DOUBLE_EQ(cost.unallocated_shared, 1 - shared * blocks / (96 * 1024));
    EXPECT_DOUBLE_EQ(cost.unused_registers, 1 - registers * 64 * 32 / 65536);
    EXPECT_DOUBLE_EQ(cost.overlap, 4.0 / 512);
    const double tiles = (3584.0 / 2) * (3584.0 / 128), per_sm = std::ceil(tiles / 8 / 80);
    EXPECT_DOUBLE_EQ(cost.extra_blocks, std::fmod(per_sm, blocks));
    EXPECT_DOUBLE_EQ(cost.cost, 50 * cost.transactions + 0.5 * (1 - cost.occupancy) +
                                    60 * cost.mem_time / cost.compute_time + 10 * cost.unallocated_shared +
                                    2 * cost.unused_registers + 100 * cost.overlap + 1 * cost.extra_blocks);
}

TEST(PaperCost, LimitsOfTheGpuAreInfinite) {
    const Grouped blur(kBlur, {"rows", "out"});
    const Gpu gtx = known_gpu("gtx1080ti").value(), v100 = known_gpu("v100").value();
    // 32 rows of 1026 columns for each of 2 warps: more than 48 KB, and more than 96 KB.
    const PaperPoint large{{32, 4, 1}, {32, 4, 1}, 0, 32};
    EXPECT_FALSE(paper_cost(*blur.facts, gtx, large));
    EXPECT_TRUE(paper_cost(*blur.facts, v100, large));
    EXPECT_FALSE(paper_cost(*blur.facts, v100, {{32, 32, 1}, {32, 4, 1}, 0, 32}));
    // All of it in registers takes a register for each iteration: 4 x 32, but not 32 x 32.
    EXPECT_TRUE(paper_cost(*blur.facts, v100, {{32, 4, 1}, {32, 4, 1}, 10, 32}));
    EXPECT_FALSE(paper_cost(*blur.facts, v100, {{32, 32, 1}, {32, 1, 1}, 10, 32}));
}

TEST(PaperCost, TheMinimumIsThatOfAllPoints) {
    for (const auto& [text, members] : {std::pair{kBlur, std::vector<std::string>{"rows", "out"}},
                                        std::pair{kPyramid, std::vector<std::string>{"down", "up", "out"}}}) {
        const Grouped group(text, members, {300, 500});
        for (const char* name : {"gtx1080ti", "v100", "h100"}) {
            SCOPED_TRACE(name);
            Gpu gpu = known_gpu(name).value();
            // As they are, the weights make small tiles best; without the first one, large ones.
            for (const double first : {50.0, 0.5, 0.0}) {
                gpu.paper_weights = {first, 0.5, 60, 10, 2, 100, 1};
                const PaperOptions options{.otpw = true, .hybrid = true, .largest_tile = 4};
                const PaperChoice found = paper_minimum(*group.facts, gpu, options).value();
                EXPECT_DOUBLE_EQ(found.cost.cost, paper_cost(*group.facts, gpu, found.point)->cost);
                double least = 1e300;
                const int rank = group.facts->group.rank;
                for (int threads = 32; threads <= 1024; threads *= 2) {
                    for (int bx = 1; bx <= threads; bx *= 2) {
                        for (int by = 1; bx * by <= threads; by *= 2) {
                            const std::array<int, 3> block{bx, by, threads / (bx * by)};
                            if (rank < 3 && block[2] > 1) continue;
                            for (int tile = 0; tile < (rank < 3 ? 16 : 64); ++tile) {
                                for (int tenths = 0; tenths <= 10; ++tenths) {
                                    for (const int transaction : {32, 128}) {
                                        const PaperPoint point{{tile % 4 + 1, tile / 4 % 4 + 1, tile / 16 + 1},
                                                               block,
                                                               tenths,
                                                               transaction};
                                        const auto cost = paper_cost(*group.facts, gpu, point);
                                        if (cost) least = std::min(least, cost->cost);
                                    }
                                }
                            }
                        }
                    }
                }
                // Blocks of 96, 160, ... threads are tried besides.
                EXPECT_LE(found.cost.cost, least + 1e-9);
                if (std::has_single_bit(static_cast<unsigned>(found.point.block[0]))) {
                    EXPECT_DOUBLE_EQ(found.cost.cost, least);
                }
            }
        }
    }
}

TEST(PaperCost, SchedulesSayWhatWasChosen) {
    const Grouped blur(kBlur, {"rows", "out"});
    const GroupSchedule hybrid = paper_schedule(blur.pipeline, *blur.facts, {{2, 8, 1}, {16, 4, 1}, 3, 128});
    EXPECT_EQ(hybrid.strategy, Strategy::Hybrid);
    EXPECT_EQ(hybrid.stages, (std::vector<std::string>{"rows", "out"}));
    EXPECT_EQ(hybrid.split, 1);
    EXPECT_EQ(hybrid.frac_reg, 0.3);
    EXPECT_EQ(hybrid.load_cache, LoadCache::Ca);
    const GroupSchedule otpw = paper_schedule(blur.pipeline, *blur.facts, {{2, 8, 1}, {16, 4, 1}, 0, 32});
    EXPECT_EQ(otpw.strategy, Strategy::Otpw);
    EXPECT_EQ(otpw.load_cache, LoadCache::Cg);
    EXPECT_EQ(otpw.tile, (std::array{2, 8, 1}));
    EXPECT_EQ(otpw.block, (std::array{16, 4, 1}));
}

/// The search against every grouping, with the costs that it works with.
class RealCosts : public ::testing::TestWithParam<const char*> {};

TEST_P(RealCosts, TheSearchFindsTheCheapestOfAllGroupings) {
    SourceManager sources;
    const std::string path = std::string(PIPEC_SOURCE_DIR "/examples/") + GetParam() + ".pipe";
    const testing::Compiled compiled = testing::compile_text(sources, path, testing::read_file(path));
    const ir::Pipeline& pipeline = compiled.pipelines.at(0);
    const CostModel model = paper_cost_model(known_gpu("v100").value());
    const FusionResult result = fuse(pipeline, compiled.models.at(0), model, nullptr);

    const Inlined inlined = inline_stages(pipeline, compiled.models.at(0), inlined_stages(pipeline, result.schedule));
    const auto dependences = poly::find_dependences(inlined.pipeline, inlined.model);
    const auto facts = stage_facts(inlined.pipeline, inlined.model, dependences, usual_sizes(pipeline));
    StageGraph graph(facts.size());
    for (const poly::Dependence& d : dependences) {
        if (d.source.kind == ir::Source::Kind::Stage) {
            graph[static_cast<std::size_t>(d.reader)].push_back(d.source.index);
        }
    }
    std::map<std::vector<int>, std::optional<double>> known;
    const GroupCost cost = [&](const std::vector<int>& stages) -> std::optional<double> {
        const auto [place, is_new] = known.try_emplace(stages);
        if (!is_new) return place->second;
        if (stages.size() == 1 && !facts[static_cast<std::size_t>(stages[0])].pure) return place->second = 0;
        const auto group = poly::make_group(inlined.pipeline, inlined.model, dependences, stages);
        for (const int s : stages) {
            if (!facts[static_cast<std::size_t>(s)].pure) return std::nullopt;
        }
        if (!std::holds_alternative<poly::Group>(group)) return std::nullopt;
        const GroupFacts of_group = group_facts(std::get<poly::Group>(group), facts);
        const auto choice = model(inlined.pipeline, of_group, {Strategy::Stage, Strategy::Otpw, Strategy::Hybrid});
        if (!choice.empty()) place->second = choice.front().cost;
        return place->second;
    };
    EXPECT_TRUE(result.grouping.exact);
    EXPECT_NEAR(result.grouping.cost, cheapest_of_all(graph, cost), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Examples, RealCosts,
                         ::testing::Values("blur", "unsharp", "harris", "bilateral_grid", "sketch"),
                         [](const auto& param_info) { return std::string(param_info.param); });

}  // namespace
}  // namespace pipec::cost::paper_cost_test
