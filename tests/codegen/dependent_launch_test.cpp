// Kernels that start while the one before is at work: which are launched so, that they wait, and that the emulator
// finds what is wrong where generated code forgets a part of it.
#include <gtest/gtest.h>

#include <regex>

#include "codegen/generated.h"
#include "simt.h"
#include "support_lib/data.h"
#include "support_lib/device.h"

namespace pipec::testing::dependent_launch_test {
namespace {

// Three kernels; with one row, the first has nothing to do. Bounds that use an index keep each sum in its stage.
constexpr const char* kProgram = R"(pipeline p(a: float32[R, C]) -> o: float32[R, C] {
    above(y): float32 = sum(x in 0..min(C, y + 64)) a(y, x)
    total(y): float32 = sum(x in 0..min(C, y + 64)) a(y, x) * a(y, x)
    o(y, x) = total(y) - (if y > 0 then above(y - 1) else a(y, x))
})";

/// Calls a pipeline twice where it is called once.
runner::abi::pipe_info twice(const runner::abi::pipe_info& info) {
    static decltype(info.launch) once;
    once = info.launch;
    runner::abi::pipe_info result = info;
    result.launch = [](const void* args, void* workspace, std::size_t bytes, void* stream) {
        const runner::abi::pipe_status status = once(args, workspace, bytes, stream);
        return status != runner::abi::PIPE_OK ? status : once(args, workspace, bytes, stream);
    };
    return result;
}

/// What came of one or two calls, on a device of this capability.
struct Outcome {
    std::string report;  ///< faults, differences
    std::uint64_t launches = 0, early = 0;
};
Outcome outcome(const std::string& source, int rows, int calls = 1, int capability = 90) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "p.pipe", kProgram);
    const ir::Pipeline& pipeline = compiled.pipelines.at(0);
    std::mt19937_64 rng(1);
    const reference::Arguments arguments = random_arguments(pipeline, {{"R", rows}, {"C", 40}}, Fill::Smooth, rng);
    const DeviceLibrary library(generate_cuda("p", kProgram).header, "p.h", source);
    const runner::abi::pipe_info info = calls == 1 ? library.info("p") : twice(library.info("p"));
    Outcome result;
    simt::set_capability(capability);
    simt::reset_statistics();
    try {
        const auto actual = run_device(info, arguments);
        result.report = difference(reference::run(pipeline, arguments).at("o"), actual.at("o"));
    } catch (const std::runtime_error& error) {
        result.report = error.what();
    }
    result.launches = simt::statistics().launches;
    result.early = simt::statistics().early_launches;
    simt::set_capability(90);
    return result;
}

std::string source() {
    return generate_cuda("p", kProgram).source;
}

/// `text` with `to` in place of `from`.
std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    if (at == std::string::npos) throw std::logic_error("no `" + from + "` in the generated code");
    return text.replace(at, from.size(), to);
}

/// Without the wait in any version of a kernel.
std::string without_wait(const std::string& kernel) {
    const std::regex wait("(\\) " + kernel + "(_\\w+)?\\([^{]*\\{\\n)    wait_for_previous_kernel\\(\\);\\n");
    const std::string text = source(), result = std::regex_replace(text, wait, "$1");
    if (result == text) throw std::logic_error("no kernel " + kernel + " that waits");
    return result;
}

bool contains(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

// Images are copied to the device before, and behind a copy nothing starts early.
TEST(DependentLaunch, AllKernelsBehindKernelsMayStartEarly) {
    const Outcome result = outcome(source(), 5);
    EXPECT_EQ(result.report, "");
    EXPECT_EQ(result.launches, 3u);
    EXPECT_EQ(result.early, 2u);
}

TEST(DependentLaunch, ACallMayStartBeforeTheLastOneIsOver) {
    const Outcome result = outcome(source(), 5, 2);
    EXPECT_EQ(result.report, "");
    EXPECT_EQ(result.launches, 6u);
    EXPECT_EQ(result.early, 5u);
}

// What is not launched is no kernel before.
TEST(DependentLaunch, WhatHasNothingToDoIsNotLaunched) {
    const Outcome result = outcome(source(), 1);
    EXPECT_EQ(result.report, "");
    EXPECT_EQ(result.launches, 2u);
    EXPECT_EQ(result.early, 1u);
}

TEST(DependentLaunch, OlderDevicesKnowNothingOfIt) {
    const Outcome result = outcome(source(), 5, 2, 89);
    EXPECT_EQ(result.report, "");
    EXPECT_EQ(result.launches, 6u);
    EXPECT_EQ(result.early, 0u);
}

TEST(DependentLaunch, AForgottenWaitIsFound) {
    // The first kernel of a call need not wait for a copy, but it must for the call before.
    EXPECT_EQ(outcome(without_wait("above"), 5).report, "");
    EXPECT_TRUE(contains(outcome(without_wait("above"), 5, 2).report, "the previous kernel, which may still run"));
    // Nothing that `total` touches is of `above`, but its own successor then knows nothing of that.
    EXPECT_TRUE(contains(outcome(without_wait("total"), 5).report, "has not waited itself"));
    EXPECT_TRUE(contains(outcome(without_wait("o"), 5).report, "the previous kernel, which may still run"));
}

TEST(DependentLaunch, AnEarlyStartOnAnOlderDeviceIsFound) {
    const std::string text = replaced(source(), "attributes.ptxVersion >= 90", "true");
    EXPECT_NE(outcome(text, 5, 1, 89).report, "");
}

}  // namespace
}  // namespace pipec::testing::dependent_launch_test
