// The default cost model: what it must obey whatever its constants are, and how it ranks what was measured.
#include "cost/time_cost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "../fusion/programs.h"
#include "codegen/lower.h"
#include "cost/cost_models.h"
#include "cost/predict.h"
#include "fusion/schedule_json.h"
#include "fusion/strategy.h"

namespace pipec::cost::time_cost_test {
namespace {

using namespace fusion;
using testing::Grouped;

constexpr const char* kBlur = R"(
pipeline blur(img: float32[R + 2, C + 2]) -> out: float32[R, C] {
    rows(y, x) = (img(y, x) + img(y, x + 1) + img(y, x + 2)) / 3
    out(y, x) = (rows(y, x) + rows(y + 1, x) + rows(y + 2, x)) / 3
})";

GroupSchedule register_tile(int columns, int rows) {
    GroupSchedule s;
    s.strategy = Strategy::RegisterTile;
    s.block = {32, 4, 1};
    s.tile = {columns, rows, 1};
    return s;
}

TEST(CostTime, CountsBytesOfArraysOnce) {
    const Grouped blur(kBlur, {"rows", "out"}, {8192, 8192});
    const TimePrediction p = predict_time(*blur.facts, known_gpu("h200").value(), register_tile(4, 4)).value();
    EXPECT_DOUBLE_EQ(p.dram_bytes, 4.0 * (8194.0 * 8194 + 8192.0 * 8192));
    EXPECT_GT(p.l2_bytes, p.dram_bytes);  // rows that two tiles read
    EXPECT_EQ(bound_by(p), "dram");
    EXPECT_GE(p.seconds, std::max({p.dram, p.l2, p.issue, p.lsu, p.latency}) + p.launch);
}

TEST(CostTime, SmallArraysStayInTheCache) {
    const Grouped blur(kBlur, {"rows", "out"}, {512, 512});
    EXPECT_EQ(predict_time(*blur.facts, known_gpu("h200").value(), register_tile(4, 4))->dram_bytes, 0);
}

TEST(CostTime, LongerTilesComputeLessTwice) {
    const Grouped blur(kBlur, {"rows", "out"});
    const Gpu gpu = known_gpu("h200").value();
    const auto few = predict_time(*blur.facts, gpu, register_tile(4, 4)),
               many = predict_time(*blur.facts, gpu, register_tile(4, 8));
    EXPECT_GT(few->redundant, many->redundant);
    EXPECT_GT(few->instructions, many->instructions);
    EXPECT_LT(few->registers, many->registers);
}

TEST(CostTime, AStageByItselfIsPossibleHoweverManyRegistersItTakes) {
    const Gpu gpu = known_gpu("h200").value();
    GroupFacts facts = *Grouped(kBlur, {"out"}).facts;
    double before = 0;
    for (const int registers : {gpu.registers_per_thread, 300, 3000}) {
        facts.stages.front().registers = registers;
        const auto time = predict_time(facts, gpu, GroupSchedule{});
        ASSERT_TRUE(time);
        EXPECT_LE(time->registers, gpu.registers_per_thread);
        EXPECT_GT(time->seconds, before);  // what registers do not hold is written and read back
        before = time->seconds;
    }
}

GroupSchedule stage() {
    GroupSchedule s;
    s.strategy = Strategy::Stage;
    return s;
}

/// Of a stage by itself, for 4096 x 4096 pixels.
TimePrediction predict_stage(const std::string& type, const std::string& value) {
    const Grouped p("pipeline p(a: " + type + "[R, C], b: " + type + "[R, C]) -> out: " + type +
                        "[R, C] { out(y, x) = " + value + " }",
                    {"out"}, {4096, 4096});
    return predict_time(*p.facts, known_gpu("h200").value(), stage()).value();
}

TEST(CostTime, ThreadsHaveAsManyColumnsAsAnAccessHasElements) {
    const TimePrediction narrow = predict_stage("uint8", "max(a(y, x), b(y, x))"),
                         wide = predict_stage("float32", "max(a(y, x), b(y, x))");
    EXPECT_EQ(narrow.blocks, 4096.0 * 4096 / (256 * 16));
    EXPECT_EQ(wide.blocks, 4096.0 * 4096 / (256 * 4));
    EXPECT_LT(narrow.wavefronts, wide.wavefronts / 2);
    // All channels of a pixel belong to one thread.
    const Grouped rgba(
        "pipeline p(a: uint8[R, C, 4]) -> out: uint8[R, C, 4] { out(y, x, c) = uint8(255 - a(y, x, c)) }", {"out"},
        {4096, 4096});
    EXPECT_EQ(predict_time(*rgba.facts, known_gpu("h200").value(), stage())->blocks, 4096.0 * 4096 / (256 * 4));
}

TEST(CostTime, LanesFarFromEachOtherTakeALineEach) {
    const auto with = [](const std::string& index) {
        return Grouped("pipeline p(img: float32[N, N]) -> out: float32[N, N] { out(y, x) = img(" + index + ") }",
                       {"out"}, {4096, 4096});
    };
    const Gpu gpu = known_gpu("h200").value();
    GroupSchedule stage;
    stage.strategy = Strategy::Stage;
    const auto straight = predict_time(*with("y, x").facts, gpu, register_tile(1, 4));
    for (const char* index : {"x, y", "N - 1 - x, y", "x, N - 1 - y"}) {
        const auto transposed = predict_time(*with(index).facts, gpu, register_tile(1, 4));
        EXPECT_EQ(bound_by(*transposed), "lsu") << index;
        EXPECT_GT(transposed->lsu, 10 * straight->lsu) << index;
        // Of a stage by itself a warp has 8 columns and 4 rows.
        const auto turned = predict_time(*with(index).facts, gpu, stage);
        EXPECT_NE(bound_by(*turned), "lsu") << index;
        EXPECT_LT(turned->lsu, transposed->lsu / 3) << index;
    }
    // Rows of a lane that are beside each other in memory are loaded at once.
    GroupSchedule tiles;
    tiles.strategy = Strategy::Otptb;
    tiles.block = {16, 16, 1};
    tiles.tile = {4, 4, 1};
    tiles.vector = 4;
    for (const char* index : {"x, y", "N - 1 - x, y"}) {
        const auto packed = predict_time(*with(index).facts, gpu, tiles),
                   single = predict_time(*with(index).facts, gpu, register_tile(1, 4));
        EXPECT_LT(packed->lsu, single->lsu / 3) << index;
    }
}

TEST(CostTime, IntegersAndMinimaAreExecutedAtHalfTheRate) {
    std::string floats = "a(y, x)", integers = "a(y, x)", minima = "a(y, x)", minima_of_integers = "a(y, x)";
    for (int i = 1; i <= 60; ++i) {
        const std::string one = std::to_string(i);
        floats = "(" + floats + " * b(y, x) + " + one + ".5)";
        integers = "((" + integers + " + b(y, x)) ^ " + one + ")";
        minima = "max(min(" + minima + ", b(y, x)), " + one + ".5)";
        minima_of_integers = "max(min(" + minima_of_integers + ", b(y, x)), " + one + ")";
    }
    const double full = predict_stage("float32", floats).issue;
    // Loads, stores and the place of a warp stay. Sums and bits are about as fast as floats: one instruction joins
    // several.
    EXPECT_NEAR(predict_stage("float32", minima).issue / full, 1.5, 0.1);
    EXPECT_NEAR(predict_stage("int32", minima_of_integers).issue / full, 1.5, 0.1);
    const double joined = predict_stage("int32", integers).issue / full;
    EXPECT_GE(joined, 1);
    EXPECT_LT(joined, 1.2);
}

TEST(CostTime, LinesThatAreSharedOutTakeLess) {
    const Gpu gpu = known_gpu("h200").value();
    const auto time = [&](const char* stage, const std::vector<std::int64_t>& sizes) {
        const Grouped scans(R"(
pipeline scans(v: int32[R, C], f: float32[R, C]) -> sums: int64[R, C], smooth: float32[R, C], down: float32[R, C]
{
    sums(y, x) = if x == 0 then v(y, x) else sums(y, x - 1) + v(y, x)
    smooth(y, x) = if x == 0 then f(y, x) else 0.5 * smooth(y, x - 1) + f(y, x)
    down(y, x) = if y == 0 then f(y, x) else 0.5 * down(y - 1, x) + f(y, x)
})",
                            {stage}, sizes);
        return predict_time(*scans.facts, gpu, GroupSchedule{}).value();
    };
    const TimePrediction line = time("sums", {1, 1000000});
    EXPECT_EQ(line.blocks, 1);
    EXPECT_LT(10 * line.seconds, time("smooth", {1, 1000000}).seconds);
    // Twice as long a line is twice as many batches, and a part of a batch takes as long as all of it.
    EXPECT_NEAR(time("sums", {1, 2000000}).latency, 2 * line.latency, 0.01 * line.latency);
    EXPECT_EQ(time("sums", {1, 1100}).latency, time("sums", {1, 2000}).latency);
    // An image has lines enough for memory to set the time.
    EXPECT_EQ(time("sums", {4096, 4096}).blocks, 4096);
    EXPECT_EQ(bound_by(time("sums", {4096, 4096})), "dram");
    // Of few lines across memory a block has 16, or 32 of narrow values; of many one for each of its threads.
    EXPECT_EQ(time("down", {64, 4096}).blocks, 4096 / 16);
    EXPECT_EQ(time("down", {30, 1 << 21}).blocks, (1 << 21) / 256);
    EXPECT_EQ(time("down", {30, 1 << 21}).shared_per_block, 0);
}

