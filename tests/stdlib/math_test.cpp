// stdlib/math.pipe against the C++ library and closed forms.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "evaluate.h"

namespace pipec::test {
namespace {

/// `expression` of each x in `points`, in double precision.
std::vector<double> at(const std::string& expression, const std::vector<double>& points,
                       const std::string& type = "float64") {
    Grid v({static_cast<std::int64_t>(points.size())});
    v.data = points;
    return evaluate("import \"math\" pipeline p(v: " + type + "[N]) -> out: float64[N] { out(i) = let x = v(i) in " +
                        expression + " }",
                    {{"v", v}})
        .data;
}

void expect_function(const std::string& expression, const std::vector<double>& points,
                     const std::function<double(double)>& f, double tolerance = 1e-13) {
    const auto actual = at(expression, points);
    for (std::size_t i = 0; i < points.size(); i++) {
        EXPECT_NEAR(actual[i], f(points[i]), tolerance) << expression << " at " << points[i];
    }
}

const std::vector<double> kPoints{-3.75, -2, -1.5, -1, -0.5, -0.125, 0, 0.1, 0.5, 0.9, 1, 1.5, 2, 2.25, 3, 100};

TEST(Math, Functions) {
    using std::numbers::pi;
    expect_function("square(x)", kPoints, [](double x) { return x * x; });
    expect_function("cube(x)", kPoints, [](double x) { return x * x * x; });
    expect_function("sign(x)", kPoints, [](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0; });
    expect_function("cbrt(x)", kPoints, [](double x) { return std::cbrt(x); });
    expect_function(
        "log10(x)", {0.001, 0.5, 1, 10, 12345}, [](double x) { return std::log10(x); }, 1e-12);
    expect_function(
        "mix(3, 7, x)", kPoints, [](double x) { return 3 + 4 * x; }, 1e-12);
    expect_function("step(0.5, x)", kPoints, [](double x) { return x >= 0.5 ? 1 : 0; });
    expect_function("unlerp(1, 3, x)", kPoints, [](double x) { return (x - 1) / 2; });
    expect_function("radians(x)", kPoints, [&](double x) { return x / 180 * pi; });
    expect_function(
        "degrees(x)", kPoints, [&](double x) { return x * 180 / pi; }, 1e-11);
    expect_function("gauss(x, 1.5)", kPoints, [](double x) { return std::exp(-x * x / 4.5); });
    expect_function("sigmoid(x)", kPoints, [](double x) { return 1 / (1 + std::exp(-x)); });
    expect_function("sinc(x)", kPoints, [&](double x) { return x == 0 ? 1 : std::sin(pi * x) / (pi * x); });
    expect_function("PI + 0 * x", {0.0}, [&](double) { return pi; });
    expect_function("TAU + 0 * x", {0.0}, [&](double) { return 2 * pi; });
}

TEST(Math, SmoothstepIsHermite) {
    expect_function("smoothstep(-1, 3, x)", kPoints, [](double x) {
        const double t = std::min(std::max((x + 1) / 4, 0.0), 1.0);
        return 3 * std::pow(t, 2) - 2 * std::pow(t, 3);
    });
    // Integers do not make its division an integer one.
    EXPECT_EQ(at("smoothstep(0, 4, x)", {0, 1, 2, 3, 4}, "uint8"), (std::vector<double>{0, 0.15625, 0.5, 0.84375, 1}));
}

TEST(Math, InterpolationKernels) {
    using std::numbers::pi;
    expect_function("lanczos(x, 3)", kPoints, [&](double x) {
        if (std::abs(x) >= 3) return 0.0;
        return x == 0 ? 1 : 3 * std::sin(pi * x) * std::sin(pi * x / 3) / (pi * pi * x * x);
    });
    expect_function("keys_cubic(x)", kPoints, [](double x) {
        const double d = std::abs(x), a = -0.5;
        if (d < 1) return (a + 2) * d * d * d - (a + 3) * d * d + 1;
        return d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a : 0.0;
    });
    // They interpolate: 1 at 0, 0 at the other integers.
    EXPECT_EQ(at("keys_cubic(x)", {-2, -1, 0, 1, 2}), (std::vector<double>{0, 0, 1, 0, 0}));
}

TEST(Math, MixIsExactAtBothEnds) {
    const auto v = at("mix(x, 0.1, 1) - 0.1", {1e30});
    EXPECT_NEAR(v[0], 0, 1e-7);
    EXPECT_EQ(at("mix(x, 0.1, 0) - x", {1e30})[0], 0);
}

TEST(Math, Integers) {
    EXPECT_EQ(at("ceil_div(int32(x), 4)", {0, 1, 4, 5, 8, 9}), (std::vector<double>{0, 1, 1, 2, 2, 3}));
    EXPECT_EQ(at("sign(int32(x))", {-7, 0, 7}), (std::vector<double>{-1, 0, 1}));
    EXPECT_EQ(at("popcount(uint8(x))", {0, 1, 2, 3, 127, 255}, "uint8"), (std::vector<double>{0, 1, 1, 2, 7, 8}));
    EXPECT_EQ(at("popcount(int32(x))", {-1, -2, 0x55555555, 0x7FFFFFFF}, "int32"),
              (std::vector<double>{32, 31, 16, 31}));
    EXPECT_EQ(at("popcount64(int64(x))", {-1, -2, 0, 1, 4294967296.0}, "int64"),
              (std::vector<double>{64, 63, 0, 1, 1}));
    EXPECT_EQ(at("element([5, 6, 8], int32(x))", {-1, 0, 1, 2, 3}), (std::vector<double>{0, 5, 6, 8, 0}));
    EXPECT_EQ(at("element2([[1, 2, 3], [4, 5, 6]], int32(x) / 3, int32(x) % 3)", {0, 1, 2, 3, 4, 5, 6}),
              (std::vector<double>{1, 2, 3, 4, 5, 6, 0}));
}

TEST(Math, MedianOfEveryOrder) {
    EXPECT_EQ(at("median_of_3(int32(x) / 9, int32(x) / 3 % 3, int32(x) % 3)",
                 {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26}),
              (std::vector<double>{0, 0, 0, 0, 1, 1, 0, 1, 2, 0, 1, 1, 1, 1, 1, 1, 1, 2, 0, 1, 2, 1, 1, 2, 2, 2, 2}));
}

TEST(Math, SignOfNaN) {
    EXPECT_EQ(at("sign(x)", {std::numeric_limits<double>::quiet_NaN()})[0], 0);
}

TEST(Math, WorksOnWholeImages) {
    const Grid f = random2(3, 4);
    const Grid out = evaluate(
        "import \"math\" pipeline p(f: float32[R, C]) -> out: float32[R, C] { out = square(smoothstep(0, 1, f)) }",
        {{"f", f}});
    expect_near(out,
                make2(3, 4,
                      [&](auto y, auto x) {
                          const double t = f({y, x});
                          return std::pow(3 * t * t - 2 * t * t * t, 2);
                      }),
                1e-6);
}

}  // namespace
}  // namespace pipec::test
