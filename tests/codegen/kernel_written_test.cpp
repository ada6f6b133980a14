// The proof that what is read from shared memory was written: kernels made for it, and all fused kernels of the
// examples.
#include "codegen/kernel_written.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "codegen/kernel_flow.h"
#include "codegen/lower.h"
#include "ir/build.h"
#include "support_lib/groups.h"

namespace pipec::codegen::kernel {
namespace {

using fusion::GroupSchedule;
using fusion::Strategy;

constexpr std::int64_t kBudget = 400'000'000;

std::vector<std::string> example_files() {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(PIPEC_SOURCE_DIR "/examples")) {
        if (entry.path().extension() == ".pipe") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    return files;
}

const GroupSchedule kSchedules[] = {
    {{}, Strategy::Otptb, {32, 4, 1}, {1, 2, 1}, 1, 0, 1, {}},
    {{}, Strategy::Otptb, {16, 8, 1}, {4, 1, 1}, 4, 0, 1, {}},
    {{}, Strategy::Otpw, {32, 2, 1}, {1, 3, 1}, 1, 0, 1, {}},
    {{}, Strategy::Otpw, {16, 4, 1}, {2, 2, 1}, 2, 0, 1, {}},
    {{}, Strategy::Hybrid, {32, 2, 1}, {1, 4, 1}, 1, 1, 0.5, {}},
    {{}, Strategy::RegisterTile, {32, 2, 1}, {2, 3, 1}, 1, 0, 1, {}},
};

/// Code of interiors stands before code of edges that does the same.
bool is_interior(const Written& written, const std::string& way) {
    constexpr std::string_view kThen = "then";
    if (!way.ends_with(kThen)) return false;
    return written.reads.contains(way.substr(0, way.size() - kThen.size()) + "else");
}

class Examples : public ::testing::TestWithParam<std::string> {};

/// In the interior everything is proved; nowhere is anything certain to be wrong.
TEST_P(Examples, InteriorsAreProved) {
    SourceManager sources;
    const testing::Compiled compiled = testing::compile_text(sources, GetParam(), testing::read_file(GetParam()));
    std::int64_t kernels = 0, refused = 0, interior = 0, edge = 0, open = 0;
    for (std::size_t i = 0; i < compiled.pipelines.size(); ++i) {
        const testing::Inlined program = testing::inline_cheap(compiled.pipelines[i], compiled.models[i]);
        for (const poly::Group& group : testing::some_of(testing::legal_groups(program))) {
            for (const GroupSchedule& schedule : kSchedules) {
                Program made{program.pipeline, program.model, {}};
                const auto step = group_step(made, group, schedule, sources);
                if (!std::holds_alternative<Step>(step)) {
                    ++refused;
                    continue;
                }
                for (const Kernel& kernel : std::get<Step>(step).variants) {
                    SCOPED_TRACE(fmt::format("{} {}\n{}", name(schedule.strategy), kernel.name,
                                             to_string(program.pipeline, group)));
                    ++kernels;
                    const Written written = follow_shared_memory(kernel, kBudget);
                    EXPECT_TRUE(written.complete);
                    EXPECT_EQ(written.problems, std::vector<std::string>{});
                    for (const auto& [way, reads] : written.reads) {
                        if (is_interior(written, way)) {
                            interior += reads.proved;
                            EXPECT_EQ(reads.unproved, 0) << way << ": " << reads.proved << " proved";
                        } else {
                            edge += reads.proved;
                            open += reads.unproved;
                        }
                    }
                    if (HasFailure()) return;
                }
            }
        }
    }
    fmt::print("{} kernels, {} refused; proved: {} reads in interiors, {} of {} at edges\n", kernels, refused, interior,
               edge, edge + open);
}

INSTANTIATE_TEST_SUITE_P(All, Examples, ::testing::ValuesIn(example_files()), [](const auto& param_info) {
    return std::filesystem::path(param_info.param).stem().string();
});

}  // namespace
}  // namespace pipec::codegen::kernel
