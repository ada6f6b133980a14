// Fills transparent parts of an image over a pyramid of 10 levels: examples/multiscale_interpolate.pipe.
#include "schedule.h"

namespace bench {

class MultiscaleInterpolate : public Halide::Generator<MultiscaleInterpolate> {
public:
    static constexpr int kLevels = 10;
    GeneratorParam<int> threads_x{"threads_x", 16}, threads_y{"threads_y", 16};
    // The levels full[1] to full[fused] are computed in the last kernel's tiles, of coarser ones every second has a
    // kernel of its own.
    GeneratorParam<int> fused{"fused", 2};
    Input<Halide::Buffer<float>> img{"img", 3};
    Output<Halide::Buffer<float>> out{"out", 3};

    void generate() {
        for (int l = 0; l < kLevels; ++l) {
            const std::string n = std::to_string(l);
            down.emplace_back("down" + n), downx.emplace_back("downx" + n);
            full.emplace_back("full" + n), wide.emplace_back("wide" + n), widex.emplace_back("widex" + n);
        }
        down[0](x, y, c) = select(c < 3, img(x, y, c) * img(x, y, 3), img(x, y, 3));
        for (int l = 1; l < kLevels; ++l) {
            // Half the resolution with [1 2 1] / 4, the edge repeated.
            const Func f = edge[l - 1] = repeated(down[l - 1], last(0, l - 1), last(1, l - 1));
            downx[l](x, y, c) = (f(x, 2 * y - 1, c) + 2 * f(x, 2 * y, c) + f(x, 2 * y + 1, c)) * 0.25f;
            down[l](x, y, c) =
                (downx[l](2 * x - 1, y, c) + 2 * downx[l](2 * x, y, c) + downx[l](2 * x + 1, y, c)) * 0.25f;
        }
        edge[kLevels - 1] = repeated(down[kLevels - 1], last(0, kLevels - 1), last(1, kLevels - 1));
        full[kLevels - 1](x, y, c) = edge[kLevels - 1](x, y, c);
        for (int l = kLevels - 2; l >= 0; --l) {
            // Twice the resolution, linear between pixels. As the edges of all levels are repeated in `edge`, those of
            // their sums are.
            const Func f = full[l + 1];
            widex[l](x, y, c) = (f(x, y / 2, c) + f(x, (y + 1) / 2, c)) * 0.5f;
            wide[l](x, y, c) = (widex[l](x / 2, y, c) + widex[l]((x + 1) / 2, y, c)) * 0.5f;
            const Func d = l == 0 ? down[0] : edge[l];
            full[l](x, y, c) = d(x, y, c) + (1 - d(x, y, 3)) * wide[l](x, y, c);
        }
        out(x, y, c) = full[0](x, y, c) / full[0](x, y, 3);
    }

    void schedule() {
        img.set_estimates({{0, 2560}, {0, 1536}, {0, 4}});
        out.set_estimates({{0, 2560}, {0, 1536}, {0, 3}});
        if (auto_schedule) return;
        if (!get_target().has_gpu_feature()) {
            for (const auto* stages : {&down, &full}) on_cpu(*stages, y);
            on_cpu({downx.begin() + 1, downx.end()}, y);
            on_cpu({wide.begin(), wide.end() - 1}, y);
            on_cpu({widex.begin(), widex.end() - 1}, y);
            return on_cpu({out}, y);
        }
        // Pull: a kernel a level, all channels in one thread, so that alpha is read once.
        for (int l = 1; l < kLevels; ++l) {
            down[l].reorder(c, x, y).bound(c, 0, 4).unroll(c);
            kernel(down[l], x, y, {threads_x, threads_y, 1, 1});
        }
        // Push: 2 x 2 pixels a thread, so that where they lie between coarse ones is known. The image is a multiple of
        // the tiles: if they moved inwards, what they need of coarser levels would vary.
        out.reorder(c, x, y).bound(c, 0, 3).unroll(c);
        out.bound(x, 0, img.dim(0).extent()).bound(y, 0, img.dim(1).extent());
        kernel(out, x, y, {threads_x, threads_y, 2, 2}, TailStrategy::RoundUp);
        for (int l = 1; l <= fused; ++l) {
            full[l].reorder(c, x, y).bound(c, 0, 4).unroll(c);
            in_block(full[l], out, x, y, l == 1 ? 2 : 1, l == 1 ? 2 : 1);
        }
        if (fused > 0) {
            widex[1].reorder(c, x, y).bound(c, 0, 4).unroll(c);
            in_block(widex[1], out, x, y, 2, 1);
        }
        for (int l = fused + 1; l < kLevels; l += 2) {
            full[l].reorder(c, x, y).bound(c, 0, 4).unroll(c);
            kernel(full[l], x, y, {threads_x, threads_y, 2, 2}, TailStrategy::RoundUp);
        }
    }

private:
    /// The last coordinate of level l in a dimension.
    Expr last(int dimension, int l) { return (img.dim(dimension).extent() + (1 << l) - 1) / (1 << l) - 1; }

    Var x{"x"}, y{"y"}, c{"c"};
    std::vector<Func> down, downx, full, wide, widex;
    Func edge[kLevels];
};

}  // namespace bench

HALIDE_REGISTER_GENERATOR(bench::MultiscaleInterpolate, multiscale_interpolate)
