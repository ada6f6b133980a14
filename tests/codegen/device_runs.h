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
    /// Some images of a run.
    struct Images {
        std::vector<Sizes> sizes;
        Fill fill;
    };
    /// Every pipeline that is `wanted` for each of the sizes, with dense arrays and others in turn. `what`: the
    /// options, in words.
    template <class Wanted>
    void compare(const codegen::CudaOptions& options, const std::vector<Images>& runs, const std::string& what,
                 const Wanted& wanted) {
        std::vector<codegen::Unit> tested = units();
        std::erase_if(tested, [&](const codegen::Unit& unit) { return !wanted(unit.pipeline->name); });
        ASSERT_FALSE(tested.empty());
        const DeviceLibrary library(tested, sources_, options);
        for (const Images& images : runs) compare(library, tested, images, what);
    }
    void compare(const codegen::CudaOptions& options, const std::vector<Sizes>& sizes, Fill fill,
                 const std::string& what) {
        compare(options, {{sizes, fill}}, what, [](const std::string&) { return true; });
    }

    SourceManager sources_;
    Compiled compiled_;

private:
    void compare(const DeviceLibrary& library, const std::vector<codegen::Unit>& tested, const Images& images,
                 const std::string& what) {
        std::mt19937_64 rng(5);
        std::uint64_t order = 0;
        for (const codegen::Unit& unit : tested) {
            const ir::Pipeline& pipeline = *unit.pipeline;
            for (const Sizes& sizes : images.sizes) {
                const auto arguments = random_arguments(pipeline, sizes, images.fill, rng);
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
};

}  // namespace pipec::testing
