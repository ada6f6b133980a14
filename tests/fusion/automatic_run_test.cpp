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

namespace pipec::testing {
namespace {

/// A V100 to which transactions cost less: tiles become large enough for a part of them to be in registers.
std::string gpu_of_large_tiles(const std::string& test) {
    const std::string path = PIPEC_BINARY_DIR "/tests/fusion/large_tiles_" + test + ".toml";
    std::string text = read_file(PIPEC_SOURCE_DIR "/gpus/v100.toml");
    text.replace(text.find("[50,"), 4, "[0.5,");
    std::ofstream(path) << text;
    return path;
}

class AutomaticRun : public ::testing::TestWithParam<const char*> {};

TEST_P(AutomaticRun, EqualsTheInterpreter) {
    SourceManager sources;
    const std::string path = std::string(PIPEC_SOURCE_DIR "/examples/") + GetParam() + ".pipe";
    const Compiled compiled = compile_text(sources, path, read_file(path));
    ASSERT_EQ(render_text(compiled.diags, sources), "");
    compiler::Checked checked;
    checked.pipelines = compiled.pipelines;
    checked.models = compiled.models;
    const std::vector<codegen::Unit> units = checked.units();
    compiler::ScheduleRequest request;
    using compiler::CostModelName;
    std::vector<std::pair<CostModelName, std::string>> models{{CostModelName::Time, "h200"}};
    const std::set<std::string> small{"blur", "unsharp", "harris", "bilateral_grid"};  // others take long
    if (small.count(GetParam()) > 0) {
        models.emplace_back(CostModelName::Paper, "v100");
        models.emplace_back(CostModelName::Paper, gpu_of_large_tiles(GetParam()));
    }
    for (const auto& [model, gpu] : models) {
        SCOPED_TRACE(gpu);
        request.model.cost_model = model;
        const compiler::Scheduled scheduled =
            compiler::schedule(compiler::prepare(checked), request, driver::gpu_target(gpu), {}, sources);
        const codegen::CudaOptions code{
            .deterministic = true, .schedules = scheduled.schedules, .target = scheduled.target};
        std::size_t fused = 0;
        for (const auto& [name, schedule] : code.schedules) {
            for (const fusion::GroupSchedule& group : schedule.groups) {
                fused += group.strategy == fusion::Strategy::Stage ? 0 : 1;
            }
        }
        EXPECT_GT(fused, 0u);
        const DeviceLibrary library(units, sources, code);
        for (const ir::Pipeline& pipeline : compiled.pipelines) {
            const runner::abi::pipe_info& info = library.info(pipeline.name);
            check_pipeline(pipeline, legal_sizes(pipeline, {{1, 7}, {5, 11}, {33, 130}}),
                           [&](const reference::Arguments& arguments, Layout layout, int run) {
                               return run_device(info, arguments, layout, static_cast<std::uint64_t>(run));
                           });
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Examples, AutomaticRun,
                         ::testing::Values("blur", "unsharp", "harris", "bilateral_grid", "camera_pipe", "sketch",
                                           "detail", "multiscale_interpolate", "pyramid_blend"),
                         [](const auto& param_info) { return std::string(param_info.param); });

}  // namespace
}  // namespace pipec::testing
