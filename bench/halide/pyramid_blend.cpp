// Joins two images along a mask in a Laplacian pyramid of 4 levels: examples/pyramid_blend.pipe.
#include "schedule.h"

namespace bench {

class PyramidBlend : public Halide::Generator<PyramidBlend> {
public:
    static constexpr int kLevels = 4;
    GeneratorParam<int> threads_x{"threads_x", 32}, threads_y{"threads_y", 8}, down_rows{"down_rows", 1};
    Input<Halide::Buffer<float>> a{"a", 3}, b{"b", 3}, mask{"mask", 2};
    Output<Halide::Buffer<float>> out{"out", 3};

    void generate() {
        ga[0](x, y, c) = a(x, y, c);
        gb[0](x, y, c) = b(x, y, c);
        gm[0](x, y) = mask(x, y);
        for (int l = 1; l < kLevels; ++l) {
            ga[l] = reduced(ga[l - 1], l, {x, y, c});
            gb[l] = reduced(gb[l - 1], l, {x, y, c});
            gm[l] = reduced(gm[l - 1], l, {x, y});
        }
        for (int l = kLevels - 1; l >= 0; --l) {
            // Each level's detail, mixed, on the coarser levels' sum.
            Expr la = ga[l](x, y, c), lb = gb[l](x, y, c), coarser = 0.f;
            if (l + 1 < kLevels) {
                la -= expanded(ga[l + 1], l);
                lb -= expanded(gb[l + 1], l);
                coarser = expanded(sharp[l + 1], l);
            }
            sharp[l](x, y, c) = lb + (la - lb) * gm[l](x, y) + coarser;
        }
        out(x, y, c) = sharp[0](x, y, c);
    }

    void schedule() {
        for (auto* image : {&a, &b}) image->set_estimates({{0, 3840}, {0, 2160}, {0, 3}});
        mask.set_estimates({{0, 3840}, {0, 2160}});
        out.set_estimates({{0, 3840}, {0, 2160}, {0, 3}});
        if (auto_schedule) return;
        if (!get_target().has_gpu_feature()) {
            on_cpu(halves, y);
            for (int l = 1; l < kLevels; ++l) on_cpu({ga[l], gb[l], gm[l], sharp[l]}, y);
            return on_cpu({out}, y);
        }
        // Down: each level of each image is a kernel, whose blocks keep what the columns were reduced to.
        for (std::size_t i = 0; i < halves.size(); ++i) {
            Func level = levels[i];
            kernel(level, x, y, {threads_x, threads_y, 1, down_rows});
            in_block(halves[i], level, x, y, 2, down_rows);
            if (level.dimensions() == 3) level.gpu_blocks(c);
        }
        // Up: each level a kernel, 2 x 2 pixels a thread, so that where they lie between coarse ones is known.
        even(out, x, y);
        for (int l = kLevels - 2; l >= 0; --l) {
            Func level = l == 0 ? Func(out) : sharp[l];
            kernel(level, x, y, {threads_x, threads_y, 2, 2}, l == 0 ? TailStrategy::Auto : TailStrategy::RoundUp);
            level.gpu_blocks(c);
        }
    }

private:
    /// The last coordinate of level l in a dimension.
    Expr last(int dimension, int l) { return (mask.dim(dimension).extent() + (1 << l) - 1) / (1 << l) - 1; }

    /// Level l from level l - 1: the [1 4 6 4 1] / 16 window, every second pixel, the edge repeated.
    Func reduced(Func fine, int l, const std::vector<Var>& variables) {
        const float w[] = {1 / 16.f, 4 / 16.f, 6 / 16.f, 4 / 16.f, 1 / 16.f};
        Func half(fine.name() + "_half"), coarse(fine.name() + "_down");
        const Func edge = repeated(fine, last(0, l - 1), last(1, l - 1));
        std::vector<Expr> at(variables.begin(), variables.end());
        Expr sum = 0.f;
        for (int i = 0; i < 5; ++i) {
            at[1] = 2 * y + i - 2;
            sum += w[i] * edge(at);
        }
        half(variables) = sum;
        at[1] = y, sum = 0.f;
        for (int i = 0; i < 5; ++i) {
            at[0] = 2 * x + i - 2;
            sum += w[i] * half(at);
        }
        coarse(variables) = sum;
        halves.push_back(half);
        levels.push_back(coarse);
        return coarse;
    }

    /// Level l + 1 at a pixel of level l: (1 6 1) / 8 on pixels that have a coarse one, (1 1) / 2 between.
    Expr expanded(Func coarse, int l) {
        const auto across = [&](const Expr& position, int dimension, auto at) {
            const Expr end = last(dimension, l + 1), here = min(position / 2, end), next = min(position / 2 + 1, end);
            return select(position % 2 == 0, (at(max(here - 1, 0)) + at(next)) * 0.125f + at(here) * 0.75f,
                          (at(here) + at(next)) * 0.5f);
        };
        return across(x, 0, [&](const Expr& column) {
            return across(y, 1, [&](const Expr& row) -> Expr { return coarse(column, row, c); });
        });
    }

    Var x{"x"}, y{"y"}, c{"c"};
    Func ga[kLevels]{Func("ga0")}, gb[kLevels]{Func("gb0")}, gm[kLevels]{Func("gm0")}, sharp[kLevels];
    std::vector<Func> halves, levels;
};

}  // namespace bench

HALIDE_REGISTER_GENERATOR(bench::PyramidBlend, pyramid_blend)
