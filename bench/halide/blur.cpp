// 3 x 3 box blur of a planar colour image in two passes: examples/blur.pipe.
#include "schedule.h"

namespace bench {

class Blur : public Halide::Generator<Blur> {
public:
    GeneratorParam<int> threads_x{"threads_x", 64}, threads_y{"threads_y", 2}, rows{"rows", 8};
    Input<Halide::Buffer<float>> img{"img", 3};
    Output<Halide::Buffer<float>> out{"out", 3};

    void generate() {
        vertical(x, y, c) = (img(x, y, c) + img(x, y + 1, c) + img(x, y + 2, c)) / 3;
        out(x, y, c) = (vertical(x, y, c) + vertical(x + 1, y, c) + vertical(x + 2, y, c)) / 3;
    }

    void schedule() {
        img.set_estimates({{0, 4096}, {0, 4096}, {0, 3}});
        out.set_estimates({{0, 4094}, {0, 4094}, {0, 3}});
        if (auto_schedule) return;
        if (!get_target().has_gpu_feature()) return on_cpu({vertical, out}, y);
        // Nothing is shared between threads: a thread reads three columns, and two of them are in the L1 cache.
        kernel(out, x, y, {threads_x, threads_y, 1, rows});
        Func(out).gpu_blocks(c);
        in_thread(vertical, out, {x, y});
    }

private:
    Var x{"x"}, y{"y"}, c{"c"};
    Func vertical{"vertical"};
};

}  // namespace bench

HALIDE_REGISTER_GENERATOR(bench::Blur, blur)
