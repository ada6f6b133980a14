// Loops of a stage by itself: several points of a thread in one loop, and the places of a window side by side in it.
// The bits are those of the interpreter, for grids of any size: with few blocks threads have single points.
#include "device_runs.h"

#include "codegen/lower.h"
#include "fusion/schedule.h"

namespace pipec::testing::loop_block_run_test {
namespace {

constexpr const char* kPrograms = R"(
    pipeline convolution(f: float32[20, R + 2, C + 2], w: float32[4, 20, 3, 3], bias: float32[4]) -> out: float32[4, R, C] {
        out(o, y, x) = bias(o) + sum(c in 0..20, i in 0..3, j in 0..3) w(o, c, i, j) * f(c, y + i, x + j)
    }
    pipeline channels(f: float32[K, R + 1, C + 1], w: float32[K, 2, 2]) -> out: float32[R, C] {
        out(y, x) = sum(c in 0..K, i in 0..2, j in 0..2) w(c, i, j) * f(c, y + i, x + j)
    }
    pipeline interleaved(f: float32[R + 2, C + 2, 40], w: float32[3, 3, 40, 8]) -> out: float32[R, C, 8] {
        out(y, x, o) = sum(c in 0..40, j in 0..3, i in 0..3) w(i, j, c, o) * f(y + i, x + j, c)
    }
    pipeline integers(f: uint8[20, R + 2, C + 2], w: int8[20, 3, 3]) -> out: int32[R, C] {
        out(y, x) = sum(c in 0..20, i in 0..3, j in 0..3) w(c, i, j) * f(c, y + i, x + j)
    }
    pipeline extremes(f: float32[R + 2, C + 70]) -> low: float32[R, C], high: float32[R, C] {
        low(y, x) = min(k in 0..70, i in 0..3) f(y + i, x + k)
        high(y, x) = max(i in 0..3) min(k in 0..65 + i) f(y + i, x + k)
    }
    pipeline blocks(f: float32[9 * R, 8 * C]) -> mean: float32[R, C], out: float32[R, C] {
        mean(y, x) = (sum(i in 0..9, j in 0..8) f(9 * y + i, 8 * x + j)) / 72
        out(y, x) = sum(i in 0..9, j in 0..8) abs(f(9 * y + i, 8 * x + j) - mean(y, x))
    }
    pipeline product(a: float32[R, K], b: float32[K, C]) -> out: float32[R, C] {
        out(i, j) = sum(k in 0..K) a(i, k) * b(k, j)
    }
    pipeline rays(f: float32[R, C], slope: float32[C]) -> out: float32[R, C] {
        out(y, x) = sum(k in 0..90)
            let i = clamp(int32(k * slope(x)), 0, R - 1), j = clamp(x + k - 45, 0, C - 1) in f(i, j) + f(y, j)
    })";

const std::vector<Sizes> kSizes{{{"R", 1}, {"C", 1}, {"K", 1}},
                                {{"R", 33}, {"C", 65}, {"K", 130}},
                                {{"R", 18}, {"C", 300}, {"K", 3}},
                                {{"R", 4}, {"C", 129}, {"K", 64 * 64 + 70}}};

class LoopBlocks : public DeviceRuns {
protected:
    void SetUp() override { compile("loops.pipe", kPrograms); }
    /// Two multiprocessors: two blocks are enough for several points of a thread.
    static codegen::CudaOptions small_gpu() {
        fusion::Gpu gpu = fusion::default_target().gpu();
        gpu.sms = 2;
        return {.target = fusion::Target(gpu)};
    }
};

TEST_F(LoopBlocks, HaveTheBitsOfTheDefinition) {
    compare(small_gpu(), kSizes, Fill::Extreme, "blocks of points");
    compare({}, kSizes, Fill::Extreme, "single points");
}

TEST_F(LoopBlocks, HaveAVersionForFewBlocks) {
    for (const codegen::Unit& unit : units()) {
        const std::string& name = unit.pipeline->name;
        if (name != "convolution" && name != "product") continue;
        const codegen::kernel::Program program = codegen::lower(unit, sources_, small_gpu());
        const auto& variants = program.steps.back().variants;
        const bool lanes = name == "product";  // of which a warp may have each point
        // And where the dimension along the lanes is shorter than a block has points.
        const bool narrow = variants.front().extent != nullptr;
        EXPECT_EQ(narrow, variants.front().least_extent > 32) << name;
        const std::size_t first = narrow ? 1 : 0;
        ASSERT_EQ(variants.size(), first + (lanes ? 3 : 2)) << name;
        EXPECT_EQ(variants[0].least_grid, 2) << name;
        EXPECT_EQ(variants[first].least_grid, 2) << name;
        EXPECT_EQ(variants[first + 1].least_grid, lanes ? 1 : 0) << name;
        EXPECT_EQ(variants.back().least_grid, 0) << name;
    }
}

}  // namespace
}  // namespace pipec::testing::loop_block_run_test