TEST(CostTime, WhatAGpuLacksIsImpossible) {
    const Grouped blur(kBlur, {"rows", "out"});
    Gpu gpu = known_gpu("h200").value();
    GroupSchedule tile;
    tile.strategy = Strategy::Otptb;
    tile.block = {32, 8, 1};
    tile.tile = {4, 4, 1};
    ASSERT_TRUE(predict_time(*blur.facts, gpu, tile));
    gpu.shared_per_block = 1024;
    EXPECT_FALSE(predict_time(*blur.facts, gpu, tile));
    EXPECT_FALSE(predict_time(*blur.facts, gpu, register_tile(16, 16)));  // registers
    EXPECT_FALSE(predict_time(*blur.facts, gpu, {}));                     // one stage only
}

TEST(CostTime, ChoicesAreSortedAndAllowed) {
    const Grouped blur(kBlur, {"rows", "out"});
    const auto choices = time_choices(*blur.facts, known_gpu("h200").value(), {Strategy::Otpw, Strategy::Otptb}, 10);
    ASSERT_EQ(choices.size(), 10u);
    for (std::size_t i = 0; i < choices.size(); ++i) {
        EXPECT_TRUE(choices[i].schedule.strategy == Strategy::Otpw || choices[i].schedule.strategy == Strategy::Otptb);
        if (i > 0) {
            EXPECT_LE(choices[i - 1].time.seconds, choices[i].time.seconds);
        }
    }
}

