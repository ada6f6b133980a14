// stdlib/stencil.pipe against the sum over its window, written out.
#include <gtest/gtest.h>

#include <cmath>

#include "evaluate.h"

namespace pipec::test {
namespace {

using Weights = std::vector<std::vector<double>>;

/// `expression` of an image f, on all points that are `halo` away from its border.
Grid inner(const std::string& expression, int halo, const Grid& f, const std::string& type = "float32",
           const std::string& out_type = "float32") {
    const std::string h = std::to_string(halo);
    return evaluate("import \"stencil\"\npipeline p(f: " + type + "[K, R + 2*" + h + ", C + 2*" + h +
                        "]) -> out: " + out_type + "[K, R, C] {\n    g = " + expression +
                        "\n    out(c, y, x) = g(c, y + " + h + ", x + " + h + ")\n}\n",
                    {{"f", f}});
}

/// The same by definition: sum of w[i][j] f(y + i - n/2, x + j - m/2).
Grid correlate(const Weights& w, int halo, const Grid& f) {
    const int cy = static_cast<int>(w.size()) / 2, cx = static_cast<int>(w[0].size()) / 2;
    return make3(f.extents[0], f.extents[1] - 2 * halo, f.extents[2] - 2 * halo, [&](auto c, auto y, auto x) {
        double sum = 0;
        for (int i = 0; i < static_cast<int>(w.size()); i++)
            for (int j = 0; j < static_cast<int>(w[0].size()); j++)
                sum += w[i][j] * f({c, y + halo + i - cy, x + halo + j - cx});
        return sum;
    });
}

Weights outer(const std::vector<double>& a, const std::vector<double>& b) {
    Weights w;
    for (const double p : a) {
        w.emplace_back();
        for (const double q : b) w.back().push_back(p * q);
    }
    return w;
}

struct StencilCase {
    const char* expression;
    int halo;
    Weights weights;
};

class Stencil : public testing::TestWithParam<StencilCase> {};

TEST_P(Stencil, FloatImage) {
    const Grid f = random3(2, 13, 11);
    expect_near(inner(GetParam().expression, GetParam().halo, f), correlate(GetParam().weights, GetParam().halo, f),
                3e-5);
}

TEST_P(Stencil, ByteImage) {
    const Grid f = bytes3(1, 12, 13);
    expect_near(inner(GetParam().expression, GetParam().halo, f, "uint8", "float64"),
                correlate(GetParam().weights, GetParam().halo, f), 2e-3);
}

const std::vector<double> kB3{0.25, 0.5, 0.25}, kB5{1 / 16.0, 4 / 16.0, 6 / 16.0, 4 / 16.0, 1 / 16.0};

std::vector<double> bell(double sigma, int radius) {
    std::vector<double> w;
    double sum = 0;
    for (int i = -radius; i <= radius; i++) sum += w.emplace_back(std::exp(-i * i / (2 * sigma * sigma)));
    for (double& v : w) v /= sum;
    return w;
}

INSTANTIATE_TEST_SUITE_P(
    All, Stencil,
    testing::Values(StencilCase{"sobel_x(f)", 1, {{-1, 0, 1}, {-2, 0, 2}, {-1, 0, 1}}},
                    StencilCase{"sobel_y(f)", 1, {{-1, -2, -1}, {0, 0, 0}, {1, 2, 1}}},
                    StencilCase{"scharr_x(f)", 1, {{-3, 0, 3}, {-10, 0, 10}, {-3, 0, 3}}},
                    StencilCase{"scharr_y(f)", 1, {{-3, -10, -3}, {0, 0, 0}, {3, 10, 3}}},
                    StencilCase{"laplacian(f)", 1, {{0, 1, 0}, {1, -4, 1}, {0, 1, 0}}},
                    StencilCase{"laplacian_8(f)", 1, {{1, 1, 1}, {1, -8, 1}, {1, 1, 1}}},
                    StencilCase{"box3(f)", 1, Weights(3, std::vector<double>(3, 1))},
                    StencilCase{"box5(f)", 2, Weights(5, std::vector<double>(5, 1))},
                    StencilCase{"box(f, 1)", 0, {{1}}},  //
                    StencilCase{"box(f, 4)", 2, Weights(4, std::vector<double>(4, 1))},
                    StencilCase{"box(f, 7)", 3, Weights(7, std::vector<double>(7, 1))},
                    StencilCase{"mean(f, 3)", 1, Weights(3, std::vector<double>(3, 1 / 9.0))},
                    StencilCase{"gaussian3(f)", 1, outer(kB3, kB3)},  //
                    StencilCase{"gaussian5(f)", 2, outer(kB5, kB5)},
                    StencilCase{"gaussian(f, 1.5, 4)", 4, outer(bell(1.5, 4), bell(1.5, 4))},
                    StencilCase{"gaussian(f, 1.5)", 5, outer(bell(1.5, 5), bell(1.5, 5))},
                    StencilCase{"gaussian(f, 1, 2)", 2, outer(bell(1, 2), bell(1, 2))},
                    StencilCase{"conv2d(f, [[1, 2], [3, 4], [5, 6]])", 1, {{1, 2}, {3, 4}, {5, 6}}},
                    StencilCase{"conv_x(f, [1, 0, 5])", 1, {{1, 0, 5}}},
                    StencilCase{"conv_y(f, [1, 0, 0, 0, 5] / 4)", 2, {{0.25}, {0}, {0}, {0}, {1.25}}},
                    StencilCase{"sep_conv(f, [1, 2, 4], [1, -3, 5])", 1, outer({1, 2, 4}, {1, -3, 5})}),
    [](const auto& test) {
        std::string name = std::to_string(test.index) + "_";
        for (const char* p = test.param.expression; std::isalnum(*p) || *p == '_'; p++) name += *p;
        return name;
    });

TEST(StencilMore, IntegersStayIntegers) {
    EXPECT_NO_THROW(inner("sobel_x(f)", 1, bytes3(1, 5, 5), "uint8", "int32"));
}

TEST(StencilMore, GaussianWithARunTimeSigma) {
    const Grid f = random3(1, 9, 10);
    const Grid out = evaluate(
        "import \"stencil\" pipeline p(f: float32[1, R + 6, C + 6], sigma: float32 = 1.25) -> out: float32[1, R, C] {"
        " g = gaussian(f, sigma, 3) out(c, y, x) = g(c, y + 3, x + 3) }",
        {{"f", f}});
    expect_near(out, correlate(outer(bell(1.25, 3), bell(1.25, 3)), 3, f), 1e-5);
}

TEST(StencilMore, RankTwo) {
    const Grid f = random2(6, 7);
    const Grid out = evaluate(
        "import \"stencil\" pipeline p(f: float32[R + 2, C + 2]) -> out: float32[R, C] {"
        " g = box3(f) out(y, x) = g(y + 1, x + 1) }",
        {{"f", f}});
    expect_near(out,
                make2(4, 5,
                      [&](auto y, auto x) {
                          double sum = 0;
                          for (int i = 0; i < 3; i++)
                              for (int j = 0; j < 3; j++) sum += f({y + i, x + j});
                          return sum;
                      }),
                1e-5);
}

TEST(StencilMore, Sharpen) {
    const Grid f = random3(2, 9, 9);
    Grid expected = correlate(outer(kB5, kB5), 2, f);
    const Grid centre = correlate({{1}}, 2, f);
    for (std::size_t i = 0; i < expected.data.size(); i++) {
        expected.data[i] = centre.data[i] + 0.75 * (centre.data[i] - expected.data[i]);
    }
    expect_near(inner("sharpen(f, 0.75)", 2, f), expected, 1e-5);
}

TEST(StencilMore, GradientOfARamp) {
    const Grid f = make3(1, 6, 8, [](auto, auto y, auto x) { return static_cast<double>(3 * y + 4 * x); });
    expect_near(inner("gradient_magnitude(f)", 1, f), Grid({1, 4, 6}, 5.0), 1e-5);
}

}  // namespace
}  // namespace pipec::test
