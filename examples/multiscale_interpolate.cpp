// Fills in a smooth picture of which one pixel in sixteen is known, and a large hole, with multiscale_interpolate.pipe.
#include "multiscale_interpolate.h"

#include <algorithm>

#include "example.h"

int main() {
    using namespace example;
    const std::int64_t rows = 117, cols = 203;
    const auto picture = [&](auto c, auto x, auto y) {
        return 0.5 + 0.4 * std::sin(0.02 * static_cast<double>(x) + static_cast<double>(c)) *
                         std::cos(0.015 * static_cast<double>(y));
    };
    const auto known = [&](auto x, auto y) {
        const bool hole = x >= 40 && x < 70 && y >= 60 && y < 110;
        return !hole && (noise(0, x, y) < 1.0 / 16 || y < 30);
    };
    auto img = make<float>(4, rows, cols, [&](auto c, auto x, auto y) {
        if (c == 3) return known(x, y) ? 1.0 : 0.0;
        return known(x, y) ? picture(c, x, y) : 99.0;  // what is transparent must not show
    });
    Image<float> out(3, rows, cols);

    multiscale_interpolate_args args;
    multiscale_interpolate_defaults(&args);
    bind(args.img, args.img_extent, img);
    bind(args.out, args.out_extent, out);
    run(args, multiscale_interpolate_check, multiscale_interpolate_workspace_size, multiscale_interpolate_launch);

    double worst = 0;
    for (int c = 0; c < 3; c++)
        for (int x = 0; x < rows; x++)
            for (int y = 0; y < cols; y++) {
                if (known(x, y)) check(std::abs(out(c, x, y) - img(c, x, y)) < 1e-6, "known pixels stay");
                worst = std::max(worst, std::abs(out(c, x, y) - picture(c, x, y)));
            }
    std::printf("worst error of a filled pixel: %.4f\n", worst);
    check(worst < 0.15, "the picture is recovered");
}