std::vector<double> ranks(const std::vector<double>& values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    std::vector<double> result(values.size());
    for (std::size_t i = 0; i < order.size(); ++i) result[order[i]] = static_cast<double>(i);
    return result;
}

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
    const std::vector<double> x = ranks(a), y = ranks(b);
    double squares = 0;
    for (std::size_t i = 0; i < x.size(); ++i) squares += (x[i] - y[i]) * (x[i] - y[i]);
    const auto n = static_cast<double>(x.size());
    return 1 - 6 * squares / (n * (n * n - 1));
}

TEST(CostTime, RanksWhatWasMeasured) {
    const auto file = nlohmann::json::parse(testing::read_file(PIPEC_SOURCE_DIR "/bench/model/points.json"));
    const Gpu gpu = known_gpu(file.at("gpu").get<std::string>()).value();
    struct Program {
        ir::Pipeline pipeline;
        poly::Model model;
        double best = 0, chosen = 0, predicted = 0;
    };
    std::map<std::string, Program> programs;
    std::vector<double> measured, predicted;
    for (const auto& point : file.at("points")) {
        const std::string name = point.at("program");
        auto known = programs.find(name);
        if (known == programs.end()) {
            SourceManager sources;
            const std::string path = PIPEC_SOURCE_DIR "/examples/" + name + ".pipe";
            const testing::Compiled compiled = testing::compile_text(sources, path, testing::read_file(path));
            Program program{compiled.pipelines.at(0), compiled.models.at(0)};
            codegen::widen_narrow_accumulates(program.pipeline, program.model);
            known = programs.emplace(name, program).first;
        }
        Program& program = known->second;
        const nlohmann::json text = {{"version", 1}, {"pipelines", {{name, point.at("schedule")}}}};
        const Schedules schedules = schedules_from_json(text.dump(), "points.json", {program.pipeline});
        std::vector<std::int64_t> sizes;
        for (const auto& size : program.pipeline.sizes) sizes.push_back(point.at("sizes").at(size.name));
        const double seconds = predict(program.pipeline, program.model, schedules.at(name), gpu, sizes).seconds();
        measured.push_back(point.at("microseconds"));
        predicted.push_back(seconds * 1e6);
        program.best = program.best == 0 ? measured.back() : std::min(program.best, measured.back());
        if (program.chosen == 0 || seconds < program.predicted) {
            program.predicted = seconds;
            program.chosen = measured.back();
        }
    }
    for (const auto& [name, program] : programs) {
        std::printf("%-24s best measured %7.1f us, the model's choice %7.1f us\n", name.c_str(), program.best,
                    program.chosen);
    }
    ASSERT_GE(measured.size(), 40u);
    ASSERT_GE(programs.size(), 8u);
    const double correlation = rank_correlation(measured, predicted);
    double squares = 0;
    for (std::size_t i = 0; i < measured.size(); ++i) squares += std::pow(std::log(predicted[i] / measured[i]), 2);
    std::printf("rank correlation of %zu points: %.4f, root mean square error %.2f %%\n", measured.size(), correlation,
                100 * std::sqrt(squares / static_cast<double>(measured.size())));
    EXPECT_GE(correlation, 0.85);
}

TEST(Strategies, HaveEntriesInTheOrderOfTheirNumbers) {
    for (std::size_t i = 0; i < fusion::strategies().size(); ++i) {
        const fusion::StrategyInfo& one = fusion::strategies()[i];
        EXPECT_EQ(static_cast<std::size_t>(one.strategy), i) << one.name;
        EXPECT_FALSE(one.name.empty() || one.meaning.empty()) << i;
    }
}

TEST(Strategies, SayWhichModelChoosesThem) {
    const std::vector<Strategy> time = time_fusion_options(fusion::default_gpu()).strategies;
    const std::vector<Strategy> paper = fusion::FusionOptions{}.strategies;
    const auto has = [](const std::vector<Strategy>& all, Strategy one) {
        return std::find(all.begin(), all.end(), one) != all.end();
    };
    for (const fusion::StrategyInfo& one : fusion::strategies()) {
        EXPECT_EQ(one.time_model, has(time, one.strategy)) << one.name;
        EXPECT_EQ(one.paper_model, has(paper, one.strategy)) << one.name;
    }
}

}  // namespace
}  // namespace pipec::cost::time_cost_test
