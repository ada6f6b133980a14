// The harness itself: that it sees what is wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reference/numeric.h"
#include "support/render.h"
#include "support_lib/compile.h"
#include "support_lib/data.h"
#include "support_lib/guarded.h"
#include "support_lib/host.h"

namespace pipec::testing {
namespace {

using ir::Type;

TEST(SupportLib, DifferencesAreFound) {
    reference::Array a(Type::Float32, {2, 3}), b = a;
    EXPECT_EQ(difference(a, b), "");
    b.set(4, reference::real(Type::Float32, 1));
    b.set(5, reference::real(Type::Float32, 1));
    EXPECT_EQ(difference(a, b), "2 of 6 elements differ, first at (1, 1): 0 (0x0p+0) and 1 (0x1p+0)");
    b = a;
    b.set(0, reference::real(Type::Float32, -0.0));
    EXPECT_NE(difference(a, b), "");
    a.set(0, reference::real(Type::Float32, std::nan("")));
    EXPECT_NE(difference(a, b), "");
    b.set(0, reference::real(Type::Float32, -std::nan("1")));
    EXPECT_EQ(difference(a, b), "");
    EXPECT_NE(difference(a, reference::Array(Type::Float32, {3, 2})), "");
    EXPECT_NE(difference(a, reference::Array(Type::Int32, {2, 3})), "");
}

TEST(SupportLib, RandomValuesCoverTheirTypes) {
    std::mt19937_64 rng(1);
    const reference::Array bytes = random_array(Type::UInt8, {4000}, Fill::Smooth, rng);
    std::vector<bool> seen(256);
    for (std::size_t i = 0; i < bytes.size(); ++i) seen[static_cast<std::size_t>(bytes.get(i).i)] = true;
    EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 256);
    const reference::Array floats = random_array(Type::Float32, {1000}, Fill::Extreme, rng);
    bool nan = false, infinite = false;
    for (std::size_t i = 0; i < floats.size(); ++i) {
        nan = nan || std::isnan(floats.get(i).f);
        infinite = infinite || std::isinf(floats.get(i).f);
    }
    EXPECT_TRUE(nan && infinite);
}

TEST(SupportLibDeathTest, GuardsEndWhatTouchesThem) {
    Guarded first(100, 4), second(100, 4);
    // One of them begins at a guard, the other one ends there.
    Guarded& begins = first.data() == first.everything().data() ? first : second;
    Guarded& ends = &begins == &first ? second : first;
    volatile std::byte* const after = ends.data() + ends.bytes();
    volatile std::byte* const before = begins.data() - 1;
    EXPECT_DEATH(static_cast<void>(*after), "");
    EXPECT_DEATH(static_cast<void>(*before), "");
    EXPECT_TRUE(begins.intact());
    begins.data()[begins.bytes()] = std::byte{1};
    EXPECT_FALSE(begins.intact());
}

/// Two pipelines that differ in one function: the harness must tell them apart.
TEST(SupportLib, WrongCodeIsNoticed) {
    SourceManager sources;
    const std::string text =
        "pipeline t(img: float32[R, C]) -> out: float32[R, C] {\n"
        "    out(y, x) = floor(img(y, x) * 8) / 8\n}\n"
        "pipeline u(img: float32[R, C]) -> out: float32[R, C] {\n"
        "    out(y, x) = ceil(img(y, x) * 8) / 8\n}\n";
    const Compiled compiled = compile_text(sources, "t.pipe", text);
    ASSERT_EQ(render_text(compiled.diags, sources), "");
    const ir::Pipeline& pipeline = compiled.pipelines.front();
    std::mt19937_64 rng(2);
    const reference::Arguments arguments = random_arguments(pipeline, {{"R", 5}, {"C", 7}}, Fill::Smooth, rng);
    const auto expected = reference::run(pipeline, arguments).at("out");
    const HostLibrary library(
        {{&pipeline, &compiled.models.front()}, {&compiled.pipelines.back(), &compiled.models.back()}}, sources);
    for (const Layout layout : kLayouts) {
        EXPECT_EQ(difference(expected, run_host(library.info("t"), arguments, layout).at("out")), "") << name(layout);
        EXPECT_NE(difference(expected, run_host(library.info("u"), arguments, layout).at("out")), "") << name(layout);
    }
    EXPECT_THROW(static_cast<void>(library.info("v")), std::runtime_error);
    EXPECT_THROW(HostLibrary({{&pipeline, &compiled.models.front()}}, sources, "-include no_such_header.h"),
                 std::runtime_error);
}

TEST(SupportLib, LegalSizes) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "t.pipe",
                                           "pipeline t(img: uint8[R + 2]) -> out: uint8[R] where R % 2 == 0 {\n"
                                           "    out(x) = img(x + 2)\n}\n");
    ASSERT_EQ(render_text(compiled.diags, sources), "");
    const ir::Pipeline& pipeline = compiled.pipelines.front();
    EXPECT_TRUE(sizes_are_legal(pipeline, {{"R", 4}}));
    EXPECT_FALSE(sizes_are_legal(pipeline, {{"R", 5}}));  // where
    EXPECT_FALSE(sizes_are_legal(pipeline, {{"R", 0}}));  // an empty output
    EXPECT_FALSE(sizes_are_legal(pipeline, {{"R", 1 << 29}}));
}

}  // namespace
}  // namespace pipec::testing
