// stdlib/resample.pipe against interpolation written out, at coordinates inside, on and outside of the image.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "evaluate.h"

namespace pipec::test {
namespace {

/// Sum of all pixels weighted by the tent (1 - |dy|) (1 - |dx|) at the point moved into the image.
double tent(const Grid& f, std::int64_t c, double y, double x) {
    y = std::clamp(y, 0.0, static_cast<double>(f.extents[1] - 1));
    x = std::clamp(x, 0.0, static_cast<double>(f.extents[2] - 1));
    double sum = 0;
    for (std::int64_t i = 0; i < f.extents[1]; i++)
        for (std::int64_t j = 0; j < f.extents[2]; j++)
            sum += std::max(0.0, 1 - std::abs(y - static_cast<double>(i))) *
                   std::max(0.0, 1 - std::abs(x - static_cast<double>(j))) * f({c, i, j});
    return sum;
}

/// Coordinates from two pixels before the image to two behind it, in steps of a quarter.
Grid coordinates(bool rows, std::int64_t extent) {
    const std::int64_t n = 4 * (extent + 3) + 1;
    return make2(n, n, [&](auto y, auto x) { return static_cast<double>(rows ? y : x) / 4 - 2; });
}

TEST(Resample, Warp) {
    const Grid f = random3(2, 4, 4), u = coordinates(true, 4), v = coordinates(false, 4);
    const Grid out = evaluate(
        "import \"resample\" pipeline p(f: float64[K, R, C], u: float64[M, N], v: float64[M, N]) -> "
        "out: float64[K, M, N] { out = warp(f, u, v) }",
        {{"f", f}, {"u", u}, {"v", v}});
    expect_near(out,
                make3(2, u.extents[0], u.extents[1],
                      [&](auto c, auto y, auto x) {
                          return tent(f, c, u({y, x}), v({y, x}));
                      }),
                1e-12);
}

TEST(Resample, SamplesOfIntegers) {
    const Grid f = bytes3(1, 3, 3);
    Grid flat({3, 3});
    flat.data = f.data;
    const Grid u = coordinates(true, 3), v = coordinates(false, 3);
    const auto run = [&](const std::string& function) {
        return evaluate(
            "import \"resample\" pipeline p(f: uint8[R, C], u: float32[M, N], v: float32[M, N]) -> "
            "out: float32[M, N] { out(y, x) = " +
                function + "(f, u(y, x), v(y, x)) }",
            {{"f", flat}, {"u", u}, {"v", v}});
    };
    expect_near(run("sample_bilinear"),
                make2(u.extents[0], u.extents[1],
                      [&](auto y, auto x) {
                          return tent(f, 0, u({y, x}), v({y, x}));
                      }),
                1e-4);
    expect_near(run("sample_nearest"),
                make2(u.extents[0], u.extents[1],
                      [&](auto y, auto x) {
                          return tent(f, 0, std::nearbyint(u({y, x})), std::nearbyint(v({y, x})));
                      }),
                0);
}

TEST(Resample, NotANumberReadsSomePixel) {
    const Grid f({2, 2}, 5), u({1, 1}, std::nan(""));
    const Grid out = evaluate(
        "import \"resample\" pipeline p(f: float32[R, C], u: float32[M, N]) -> out: float32[M, N] {"
        " out(y, x) = sample_bilinear(f, u(y, x), 1e30) }",
        {{"f", f}, {"u", u}});
    EXPECT_EQ(out.data[0], 5);
}

}  // namespace
}  // namespace pipec::test
