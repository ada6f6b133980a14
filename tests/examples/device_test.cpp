// Every program in examples/: the CUDA target in the SIMT emulator against the reference interpreter, on the cases of
// the host's test and on images of several blocks. Lanes and blocks run in another order each time. Integers and floats
// must be equal bit by bit (kernels are compiled without contraction to fused multiply-add, sums are made in order).
#include <gtest/gtest.h>

#include <filesystem>

#include "cases.h"
#include "support/render.h"
#include "support_lib/compile.h"
#include "support_lib/device.h"

namespace pipec::testing::device_test {
namespace {

class DeviceExamples : public ::testing::TestWithParam<std::string> {};

TEST_P(DeviceExamples, DeviceEqualsReference) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, GetParam(), read_file(GetParam()));
    ASSERT_EQ(render_text(compiled.diags, sources), "");
    ASSERT_FALSE(compiled.pipelines.empty());
    std::vector<codegen::Unit> units;
    for (std::size_t i = 0; i < compiled.pipelines.size(); ++i) {
        units.push_back({&compiled.pipelines[i], &compiled.models[i]});
    }
    // In the program's order, so that sums can be compared.
    const DeviceLibrary library(units, sources, {.deterministic = true});
    for (const ir::Pipeline& pipeline : compiled.pipelines) {
        const runner::abi::pipe_info& info = library.info(pipeline.name);
        std::vector<std::pair<int, int>> pairs = odd_pairs();
        pairs.insert(pairs.end(), {{10, 131}, {129, 5}});
        check_pipeline(pipeline, legal_sizes(pipeline, pairs),
                       [&](const reference::Arguments& arguments, Layout layout, int run) {
                           return run_device(info, arguments, layout, static_cast<std::uint64_t>(run));
                       });
    }
}

INSTANTIATE_TEST_SUITE_P(All, DeviceExamples, ::testing::ValuesIn(example_files()), [](const auto& param_info) {
    return std::filesystem::path(param_info.param).stem().string();
});

}  // namespace
}  // namespace pipec::testing::device_test
