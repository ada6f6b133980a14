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

/// Keys' cubic with a = -1/2 at a distance.
double cubic(double d) {
    d = std::abs(d);
    return d < 1 ? (1.5 * d - 2.5) * d * d + 1 : d < 2 ? ((2.5 - 0.5 * d) * d - 4) * d + 2 : 0;
}

TEST(Resample, Bicubic) {
    const Grid f = random3(2, 5, 4), u = coordinates(true, 5), v = coordinates(false, 5);
    // All pixels of the plane, of which those outside are the nearest ones of the edge; beyond one pixel outside of the
    // image coordinates are moved there.
    const Grid expected = make3(2, u.extents[0], u.extents[1], [&](auto c, auto y, auto x) {
        const double p = std::clamp(u({y, x}), -1.0, 5.0), q = std::clamp(v({y, x}), -1.0, 4.0);
        double sum = 0;
        for (std::int64_t i = -4; i < 9; i++)
            for (std::int64_t j = -4; j < 9; j++)
                sum += cubic(p - static_cast<double>(i)) * cubic(q - static_cast<double>(j)) *
                       f({c, std::clamp<std::int64_t>(i, 0, 4), std::clamp<std::int64_t>(j, 0, 3)});
        return sum;
    });
    expect_near(evaluate("import \"resample\" pipeline p(f: float64[K, R, C], u: float64[M, N], v: float64[M, N]) -> "
                         "out: float64[K, M, N] { out = warp_bicubic(f, u, v) }",
                         {{"f", f}, {"u", u}, {"v", v}}),
                expected, 1e-12);
    Grid flat({5, 4});
    flat.data.assign(f.data.begin(), f.data.begin() + 20);
    const Grid first = make2(u.extents[0], u.extents[1], [&](auto y, auto x) { return expected({0, y, x}); });
    expect_near(evaluate("import \"resample\" pipeline p(f: float64[R, C], u: float64[M, N], v: float64[M, N]) -> "
                         "out: float64[M, N] { out(y, x) = sample_bicubic(f, u(y, x), v(y, x)) }",
                         {{"f", flat}, {"u", u}, {"v", v}}),
                first, 1e-12);
}

TEST(Resample, Perspective) {
    const Grid f = random3(2, 6, 5);
    Grid h({3, 3});
    h.data = {0.9, 0.1, 0.4, -0.05, 1.1, -0.3, 0.01, 0.02, 1};
    const Grid expected = make3(2, 6, 5, [&](auto c, auto y, auto x) {
        const auto row = [&](std::int64_t i) {
            return h({i, 0}) * static_cast<double>(x) + h({i, 1}) * static_cast<double>(y) + h({i, 2});
        };
        return tent(f, c, row(1) / row(2), row(0) / row(2));
    });
    expect_near(evaluate("import \"resample\" pipeline p(f: float64[K, R, C], h: float64[3, 3]) -> "
                         "out: float64[K, R, C] { out = warp_perspective(f, h) }",
                         {{"f", f}, {"h", h}}),
                expected, 1e-12);
}

TEST(Resample, NotANumberReadsSomePixel) {
    const Grid f({2, 2}, 5), u({1, 1}, std::nan(""));
    const Grid out = evaluate(
        "import \"resample\" pipeline p(f: float32[R, C], u: float32[M, N]) -> out: float32[M, N] {"
        " out(y, x) = sample_bilinear(f, u(y, x), 1e30) }",
        {{"f", f}, {"u", u}});
    EXPECT_EQ(out.data[0], 5);
}

// Values of OpenCV 4.6.0: remap(f, v, u, INTER_LINEAR and INTER_NEAREST, BORDER_CONSTANT, borderValue=7), of float32.
// It rounds coordinates to multiples of 1 / 32, which these are.
TEST(Resample, ConstantOutsideAsOpenCv) {
    const Grid f = make3(1, 3, 4, [](auto, auto y, auto x) {
        return static_cast<double>((37 * y * y + 101 * x + 53 * x * y + 11) % 256);
    });
    const Grid u = make2(9, 9, [](auto i, auto j) { return static_cast<double>(-48 + 20 * i + 3 * j) / 32; });
    const Grid v = make2(9, 9, [](auto i, auto j) { return static_cast<double>(-40 + 22 * j - 2 * i) / 32; });
    const auto run = [&](const std::string& value) {
        return evaluate(
            "import \"resample\" pipeline p(f: float32[1, R, C], u: float32[M, N], v: float32[M, N]) -> "
            "out: float32[M, N] { g(y in 0..R, x in 0..C) = f(0, y, x) w = warp_constant(f, u, v, 7) "
            "out(y, x) = " +
                value + " + 0 * w(0, y, x) + 0 * g(0, 0) }",
            {{"f", f}, {"u", u}, {"v", v}});
    };
    Grid bilinear({9, 9}), nearest({9, 9});
    bilinear.data = {7.0,          7.0,          7.0,           7.0,          7.0,           7.0,          11.3984375,
                     10.486328125, 7.0,          7.0,           7.328125,     10.22265625,   39.3984375,   81.59375,
                     117.80859375, 62.04296875,  26.921875,     7.0,          7.0,           8.0546875,    10.75,
                     82.732421875, 151.609375,   182.818359375, 133.859375,   80.4765625,    7.0,          7.0,
                     12.3359375,   30.26171875,  120.14453125,  163.484375,   117.65625,     199.66015625, 156.6484375,
                     7.0,          7.0,          16.638671875,  61.0859375,   133.728515625, 146.96875,    86.541015625,
                     102.9453125,  67.62890625,  7.0,           7.0,          22.09765625,   113.58984375, 133.609375,
                     100.8125,     61.48828125,  28.48046875,   9.6953125,    7.1953125,     7.0,          13.234375,
                     71.125,       68.201171875, 43.328125,     24.771484375, 12.53125,      7.380859375,  7.0,
                     7.0,          7.0,          7.0,           7.0,          7.0,           7.0,          7.0,
                     7.0,          7.0,          7.0,           7.0,          7.0,           7.0,          7.0,
                     7.0,          7.0,          7.0,           7.0};
    nearest.data = {7,   7,   7,   7,  7,  7,   7,   7,   7,  7,   7,   7,   7,   112, 213, 58, 7, 7,  7,   7,   11,
                    112, 112, 213, 58, 58, 7,   7,   7,   48, 202, 202, 100, 254, 254, 7,   7,  7, 48, 202, 202, 100,
                    12,  12,  7,   7,  7,  159, 159, 110, 61, 12,  12,  7,   7,   7,   159, 7,  7, 7,  7,   7,   7,
                    7,   7,   7,   7,  7,  7,   7,   7,   7,  7,   7,   7,   7,   7,   7,   7,  7, 7};
    expect_near(run("w(0, y, x)"), bilinear, 0);
    expect_near(run("sample_bilinear_constant(g, u(y, x), v(y, x), 7)"), bilinear, 0);
    expect_near(run("sample_nearest_constant(g, u(y, x), v(y, x), 7)"), nearest, 0);
}

}  // namespace
}  // namespace pipec::test
