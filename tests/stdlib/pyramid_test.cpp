// stdlib/pyramid.pipe against reduction and expansion as filtering with the whole 5 x 5 window.
#include <gtest/gtest.h>

#include <algorithm>

#include "evaluate.h"

namespace pipec::test {
namespace {

constexpr double kWindow[5] = {1 / 16.0, 4 / 16.0, 6 / 16.0, 4 / 16.0, 1 / 16.0};

/// f with its edge repeated.
double edge(const Grid& f, std::int64_t c, std::int64_t y, std::int64_t x) {
    return f({c, std::clamp<std::int64_t>(y, 0, f.extents[1] - 1), std::clamp<std::int64_t>(x, 0, f.extents[2] - 1)});
}

double reduced(const Grid& f, std::int64_t c, std::int64_t y, std::int64_t x) {
    double sum = 0;
    for (int i = -2; i <= 2; i++)
        for (int j = -2; j <= 2; j++) sum += kWindow[i + 2] * kWindow[j + 2] * edge(f, c, 2 * y + i, 2 * x + j);
    return sum;
}

/// Burt and Adelson's EXPAND: 4 sum w(i) w(j) f((y - i) / 2, (x - j) / 2) over whole quotients.
double expanded(const Grid& f, std::int64_t c, std::int64_t y, std::int64_t x) {
    double sum = 0;
    for (int i = -2; i <= 2; i++)
        for (int j = -2; j <= 2; j++)
            if ((y - i) % 2 == 0 && (x - j) % 2 == 0)
                sum += 4 * kWindow[i + 2] * kWindow[j + 2] * edge(f, c, (y - i) / 2, (x - j) / 2);
    return sum;
}

TEST(Pyramid, Down) {
    const Grid f = random3(2, 13, 16);
    const Grid out = evaluate(
        "import \"pyramid\" pipeline p(f: float32[K, 2*R + 3, 2*C + 4]) -> out: float32[K, R, C] {"
        " g = pyr_down(f) out(c, y, x) = g(c, y + 1, x + 1) }",
        {{"f", f}});
    expect_near(out, make3(2, 5, 6, [&](auto c, auto y, auto x) { return reduced(f, c, y + 1, x + 1); }), 1e-6);
}

TEST(Pyramid, Up) {
    const Grid f = random3(2, 6, 7);
    const Grid out = evaluate(
        "import \"pyramid\" pipeline p(f: float32[K, R + 3, C + 3]) -> out: float32[K, 2*R, 2*C] {"
        " g = pyr_up(f) out(c, y, x) = g(c, y + 2, x + 3) }",
        {{"f", f}});
    expect_near(out, make3(2, 6, 8, [&](auto c, auto y, auto x) { return expanded(f, c, y + 2, x + 3); }), 1e-6);
}

TEST(Pyramid, UpBilinear) {
    const Grid f = random3(1, 6, 7);
    const Grid out = evaluate(
        "import \"pyramid\" pipeline p(f: float32[K, R + 2, C + 2]) -> out: float32[K, 2*R, 2*C] {"
        " g = pyr_up_bilinear(f) out(c, y, x) = g(c, y + 2, x + 2) }",
        {{"f", f}});
    // Pixel centres: fine y lies at (y + 1/2) / 2 - 1/2 of the coarse grid.
    expect_near(out,
                make3(1, 8, 10,
                      [&](auto c, auto y, auto x) {
                          const double py = (static_cast<double>(y) + 2.5) / 2 - 0.5;
                          const double px = (static_cast<double>(x) + 2.5) / 2 - 0.5;
                          const auto iy = static_cast<std::int64_t>(py), ix = static_cast<std::int64_t>(px);
                          const double ty = py - static_cast<double>(iy), tx = px - static_cast<double>(ix);
                          return (1 - ty) * ((1 - tx) * f({c, iy, ix}) + tx * f({c, iy, ix + 1})) +
                                 ty * ((1 - tx) * f({c, iy + 1, ix}) + tx * f({c, iy + 1, ix + 1}));
                      }),
                1e-6);
}

TEST(Pyramid, ClampedAtEverySmallSize) {
    for (const auto& [rows, cols] :
         {std::pair<std::int64_t, std::int64_t>{1, 1}, {2, 3}, {5, 4}, {8, 7}, {1, 9}, {11, 2}}) {
        const Grid f = random3(2, rows, cols);
        const Grid down = evaluate(
            "import \"pyramid\" pipeline p(f: float32[K, R, C]) -> out: float32[K, (R + 1) / 2, (C + 1) / 2] {"
            " out = pyr_down_clamped(f, level_size(R, 1), level_size(C, 1)) }",
            {{"f", f}});
        expect_near(
            down, make3(2, (rows + 1) / 2, (cols + 1) / 2, [&](auto c, auto y, auto x) { return reduced(f, c, y, x); }),
            1e-6);
        const Grid up = evaluate(
            "import \"pyramid\" pipeline p(f: float32[K, R, C]) -> out: float32[K, 2*R, 2*C] {"
            " out = pyr_up_clamped(f, 2*R, 2*C) }",
            {{"f", f}});
        expect_near(up, make3(2, 2 * rows, 2 * cols, [&](auto c, auto y, auto x) { return expanded(f, c, y, x); }),
                    1e-6);
    }
}

TEST(Pyramid, LevelSizeIsRepeatedHalvingRoundedUp) {
    for (std::int64_t n = 1; n < 40; n++) {
        const Grid f({n}, 0);
        const Grid out = evaluate(
            "import \"pyramid\" pipeline p(f: float32[N]) -> out: int32[4] {"
            " out(l) = if l == 0 then level_size(N, 0) else if l == 1 then level_size(N, 1)"
            " else if l == 2 then level_size(N, 2) else level_size(N, 3) + int32(0 * f(0)) }",
            {{"f", f}});
        std::int64_t level = n;
        for (int l = 0; l < 4; l++) {
            EXPECT_EQ(out.data[static_cast<std::size_t>(l)], static_cast<double>(level)) << n << " level " << l;
            level = (level + 1) / 2;
        }
    }
}

TEST(Pyramid, LaplacianLevelsCollapseToTheImage) {
    const Grid f = random3(1, 12, 14);
    const Grid out = evaluate(
        "import \"pyramid\" import \"boundary\" pipeline p(f: float32[K, R, C]) -> out: float32[K, R, C] {"
        " coarse = pyr_down(clamp_to_edge(f))"
        " detail = laplacian_level(f, coarse)"
        " out = collapse_level(detail, coarse) }",
        {{"f", f}});
    expect_near(out, f, 1e-6);
}

}  // namespace
}  // namespace pipec::test
