// Automatic fusion of the examples: schedules that code can be generated for, in little time.
#include "fusion/automatic.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>
#include <set>
#include <tuple>

#include "cost/cost_models.h"
#include "fusion/gpu.h"
#include "fusion/inline.h"
#include "support/render.h"
#include "support_lib/compile.h"

namespace pipec::fusion::automatic_test {
namespace {

using cost::paper_cost_model;
using cost::time_cost_model;
using cost::time_fusion_options;
std::vector<std::string> example_files() {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(PIPEC_SOURCE_DIR "/examples")) {
        if (entry.path().extension() == ".pipe") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    return files;
}

class Automatic : public ::testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        compiled_ = testing::compile_text(sources_, GetParam(), testing::read_file(GetParam()));
        ASSERT_EQ(render_text(compiled_.diags, sources_), "");
    }
    [[nodiscard]] FusionResult fused(std::size_t i, const IsLegal& legal = nullptr) const {
        return fuse(compiled_.pipelines[i], compiled_.models[i], model_, legal);
    }
    [[nodiscard]] Inlined inlined(std::size_t i, const Schedule& schedule) const {
        const ir::Pipeline& pipeline = compiled_.pipelines[i];
        return inline_stages(pipeline, compiled_.models[i], inlined_stages(pipeline, schedule));
    }

    SourceManager sources_;
    testing::Compiled compiled_;
    const CostModel model_ = paper_cost_model(known_gpu("v100").value());
};

TEST_P(Automatic, SchedulesFitAndAreFoundInLittleTime) {
    for (std::size_t i = 0; i < compiled_.pipelines.size(); ++i) {
        const std::clock_t begin = std::clock();
        const FusionResult result = fused(i);
        const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
        std::printf("%s: %zu stages in %zu groups, %zu judged in %zu passes, %.3f s%s\n",
                    compiled_.pipelines[i].name.c_str(), compiled_.pipelines[i].stages.size(),
                    result.grouping.groups.size(), result.grouping.asked, result.grouping.passes, seconds,
                    result.grouping.exact ? "" : ", bounded");
        EXPECT_LT(seconds, 20);  // about a tenth of that, but not on a busy machine or with sanitizers
        const Inlined left = inlined(i, result.schedule);
        EXPECT_EQ(order_groups(left.pipeline, result.schedule).stages.size(), result.grouping.groups.size());
        for (const GroupSchedule& group : result.schedule.groups) {
            EXPECT_GT(group.stages.size(), 1u);
            for (const ir::Stage& stage : left.pipeline.stages) {
                if (std::find(group.stages.begin(), group.stages.end(), stage.name) == group.stages.end()) continue;
                EXPECT_TRUE(std::holds_alternative<ir::Pure>(stage.definition)) << stage.name;
            }
        }
    }
}

TEST_P(Automatic, WhatCodeGenerationRefusesIsNotInTheSchedule) {
    const Strategy refused[] = {Strategy::Otpw, Strategy::Hybrid};
    for (const Strategy strategy : refused) {
        std::size_t asked = 0;
        const IsLegal legal = [&](const ir::Pipeline&, const poly::Model&, const std::vector<poly::Dependence>&,
                                  const GroupSchedule& group) {
            ++asked;
            return group.strategy != strategy && group.stages.size() < 4;
        };
        for (std::size_t i = 0; i < compiled_.pipelines.size(); ++i) {
            for (const GroupSchedule& group : fused(i, legal).schedule.groups) {
                EXPECT_NE(group.strategy, strategy);
                EXPECT_LT(group.stages.size(), 4u);
            }
        }
        EXPECT_GT(asked, 0u);
    }
}

