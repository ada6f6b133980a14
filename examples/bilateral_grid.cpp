// Smooths a noisy step with bilateral_grid.pipe: the noise goes, the step stays.
#include "bilateral_grid.h"

#include <algorithm>

#include "example.h"

namespace {

struct Statistics {
    double mean, deviation;
};

/// Of the columns from..to, rows at a distance from the border.
Statistics statistics(const example::Image<float>& image, int from, int to) {
    double sum = 0, squares = 0, n = 0;
    for (int y = 10; y < image.rows - 10; y++)
        for (int x = from; x < to; x++) {
            sum += image(0, y, x);
            squares += static_cast<double>(image(0, y, x)) * image(0, y, x);
            n++;
        }
    return {sum / n, std::sqrt(std::max(0.0, squares / n - sum / n * sum / n))};
}

}  // namespace

int main() {
    using namespace example;
    const int edge = 67;
    auto img = make<float>(
        1, 93, 131, [&](auto, auto y, auto x) { return (x < edge ? 0.2 : 0.8) + 0.08 * (noise(0, y, x) - 0.5); });
    Image<float> out(1, 93, 131);

    bilateral_grid_args args;
    bilateral_grid_defaults(&args);
    bind(args.img, args.img_extent, img);
    bind(args.filtered, args.filtered_extent, out);
    run(args, bilateral_grid_check, bilateral_grid_workspace_size, bilateral_grid_launch);

    const auto before = statistics(img, 10, edge), dark = statistics(out, 10, edge),
               bright = statistics(out, edge, 120);
    std::printf("noise %.4f -> %.4f (dark), %.4f (bright); means %.4f, %.4f\n", before.deviation, dark.deviation,
                bright.deviation, dark.mean, bright.mean);
    check(dark.deviation < before.deviation / 3 && bright.deviation < before.deviation / 3, "noise is removed");
    check(std::abs(dark.mean - 0.2) < 0.01 && std::abs(bright.mean - 0.8) < 0.01, "the gray values stay");
    for (int y = 10; y < 80; y++)
        check(out(0, y, edge) - out(0, y, edge - 1) > 0.55f, "the step stays sharp, from one pixel to the next");
}
