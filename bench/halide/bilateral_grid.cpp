// The bilateral grid: examples/bilateral_grid.pipe.
#include "schedule.h"

namespace bench {

class BilateralGrid : public Halide::Generator<BilateralGrid> {
public:
    static constexpr int kCell = 8, kBins = 10;
    GeneratorParam<int> cells{"cells", 8};            // of the grid in a block's tile, each way
    GeneratorParam<int> slice_rows{"slice_rows", 1};  // of pixels that a thread computes
    Input<Halide::Buffer<float>> img{"img", 2};
    Output<Halide::Buffer<float>> filtered{"filtered", 2};

    void generate() {
        const Expr width = img.dim(0).extent(), height = img.dim(1).extent();
        // A cell's pixels, centred on its corner; beyond the image there are none.
        pixel = RDom(0, kCell, 0, kCell);
        const Expr column = x * kCell + pixel.x - kCell / 2, row = y * kCell + pixel.y - kCell / 2;
        const Expr inside = column >= 0 && column < width && row >= 0 && row < height;
        const Expr value = clamp(img(clamp(column, 0, width - 1), clamp(row, 0, height - 1)), 0.f, 1.f);
        const Expr bin = clamp(cast<int>(value * float(kBins) + 0.5f), 0, kBins);
        grid(x, y, z, c) = 0.f;
        grid(x, y, bin, c) += select(inside, select(c == 0, value, 1.f), 0.f);

        const auto blur5 = [](auto at) { return at(-2) + 4 * at(-1) + 6 * at(0) + 4 * at(1) + at(2); };
        blurz(x, y, z, c) = blur5([&](int i) -> Expr { return grid(x, y, z + i, c); });
        blurx(x, y, z, c) = blur5([&](int i) -> Expr { return blurz(x + i, y, z, c); });
        blury(x, y, z, c) = blur5([&](int i) -> Expr { return blurx(x, y + i, z, c); });

        // Trilinear interpolation at the pixel's position and gray level.
        const Expr level = clamp(img(x, y), 0.f, 1.f) * float(kBins);
        const Expr zi = clamp(cast<int>(level), 0, kBins), zf = level - zi;
        const Expr xi = x / kCell, xf = cast<float>(x % kCell) / kCell, yi = y / kCell,
                   yf = cast<float>(y % kCell) / kCell;
        const auto plane = [&](const Expr& zz) {
            return lerp(lerp(blury(xi, yi, zz, c), blury(xi + 1, yi, zz, c), xf),
                        lerp(blury(xi, yi + 1, zz, c), blury(xi + 1, yi + 1, zz, c), xf), yf);
        };
        sliced(x, y, c) = lerp(plane(zi), plane(zi + 1), zf);
        filtered(x, y) = sliced(x, y, 0) / sliced(x, y, 1);
    }

    void schedule() {
        img.set_estimates({{0, 2560}, {0, 1536}});
        filtered.set_estimates({{0, 2560}, {0, 1536}});
        grid.set_estimate(z, -2, kBins + 6);
        for (Func f : {blurz, blurx, blury}) f.set_estimate(z, 0, kBins + 2);
        if (auto_schedule) return;
        if (!get_target().has_gpu_feature()) return on_cpu({grid, blurz, blurx, blury, sliced, filtered}, y);

        // A block fills its part of the grid in shared memory, a thread a cell, and blurs it there along z.
        blurz.reorder(c, z, x, y).bound(c, 0, 2);
        kernel(blurz, x, y, {cells, cells, 1, 1});
        grid.compute_at(blurz, bx).reorder(c, z, x, y).gpu_threads(x, y);
        grid.update().reorder(c, pixel.x, pixel.y, x, y).unroll(c).gpu_threads(x, y);

        // The blurs along x and y: sum and number of a cell side by side.
        for (Func f : {blurx, blury}) {
            f.reorder(c, x, y, z).reorder_storage(c, x, y, z).bound(c, 0, 2).vectorize(c);
            kernel(f, x, y, {32, 4, 1, 2}, TailStrategy::RoundUp);
            f.gpu_blocks(z);
        }
        kernel(filtered, x, y, {32, 8, 1, slice_rows});
        in_thread(sliced, filtered, {x, y});
        sliced.reorder(c, x, y).bound(c, 0, 2).vectorize(c);
    }

private:
    Var x{"x"}, y{"y"}, z{"z"}, c{"c"};
    RDom pixel;
    Func grid{"grid"}, blurz{"blurz"}, blurx{"blurx"}, blury{"blury"}, sliced{"sliced"};
};

}  // namespace bench

HALIDE_REGISTER_GENERATOR(bench::BilateralGrid, bilateral_grid)
