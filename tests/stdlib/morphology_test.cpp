// stdlib/morphology.pipe against sorting and searching the window.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "evaluate.h"

namespace pipec::test {
namespace {

Grid inner(const std::string& expression, int halo, const Grid& f, const std::string& type) {
    const std::string h = std::to_string(halo);
    return evaluate("import \"morphology\" pipeline p(f: " + type + "[K, R + 2*" + h + ", C + 2*" + h +
                        "]) -> out: float32[K, R, C] { g = " + expression + " out(c, y, x) = g(c, y + " + h + ", x + " +
                        h + ") }",
                    {{"f", f}});
}

/// The value of the given rank (0: least) in the (2r + 1)^2 window of every point that has one.
Grid ranked(const Grid& f, int r, std::size_t rank) {
    return make3(f.extents[0], f.extents[1] - 2 * r, f.extents[2] - 2 * r, [&](auto c, auto y, auto x) {
        std::vector<double> window;
        for (int i = 0; i <= 2 * r; i++)
            for (int j = 0; j <= 2 * r; j++) window.push_back(f({c, y + i, x + j}));
        std::sort(window.begin(), window.end());
        return window[rank];
    });
}
Grid eroded(const Grid& f, int r) {
    return ranked(f, r, 0);
}
Grid dilated(const Grid& f, int r) {
    return ranked(f, r, static_cast<std::size_t>((2 * r + 1) * (2 * r + 1) - 1));
}
Grid cropped(const Grid& f, int h) {
    return make3(f.extents[0], f.extents[1] - 2 * h, f.extents[2] - 2 * h, [&](auto c, auto y, auto x) {
        return f({c, y + h, x + h});
    });
}
Grid minus(const Grid& a, const Grid& b) {
    return make3(a.extents[0], a.extents[1], a.extents[2], [&](auto c, auto y, auto x) {
        return a({c, y, x}) - b({c, y, x});
    });
}

struct Format {
    const char* type;
    Grid image;
    double tolerance;  ///< of differences; comparisons are exact
};

class Morphology : public testing::TestWithParam<int> {
protected:
    Format format() const {
        if (GetParam() == 0) return {"uint8", bytes3(2, 13, 14), 0};
        Grid f = bytes3(1, 12, 13);
        for (double& v : f.data) v -= 100.25;  // negative values too, exact in float32
        return {"float32", f, 0};
    }
};

TEST_P(Morphology, AgainstSortedWindows) {
    const auto [type, f, tolerance] = format();
    expect_near(inner("erode3(f)", 1, f, type), eroded(f, 1), 0);
    expect_near(inner("dilate3(f)", 1, f, type), dilated(f, 1), 0);
    expect_near(inner("erode(f, 3)", 3, f, type), eroded(f, 3), 0);
    expect_near(inner("dilate(f, 2)", 2, f, type), dilated(f, 2), 0);
    expect_near(inner("median3(f)", 1, f, type), ranked(f, 1, 4), 0);
    expect_near(inner("median5(f)", 2, f, type), ranked(f, 2, 12), 0);
    for (const std::size_t rank : {0, 1, 4, 7, 8}) {
        expect_near(inner("rank3(f, " + std::to_string(rank) + ")", 1, f, type), ranked(f, 1, rank), 0);
    }
    for (const std::size_t rank : {0, 1, 6, 12, 17, 24}) {
        expect_near(inner("rank5(f, " + std::to_string(rank) + ")", 2, f, type), ranked(f, 2, rank), 0);
    }
    expect_near(inner("open(f, 1)", 2, f, type), dilated(eroded(f, 1), 1), 0);
    expect_near(inner("close(f, 2)", 4, f, type), eroded(dilated(f, 2), 2), 0);
    expect_near(inner("morphological_gradient(f, 1)", 1, f, type), minus(dilated(f, 1), eroded(f, 1)), tolerance);
    expect_near(inner("top_hat(f, 1)", 2, f, type), minus(cropped(f, 2), dilated(eroded(f, 1), 1)), tolerance);
    expect_near(inner("bottom_hat(f, 1)", 2, f, type), minus(eroded(dilated(f, 1), 1), cropped(f, 2)), tolerance);
}

INSTANTIATE_TEST_SUITE_P(Types, Morphology, testing::Values(0, 1));

TEST(MorphologyMore, MedianOfEveryOrderOfTies) {
    // Every 3 x 3 window over {0, 1}: by the 0-1 principle, what is right for these is right for all values.
    Grid f({512, 3, 3});
    for (std::int64_t bits = 0; bits < 512; bits++)
        for (std::int64_t k = 0; k < 9; k++) f({bits, k / 3, k % 3}) = static_cast<double>(bits >> k & 1);
    expect_near(inner("median3(f)", 1, f, "uint8"), ranked(f, 1, 4), 0);
}

/// The n x n windows over {0, 1} with columns in order that tell whether a network of minima and maxima gives value
/// number `rank`: those with as many ones as make it 1, and with one less. (Where it is right for these, it is so for
/// more ones, and for fewer, since no output becomes smaller when an input becomes greater.)
Grid sorted_windows(std::int64_t n, std::size_t rank) {
    std::vector<std::vector<std::int64_t>> windows;  // the ones of each column
    std::vector<std::int64_t> ones(static_cast<std::size_t>(n));
    const std::int64_t wanted = n * n - static_cast<std::int64_t>(rank);
    for (bool more = true; more;) {
        const std::int64_t total = std::accumulate(ones.begin(), ones.end(), std::int64_t{0});
        if (total == wanted || total == wanted - 1) windows.push_back(ones);
        more = false;
        for (std::size_t x = 0; x < ones.size() && !more; x++) {
            more = ones[x] < n;
            ones[x] = more ? ones[x] + 1 : 0;
        }
    }
    return make3(static_cast<std::int64_t>(windows.size()), n, n, [&](auto k, auto y, auto x) {
        return y >= n - windows[static_cast<std::size_t>(k)][static_cast<std::size_t>(x)] ? 1.0 : 0.0;
    });
}

// By the 0-1 principle a network of minima and maxima that is right for all zeros and ones is right for all values. A
// network for sorted tables has to be right where those are in order; that columns are in order is tested by itself.
TEST(MorphologyMore, NetworksForEveryOrder) {
    for (const auto& [n, sort] : {std::pair<std::int64_t, std::string>{3, "sort3(f(i, 0), f(i, 1), f(i, 2))"},
                                  {5, "sort5(f(i, 0), f(i, 1), f(i, 2), f(i, 3), f(i, 4))"}}) {
        Grid f({std::int64_t{1} << n, n}), expected = f;
        for (std::int64_t bits = 0; bits < f.extents[0]; bits++) {
            for (std::int64_t k = 0; k < n; k++) {
                f({bits, k}) = static_cast<double>(bits >> k & 1);
                expected({bits, k}) = k >= n - std::popcount(static_cast<std::uint64_t>(bits)) ? 1 : 0;
            }
        }
        const std::string size = std::to_string(n);
        expect_near(evaluate("import \"sorting\" pipeline p(f: uint8[N, " + size + "]) -> out: uint8[N, " + size +
                                 "] { s(i) = " + sort + " out(i, j) = uint8(sum(k in 0.." + size +
                                 ") (if j == k then s[k](i) else 0)) }",
                             {{"f", f}}),
                    expected, 0);
    }
    const auto check = [](const std::string& expression, std::int64_t n, std::size_t rank) {
        const Grid f = sorted_windows(n, rank);
        const auto halo = static_cast<int>(n / 2);
        expect_near(inner(expression, halo, f, "uint8"), ranked(f, halo, rank), 0);
    };
    check("median5(f)", 5, 12);
    for (std::size_t rank = 0; rank < 9; rank++) check("merged_rank3(f, " + std::to_string(rank) + ")", 3, rank);
    for (std::size_t rank = 0; rank < 25; rank++) check("merged_rank5(f, " + std::to_string(rank) + ")", 5, rank);
}

// A median of three sorted tables of nine is right for all values where it is so for every number of ones in each.
TEST(MorphologyMore, MedianOfCubes) {
    Grid f({1000, 27}), expected({1000});
    for (std::int64_t n = 0; n < 1000; n++) {
        const std::int64_t ones[] = {n % 10, n / 10 % 10, n / 100};
        for (std::int64_t k = 0; k < 27; k++) f({n, k}) = k % 9 >= 9 - ones[k / 9] ? 1 : 0;
        expected({n}) = ones[0] + ones[1] + ones[2] >= 14 ? 1 : 0;
    }
    const auto table = [](int first) {
        std::string result;
        for (int k = first; k < first + 9; k++) result += (k > first ? ", f(i, " : "[f(i, ") + std::to_string(k) + ")";
        return result + "]";
    };
    expect_near(evaluate("import \"sorting\" pipeline p(f: uint8[N, 27]) -> out: uint8[N] { out(i) = median_3x9(" +
                             table(0) + ", " + table(9) + ", " + table(18) + ") }",
                         {{"f", f}}),
                expected, 0);

    const Grid volume = bytes3(5, 6, 7);
    const Grid medians = make3(3, 4, 5, [&](auto z, auto y, auto x) {
        std::vector<double> window;
        for (std::int64_t k = 0; k < 27; k++) window.push_back(volume({z + k / 9, y + k / 3 % 3, x + k % 3}));
        std::nth_element(window.begin(), window.begin() + 13, window.end());
        return window[13];
    });
    expect_near(evaluate("import \"morphology\" pipeline p(f: uint8[D + 2, R + 2, C + 2]) -> out: uint8[D, R, C] {"
                         " g = median3_3d(f) out(z, y, x) = g(z + 1, y + 1, x + 1) }",
                         {{"f", volume}}),
                medians, 0);
}

// Values of Pillow 9.4.0, ImageFilter.RankFilter(size, n); number 12 of 5 x 5 is also OpenCV 4.6.0's medianBlur(img,
// 5).
TEST(MorphologyMore, RanksOfPillow) {
    const Grid f = make3(1, 8, 9, [](auto, auto y, auto x) {
        return static_cast<double>((37 * y * y + 101 * x + 53 * x * y + 11) % 256);
    });
    const auto check = [&](const std::string& expression, int halo, std::vector<double> values) {
        Grid expected({1, 8 - 2 * halo, 9 - 2 * halo});
        expected.data = std::move(values);
        expect_near(inner(expression, halo, f, "uint8"), expected, 0);
    };
    check("rank3(f, 1)", 1, {48, 58, 58, 12, 50, 50,  23, 61, 61, 61, 50, 104, 72, 23, 88, 12, 12, 12, 104, 108, 35,
                             88, 22, 63, 63, 63, 108, 35, 63, 22, 40, 40, 60,  60, 24, 32, 40, 96, 88, 48,  17,  17});
    check("rank3(f, 4)", 1,
          {110, 110, 152, 152, 152, 105, 102, 96,  100, 100, 108, 121, 112, 112, 96,  96,  96,  104, 120, 120, 116,
           96,  100, 100, 104, 108, 120, 116, 133, 133, 132, 110, 110, 170, 87,  133, 168, 133, 128, 96,  88,  60});
    check("rank3(f, 6)", 1,
          {159, 202, 213, 170, 170, 170, 121, 110, 110, 152, 170, 170, 121, 120, 148, 110, 104, 120, 170, 170, 121,
           148, 148, 132, 120, 120, 177, 170, 168, 205, 203, 203, 177, 180, 177, 208, 226, 203, 203, 128, 170, 170});
    check("rank5(f, 3)", 2, {48, 50, 50, 50, 35, 48, 50, 60, 60, 35, 40, 40, 40, 40, 35, 40, 63, 48, 40, 35});
    check("rank5(f, 12)", 2,
          {100, 108, 108, 112, 112, 100, 108, 112, 116, 112, 100, 110, 110, 112, 112, 104, 120, 110, 110, 110});
    check("rank5(f, 20)", 2,
          {202, 202, 204, 204, 177, 202, 205, 205, 206, 177, 203, 205, 203, 203, 180, 205, 206, 203, 180, 180});
}

}  // namespace
}  // namespace pipec::test
