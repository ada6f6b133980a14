// Blends two pictures of different brightness along a vertical seam with pyramid_blend.pipe.
#include "pyramid_blend.h"

#include "example.h"

int main() {
    using namespace example;
    const std::int64_t rows = 67, cols = 141, seam = 70;
    const auto texture = [](auto c, auto x, auto y) { return 0.1 * (noise(c, x, y) - 0.5); };
    auto a = make<float>(3, rows, cols, [&](auto c, auto x, auto y) { return 0.3 + texture(c, x, y); });
    auto b = make<float>(3, rows, cols, [&](auto c, auto x, auto y) { return 0.7 + texture(c, x, y); });
    auto mask = make<float>(1, rows, cols, [&](auto, auto, auto y) { return y < seam ? 1 : 0; });
    Image<float> out(3, rows, cols);

    pyramid_blend_args args;
    pyramid_blend_defaults(&args);
    bind(args.a, args.a_extent, a);
    bind(args.b, args.b_extent, b);
    bind(args.mask, args.mask_extent, mask);
    bind(args.out, args.out_extent, out);
    run(args, pyramid_blend_check, pyramid_blend_workspace_size, pyramid_blend_launch);

    for (int c = 0; c < 3; c++)
        for (int x = 0; x < rows; x++) {
            for (int y = 0; y < cols; y++) {
                // The window at the coarsest level reaches 2 (1 + 2 + 4 + ...) pixels to each side.
                if (y < seam - 40) check(std::abs(out(c, x, y) - a(c, x, y)) < 1e-5, "far from the seam it is a");
                if (y >= seam + 40) check(std::abs(out(c, x, y) - b(c, x, y)) < 1e-5, "far from the seam it is b");
            }
            // The texture is the same in both: what is left is the transition, which is nowhere steep.
            for (int y = 1; y < cols; y++) {
                const double step = (out(c, x, y) - texture(c, x, y)) - (out(c, x, y - 1) - texture(c, x, y - 1));
                check(std::abs(step) < 0.06, "no seam is left of a step of 0.4");
            }
        }

    // Only a: the pyramid gives back what went in.
    for (float& m : mask.data) m = 1;
    run(args, pyramid_blend_check, pyramid_blend_workspace_size, pyramid_blend_launch);
    for (std::size_t i = 0; i < out.data.size(); i++)
        check(std::abs(out.data[i] - a.data[i]) < 1e-5, "a mask of ones gives a");
}
