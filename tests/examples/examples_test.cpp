// Every program in examples/: the host target against the reference interpreter, on sizes that are prime, minimal, tiny
// and no multiple of anything, on values as images have them and on extreme ones, and on images that lie in memory in
// every way that the interface allows. Integers and floats must be equal, bit by bit.
#include <gtest/gtest.h>

#include <filesystem>

#include "cases.h"
#include "support/render.h"
#include "support_lib/compile.h"
#include "support_lib/host.h"

namespace pipec::testing::examples_test {
namespace {

class Examples : public ::testing::TestWithParam<std::string> {};

TEST_P(Examples, HostEqualsReference) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, GetParam(), read_file(GetParam()));
    ASSERT_EQ(render_text(compiled.diags, sources), "");
    ASSERT_FALSE(compiled.pipelines.empty());
    std::vector<codegen::Unit> units;
    for (std::size_t i = 0; i < compiled.pipelines.size(); ++i) {
        units.push_back({&compiled.pipelines[i], &compiled.models[i]});
    }
    for (const HostTiling tiling : {HostTiling::None, HostTiling::Usual, HostTiling::Small}) {
        const HostLibrary library(units, sources, "", tiling);
        for (const ir::Pipeline& pipeline : compiled.pipelines) {
            const runner::abi::pipe_info& info = library.info(pipeline.name);
            check_pipeline(pipeline, legal_sizes(pipeline, odd_pairs()),
                           [&](const reference::Arguments& arguments, Layout layout, int) {
                               return run_host(info, arguments, layout);
                           });
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, Examples, ::testing::ValuesIn(example_files()), [](const auto& param_info) {
    return std::filesystem::path(param_info.param).stem().string();
});

}  // namespace
}  // namespace pipec::testing::examples_test
