// Values of sizes that get code of their own.
#include "fusion/size_versions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "support/render.h"
#include "support_lib/compile.h"

namespace pipec::fusion::size_versions_test {
namespace {

/// "C=3; C=4; C=1; C<=16".
std::string versions_of(const std::string& program) {
    SourceManager sources;
    const testing::Compiled compiled = testing::compile_text(sources, "v.pipe", program);
    EXPECT_FALSE(compiled.diags.has_errors()) << render_text(compiled.diags, sources);
    const ir::Pipeline& pipeline = compiled.definitions.at(0);
    std::vector<std::string> result;
    for (const auto& [known, most] : usual_versions(pipeline)) {
        std::vector<std::string> values;
        for (const auto& [size, value] : known) {
            values.push_back(fmt::format("{}={}", pipeline.sizes.at(static_cast<std::size_t>(size)).name, value));
        }
        for (const auto& [size, value] : most) {
            values.push_back(fmt::format("{}<={}", pipeline.sizes.at(static_cast<std::size_t>(size)).name, value));
        }
        result.push_back(fmt::format("{}", fmt::join(values, " ")));
    }
    return fmt::format("{}", fmt::join(result, "; "));
}

TEST(SizeVersions, ChannelsBesideEachOther) {
    EXPECT_EQ(
        versions_of("pipeline p(a: uint8[H, W, C]) -> b: uint8[H, W, C] { b(y, x, c) = uint8(255 - a(y, x, c)) }"),
        "C=3; C=4; C=1; C<=16");
    EXPECT_EQ(versions_of("pipeline p(a: uint8[C, H, W] order(1, 2, 0)) -> b: uint8[C, H, W] order(1, 2, 0)"
                          " { b(c, y, x) = uint8(255 - a(c, y, x)) }"),
              "C=3; C=4; C=1; C<=16");
    EXPECT_EQ(versions_of("pipeline p(a: float32[H, W, C], w: float32[C]) -> b: float32[H, W]"
                          " { b(y, x) = sum(c in 0..C) w(c) * a(y, x, c) }"),
              "C=3; C=4; C=1; C<=16");
    EXPECT_EQ(versions_of("pipeline p(a: float32[N, H, W, C]) -> b: float32[N, H / 2, W / 2, C] where H >= 2, W >= 2"
                          " { b(n, y, x, c) = max(i in 0..2, j in 0..2) a(n, 2 * y + i, 2 * x + j, c) }"),
              "C=3; C=4; C=1; C<=16");
}

TEST(SizeVersions, FeaturesOfSamples) {
    EXPECT_EQ(versions_of("pipeline p(r: float32[N, K], x: float32[N, D]) -> mu: float32[K, D]"
                          " { mu(k, d) = sum(n in 0..N) r(n, k) * x(n, d) }"),
              "K<=32 D<=32");
    // Products of matrices have many; sums of few points are shared out without a version; frames have pixels.
    EXPECT_EQ(versions_of("pipeline p(a: float32[M, N], b: float32[N, K]) -> c: float32[M, K]"
                          " { c(m, k) = sum(n in 0..N) a(m, n) * b(n, k) }"),
              "");
    EXPECT_EQ(versions_of("pipeline p(r: float32[N, K]) -> w: float32[K] { w(k) = sum(n in 0..N) r(n, k) }"), "");
    EXPECT_EQ(
        versions_of("pipeline p(a: float32[T, H, W]) -> b: float32[H, W] { b(y, x) = max(t in 0..T) a(t, y, x) }"), "");
}

TEST(SizeVersions, ColumnsAreNoChannels) {
    // Neighbours are read, of the image or of a stage.
    EXPECT_EQ(versions_of("pipeline p(a: float32[N, R, C + 1]) -> b: float32[N, R, C]"
                          " { b(n, y, x) = a(n, y, x) + a(n, y, x + 1) }"),
              "");
    EXPECT_EQ(versions_of("pipeline p(a: float32[Z, R, C]) -> b: float32[Z, R, C] { s(z, y, x) = exp(a(z, y, x))"
                          " b(z, y, x) = s(z, y, max(x - 1, 0)) }"),
              "");
    // The image has other images beside it, or several planes.
    EXPECT_EQ(
        versions_of("pipeline p(a: float32[T, H, W]) -> b: float32[H, W] { b(y, x) = sum(t in 0..T) a(t, y, x) }"), "");
    EXPECT_EQ(versions_of("pipeline p(a: float32[3, H, W]) -> b: float32[3, H, W] { b(c, y, x) = 2 * a(c, y, x) }"),
              "");
    EXPECT_EQ(versions_of("pipeline p(a: float32[N, C, H, W]) -> b: float32[N, C, H, W]"
                          " { b(n, c, y, x) = max(a(n, c, y, x), 0) }"),
              "");
    // Groups of channels, which only look like what is read beside its place.
    EXPECT_EQ(versions_of("pipeline p(a: float32[N, 8 * G, H, W]) -> b: float32[N, 8 * G, H, W] {"
                          " m(n, g) = max(c in 0..8, y in 0..H, x in 0..W) a(n, 8 * g + c, y, x)"
                          " b(n, c, y, x) = a(n, c, y, x) - m(n, c / 8) }"),
              "");
    // Features that a matrix makes of others.
    EXPECT_EQ(versions_of("pipeline p(a: float32[B, T, D], w: float32[F, D]) -> b: float32[B, T, F]"
                          " { b(n, t, f) = sum(d in 0..D) a(n, t, d) * w(f, d) }"),
              "");
}

TEST(SizeVersions, DefaultsOfParameters) {
    const std::string blur = " { p(y, x) = a(clamp(y, 0, R - 1), x) b(y, x) = sum(i in -r..=r) p(y + i, x) }";
    EXPECT_EQ(versions_of("pipeline p(a: float32[R, C], r: int32 = 3) -> b: float32[R, C] where 0 <= r <= 9" + blur),
              "r=3");
    EXPECT_EQ(versions_of("pipeline p(a: float32[R, C], r: int32) -> b: float32[R, C] where 0 <= r <= 9" + blur), "");
    EXPECT_EQ(versions_of("pipeline p(a: uint8[H, W, C], r: int32 = 2) -> b: int32[H, W, C] where 0 <= r <= 9 {"
                          " p(y, x, c) = a(clamp(y, 0, H - 1), x, c) b(y, x, c) = sum(i in -r..=r) p(y + i, x, c) }"),
              "r=2 C=3; C=3; r=2");
    // What extents follow differs from launch to launch, and steps are the same however many there are.
    EXPECT_EQ(versions_of("pipeline p(a: float32[R, C], n: int32 = 64) -> b: float32[n] where 1 <= n <= R"
                          " { b(i) = a(i, 0) }"),
              "");
    EXPECT_EQ(versions_of("pipeline p(a: float32[C], n: int32 = 64) -> b: float32[C] where 1 <= n <= 100 {"
                          " s(t in 0..=n, x): float32 = if t == 0 then a(x) else 2 * s(t - 1, x)  b(x) = s(n, x) }"),
              "");
}

}  // namespace
}  // namespace pipec::fusion::size_versions_test
