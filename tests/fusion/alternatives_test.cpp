// The best few schedules.
#include "fusion/alternatives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cost/cost_models.h"
#include "fusion/gpu.h"
#include "fusion/inline.h"
#include "fusion/schedule_json.h"
#include "support/render.h"
#include "support_lib/compile.h"

namespace pipec::fusion::alternatives_test {
namespace {

using cost::paper_cost_model;
using cost::time_cost_model;
using cost::time_fusion_options;

class Alternatives : public ::testing::Test {
protected:
    void SetUp() override {
        const std::string file = PIPEC_SOURCE_DIR "/examples/harris.pipe";
        compiled_ = testing::compile_text(sources_, file, testing::read_file(file));
        ASSERT_EQ(render_text(compiled_.diags, sources_), "");
    }
    [[nodiscard]] std::vector<Alternative> found(const CostModel& cost, const FusionOptions& options, std::size_t count,
                                                 const IsLegal& legal = nullptr) const {
        return alternatives(compiled_.pipelines[0], compiled_.models[0], cost, legal, options, count);
    }
    void check(const std::vector<Alternative>& all) const {
        std::set<std::string> texts;
        std::set<std::size_t> groupings;
        for (const Alternative& a : all) {
            EXPECT_TRUE(texts.insert(to_json({{"harris", a.schedule}}, compiled_.pipelines)).second)
                << "twice the same";
            groupings.insert(a.grouping);
        }
        EXPECT_GT(groupings.size(), 1U);
        EXPECT_TRUE(std::is_sorted(all.begin(), all.end(),
                                   [](const Alternative& a, const Alternative& b) { return a.cost < b.cost; }));
    }

    SourceManager sources_;
    testing::Compiled compiled_;
    const CostModel model_ = paper_cost_model(known_gpu("v100").value());
};

TEST_F(Alternatives, TheBestComesFirst) {
    const std::vector<Alternative> all = found(model_, {}, 12);
    EXPECT_GT(all.size(), 3U);
    EXPECT_LE(all.size(), 12U);
    check(all);
    const FusionResult best = fuse(compiled_.pipelines[0], compiled_.models[0], model_, nullptr, {});
    EXPECT_NEAR(all.front().cost, best.grouping.cost, best.grouping.cost * 1e-9);
    // More of them have these among them.
    EXPECT_NEAR(found(model_, {}, 3).front().cost, all.front().cost, 1e-12);
}

TEST_F(Alternatives, WhatCodeGenerationRefusesIsInNone) {
    const IsLegal legal = [](const ir::Pipeline&, const poly::Model&, const std::vector<poly::Dependence>&,
                             const GroupSchedule& group) {
        return group.strategy != Strategy::Hybrid && group.stages.size() < 4;
    };
    for (const Alternative& a : found(model_, {}, 20, legal)) {
        for (const GroupSchedule& group : a.schedule.groups) {
            if (group.strategy == Strategy::Stage) continue;
            EXPECT_NE(group.strategy, Strategy::Hybrid);
            EXPECT_LT(group.stages.size(), 4U);
        }
    }
}

// The model of predicted times compares forms of the pipeline with other stages inside of readers. Stages have other
// numbers in each, and what is known of one form must not be taken for another's.
TEST_F(Alternatives, EachIsAScheduleOfItsFormOfThePipeline) {
    const Gpu gpu = known_gpu("h100").value();
    const ir::Pipeline& pipeline = compiled_.pipelines[0];
    const CostModel model = time_cost_model(gpu);
    const FusionOptions options = time_fusion_options(gpu);
    const std::vector<Alternative> all = found(model, options, 40);
    check(all);
    for (const Alternative& a : all) {
        const Inlined form = inline_stages(pipeline, compiled_.models[0], inlined_stages(pipeline, a.schedule));
        std::size_t stages = 0;
        for (const std::vector<int>& group : order_groups(form.pipeline, a.schedule).stages) stages += group.size();
        EXPECT_EQ(stages, form.pipeline.stages.size());
    }
}

TEST_F(Alternatives, ChangesArePutTogether) {
    const auto group = [](const char* stage, int tile) {
        GroupSchedule result;
        result.stages = {stage};
        result.tile = {tile, 1, 1};
        return result;
    };
    const Alternative base{{{}, {group("a", 1), group("b", 1)}, {}}, 3, 0, -1};
    Alternative first = base, second = base, later = base, elsewhere = base;
    first.schedule.groups[0] = group("a", 2), first.changed = 0;
    second.schedule.groups[1] = group("b", 4), second.changed = 1;
    later.schedule.groups[0] = group("a", 8), later.changed = 0;
    elsewhere.schedule.groups[1] = group("b", 8), elsewhere.changed = 1, elsewhere.grouping = 1;
    const Schedule together = combined(base, {&elsewhere, &first, &base, &later, &second});
    EXPECT_EQ(together.groups[0].tile[0], 2);
    EXPECT_EQ(together.groups[1].tile[0], 4);
}

}  // namespace
}  // namespace pipec::fusion::alternatives_test
