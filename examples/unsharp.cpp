// Sharpens a noisy step edge with unsharp.pipe: smooth parts stay as they are to the last bit, the edge overshoots.
#include "unsharp.h"

#include "example.h"

int main() {
    using namespace example;
    const int edge = 50;
    auto img = make<float>(
        3, 40, 101, [&](auto c, auto y, auto x) { return (x < edge ? 0.25 : 0.75) + 0.004 * (noise(c, y, x) - 0.5); });
    Image<float> out(3, 36, 97);

    unsharp_args args;
    unsharp_defaults(&args);
    bind(args.img, args.img_extent, img);
    bind(args.masked, args.masked_extent, out);
    args.weight = 2;
    run(args, unsharp_check, unsharp_workspace_size, unsharp_launch);

    for (int c = 0; c < 3; c++)
        for (int y = 0; y < out.rows; y++) {
            for (int x = 0; x < out.cols; x++)
                if (x + 2 < edge - 2 || x + 2 >= edge + 2)
                    check(out(c, y, x) == img(c, y + 2, x + 2), "noise below the threshold is kept");
            // The step response of [1 4 6 4 1] / 16 just above the edge is 11 / 16: overshoot 2 * 5 / 16 of the step.
            check(std::abs(out(c, y, edge - 2) - (0.75 + 0.5 * 2 * 5 / 16)) < 0.02, "the edge overshoots");
            check(std::abs(out(c, y, edge - 3) - (0.25 - 0.5 * 2 * 5 / 16)) < 0.02, "the edge undershoots");
        }
}
