// Develops synthetic raw images with camera_pipe.pipe.
#include "camera_pipe.h"

#include "example.h"

namespace {

constexpr std::int64_t kRows = 61, kCols = 83;

example::Image<std::uint8_t> develop(example::Image<std::uint16_t>& raw) {
    example::Image<std::uint8_t> out(3, kRows, kCols);
    camera_pipe_args args;
    camera_pipe_defaults(&args);
    example::bind(args.raw, args.raw_extent, raw);
    example::bind(args.out, args.out_extent, out);
    example::run(args, camera_pipe_check, camera_pipe_workspace_size, camera_pipe_launch);
    return out;
}

/// Gray values under a light for which red, green and blue pixels see `level` times these factors.
example::Image<std::uint16_t> scene(double red, double green, double blue, double left, double right) {
    return example::make<std::uint16_t>(1, kRows + 48, kCols + 32, [&](auto, auto y, auto x) {
        const double level = x < 16 + kCols / 2 ? left : right;
        return level * (y % 2 != x % 2 ? (y % 2 == 0 ? red : blue) : green);
    });
}

}  // namespace

int main() {
    using namespace example;

    // A flat scene gives a flat picture, brighter light a brighter one.
    auto dim_raw = scene(1, 1, 1, 200, 200), bright_raw = scene(1, 1, 1, 600, 600);
    const auto dim = develop(dim_raw), bright = develop(bright_raw);
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < kRows; y++)
            for (int x = 0; x < kCols; x++) {
                check(dim(c, y, x) == dim(c, 0, 0), "flat stays flat");
                check(bright(c, y, x) > dim(c, y, x), "more light, more brightness");
            }

    // One hot pixel leaves no trace, wherever in the cell it is.
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            auto raw = scene(1, 1, 1, 200, 200);
            raw(0, 24 + 30 + i, 16 + 40 + j) = 1023;
            check(develop(raw).data == dim.data, "a hot pixel is removed");
        }

    // A vertical edge of gray stays where it is and takes on no colour: each side is flat up to the edge.
    auto edge_raw = scene(1, 1, 1, 200, 600);
    const auto edge = develop(edge_raw);
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < kRows; y++)
            for (int x = 0; x < kCols; x++)
                check(edge(c, y, x) == (x < kCols / 2 ? dim : bright)(c, y, x), "an edge stays sharp and gray");

    // A red light makes a red picture.
    auto red_raw = scene(1.5, 0.5, 0.3, 400, 400);
    const auto red = develop(red_raw);
    check(red(0, 30, 30) > red(1, 30, 30) + 40 && red(0, 30, 30) > red(2, 30, 30) + 40, "red is red");
}
