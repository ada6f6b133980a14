// Automatic fusion of the examples: schedules that code can be generated for, in little time.
#include "fusion/automatic.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "fusion/inline.h"
#include "support/render.h"
#include "support_lib/compile.h"

namespace pipec::fusion {
namespace {

std::vector<std::string> example_files() {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(PIPEC_SOURCE_DIR "/examples")) {
        if (entry.path().extension() == ".pipe") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    return files;
}

std::string describe(const Schedule& schedule) {
    std::string text;
    for (const GroupSchedule& g : schedule.groups) {
        text +=
            fmt::format("  {} block {} tile {} split {} frac_reg {}: {}\n", name(g.strategy), fmt::join(g.block, "x"),
                        fmt::join(g.tile, "x"), g.split, g.frac_reg, fmt::join(g.stages, " "));
    }
    return text;
}

class Automatic : public ::testing::TestWithParam<std::string> {};

TEST_P(Automatic, PaperSchedule) {
    SourceManager sources;
    const testing::Compiled compiled = testing::compile_text(sources, GetParam(), testing::read_file(GetParam()));
    ASSERT_EQ(render_text(compiled.diags, sources), "");
    for (std::size_t i = 0; i < compiled.pipelines.size(); ++i) {
        const auto begin = std::chrono::steady_clock::now();
        const FusionResult result =
            fuse(compiled.pipelines[i], compiled.models[i], paper_cost_model(known_gpu("v100").value()), nullptr);
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        std::printf("%s: %.3f s, %zu groups of %zu stages, %zu asked for, %zu passes%s, cost %.1f\n%s",
                    compiled.pipelines[i].name.c_str(), seconds, result.grouping.groups.size(),
                    compiled.pipelines[i].stages.size(), result.grouping.asked, result.grouping.passes,
                    result.grouping.exact ? "" : " bounded", result.grouping.cost, describe(result.schedule).c_str());
        order_groups(inline_stages(compiled.pipelines[i], compiled.models[i],
                                   inlined_stages(compiled.pipelines[i], result.schedule))
                         .pipeline,
                     result.schedule);
    }
}

INSTANTIATE_TEST_SUITE_P(All, Automatic, ::testing::ValuesIn(example_files()), [](const auto& param_info) {
    return std::filesystem::path(param_info.param).stem().string();
});

}  // namespace
}  // namespace pipec::fusion
