// Brings out the texture of an 8-bit interleaved picture with detail.pipe.
#include "detail.h"

#include "example.h"

namespace {

constexpr int kRows = 73, kCols = 110;
using Pixels = std::vector<std::uint8_t>;

Pixels enhance(const Pixels& photo, float boost) {
    Pixels out(photo.size());
    detail_args args;
    detail_defaults(&args);
    args.img = photo.data();
    args.img_extent[0] = 3;
    args.img_extent[1] = kRows;
    args.img_extent[2] = kCols;
    args.out = out.data();
    args.boost = boost;
    example::run(args, detail_check, detail_workspace_size, detail_launch);
    return out;
}

std::size_t at(int y, int x, int c) {
    return static_cast<std::size_t>((y * kCols + x) * 3 + c);
}

}  // namespace

int main() {
    using example::check;

    // Left 60, right 180, each with stripes of +-2 gray levels across.
    Pixels photo(static_cast<std::size_t>(kRows * kCols * 3));
    for (int y = 0; y < kRows; y++)
        for (int x = 0; x < kCols; x++)
            for (int c = 0; c < 3; c++)
                photo[at(y, x, c)] = static_cast<std::uint8_t>((x < kCols / 2 ? 60 : 180) + (y % 4 < 2 ? 2 : -2));

    check(enhance(photo, 1) == photo, "a boost of 1 changes nothing");

    const Pixels out = enhance(photo, 3);
    const auto stripe = [&](const Pixels& p, int x) { return p[at(36, x, 0)] - p[at(38, x, 0)]; };
    check(stripe(photo, 20) == 4, "the stripes before");
    check(std::abs(stripe(out, 20) - 12) <= 1 && std::abs(stripe(out, 90) - 12) <= 1,
          "the stripes are three times as strong");

    // The step of 120 is an edge, not detail: it grows by a few levels, where a linear filter would add 120.
    const int step = out[at(36, kCols / 2, 0)] - out[at(36, kCols / 2 - 1, 0)];
    check(step >= 118 && step < 160, "the edge keeps its height, no halo");
}
