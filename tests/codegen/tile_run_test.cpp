// Overlapped tiles of one shape: memory beyond what a kernel has without asking, and what is refused.
#include <gtest/gtest.h>

#include <string>

#include "codegen/cuda.h"
#include "codegen/cuda_launch.h"
#include "codegen/lower.h"
#include "fusion/schedule.h"
#include "support_lib/compile.h"

namespace pipec::testing {
namespace {

using fusion::GroupSchedule;
using fusion::Strategy;

constexpr const char* kChain = R"(pipeline p(img: float32[R + 6, C + 6]) -> out: float32[R, C] {
    a(x, y) = img(x, y) + img(x + 2, y)
    b(x, y) = a(x, y) * a(x, y + 2)
    c(x, y) = b(x, y) - b(x + 2, y + 2)
    out(x, y) = c(x + 1, y) + c(x, y + 2)
})";

GroupSchedule chain(Strategy strategy) {
    GroupSchedule group;
    group.stages = {"a", "b", "c", "out"};
    group.strategy = strategy;
    group.block = {32, 4, 1};
    return group;
}

/// The kernels of the chain in one group.
codegen::kernel::Program lowered(const GroupSchedule& group) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "p.pipe", kChain);
    codegen::CudaOptions options;
    options.schedules["p"] = fusion::Schedule{{}, {group}};
    return codegen::lower({&compiled.pipelines.front(), &compiled.models.front()}, sources, options);
}

std::string refusal(const GroupSchedule& group) {
    try {
        lowered(group);
        return "";
    } catch (const fusion::ScheduleError& error) {
        return error.what();
    }
}

TEST(Strips, SayWhyTheyAreImpossible) {
    const std::string who = "`stream` is impossible for the group of `a`: ";
    GroupSchedule group = chain(Strategy::Stream);
    group.block = {4, 8, 1};
    EXPECT_EQ(refusal(group), who + "its blocks compute 4 columns, but the least that an output takes is 7");
    group.block = {1024, 1, 1};
    EXPECT_EQ(refusal(group), "");
    group.block = {128, 8, 1};
    group.tile = {16, 1, 1};
    EXPECT_EQ(refusal(group), who + "its windows take 417376 bytes of shared memory, but a block has 232448");
}

TEST(Tiles, SayWhyTheyAreImpossible) {
    const std::string who = "`otptb` is impossible for the group of `a`: ";
    GroupSchedule group = chain(Strategy::Otptb);
    group.vector = 3;
    EXPECT_EQ(refusal(group), who + "a vector of 3 columns: it must be 1, 2, 4, 8 or 16");
    group.vector = 4;
    group.tile = {6, 1, 1};
    EXPECT_EQ(refusal(group), who + "the 6 columns of a thread are not made of vectors of 4");
    group.tile = {32, 32, 1};
    EXPECT_EQ(
        refusal(group).substr(0, 60 + who.size()),
        (who + "its tiles take 1083632 bytes of shared memory, but a block has 232448").substr(0, 60 + who.size()));
    group.tile = {8, 2, 1};
    EXPECT_EQ(refusal(group), "");
}

/// `a` is dead where `c` is written.
TEST(Tiles, ShareMemoryByLifetime) {
    for (const Strategy strategy : {Strategy::Otptb, Strategy::Otpw}) {
        const auto program = lowered(chain(strategy));
        const auto& shared = program.steps.front().variants.front().shared;
        ASSERT_EQ(shared.size(), 3u);
        EXPECT_EQ(shared[0].offset, 0);
        EXPECT_GT(shared[1].offset, 0);
        EXPECT_EQ(shared[2].offset, 0);
        EXPECT_EQ(shared[0].pitch > 0, strategy == Strategy::Otpw);
    }
}

/// Whole vectors, halves of them, single columns.
TEST(Tiles, HaveAVariantForEachAlignment) {
    GroupSchedule group = chain(Strategy::Otptb);
    group.tile = {4, 2, 1};
    group.vector = 4;
    const auto variants = lowered(group).steps.front().variants;
    ASSERT_EQ(variants.size(), 3u);
    EXPECT_EQ(variants[0].name, "out_wide16");
    EXPECT_EQ(variants[1].name, "out_wide8");
    EXPECT_EQ(variants[2].layout, codegen::kernel::Layout::Dense);
}

}  // namespace
}  // namespace pipec::testing
