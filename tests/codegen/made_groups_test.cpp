// Code that was made to learn whether a group is possible is the code that lowering makes, wherever in the program its
// kernel comes.
#include "codegen/made_groups.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "compiler/passes.h"
#include "fusion/inline.h"
#include "poly/dependences.h"
#include "poly/group.h"
#include "support/render.h"

namespace pipec::made_groups_test {
namespace {

/// Three groups: what is read at data-dependent indices is never in the group of its reader. They are the first, the
/// second and the third step. Lanes serve both of their neighbours, those on one side only, and none.
constexpr const char* kProgram = R"(
import "boundary"
pipeline p(img: float32[R, C]) -> a: float32[R, C], b: float32[R, C], c: float32[R, C] {
    e = clamp_to_edge(img)
    a1(y in 0..R, x in 0..C) = sum(k in -2..=2) (k + 3) * e(y + k, x)
    a2 = clamp_to_edge(a1)
    a(y, x) = sum(k in -2..=2) (k + 3) * a2(y, x + k)
    b1(y in 0..R, x in 0..C) = img(y, x) * 0.5 + a(clamp(int32(img(y, x)), 0, R - 1), x)
    b2 = clamp_to_edge(b1)
    b(y, x) = b2(y, x) + b2(y, x - 1) * b2(y, x - 2)
    c1(y in 0..R, x in 0..C) = img(y, x) * e(y + 1, x) + b(clamp(int32(img(y, x)), 0, R - 1), x)
    c2 = clamp_to_edge(c1)
    c(y, x) = c2(y + 1, x) * c2(y - 1, x)
}
)";

struct Compiled {
    Compiled() {
        Diagnostics diags;
        const FileId main = sources.add("p.pipe", kProgram);
        checked = compiler::check(sources, main, {}, diags);
        if (diags.has_errors()) throw std::runtime_error(render_text(diags, sources));
        prepared = compiler::prepare(checked);
    }
    compiler::Scheduled scheduled(const compiler::Settings& settings = {}) {
        compiler::ScheduleRequest request;
        request.strategy = fusion::Strategy::RegisterTile;
        return compiler::schedule(prepared, request, fusion::default_target(), settings, sources);
    }
    std::string code(const compiler::Scheduled& scheduled, const compiler::Settings& settings = {}) {
        return compiler::code_text("p.pipe", "p.h", checked, compiler::lower(checked, scheduled, settings, sources),
                                   sources);
    }
    /// The same, of groups whose code is made anew.
    std::string code_anew(compiler::Scheduled scheduled, const compiler::Settings& settings = {}) {
        scheduled.made = {};
        return code(scheduled, settings);
    }

    SourceManager sources;
    compiler::Checked checked;
    compiler::Prepared prepared;
};

/// How many groups of the schedule are kept.
int kept(const Compiled& compiled, const compiler::Scheduled& scheduled, bool fast_math) {
    const fusion::Inlined& prepared = compiled.prepared.front();
    const fusion::Schedule& schedule = scheduled.schedules.at("p");
    const ir::Pipeline left =
        fusion::inline_stages(prepared.pipeline, prepared.model, fusion::inlined_stages(prepared.pipeline, schedule))
            .pipeline;
    const auto* made = scheduled.made.find(left, scheduled.target, fast_math);
    if (made == nullptr) return 0;
    const fusion::OrderedGroups ordered = fusion::order_groups(left, schedule);
    int count = 0;
    for (std::size_t i = 0; i < ordered.stages.size(); ++i) {
        const auto& group = schedule.groups.at(static_cast<std::size_t>(ordered.number[i]));
        const codegen::GroupCode* code = made->find(ordered.stages[i], group);
        count += code != nullptr && !code->pieces.empty() ? 1 : 0;
    }
    return count;
}

TEST(MadeGroups, AreTheCodeThatLoweringMakes) {
    for (const bool fast_math : {false, true}) {
        SCOPED_TRACE(fast_math);
        Compiled compiled;
        compiler::Settings settings;
        settings.fast_math = fast_math;
        const compiler::Scheduled scheduled = compiled.scheduled(settings);
        EXPECT_EQ(kept(compiled, scheduled, fast_math), 3);
        EXPECT_EQ(compiled.code(scheduled, settings), compiled.code_anew(scheduled, settings));
    }
}

TEST(MadeGroups, AreOfOneScheduleOnly) {
    Compiled compiled;
    compiler::Scheduled scheduled = compiled.scheduled();
    for (fusion::GroupSchedule& group : scheduled.schedules.at("p").groups) group.tile = {2, 4, 1};
    EXPECT_EQ(kept(compiled, scheduled, false), 0);
    EXPECT_EQ(compiled.code(scheduled), compiled.code_anew(scheduled));
    EXPECT_EQ(kept(compiled, scheduled, true), 0) << "made without -ffast-math";
}

TEST(MadeGroups, AreOfOneTargetOnly) {
    Compiled compiled;
    compiler::Scheduled scheduled = compiled.scheduled();
    EXPECT_EQ(kept(compiled, scheduled, false), 3);
    scheduled.target = fusion::Target(fusion::known_gpu("t4").value());
    EXPECT_EQ(kept(compiled, scheduled, false), 0);
}

}  // namespace
}  // namespace pipec::made_groups_test
