// stdlib/morphology.pipe against sorting and searching the window.
#include <gtest/gtest.h>

#include <algorithm>

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

}  // namespace
}  // namespace pipec::test
