// What kernels do is what their plans say: threads, bytes of shared memory and where arrays lie in it, points computed
// of each stage, points stored of each output, barriers. For groups of all examples under many schedules, for the
// schedules that trials and the cost model make of them, and for random groups of random programs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "codegen/group_plans.h"
#include "codegen/grouped.h"
#include "codegen/kernel/shared_memory.h"
#include "codegen/lower.h"
#include "cost/cost_models.h"
#include "fusion/automatic.h"
#include "fusion/grow_groups.h"
#include "fusion/schedule_json.h"
#include "kernel_counts.h"
#include "plan/register_tile.h"
#include "plan/tiles.h"
#include "random/image_program.h"
#include "random/random_schedule.h"
#include "support_lib/compile.h"
#include "support_lib/groups.h"

namespace pipec::testing::plan_counts_test {
namespace {

using codegen::Grouped;
using codegen::GroupPlan;
using fusion::GroupSchedule;
using fusion::Strategy;

/// What a test looked at, so that it is seen to look at something.
struct Looked {
    int kernels = 0, refused = 0, without_interior = 0, by_data = 0;
    std::map<Strategy, int> followed;
};

/// The plan of one of the kernels. Of register tiles each has its own; otherwise those with wide accesses have the
/// first one.
const GroupPlan& plan_of(const std::vector<GroupPlan>& plans, const codegen::kernel::Kernel& kernel) {
    for (const GroupPlan& plan : plans) {
        if (plan.plan.registers && kernel.layout == codegen::kernel::Layout::Wide &&
            kernel.name.ends_with(plan::access_suffix(*plan.plan.registers)))
            return plan;
    }
    return kernel.layout == codegen::kernel::Layout::Wide ? plans.front() : plans.back();
}

/// A tile stores its own points of a member. Of one that lacks a dimension of the group, one of many tiles does.
bool every_tile_stores(const fusion::GroupShape& shape, std::size_t m) {
    std::vector<bool> has(shape.units.size(), false);
    for (const poly::Alignment& a : shape.group.alignment[m]) {
        if (a.dim >= 0) has[static_cast<std::size_t>(a.dim)] = true;
    }
    return shape.live[m] && std::count(has.begin(), has.end(), false) == 0;
}

void expect_shared_memory(const plan::Plan& plan, const codegen::kernel::Kernel& kernel) {
    EXPECT_EQ(codegen::scratch_bytes(kernel) + codegen::own_bytes(kernel), plan.shared.bytes);
    ASSERT_EQ(kernel.shared.size(), plan.shared.arrays.size());
    for (std::size_t i = 0; i < kernel.shared.size(); ++i) {
        EXPECT_EQ(kernel.shared[i].offset, plan.shared.arrays[i].offset) << kernel.shared[i].name;
    }
}

void expect_counts(const GroupPlan& planned, const KernelCounts& counts) {
    const fusion::GroupShape& shape = planned.shape;
    const plan::Plan& plan = planned.plan;
    const std::int64_t thread_groups = plan.tiles.thread_groups();
    const auto found = [](const std::map<int, std::int64_t>& elements, std::size_t of) {
        const auto known = elements.find(static_cast<int>(of));
        return known == elements.end() ? 0 : known->second;
    };
    for (std::size_t i = 0; i < plan.shared.arrays.size(); ++i) {
        const std::size_t m = plan.shared.arrays[i].member;
        EXPECT_EQ(found(counts.shared_elements, i), plan.tiles.parts[m].points() * thread_groups) << "member " << m;
    }
    for (std::size_t m = 0; m < shape.shapes.size(); ++m) {
        if (!every_tile_stores(shape, m)) continue;
        EXPECT_EQ(found(counts.stage_elements, static_cast<std::size_t>(shape.group.stages[m])),
                  plan::own_points(shape, plan.tiles, m) * thread_groups)
            << "member " << m;
    }
    if (plan.hybrid) return;
    EXPECT_EQ(plan.tiles.by_warp ? counts.warp_barriers : counts.block_barriers, plan.shared.barriers);
    EXPECT_EQ(plan.tiles.by_warp ? counts.block_barriers : counts.warp_barriers, 0);
}

/// Makes the kernels of a group and holds them against their plans.
void check_group(const codegen::kernel::Program& program, const poly::Group& group, const GroupSchedule& schedule,
                 const SourceManager& sources, Looked& looked) {
    codegen::kernel::Program made = program;
    const auto step = codegen::group_step(made, group, schedule, sources);
    if (!std::holds_alternative<codegen::kernel::Step>(step)) {
        ++looked.refused;
        return;
    }
    codegen::kernel::Program planned_of = program;
    const auto plans = std::get<std::vector<GroupPlan>>(codegen::group_plans(planned_of, group, schedule));
    // Large enough for a tile of the coarsest level of a pyramid that is not moved.
    std::vector<std::int64_t> sizes = fusion::usual_sizes(program.pipeline);
    for (std::int64_t& size : sizes) size *= 4;
    for (const codegen::kernel::Kernel& kernel : std::get<codegen::kernel::Step>(step).variants) {
        SCOPED_TRACE(fmt::format("{} {} block {}x{}x{} tile {}x{}x{} vector {}\n{}", name(schedule.strategy),
                                 kernel.name, schedule.block[0], schedule.block[1], schedule.block[2], schedule.tile[0],
                                 schedule.tile[1], schedule.tile[2], schedule.vector,
                                 to_string(program.pipeline, group)));
        const GroupPlan& planned = plan_of(plans, kernel);
        ++looked.kernels;
        EXPECT_EQ(kernel.block[0] * kernel.block[1] * kernel.block[2], planned.plan.tiles.threads());
        if (!planned.plan.hybrid && !planned.plan.registers) expect_shared_memory(planned.plan, kernel);
        constexpr int kMoved = 6;  // so many blocks beside each other are not all of tiles that were moved
        const auto counts = count_interior(kernel, sizes, planned.plan.registers ? kMoved : 1);
        if (!counts) {
            ++looked.without_interior;
        } else if (counts->by_data) {
            ++looked.by_data;
        } else {
            ++looked.followed[schedule.strategy];
            expect_counts(planned, *counts);
        }
        if (::testing::Test::HasFailure()) return;
    }
}

/// All groups of a schedule.
void check_schedule(const codegen::Unit& unit, const fusion::Schedule& schedule, const SourceManager& sources,
                    Looked& looked) {
    codegen::CudaOptions options;
    options.schedules.emplace(unit.pipeline->name, schedule);
    const Grouped grouped = codegen::group_by_schedule(unit, options);
    for (const Grouped::Group& group : grouped.groups) {
        if (group.schedule.strategy == Strategy::Stage) continue;
        check_group(grouped.program, codegen::aligned(grouped, group), group.schedule, sources, looked);
        if (::testing::Test::HasFailure()) return;
    }
}

void print(const Looked& looked) {
    std::string followed;
    for (const auto& [strategy, count] : looked.followed) followed += fmt::format(", {} {}", count, name(strategy));
    fmt::print("{} kernels, {} groups refused; {} without interior, {} by data; followed{}\n", looked.kernels,
               looked.refused, looked.without_interior, looked.by_data, followed);
}

constexpr std::array kFusing{Strategy::Otptb, Strategy::Otpw, Strategy::Hybrid, Strategy::RegisterTile,
                             Strategy::Stream};

const GroupSchedule kSchedules[] = {
    {{}, Strategy::Otptb, {32, 4, 1}, {1, 2, 1}, 1, 0, 1, {}},
    {{}, Strategy::Otptb, {16, 8, 1}, {4, 1, 1}, 4, 0, 1, {}},
    {{}, Strategy::Otptb, {32, 8, 1}, {4, 8, 1}, 4, 0, 1, {}},  // more than a kernel has without asking
    {{}, Strategy::Otpw, {32, 2, 1}, {1, 3, 1}, 1, 0, 1, {}},
    {{}, Strategy::Otpw, {16, 4, 1}, {2, 2, 1}, 2, 0, 1, {}},
    {{}, Strategy::Hybrid, {32, 2, 1}, {1, 4, 1}, 1, 1, 0.5, {}},
    {{}, Strategy::RegisterTile, {32, 2, 1}, {2, 3, 1}, 1, 0, 1, {}},
    {{}, Strategy::RegisterTile, {32, 2, 1}, {2, 3, 1}, 1, 0, 1, {}, 2},
    {{}, Strategy::Stream, {32, 2, 1}, {1, 3, 1}, 1, 0, 1, {}},
    {{}, Strategy::Stream, {64, 1, 1}, {2, 4, 2}, 1, 0, 1, {}},
};

std::vector<std::string> example_files() {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(PIPEC_SOURCE_DIR "/examples")) {
        if (entry.path().extension() == ".pipe") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    return files;
}

class Examples : public ::testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        compiled_ = compile_text(sources_, GetParam(), read_file(GetParam()));
        for (std::size_t i = 0; i < compiled_.pipelines.size(); ++i)
            units_.push_back({&compiled_.pipelines[i], &compiled_.models[i]});
    }

