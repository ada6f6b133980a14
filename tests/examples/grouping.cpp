#include "grouping.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <set>

#include "cases.h"
#include "codegen/lower.h"
#include "fusion/inline.h"
#include "poly/group.h"
#include "support/render.h"
#include "support_lib/compile.h"
#include "support_lib/device.h"

namespace pipec::testing {
namespace {

using fusion::GroupSchedule;
using fusion::Schedule;

/// Grows groups at random as long as they are legal and fit into shared memory.
class Grouping {
public:
    Grouping(const codegen::Unit& unit, const SourceManager& sources, std::mt19937_64& rng,
             const ChooseStrategy& choose)
        : unit_(unit),
          sources_(sources),
          rng_(rng),
          choose_(choose),
          schedule_(fusion::stage_schedule(*unit.pipeline, *unit.model)) {
        inlined_ =
            fusion::inline_stages(*unit.pipeline, *unit.model, fusion::inlined_stages(*unit.pipeline, schedule_));
        dependences_ = poly::find_dependences(inlined_.pipeline, inlined_.model);
    }

    Schedule make() {
        const std::size_t count = inlined_.pipeline.stages.size();
        for (int tries = 0; tries < 6; ++tries) {
            std::set<int> members{static_cast<int>(rng_() % count)};
            GroupSchedule group = choose_(rng_);
            if (!fits(members, group)) continue;
            const std::size_t wanted = 1 + rng_() % 8;
            for (int steps = 0; steps < 30 && members.size() < wanted; ++steps) {
                const poly::Dependence& d = dependences_[rng_() % dependences_.size()];
                if (d.source.kind != ir::Source::Kind::Stage) continue;
                const bool has_reader = members.count(d.reader) > 0, has_source = members.count(d.source.index) > 0;
                if (has_reader == has_source) continue;
                std::set<int> more = members;
                more.insert(has_reader ? d.source.index : d.reader);
                if (fits(more, group)) members = more;
            }
            fits(members, group);
            schedule_.groups.push_back(group);
        }
        return schedule_;
    }

private:
    /// Sets the group's stages.
    bool fits(const std::set<int>& members, GroupSchedule& group) {
        group.stages.clear();
        for (const int s : members) group.stages.push_back(inlined_.pipeline.stages[static_cast<std::size_t>(s)].name);
        const auto aligned =
            poly::make_group(inlined_.pipeline, inlined_.model, dependences_, {members.begin(), members.end()});
        if (!std::holds_alternative<poly::Group>(aligned)) return false;
        codegen::kernel::Program program{inlined_.pipeline, inlined_.model, fusion::default_target()};
        const auto step = codegen::group_step(program, std::get<poly::Group>(aligned), group, sources_);
        if (!std::holds_alternative<codegen::kernel::Step>(step)) return false;
        Schedule trial = schedule_;
        trial.groups.push_back(group);
        try {
            fusion::order_groups(inlined_.pipeline, trial);
            return true;
        } catch (const fusion::ScheduleError&) {
            return false;
        }
    }

    const codegen::Unit& unit_;
    const SourceManager& sources_;
    std::mt19937_64& rng_;
    const ChooseStrategy& choose_;
    Schedule schedule_;
    fusion::Inlined inlined_;
    std::vector<poly::Dependence> dependences_;
};

std::string describe(const Schedule& schedule) {
    std::string text;
    for (const GroupSchedule& g : schedule.groups) {
        text += fmt::format("{} block {} tile {} vector {} split {} frac_reg {} prefetch {}: {}\n", name(g.strategy),
                            fmt::join(g.block, "x"), fmt::join(g.tile, "x"), g.vector, g.split, g.frac_reg, g.prefetch,
                            fmt::join(g.stages, " "));
    }
    return text;
}

}  // namespace

void check_random_groups(const std::string& path, const ChooseStrategy& choose) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, path, read_file(path));
    ASSERT_EQ(render_text(compiled.diags, sources), "");
    const char* const seeds = std::getenv("PIPEC_TILE_SEEDS");
    for (int seed = 1; seed <= (seeds == nullptr ? 2 : std::atoi(seeds)); ++seed) {
        std::mt19937_64 rng(static_cast<std::uint64_t>(seed));
        codegen::CudaOptions options{.deterministic = true, .schedules = {}};
        std::vector<codegen::Unit> units;
        std::size_t fused = 0;
        std::string text;
        for (std::size_t i = 0; i < compiled.pipelines.size(); ++i) {
            units.push_back({&compiled.pipelines[i], &compiled.models[i]});
            const Schedule schedule = Grouping(units.back(), sources, rng, choose).make();
            for (const GroupSchedule& g : schedule.groups) fused += g.stages.size();
            text += describe(schedule);
            options.schedules.emplace(compiled.pipelines[i].name, schedule);
        }
        EXPECT_GE(fused, 2u);
        SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text));
        const DeviceLibrary library(units, sources, options);
        for (const ir::Pipeline& pipeline : compiled.pipelines) {
            const runner::abi::pipe_info& info = library.info(pipeline.name);
            check_pipeline(pipeline, legal_sizes(pipeline, {{1, 7}, {5, 11}, {17, 19}, {40, 70}, {33, 130}}),
                           [&](const reference::Arguments& arguments, Layout layout, int run) {
                               return run_device(info, arguments, layout, static_cast<std::uint64_t>(run));
                           });
        }
        if (::testing::Test::HasFailure()) return;
    }
}

}  // namespace pipec::testing
