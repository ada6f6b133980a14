// Unsharp masking: examples/unsharp.pipe.
#include "schedule.h"

namespace bench {

class Unsharp : public Halide::Generator<Unsharp> {
public:
    GeneratorParam<int> threads_x{"threads_x", 64}, threads_y{"threads_y", 2}, rows{"rows", 8};
    GeneratorParam<bool> shared{"shared", false};
    Input<Halide::Buffer<float>> img{"img", 3};
    Input<float> threshold{"threshold", 0.01f};
    Input<float> weight{"weight", 3};
    Output<Halide::Buffer<float>> masked{"masked", 3};

    void generate() {
        const float w[] = {1 / 16.f, 4 / 16.f, 6 / 16.f, 4 / 16.f, 1 / 16.f};
        Expr column = 0.f, row = 0.f;
        for (int i = 0; i < 5; ++i) column += w[i] * img(x, y + i, c);
        vertical(x, y, c) = column;
        for (int j = 0; j < 5; ++j) row += w[j] * vertical(x + j, y, c);
        blurred(x, y, c) = row;
        const Expr v = img(x + 2, y + 2, c);
        sharpened(x, y, c) = (1 + weight) * v - weight * blurred(x, y, c);
        masked(x, y, c) = select(abs(v - blurred(x, y, c)) < threshold, v, sharpened(x, y, c));
    }

    void schedule() {
        img.set_estimates({{0, 4256}, {0, 2832}, {0, 3}});
        masked.set_estimates({{0, 4252}, {0, 2828}, {0, 3}});
        threshold.set_estimate(0.01f);
        weight.set_estimate(3);
        if (auto_schedule) return;
        if (!get_target().has_gpu_feature()) return on_cpu({vertical, blurred, sharpened, masked}, y);
        kernel(masked, x, y, {threads_x, threads_y, 1, rows});
        Func(masked).gpu_blocks(c);
        if (shared) {
            in_block(vertical, masked, x, y, 1, rows);
        } else {
            in_thread(vertical, masked, {x, y});
        }
    }

private:
    Var x{"x"}, y{"y"}, c{"c"};
    Func vertical{"vertical"}, blurred{"blurred"}, sharpened{"sharpened"};
};

}  // namespace bench

HALIDE_REGISTER_GENERATOR(bench::Unsharp, unsharp)