    SourceManager sources_;
    Compiled compiled_;
    std::vector<codegen::Unit> units_;
    Looked looked_;
};

TEST_P(Examples, GroupsUnderManySchedules) {
    for (const codegen::Unit& unit : units_) {
        const Inlined program = inline_cheap(*unit.pipeline, *unit.model);
        for (const poly::Group& group : some_of(legal_groups(program))) {
            for (const GroupSchedule& schedule : kSchedules) {
                check_group({program.pipeline, program.model, fusion::default_target()}, group, schedule, sources_,
                            looked_);
                if (HasFailure()) return;
            }
        }
    }
    print(looked_);
    for (const Strategy strategy : {Strategy::Otptb, Strategy::Otpw}) EXPECT_GT(looked_.followed[strategy], 0);
}

TEST_P(Examples, SchedulesOfTrials) {
    for (const codegen::Unit& unit : units_) {
        fusion::Schedule schedule = fusion::stage_schedule(*unit.pipeline, *unit.model);
        const Inlined program = inline_cheap(*unit.pipeline, *unit.model);
        for (const Strategy strategy : kFusing) {
            const fusion::Propose propose = [&](const poly::Group& group) -> std::optional<GroupSchedule> {
                GroupSchedule trial = fusion::default_group(strategy, group.rank);
                codegen::kernel::Program made{program.pipeline, program.model, fusion::default_target()};
                const auto step = codegen::group_step(made, group, trial, sources_);
                // What is known without code is what code generation says.
                codegen::kernel::Program asked{program.pipeline, program.model, fusion::default_target()};
                const auto known = codegen::group_code(asked, group, trial, sources_);
                const auto* refused = std::get_if<fusion::Refused>(&known);
                const auto* text = std::get_if<std::string>(&step);
                EXPECT_EQ(refused == nullptr ? std::string() : refused->reason,
                          text == nullptr ? std::string() : *text);
                return std::holds_alternative<codegen::kernel::Step>(step) ? std::optional(trial) : std::nullopt;
            };
            schedule.groups = fusion::grow_groups(program.pipeline, program.model,
                                                  poly::find_dependences(program.pipeline, program.model), propose);
            check_schedule(unit, schedule, sources_, looked_);
            if (HasFailure()) return;
        }
    }
    print(looked_);
    EXPECT_GT(looked_.kernels, 0);
}

