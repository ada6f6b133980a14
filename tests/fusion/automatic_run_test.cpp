// What automatic fusion chooses runs: the driver's schedules in the SIMT emulator, against the interpreter.
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "../examples/cases.h"
#include "compiler/passes.h"
#include "driver/gpu_option.h"
#include "support/render.h"
#include "support_lib/compile.h"
#include "support_lib/device.h"

namespace pipec::testing::automatic_run_test {
namespace {

/// A V100 to which transactions cost less: tiles become large enough for a part of them to be in registers.
std::string gpu_of_large_tiles(const std::string& test) {
    const std::string path = PIPEC_BINARY_DIR "/tests/fusion/large_tiles_" + test + ".toml";
    std::string text = read_file(PIPEC_SOURCE_DIR "/gpus/v100.toml");
    text.replace(text.find("[50,"), 4, "[0.5,");
    std::ofstream(path) << text;
    return path;
}

using Models = std::vector<std::pair<compiler::CostModelName, std::string>>;
using compiler::CostModelName;

/// Compiles a program as the driver does and compares what it gives at some sizes. Some group must be
/// more than a kernel for a stage (`must_fuse`), and some stages be inside of their readers.
void check_program(const std::string& path, const std::string& text, const Models& models,
                   const std::vector<std::pair<int, int>>& sizes, bool must_fuse,
                   const std::vector<std::string>& inlined = {}) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, path, text);
    ASSERT_EQ(render_text(compiled.diags, sources), "");
    compiler::Checked checked;
    checked.pipelines = compiled.pipelines;
    checked.models = compiled.models;
    const std::vector<codegen::Unit> units = checked.units();
    compiler::ScheduleRequest request;
    for (const auto& [model, gpu] : models) {
        SCOPED_TRACE(gpu);
        request.model.cost_model = model;
        const compiler::Scheduled scheduled =
            compiler::schedule(compiler::prepare(checked), request, driver::gpu_target(gpu), {}, sources);
        const codegen::CudaOptions code{
            .deterministic = true, .schedules = scheduled.schedules, .target = scheduled.target};
        std::size_t fused = 0;
        std::set<std::string> inside;
        for (const auto& [name, schedule] : code.schedules) {
            for (const fusion::GroupSchedule& group : schedule.groups) {
                fused += group.strategy == fusion::Strategy::Stage ? 0 : 1;
            }
            inside.insert(schedule.inlined.begin(), schedule.inlined.end());
        }
        if (must_fuse) {
            EXPECT_GT(fused, 0u);
        }
        for (const std::string& stage : inlined) EXPECT_EQ(inside.count(stage), 1u) << stage;
        const DeviceLibrary library(units, sources, code);
        for (const ir::Pipeline& pipeline : compiled.pipelines) {
            const runner::abi::pipe_info& info = library.info(pipeline.name);
            check_pipeline(pipeline, legal_sizes(pipeline, sizes),
                           [&](const reference::Arguments& arguments, Layout layout, int run) {
                               return run_device(info, arguments, layout, static_cast<std::uint64_t>(run));
                           });
        }
    }
}

class AutomaticRun : public ::testing::TestWithParam<const char*> {};

TEST_P(AutomaticRun, EqualsTheInterpreter) {
    const std::string path = std::string(PIPEC_SOURCE_DIR "/examples/") + GetParam() + ".pipe";
    Models models{{CostModelName::Time, "h200"}};
    const std::set<std::string> small{"blur", "unsharp", "harris", "bilateral_grid"};  // others take long
    if (small.count(GetParam()) > 0) {
        models.emplace_back(CostModelName::Paper, "v100");
        models.emplace_back(CostModelName::Paper, gpu_of_large_tiles(GetParam()));
    }
    check_program(path, read_file(path), models, {{1, 7}, {5, 11}, {33, 130}}, true);
}

// One loop finds the weights and what is weighted, and the weights of all points and places are never stored.
TEST(AutomaticPrograms, AWeightedMeanOfAWindowIsOneLoop) {
    check_program("window.pipe", R"(
        pipeline window(img: float32[R + 10, C + 10], s: float32 = 0.2) -> out: float32[R, C] where s > 0.1 {
            w(y, x, i, j) = 1 / (1 + abs(img(y + i, x + j) - img(y + 5, x + 5)) / s)
            total(y, x) = sum(i in 0..11, j in 0..11) w(y, x, i, j) * img(y + i, x + j)
            weight(y, x) = sum(i in 0..11, j in 0..11) w(y, x, i, j)
            out(y, x) = total(y, x) / weight(y, x)
        })",
                  {{CostModelName::Time, "h200"}}, {{1, 7}, {5, 11}, {33, 70}}, false, {"w", "total", "weight"});
}

// Stages whose channels are chosen by what a channel's number gives are one kernel.
TEST(AutomaticPrograms, ChannelsMayReadClampedChannels) {
    check_program("key.pipe", R"(
        pipeline key(rgb: uint8[R, C, 3]) -> rgba: uint8[R, C, 4] {
            v(y, x, c) = rgb(y, x, c) / 255.0
            matte(y, x) = exp(-(v(y, x, 0) - v(y, x, 1)) * (v(y, x, 2) - v(y, x, 1)))
            limited(y, x, c) = if c == 1 then min(v(y, x, 1), max(v(y, x, 0), v(y, x, 2))) else v(y, x, c)
            premultiplied(y, x, c) = if c == 3 then matte(y, x) else limited(y, x, min(c, 2)) * matte(y, x)
            rgba(y, x, c) = saturate<uint8>(255 * premultiplied(y, x, c))
        })",
                  {{CostModelName::Time, "h200"}}, {{1, 7}, {5, 11}, {33, 130}}, true);
}

INSTANTIATE_TEST_SUITE_P(Examples, AutomaticRun,
                         ::testing::Values("blur", "unsharp", "harris", "bilateral_grid", "camera_pipe", "sketch",
                                           "detail", "multiscale_interpolate", "pyramid_blend"),
                         [](const auto& param_info) { return std::string(param_info.param); });

}  // namespace
}  // namespace pipec::testing::automatic_run_test
