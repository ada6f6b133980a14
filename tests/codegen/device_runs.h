// Programs of several pipelines on the emulated device, under any schedules, against the interpreter.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "support_lib/compile.h"
#include "support_lib/data.h"
#include "support_lib/device.h"

namespace pipec::testing {

using Sizes = std::map<std::string, std::int64_t>;

class DeviceRuns : public ::testing::Test {
protected:
    void compile(const std::string& name, const std::string& programs) {
        compiled_ = compile_text(sources_, name, programs);
        for (const Diagnostic& d : compiled_.diags.all()) ASSERT_NE(d.severity, Severity::Error) << d.message;
    }
    [[nodiscard]] std::vector<codegen::Unit> units() const {
        std::vector<codegen::Unit> result;
        for (std::size_t i = 0; i < compiled_.pipelines.size(); ++i)
            result.push_back({&compiled_.pipelines[i], &compiled_.models[i]});
        return result;
    }
    /// Every pipeline but `without` for each of the sizes, with dense arrays and others in turn. `what`: the options,
    /// in words.
    void compare(const codegen::CudaOptions& options, const std::vector<Sizes>& all_sizes, Fill fill,
                 const std::string& what, const std::string& without = "") {
        const DeviceLibrary library(units(), sources_, options);
        std::mt19937_64 rng(5);
        std::uint64_t order = 0;
        for (const ir::Pipeline& pipeline : compiled_.pipelines) {
            if (pipeline.name == without) continue;
            for (const Sizes& sizes : all_sizes) {
                const auto arguments = random_arguments(pipeline, sizes, fill, rng);
                const auto expected = reference::run(pipeline, arguments);
                const Layout layout = order % 2 == 0 ? Layout::Dense : Layout::Rotated;
                const auto actual = run_device(library.info(pipeline.name), arguments, layout, order++);
                std::string with = what;
                for (const auto& [size, value] : sizes) with += fmt::format(", {} = {}", size, value);
                for (const auto& [name, array] : expected)
                    EXPECT_EQ(difference(array, actual.at(name)), "") << pipeline.name << ": " << name << ", " << with;
            }
        }
    }

    SourceManager sources_;
    Compiled compiled_;
};

}  // namespace pipec::testing