TEST_P(Examples, SchedulesOfTheCostModel) {
    const fusion::Gpu gpu = fusion::default_target().gpu();
    for (const codegen::Unit& unit : units_) {
        const fusion::IsLegal legal = [&](const ir::Pipeline& inlined, const poly::Model& model,
                                          const std::vector<poly::Dependence>& dependences,
                                          const GroupSchedule& schedule) {
            std::vector<int> stages;
            for (std::size_t s = 0; s < inlined.stages.size(); ++s) {
                if (std::count(schedule.stages.begin(), schedule.stages.end(), inlined.stages[s].name) > 0)
                    stages.push_back(static_cast<int>(s));
            }
            const auto group = poly::make_group(inlined, model, dependences, stages);
            if (!std::holds_alternative<poly::Group>(group)) return false;
            codegen::kernel::Program made{inlined, model, fusion::default_target()};
            return std::holds_alternative<codegen::kernel::Step>(
                codegen::group_step(made, std::get<poly::Group>(group), schedule, sources_));
        };
        const fusion::FusionResult result = fusion::fuse(*unit.pipeline, *unit.model, cost::time_cost_model(gpu), legal,
                                                         cost::time_fusion_options(gpu));
        check_schedule(unit, result.schedule, sources_, looked_);
        if (HasFailure()) return;
    }
    print(looked_);
}

INSTANTIATE_TEST_SUITE_P(All, Examples, ::testing::ValuesIn(example_files()), [](const auto& param_info) {
    return std::filesystem::path(param_info.param).stem().string();
});

TEST(RandomGroups, AreAsPlanned) {
    constexpr int kPrograms = 40;
    std::mt19937_64 rng(1);
    Looked looked;
    Tried tried;
    for (int i = 0; i < kPrograms; ++i) {
        SourceManager sources;
        const std::string text = image_program(random_tape(rng, 20, 200), "p");
        const Compiled compiled = compile_text(sources, "p.pipe", text);
        ASSERT_TRUE(compiled.ok()) << text;
        const codegen::Unit unit{&compiled.pipelines.front(), &compiled.models.front()};
        const fusion::Schedule schedule = random_schedule(random_tape(rng, 60, 300), unit, sources, tried);
        SCOPED_TRACE(text + fusion::to_json({{"p", schedule}}, compiled.pipelines));
        check_schedule(unit, schedule, sources, looked);
        if (HasFailure()) return;
    }
    print(looked);
    for (const Strategy strategy :
         {Strategy::Otptb, Strategy::Otpw, Strategy::Stream, Strategy::Hybrid, Strategy::RegisterTile})
        EXPECT_GT(looked.followed[strategy], 0) << name(strategy);
}

}  // namespace
}  // namespace pipec::testing::plan_counts_test
