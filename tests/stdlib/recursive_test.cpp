// stdlib/recursive.pipe against Gaussian filters with their whole window, the image's edge continuing outside.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "evaluate.h"

namespace pipec::test {
namespace {

/// f filtered along x.
Grid filtered(const Grid& f, double sigma) {
    const auto radius = static_cast<std::int64_t>(8 * sigma + 8);
    std::vector<double> weights;
    double total = 0;
    for (std::int64_t i = -radius; i <= radius; ++i) {
        weights.push_back(std::exp(-static_cast<double>(i * i) / (2 * sigma * sigma)));
        total += weights.back();
    }
    return make3(f.extents[0], f.extents[1], f.extents[2], [&](auto c, auto y, auto x) {
        double sum = 0;
        for (std::int64_t i = -radius; i <= radius; ++i) {
            const std::int64_t at = std::clamp<std::int64_t>(x + i, 0, f.extents[2] - 1);
            sum += weights[static_cast<std::size_t>(i + radius)] / total * f({c, y, at});
        }
        return sum;
    });
}
Grid transposed(const Grid& f) {
    return make3(f.extents[0], f.extents[2], f.extents[1], [&](auto c, auto y, auto x) { return f({c, x, y}); });
}

Grid whole(const std::string& function, const Grid& f, double sigma, const std::string& type) {
    return evaluate("import \"recursive\" pipeline p(f: " + type +
                        "[K, R, C], sigma: float32 = " + std::to_string(sigma) +
                        ") -> out: float32[K, R, C] where sigma >= 0.5 { out = " + function + "(f, sigma) }",
                    {{"f", f}});
}

/// 0.05 % of 255, in each direction.
constexpr double kClose = 0.13;

TEST(Recursive, GaussianOfAnySigma) {
    for (const Grid& f : {bytes3(2, 9, 14), bytes3(1, 1, 1), bytes3(1, 2, 40), bytes3(1, 31, 3)}) {
        for (const double sigma : {0.5, 1.0, 3.0, 12.0}) {
            const Grid across = filtered(f, sigma), down = transposed(filtered(transposed(f), sigma));
            expect_near(whole("recursive_gaussian_x", f, sigma, "uint8"), across, kClose);
            expect_near(whole("recursive_gaussian_y", f, sigma, "float32"), down, kClose);
            expect_near(whole("recursive_gaussian", f, sigma, "uint8"), transposed(filtered(transposed(across), sigma)),
                        2 * kClose);
        }
    }
}

}  // namespace
}  // namespace pipec::test
