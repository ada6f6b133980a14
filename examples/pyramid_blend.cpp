// Blends two pictures of different brightness along a vertical seam with pyramid_blend.pipe.
#include "pyramid_blend.h"

#include "example.h"

int main() {
    using namespace example;
    const std::int64_t rows = 67, cols = 141, seam = 70;
    const auto texture = [](auto c, auto y, auto x) { return 0.1 * (noise(c, y, x) - 0.5); };
    auto a = make<float>(3, rows, cols, [&](auto c, auto y, auto x) { return 0.3 + texture(c, y, x); });
    auto b = make<float>(3, rows, cols, [&](auto c, auto y, auto x) { return 0.7 + texture(c, y, x); });
    auto mask = make<float>(1, rows, cols, [&](auto, auto, auto x) { return x < seam ? 1 : 0; });
    Image<float> out(3, rows, cols);

    pyramid_blend_args args;
    pyramid_blend_defaults(&args);
    bind(args.a, args.a_extent, a);
    bind(args.b, args.b_extent, b);
    bind(args.mask, args.mask_extent, mask);
    bind(args.out, args.out_extent, out);
    run(args, pyramid_blend_check, pyramid_blend_workspace_size, pyramid_blend_launch);

    for (int c = 0; c < 3; c++)
        for (int y = 0; y < rows; y++) {
            for (int x = 0; x < cols; x++) {
                // The window at the coarsest level reaches 2 (1 + 2 + 4 + ...) pixels to each side.
                if (x < seam - 40) check(std::abs(out(c, y, x) - a(c, y, x)) < 1e-5, "far from the seam it is a");
                if (x >= seam + 40) check(std::abs(out(c, y, x) - b(c, y, x)) < 1e-5, "far from the seam it is b");
            }
            // The texture is the same in both: what is left is the transition, which is nowhere steep.
            for (int x = 1; x < cols; x++) {
                const double step = (out(c, y, x) - texture(c, y, x)) - (out(c, y, x - 1) - texture(c, y, x - 1));
                check(std::abs(step) < 0.06, "no seam is left of a step of 0.4");
            }
        }

    // Only a: the pyramid gives back what went in.
    for (float& m : mask.data) m = 1;
    run(args, pyramid_blend_check, pyramid_blend_workspace_size, pyramid_blend_launch);
    for (std::size_t i = 0; i < out.data.size(); i++)
        check(std::abs(out.data[i] - a.data[i]) < 1e-5, "a mask of ones gives a");
}
