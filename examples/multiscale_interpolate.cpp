// Fills in what is transparent with multiscale_interpolate.pipe: holes in a smooth picture, and a picture of which only
// one pixel in twenty is known.
#include "multiscale_interpolate.h"

#include <algorithm>

#include "example.h"

namespace {

constexpr std::int64_t kRows = 117, kCols = 203;

example::Image<float> fill(example::Image<float>& img) {
    example::Image<float> out(3, kRows, kCols);
    multiscale_interpolate_args args;
    multiscale_interpolate_defaults(&args);
    example::bind(args.img, args.img_extent, img);
    example::bind(args.out, args.out_extent, out);
    example::run(args, multiscale_interpolate_check, multiscale_interpolate_workspace_size,
                 multiscale_interpolate_launch);
    return out;
}

/// The picture where `known`, and transparent nonsense elsewhere.
template <class Picture, class Known>
example::Image<float> with_holes(Picture picture, Known known) {
    return example::make<float>(4, kRows, kCols, [&](auto c, auto y, auto x) {
        return c == 3 ? (known(y, x) ? 1.0 : 0.0) : known(y, x) ? picture(c, y, x) : 99.0;
    });
}

}  // namespace

int main() {
    using namespace example;

    // Square holes of up to 24 pixels in a smooth picture. What fills them is an average of what surrounds them.
    const auto smooth = [](auto c, auto y, auto x) {
        return 0.5 + 0.4 * std::sin(0.005 * static_cast<double>(y) + static_cast<double>(c)) *
                         std::cos(0.004 * static_cast<double>(x));
    };
    const auto outside_holes = [](auto y, auto x) { return y % 40 < 16 || x % 50 < 26; };
    auto holes = with_holes(smooth, outside_holes);
    const auto filled = fill(holes);
    double worst = 0;
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < kRows; y++)
            for (int x = 0; x < kCols; x++) {
                if (outside_holes(y, x))
                    check(std::abs(filled(c, y, x) - holes(c, y, x)) < 1e-6, "what is known stays");
                worst = std::max(worst, std::abs(filled(c, y, x) - smooth(c, y, x)));
            }
    std::printf("worst error of a filled pixel: %.4f\n", worst);
    check(worst < 0.08, "the holes are filled with what surrounds them");

    // A flat colour comes back from a few scattered pixels.
    const auto flat = [](auto c, auto, auto) { return 0.25 * static_cast<double>(c + 1); };
    auto scattered = with_holes(flat, [](auto y, auto x) { return noise(0, y, x) < 0.05; });
    const auto spread = fill(scattered);
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < kRows; y++)
            for (int x = 0; x < kCols; x++)
                check(std::abs(spread(c, y, x) - flat(c, 0, 0)) < 1e-5, "the colour spreads everywhere");
}