/// What is known of a stage from another form of the pipeline is what would be found again.
TEST_P(Automatic, DependencesAreFoundOnceForAllForms) {
    for (std::size_t i = 0; i < compiled_.pipelines.size(); ++i) {
        const ir::Pipeline& pipeline = compiled_.pipelines[i];
        poly::Dependences known;
        for (const std::vector<int>& inside : {std::vector<int>{}, cheap_stages(pipeline, compiled_.models[i]),
                                               repeatable_stages(pipeline, compiled_.models[i])}) {
            const Inlined left = inline_stages(pipeline, compiled_.models[i], inside);
            std::vector<std::set<int>> inside_of;
            const std::vector<StageSources> sources = stage_sources(pipeline, inside);
            for (std::size_t s = 0; s < sources.size(); ++s) {
                if (std::find(inside.begin(), inside.end(), static_cast<int>(s)) == inside.end())
                    inside_of.push_back(sources[s].inside);
            }
            const auto actual = known.of(left.pipeline, left.model, inside_of);
            const auto expected = poly::find_dependences(left.pipeline, left.model);
            ASSERT_EQ(actual.size(), expected.size());
            for (std::size_t k = 0; k < actual.size(); ++k) {
                EXPECT_EQ(actual[k].reader, expected[k].reader);
                EXPECT_EQ(actual[k].source, expected[k].source);
                ASSERT_EQ(actual[k].indices.size(), expected[k].indices.size());
                for (std::size_t d = 0; d < actual[k].indices.size(); ++d) {
                    const auto &a = actual[k].indices[d], &b = expected[k].indices[d];
                    ASSERT_EQ(a.has_value(), b.has_value());
                    if (a) {
                        EXPECT_EQ(std::tie(a->dim, a->num, a->den, a->lo, a->hi),
                                  std::tie(b->dim, b->num, b->den, b->lo, b->hi));
                    }
                }
            }
        }
    }
}

TEST_P(Automatic, WithoutStrategiesEveryStageIsByItself) {
    for (std::size_t i = 0; i < compiled_.pipelines.size(); ++i) {
        FusionOptions options;
        options.strategies = {Strategy::Stage};
        const FusionResult result = fuse(compiled_.pipelines[i], compiled_.models[i], model_, nullptr, options);
        EXPECT_TRUE(result.schedule.groups.empty());
    }
}

TEST(Refusals, OfOnePlanCountForOthersOfTheSameStages) {
    // Two plans share groups that code generation refuses when it looks at the first one.
    SourceManager sources;
    const testing::Compiled compiled = testing::compile_text(sources, "p.pipe", R"(
        pipeline p(mask: uint8[R, C], cap: int32 = 20) -> dist: float32[R, C] where 1 <= cap <= 100 {
            down(y in 0..R, x in 0..C): int32 = if y > 0 then min(down(y - 1, x) + 1, mask(y, x)) else mask(y, x)
            col(y in 0..R, x in 0..C): int32 = if y < R - 1 then min(down(y, x), col(y + 1, x) + 1) else down(y, x)
            c(y, x) = if 0 <= x < C then col(y, x) else 10000
            sq(y, x) = min(d in -cap..=cap) c(y, x + d)
            e(y, x) = float32(sq(y, x))
            dist(y, x) = e(y, x)
        })");
    ASSERT_EQ(render_text(compiled.diags, sources), "");
    const Gpu gpu = known_gpu("h100").value();
    FusionOptions options = time_fusion_options(gpu);
    options.chooses_storage = true;
    const IsLegal legal = [](const ir::Pipeline&, const poly::Model&, const std::vector<poly::Dependence>&,
                             const GroupSchedule& group) { return group.stages.size() == 1; };
    const FusionResult result =
        fuse(compiled.pipelines.at(0), compiled.models.at(0), time_cost_model(gpu), legal, options);
    for (const GroupSchedule& group : result.schedule.groups) EXPECT_EQ(group.stages.size(), 1U);
}

