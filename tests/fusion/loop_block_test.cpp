// Points of a stage that share the loads of a loop.
#include "fusion/loop_block.h"

#include <gtest/gtest.h>

#include "support/render.h"
#include "support_lib/compile.h"

namespace pipec::fusion::loop_block_test {
namespace {

/// The block of `out(y, x)`, whose lanes go along x.
LoopBlock block_of(const std::string& value, const std::string& factor = "16 * ") {
    SourceManager sources;
    const testing::Compiled compiled =
        testing::compile_text(sources, "block.pipe",
                              "pipeline p(img: float32[" + factor + "R + 99, " + factor +
                                  "C + 99], w: float32[99]) -> out: float32[R, C] { out(y, x) = " + value + " }");
    EXPECT_EQ(render_text(compiled.diags, sources), "");
    const ir::Stage& out = compiled.pipelines.at(0).stages.at(0);
    return loop_block(out, std::get<ir::Pure>(out.definition).value, 1, {std::nullopt, std::nullopt},
                      {std::nullopt, std::nullopt});
}

TEST(LoopBlock, RowsShareWhatTheirWindowsHaveInCommon) {
    const LoopBlock block = block_of("sum(i in 0..9, j in 0..90) w(j) * img(y + i, x + j)", "");
    EXPECT_GT(block.points.at(0), 1);
    EXPECT_LT(block.loads, 0.75);
}

TEST(LoopBlock, WindowsBesideEachOtherShareNothing) {
    EXPECT_EQ(block_of("sum(i in 0..16, j in 0..90) w(j) * img(16 * y + i, x + j)").count(), 1);
    EXPECT_EQ(block_of("w(0) + sum(i in 0..90, j in 0..16) img(16 * y + i, 16 * x + j + 2 * (y % 3))").count(), 1);
}

}  // namespace
}  // namespace pipec::fusion::loop_block_test
