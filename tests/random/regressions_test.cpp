// Programs that were compiled wrongly once. rejected_*.pipe are illegal, all others legal; where there is a schedule
// beside a program (of the same name, .json), the CUDA target runs by it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "fusion/schedule_json.h"
#include "random/check.h"
#include "support/render.h"

namespace pipec::testing::regressions_test {
namespace {

class Regressions : public ::testing::TestWithParam<std::string> {};

std::vector<std::string> regression_files() {
    // Others may be tried before they are kept.
    const char* directory = std::getenv("PIPEC_REGRESSIONS");
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(
             directory == nullptr ? PIPEC_SOURCE_DIR "/tests/random/regressions" : directory)) {
        if (entry.path().extension() == ".pipe") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    return files;
}

TEST_P(Regressions, StayFixed) {
    SourceManager sources;
    std::filesystem::path path = GetParam();
    const bool has_schedule = std::filesystem::exists(path.replace_extension(".json"));
    const std::vector<int> largest = has_schedule ? std::vector<int>{9, 40, 90} : std::vector<int>{9, 24};
    const auto subject = check_program(sources, "p", read_file(GetParam()), largest);
    EXPECT_EQ(subject->failure, "");
    const bool legal = path.filename().string().rfind("rejected_", 0) != 0;
    EXPECT_EQ(subject->accepted(), legal) << render_text(subject->compiled.diags, sources);
    if (has_schedule && subject->accepted()) {
        const fusion::Schedules schedules =
            fusion::schedules_from_json(read_file(path), path.filename(), subject->compiled.pipelines);
        subject->schedule = schedules.at(subject->name);
    }
    // One version of each loop: random_test.cpp has the others, and for some of these g++ takes a minute.
    if (subject->accepted()) check_on_host({subject.get()}, sources, "-DPIPE_NO_VERSIONS");
    if (subject->accepted()) check_on_device({subject.get()}, sources);
    EXPECT_EQ(subject->failure, "");
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Regressions);
INSTANTIATE_TEST_SUITE_P(All, Regressions, ::testing::ValuesIn(regression_files()), [](const auto& param_info) {
    return std::filesystem::path(param_info.param).stem().string();
});

}  // namespace
}  // namespace pipec::testing::regressions_test
