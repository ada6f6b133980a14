// Overlapped tiles of one shape: memory beyond what a kernel has without asking, what is refused, and what their edges
// ask.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "codegen/emit/cuda/cuda.h"
#include "codegen/emit/cuda/cuda_launch.h"
#include "codegen/lower.h"
#include "fusion/schedule.h"
#include "support_lib/compile.h"
#include "support_lib/data.h"
#include "support_lib/device.h"

namespace pipec::testing::tile_run_test {
namespace {

using fusion::GroupSchedule;
using fusion::Strategy;

constexpr const char* kChain = R"(pipeline p(img: float32[R + 6, C + 6]) -> out: float32[R, C] {
    a(y, x) = img(y, x) + img(y + 2, x)
    b(y, x) = a(y, x) * a(y, x + 2)
    c(y, x) = b(y, x) - b(y + 2, x + 2)
    out(y, x) = c(y + 1, x) + c(y, x + 2)
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
    EXPECT_EQ(refusal(group),
              who + "its windows take 417376 bytes of shared memory, but a block of NVIDIA H100 SXM has 232448");
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
    EXPECT_EQ(refusal(group).substr(0, 60 + who.size()),
              (who + "its tiles take 1083632 bytes of shared memory, but a block of NVIDIA H100 SXM has 232448")
                  .substr(0, 60 + who.size()));
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

/// The columns are the channels: at the edges all of them exist or none. `soft` has an interior of its own, whose
/// channels are computed at once, and elsewhere a loop over them; `twice` is all interior.
TEST(Tiles, AskOncePerWholeDimension) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "p.pipe", R"(
pipeline p(img: float32[R, C, 4]) -> out: float32[R, C] {
    soft(y, x, c) = img(max(y - 1, 0), x, c) + img(y, x, c)
    twice(y, x, c) = soft(y, x, c) * 2
    out(y, x) = twice(y, max(x - 1, 0), 0) + twice(y, x, 1) * twice(y, x, 2) + twice(y, min(x + 1, C - 1), 3)
})");
    for (const Diagnostic& d : compiled.diags.all()) ASSERT_NE(d.severity, Severity::Error) << d.message;
    const std::vector<codegen::Unit> units{{&compiled.pipelines.front(), &compiled.models.front()}};
    for (const Strategy strategy : {Strategy::Otptb, Strategy::Otpw}) {
        GroupSchedule group;
        group.stages = {"soft", "twice", "out"};
        group.strategy = strategy;
        group.block = {32, 4, 1};
        codegen::CudaOptions options;
        options.schedules["p"] = fusion::Schedule{{}, {group}};
        const std::string text = to_string(codegen::lower(units.front(), sources, options));
        const std::size_t loop = text.find("for c_j");
        ASSERT_NE(loop, std::string::npos) << text;
        EXPECT_EQ(text.substr(loop, text.find("barrier", loop) - loop).find("if "), std::string::npos) << text;
        EXPECT_EQ(text.find("for c_j_2"), std::string::npos) << text;
        const DeviceLibrary library(units, sources, options);
        std::mt19937_64 rng(1);
        for (const auto& [rows, columns] : {std::pair(1, 1), std::pair(4, 7), std::pair(13, 99), std::pair(16, 128)}) {
            SCOPED_TRACE(fmt::format("{} x {}", rows, columns));
            const reference::Arguments arguments =
                random_arguments(*units.front().pipeline, {{"R", rows}, {"C", columns}}, Fill::Smooth, rng);
            const auto actual = run_device(library.info("p"), arguments, Layout::Dense, rng());
            EXPECT_EQ(difference(reference::run(*units.front().pipeline, arguments).at("out"), actual.at("out")), "");
        }
    }
}

/// The components of one definition are computed together, at the edges as well: what they have in common is there
/// once. Their terms are too costly for several columns in one piece of code.
TEST(Tiles, ComputeComponentsTogether) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "p.pipe", R"(
pipeline p(img: float32[R, C]) -> out: float32[R, C] {
    f(y, x) = img(clamp(y, 0, R - 1), clamp(x, 0, C - 1))
    s(y, x) = sum(i in -1..=1, j in -1..=1)
                  (let w = exp(-abs(f(y + i, x + j) - f(y, x))) * pow(abs(f(y + i, x + j)) + 1, 1.5) in
                   [w * f(y + i, x + j), w])
    out(y, x) = s(y, x)[0] / s(y, x)[1]
})");
    for (const Diagnostic& d : compiled.diags.all()) ASSERT_NE(d.severity, Severity::Error) << d.message;
    const std::vector<codegen::Unit> units{{&compiled.pipelines.front(), &compiled.models.front()}};
    const auto count = [](const std::string& text, std::string_view what) {
        std::size_t found = 0;
        for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
        return found;
    };
    for (const Strategy strategy : {Strategy::Otptb, Strategy::Otpw}) {
        for (const int vector : {1, 4}) {
            GroupSchedule group;
            group.stages = {"f", "s[0]", "s[1]", "out"};
            group.strategy = strategy;
            group.block = {32, 4, 1};
            group.tile = {vector, 2, 1};
            group.vector = vector;
            codegen::CudaOptions options;
            options.schedules["p"] = fusion::Schedule{{}, {group}};
            const std::string text = to_string(codegen::lower(units.front(), sources, options));
            // One loop has both, in the interior and at the edges.
            EXPECT_EQ(count(text, "// s[0]"), count(text, "// s[1]"));
            std::size_t at = text.find("// s[0]");
            for (; at != std::string::npos; at = text.find("// s[0]", at + 1)) {
                const std::size_t next = text.find_first_not_of(' ', text.find('\n', at) + 1);
                EXPECT_EQ(text.substr(next, 7), "// s[1]") << text;
            }
            const DeviceLibrary library(units, sources, options);
            std::mt19937_64 rng(1);
            for (const auto& [rows, columns] :
                 {std::pair(1, 1), std::pair(4, 7), std::pair(13, 99), std::pair(37, 256)}) {
                SCOPED_TRACE(fmt::format("{} x {}", rows, columns));
                const reference::Arguments arguments =
                    random_arguments(*units.front().pipeline, {{"R", rows}, {"C", columns}}, Fill::Smooth, rng);
                const auto actual = run_device(library.info("p"), arguments, Layout::Dense, rng());
                EXPECT_EQ(difference(reference::run(*units.front().pipeline, arguments).at("out"), actual.at("out")),
                          "");
            }
        }
    }
}

}  // namespace
}  // namespace pipec::testing::tile_run_test