/// Three steps of a stencil, whose distances data decide in the last one.
const char* const kChosenRow = R"(pipeline p(img: float32[R, C]) -> out: float32[R, C] {
    f(y, x) = img(clamp(y, 0, R - 1), clamp(x, 0, C - 1))
    g(y, x) = (f(y - 1, x) + f(y, x - 1) + f(y, x) + f(y, x + 1) + f(y + 1, x)) / 5
    out(y, x) = if g(y, x) > 0.5 then g(y + (if f(y, x) > 0.25 then 1 else -1), x) else g(y, x)
})";

TEST(Refusals, OfTwoStagesCountForAllRegisterTilesThatHaveBoth) {
    SourceManager sources;
    const testing::Compiled compiled = testing::compile_text(sources, "p.pipe", kChosenRow);
    ASSERT_EQ(render_text(compiled.diags, sources), "");
    const Gpu gpu = known_gpu("h200").value();
    const auto named = [](const ir::Pipeline& pipeline, const char* name) {
        for (std::size_t s = 0; s < pipeline.stages.size(); ++s)
            if (pipeline.stages[s].name == name) return static_cast<int>(s);
        return -1;
    };
    std::size_t refused = 0;
    const IsLegal legal = [&](const ir::Pipeline& pipeline, const poly::Model&, const std::vector<poly::Dependence>&,
                              const GroupSchedule& group) -> Verdict {
        const auto has = [&](const char* stage) { return std::ranges::count(group.stages, stage) > 0; };
        if (group.strategy != Strategy::RegisterTile || !has("g") || !has("out")) return true;
        ++refused;
        return Verdict(false, std::pair(named(pipeline, "g"), named(pipeline, "out")));
    };
    const FusionResult result =
        fuse(compiled.pipelines.at(0), compiled.models.at(0), time_cost_model(gpu), legal, time_fusion_options(gpu));
    EXPECT_GT(refused, 0U);
    EXPECT_LE(refused, 4U) << "asked again of other tiles";  // once for each form of the pipeline
    EXPECT_FALSE(result.schedule.groups.empty());
}

TEST(Refusals, AllOfThemLeaveStagesByThemselves) {
    SourceManager sources;
    const testing::Compiled compiled = testing::compile_text(sources, "p.pipe", kChosenRow);
    ASSERT_EQ(render_text(compiled.diags, sources), "");
    const Gpu gpu = known_gpu("h200").value();
    const IsLegal none = [](const ir::Pipeline&, const poly::Model&, const std::vector<poly::Dependence>&,
                            const GroupSchedule&) { return false; };
    FusionOptions options = time_fusion_options(gpu);
    const FusionResult result =
        fuse(compiled.pipelines.at(0), compiled.models.at(0), time_cost_model(gpu), none, options);
    EXPECT_TRUE(result.schedule.groups.empty());
    // What it costs is what these stages cost, not what the groups would have cost.
    options.strategies = {Strategy::Stage};
    const FusionResult stages =
        fuse(compiled.pipelines.at(0), compiled.models.at(0), time_cost_model(gpu), nullptr, options);
    EXPECT_GE(result.grouping.cost, stages.grouping.cost * 0.999);
}

/// What is inside of its readers where a group of so many stages costs this; a stage by itself counts the arrays that
/// it reads. `most_stages`: of a group that code generation does not refuse.
std::vector<std::string> inlined_by(const std::string& text,
                                    std::optional<double> (*cost_of)(std::size_t stages, std::size_t arrays),
                                    std::size_t most_stages = 99) {
    SourceManager sources;
    const testing::Compiled compiled = testing::compile_text(sources, "p.pipe", text);
    EXPECT_EQ(render_text(compiled.diags, sources), "");
    const CostModel model = [cost_of](const ir::Pipeline& pipeline, const GroupFacts& facts,
                                      const std::vector<Strategy>& allowed) -> std::vector<GroupChoice> {
        const bool is_refused = std::ranges::count(allowed, Strategy::Otpw) == 0;
        if (facts.group.stages.size() > 1 && is_refused) return {};
        std::set<ir::Source> arrays;
        for (const Load* load : global_loads(facts, 0)) arrays.insert(load->source);
        const std::optional<double> cost = cost_of(facts.group.stages.size(), arrays.size());
        if (!cost) return {};
        GroupSchedule schedule;
        if (facts.group.stages.size() > 1) schedule.strategy = Strategy::Otpw;
        for (const int s : facts.group.stages) {
            schedule.stages.push_back(pipeline.stages[static_cast<std::size_t>(s)].name);
        }
        return {{*cost, schedule}};
    };
    FusionOptions options;
    options.chooses_storage = true;
    const IsLegal legal = [&](const ir::Pipeline&, const poly::Model&, const std::vector<poly::Dependence>&,
                              const GroupSchedule& group) { return group.stages.size() <= most_stages; };
    return fuse(compiled.pipelines.at(0), compiled.models.at(0), model, legal, options).schedule.inlined;
}

