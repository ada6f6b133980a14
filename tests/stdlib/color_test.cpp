// stdlib/color.pipe against published values, other formulations, and its own inverses.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "evaluate.h"

namespace pipec::test {
namespace {

using Pixel = std::array<double, 3>;
using Conversion = std::function<Pixel(double, double, double)>;

/// Planar colours that cover the cube of side 1, its corners and grays among them: [3, 6, 36].
Grid colours() {
    return make3(3, 6, 36, [](auto c, auto y, auto x) {
        return static_cast<double>(c == 0 ? y : c == 1 ? x / 6 : x % 6) / 5;
    });
}

Grid convert(const std::string& expression, const Grid& f) {
    return evaluate(
        "import \"color\" pipeline p(f: float64[3, R, C]) -> out: float64[3, R, C] { out = " + expression + " }",
        {{"f", f}});
}

Grid converted(const Conversion& conversion, const Grid& f) {
    return make3(3, f.extents[1], f.extents[2], [&](auto c, auto y, auto x) {
        return conversion(f({0, y, x}), f({1, y, x}), f({2, y, x}))[static_cast<std::size_t>(c)];
    });
}

Pixel convert_one(const std::string& expression, Pixel p) {
    Grid f({3, 1, 1});
    f.data = {p[0], p[1], p[2]};
    const Grid out = convert(expression, f);
    return {out.data[0], out.data[1], out.data[2]};
}

void expect_pixel(Pixel actual, Pixel expected, double tolerance) {
    for (std::size_t c = 0; c < 3; c++) EXPECT_NEAR(actual[c], expected[c], tolerance) << "component " << c;
}

TEST(Color, Luma) {
    const Grid f = colours();
    const auto luma = [&](const std::string& call) {
        return evaluate("import \"color\" pipeline p(f: float64[3, R, C]) -> out: float64[R, C] { out = " + call + " }",
                        {{"f", f}});
    };
    expect_near(luma("gray(f)"),
                make2(6, 36,
                      [&](auto y, auto x) {
                          return 0.299 * f({0, y, x}) + 0.587 * f({1, y, x}) + 0.114 * f({2, y, x});
                      }),
                1e-12);
    expect_near(luma("gray709(f)"),
                make2(6, 36,
                      [&](auto y, auto x) {
                          return 0.2126 * f({0, y, x}) + 0.7152 * f({1, y, x}) + 0.0722 * f({2, y, x});
                      }),
                1e-12);
}

TEST(Color, InversesGiveBackTheColour) {
    const Grid f = colours();
    expect_near(convert("yuv_to_rgb(rgb_to_yuv(f))", f), f, 1e-12);
    expect_near(convert("ycbcr_to_rgb(rgb_to_ycbcr(f))", f), f, 1e-12);
    expect_near(convert("hsv_to_rgb(rgb_to_hsv(f))", f), f, 1e-12);
    expect_near(convert("xyz_to_rgb(rgb_to_xyz(f))", f), f, 1e-12);
    expect_near(convert("lab_to_rgb(rgb_to_lab(f))", f), f, 1e-12);
    expect_near(convert("linear_to_srgb(srgb_to_linear(f))", f), f, 1e-8);
}

TEST(Color, YuvByItsMatrix) {
    // The matrix of BT.601 as commonly published, rounded to five digits.
    expect_near(convert("rgb_to_yuv(f)", colours()),
                converted(
                    [](double r, double g, double b) -> Pixel {
                        return {0.299 * r + 0.587 * g + 0.114 * b, -0.14713 * r - 0.28886 * g + 0.436 * b,
                                0.615 * r - 0.51499 * g - 0.10001 * b};
                    },
                    colours()),
                2e-5);
}

TEST(Color, YcbcrByItsMatrix) {
    // ITU-T T.871 (JFIF), without the offset of 128.
    expect_near(convert("rgb_to_ycbcr(f)", colours()),
                converted(
                    [](double r, double g, double b) -> Pixel {
                        return {0.299 * r + 0.587 * g + 0.114 * b, -0.168736 * r - 0.331264 * g + 0.5 * b,
                                0.5 * r - 0.418688 * g - 0.081312 * b};
                    },
                    colours()),
                1e-6);
}

TEST(Color, HsvByCases) {
    expect_near(convert("rgb_to_hsv(f)", colours()),
                converted(
                    [](double r, double g, double b) -> Pixel {
                        const double v = std::max({r, g, b}), d = v - std::min({r, g, b});
                        double degrees = 0;
                        if (d > 0 && v == r)
                            degrees = 60 * (g - b) / d;
                        else if (d > 0 && v == g)
                            degrees = 120 + 60 * (b - r) / d;
                        else if (d > 0)
                            degrees = 240 + 60 * (r - g) / d;
                        if (degrees < 0) degrees += 360;
                        return {degrees / 360, v > 0 ? d / v : 0, v};
                    },
                    colours()),
                1e-12);
    expect_pixel(convert_one("hsv_to_rgb(f)", {0.5, 1, 1}), {0, 1, 1}, 1e-12);
    expect_pixel(convert_one("hsv_to_rgb(f)", {-0.75, 0.5, 0.8}), {0.6, 0.8, 0.4}, 1e-12);  // the hue is periodic
}

TEST(Color, XyzOfThePrimariesAndOfWhite) {
    expect_pixel(convert_one("rgb_to_xyz(f)", {1, 0, 0}), {0.4125, 0.2127, 0.0193}, 5e-5);
    expect_pixel(convert_one("rgb_to_xyz(f)", {1, 1, 1}), {0.95047, 1, 1.08883}, 1e-6);
}

TEST(Color, LabOfThePrimariesOfSrgb) {
    expect_pixel(convert_one("rgb_to_lab(f)", {1, 1, 1}), {100, 0, 0}, 1e-4);
    expect_pixel(convert_one("rgb_to_lab(f)", {1, 0, 0}), {53.2408, 80.0925, 67.2032}, 1e-2);
    expect_pixel(convert_one("rgb_to_lab(f)", {0, 1, 0}), {87.7347, -86.1827, 83.1793}, 1e-2);
    expect_pixel(convert_one("rgb_to_lab(f)", {0, 0, 1}), {32.2970, 79.1875, -107.8602}, 1e-2);
    expect_pixel(convert_one("rgb_to_lab(f)", {0, 0, 0}), {0, 0, 0}, 1e-12);
}

TEST(Color, SrgbTransfer) {
    expect_pixel(convert_one("srgb_to_linear(f)", {0, 0.5, 1}), {0, 0.2140411, 1}, 1e-6);
    expect_pixel(convert_one("linear_to_srgb(f)", {0.001, 0.18, 1}), {0.01292, 0.4613561, 1}, 1e-6);
}

TEST(Color, InterleavedPixels) {
    const Grid f = colours();
    Grid interleaved({6, 36, 3});
    for (std::int64_t c = 0; c < 3; c++)
        for (std::int64_t y = 0; y < 6; y++)
            for (std::int64_t x = 0; x < 36; x++) interleaved({y, x, c}) = f({c, y, x});
    const Grid planar = convert("rgb_to_lab(f)", f);
    const Grid out = evaluate(
        "import \"color\" pipeline p(f: float64[R, C, 3]) -> out: float64[R, C, 3] {"
        " out(y, x, c) = lab_from_rgb(c, f(y, x, 0), f(y, x, 1), f(y, x, 2)) }",
        {{"f", interleaved}});
    for (std::int64_t c = 0; c < 3; c++)
        for (std::int64_t y = 0; y < 6; y++)
            for (std::int64_t x = 0; x < 36; x++) EXPECT_EQ(out({y, x, c}), planar({c, y, x}));
}

}  // namespace
}  // namespace pipec::test
