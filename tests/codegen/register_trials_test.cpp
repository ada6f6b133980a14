// Cost models propose register tiles that code can be generated for: each of the others takes a trial, which makes code
// to be thrown away, and another search.
#include <gtest/gtest.h>

#include <string>

#include "compiler/automatic_schedule.h"
#include "cost/cost_models.h"
#include "fusion/automatic.h"
#include "fusion/target.h"
#include "support/render.h"
#include "support_lib/compile.h"

namespace pipec::register_trials_test {
namespace {

struct Trials {
    int all = 0, refused = 0;
};

/// What the search asks of code generation for the only pipeline of a text.
Trials trials(const std::string& text) {
    SourceManager sources;
    const testing::Compiled compiled = testing::compile_text(sources, "p.pipe", text);
    EXPECT_EQ(render_text(compiled.diags, sources), "");
    const fusion::Target target = fusion::default_target();
    codegen::MadeGroups made;
    const compiler::CodeCheck check{target, sources, false, &made};
    const compiler::AutomaticModel model = compiler::automatic_model({}, check, std::nullopt);
    Trials result;
    const fusion::IsLegal counted = [&](const ir::Pipeline& pipeline, const poly::Model& of,
                                        const std::vector<poly::Dependence>& dependences,
                                        const fusion::GroupSchedule& schedule) {
        const fusion::Verdict verdict = model.legal(pipeline, of, dependences, schedule);
        ++result.all;
        result.refused += verdict.possible ? 0 : 1;
        return verdict;
    };
    fusion::fuse(compiled.pipelines.at(0), compiled.models.at(0), model.cost, counted, model.options);
    return result;
}

/// Where arrays are not aligned a lane has one column instead of four, and needs 7 + 7 lanes for the mean, and as many
/// more as the mask is wide. Most masks have a 0, so that they read fewer points than that.
TEST(RegisterTrials, LanesThatServeTheirNeighboursAreCountedBeforeCodeIsMade) {
    const Trials trials = register_trials_test::trials(R"(
import "boundary"
import "stencil"
const MASKS = [[1, 4, 6, 4, 1], [-1, -2, 0, 2, 1]]
pipeline texture(img: uint8[R, C]) -> maps: float32[4, R, C] {
    f = mirror(img)
    for a in 0..2 {
        for b in 0..2 { energy[2 * a + b] = mean(abs(sep_conv(f, MASKS[a], MASKS[b])), 15) }
    }
    maps(m, y, x) = sum(i in 0..4) (if i == m then energy[i](y, x) else 0)
}
)");
    EXPECT_GT(trials.all, 0);
    EXPECT_LE(trials.refused, 2);  // 43 of 54, before
}

/// Levels of a pyramid, of which each pixel takes one: registers have no index.
TEST(RegisterTrials, WhatDataPickIsInNoRegisterTile) {
    const Trials trials =
        register_trials_test::trials(testing::read_file(PIPEC_SOURCE_DIR "/bench/suite/local_laplacian.pipe"));
    EXPECT_GT(trials.all, 0);
    EXPECT_LE(trials.refused, 4);  // 30 of 47, before
}

}  // namespace
}  // namespace pipec::register_trials_test