/// Each stage in a kernel of its own, which costs what its arrays say.
template <int one, int each>
std::optional<double> by_arrays(std::size_t stages, std::size_t arrays) {
    return stages > 1 ? std::nullopt : std::optional(one + each * std::pow(static_cast<double>(arrays), 2));
}

/// `w` reads more than once, so that it is not repeated without being asked about.
const char* const kTwoReaders = R"(pipeline p(img: float32[R + 2, C + 2]) -> a: float32[R, C], b: float32[R, C] {
    w(y, x) = img(y, x) * img(y + 1, x + 1)
    a(y, x) = w(y, x) + w(y + 1, x)
    b(y, x) = w(y, x) * w(y, x + 1)
})";

TEST(Storage, WhatIsReadInTwoPlacesIsRepeatedWhereThatIsCheaper) {
    EXPECT_EQ(inlined_by(kTwoReaders, by_arrays<1, 1>), std::vector<std::string>{"w"});
    EXPECT_EQ(inlined_by(kTwoReaders, by_arrays<0, 0>), std::vector<std::string>{});
}

TEST(Storage, WhatIsBetterOnlyInAGroupThatIsRefusedIsNotTaken) {
    // With `w` inside of them one kernel of `a` and `b` costs least. Where code generation refuses it, three kernels
    // cost less than two, which read more arrays.
    const std::string text =
        R"(pipeline p(f: float32[R, C + 98], g: float32[R, C + 98]) -> a: float32[R, C], b: float32[R, C] {
        w(y, x, k) = f(y, x + k) * g(y, x + k)
        a(y, x) = sum(k in 0..99) w(y, x, k)
        b(y, x) = sum(k in 0..99) w(y, x, k) * a(y, x)
    })";
    const auto cost = [](std::size_t stages, std::size_t arrays) -> std::optional<double> {
        return stages == 1 ? by_arrays<0, 1>(stages, arrays) : stages == 2 ? std::optional(1.0) : std::nullopt;
    };
    EXPECT_EQ(inlined_by(text, cost), std::vector<std::string>{"w"});
    EXPECT_EQ(inlined_by(text, cost, 1), std::vector<std::string>{});
}

TEST(Storage, WhatKeepsItsReadersInOneGroupIsRepeatedWhereThatIsCheaper) {
    // One kernel of all three costs less than three; two, each of which computes `w` for itself, cost less again.
    const auto cost = [](std::size_t stages, std::size_t) -> std::optional<double> {
        if (stages == 2) return std::nullopt;
        return stages == 1 ? 2 : 5;
    };
    EXPECT_EQ(inlined_by(kTwoReaders, cost), std::vector<std::string>{"w"});
}

TEST(Storage, WhatIsMadeOfManyArraysIsStoredWhereThatIsCheaper) {
    // `m` and `n` are inside of `out` at first; only `m` takes values of three arrays.
    const std::string text = R"(pipeline p(a: float32[R, C], b: float32[R, C], c: float32[R, C], d: float32[R, C])
    -> out: float32[R, C] {
    m(y, x) = a(y, x) * b(y, x) + c(y, x)
    n(y, x) = d(y, x) * 2
    out(y, x) = m(y, x) + n(y, x)
})";
    EXPECT_EQ(inlined_by(text, by_arrays<0, 1>), std::vector<std::string>{"n"});
    EXPECT_EQ(inlined_by(text, by_arrays<1, 0>), (std::vector<std::string>{"m", "n"}));
}

