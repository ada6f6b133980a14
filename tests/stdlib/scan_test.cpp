// stdlib/scan.pipe against sums over windows and recurrences in double.
#include <gtest/gtest.h>

#include <algorithm>

#include "evaluate.h"

namespace pipec::test {
namespace {

Grid whole(const std::string& expression, const Grid& f, const std::string& type, const std::string& result) {
    return evaluate("import \"scan\" pipeline p(f: " + type + "[K, R, C], r: int32 = 3, a: float32 = 0.75) -> out: " +
                        result + "[K, R, C] where 0 <= r <= 1000, 0 <= a < 1 { g = " + expression +
                        " out(c, y, x) = g(c, y, x) + " + result + "(0 * r) * " + result + "(a) }",
                    {{"f", f}});
}

/// The sum of the part of a window that lies in the image, and how many pixels that has.
std::pair<double, double> window(const Grid& f, std::int64_t c, std::int64_t y0, std::int64_t y1, std::int64_t x0,
                                 std::int64_t x1) {
    double sum = 0, count = 0;
    for (std::int64_t i = std::max<std::int64_t>(y0, 0); i <= std::min(y1, f.extents[1] - 1); ++i) {
        for (std::int64_t j = std::max<std::int64_t>(x0, 0); j <= std::min(x1, f.extents[2] - 1); ++j) {
            sum += f({c, i, j});
            ++count;
        }
    }
    return {sum, count};
}

TEST(Scan, Sums) {
    const Grid f = bytes3(2, 11, 14);
    const auto sums = [&](bool above, bool left) {
        return make3(2, 11, 14,
                     [&](auto c, auto y, auto x) { return window(f, c, above ? 0 : y, y, left ? 0 : x, x).first; });
    };
    expect_near(whole("integral_image(f)", f, "uint8", "uint32"), sums(true, true), 0);
    expect_near(whole("cumulative_sum_x(f)", f, "uint8", "float32"), sums(false, true), 0);
    expect_near(whole("cumulative_sum_y(f)", f, "float32", "float32"), sums(true, false), 0);
}

TEST(Scan, BoxMeanOfAnyRadius) {
    const Grid f = bytes3(2, 11, 14);
    const auto mean = [&](std::int64_t r) {
        return make3(2, 11, 14, [&](auto c, auto y, auto x) {
            const auto [sum, count] = window(f, c, y - r, y + r, x - r, x + r);
            return sum / count;
        });
    };
    expect_near(whole("box_mean(f, r)", f, "uint8", "float32"), mean(3), 1e-4);
    expect_near(whole("box_mean(f, 0)", f, "float32", "float32"), mean(0), 1e-4);
    expect_near(whole("box_mean(f, 100)", f, "uint8", "float32"), mean(100), 1e-4);
}

TEST(Scan, ExponentialThereAndBack) {
    const Grid f = bytes3(2, 9, 12);
    const double a = 0.75;
    Grid x = f, y = f;
    for (std::int64_t c = 0; c < 2; ++c) {
        for (std::int64_t i = 0; i < 9; ++i) {
            for (std::int64_t j = 1; j < 12; ++j) x({c, i, j}) = a * x({c, i, j - 1}) + (1 - a) * x({c, i, j});
            for (std::int64_t j = 10; j >= 0; --j) x({c, i, j}) = a * x({c, i, j + 1}) + (1 - a) * x({c, i, j});
        }
        for (std::int64_t j = 0; j < 12; ++j) {
            for (std::int64_t i = 1; i < 9; ++i) y({c, i, j}) = a * y({c, i - 1, j}) + (1 - a) * y({c, i, j});
            for (std::int64_t i = 7; i >= 0; --i) y({c, i, j}) = a * y({c, i + 1, j}) + (1 - a) * y({c, i, j});
        }
    }
    expect_near(whole("exponential_x(f, a)", f, "uint8", "float32"), x, 1e-4);
    expect_near(whole("exponential_y(f, a)", f, "float32", "float32"), y, 1e-4);
}

}  // namespace
}  // namespace pipec::test