/// Seconds that automatic fusion of the only pipeline of a text takes.
double seconds_for(const std::string& what, const std::string& text, const CostModel& model,
                   const FusionOptions& options = {}) {
    SourceManager sources;
    const testing::Compiled compiled = testing::compile_text(sources, "growth.pipe", text);
    EXPECT_EQ(render_text(compiled.diags, sources), "");
    const std::clock_t begin = std::clock();
    const FusionResult result = fuse(compiled.pipelines.at(0), compiled.models.at(0), model, nullptr, options);
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    std::size_t stages = 0;
    for (const std::vector<int>& group : result.grouping.groups) stages += group.size();
    std::printf("%s: %zu stages in %zu groups, %zu judged in %zu passes, %.3f s%s\n", what.c_str(), stages,
                result.grouping.groups.size(), result.grouping.asked, result.grouping.passes, seconds,
                result.grouping.exact ? "" : ", bounded");
    return seconds;
}

/// Each stage reads two neighbours of the one before.
std::string chain(int stages) {
    std::string text = fmt::format("pipeline p(s0: float32[R + {0}, C + {0}]) -> s{0}: float32[R, C] {{\n", stages);
    for (int i = 1; i <= stages; ++i) {
        const char* const neighbour = i % 2 == 0 ? "y + 1, x" : "y, x + 1";
        text += fmt::format("    s{0}(y, x) = (s{1}(y, x) + s{1}({2})) / 2\n", i, i - 1, neighbour);
    }
    return text + "}\n";
}

std::string pyramids(int levels) {
    std::string text = testing::read_file(PIPEC_SOURCE_DIR "/examples/pyramid_blend.pipe");
    return text.replace(text.find("LEVELS = 4"), 10, fmt::format("LEVELS = {}", levels));
}

/// All of them take half a minute with either model, on a quiet machine.
bool tries_all() {
    return std::getenv("PIPEC_FUSION_GROWTH") != nullptr;
}

TEST(Growth, WithTheNumberOfStages) {
    const CostModel model = paper_cost_model(known_gpu("v100").value());
    for (const int stages : {10, 20, 50, 100, 200}) {
        EXPECT_LT(seconds_for(fmt::format("chain {}", stages), chain(stages), model), 20);
    }
    for (const int levels : tries_all() ? std::vector{2, 3, 4, 8, 12, 16} : std::vector{2, 3}) {
        const double seconds = seconds_for(fmt::format("pyramids of {} levels", levels), pyramids(levels), model);
        EXPECT_LT(seconds, tries_all() ? 200 : 20);
    }
}

TEST(Growth, OfPredictedTimes) {
    const Gpu gpu = known_gpu("h100").value();
    const auto seconds = [&](const std::string& what, const std::string& text) {
        return seconds_for(what, text, time_cost_model(gpu), time_fusion_options(gpu));
    };
    for (const int stages : tries_all() ? std::vector{10, 20, 50, 100, 200} : std::vector{10, 200}) {
        EXPECT_LT(seconds(fmt::format("chain {}", stages), chain(stages)), 20);
    }
    for (const int levels : tries_all() ? std::vector{2, 3, 4, 8, 12, 16, 21} : std::vector{2, 8}) {
        EXPECT_LT(seconds(fmt::format("pyramids of {} levels", levels), pyramids(levels)), 60);
    }
}

INSTANTIATE_TEST_SUITE_P(All, Automatic, ::testing::ValuesIn(example_files()), [](const auto& param_info) {
    return std::filesystem::path(param_info.param).stem().string();
});

}  // namespace
}  // namespace pipec::fusion::automatic_test
