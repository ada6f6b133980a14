// Corner response, of a gray image (examples/harris.pipe) or of a colour image (bench/harris_rgb.pipe).
#pragma once

#include "schedule.h"

namespace bench {

template <bool kColour>
class Harris : public Halide::Generator<Harris<kColour>> {
public:
    GeneratorParam<int> threads_x{"threads_x", 32}, threads_y{"threads_y", 4}, rows{"rows", 4};
    GeneratorParam<bool> shared{"shared", true};           // the differences
    GeneratorParam<bool> share_gray{"share_gray", false};  // and the gray values
    Halide::GeneratorInput<Halide::Buffer<float>> img{"img", kColour ? 3 : 2};
    Halide::GeneratorInput<float> k{"k", 0.04f};
    Halide::GeneratorOutput<Halide::Buffer<float>> response{"response", 2};

    void generate() {
        if constexpr (kColour) {
            gray(x, y) = 0.299f * img(x, y, 0) + 0.587f * img(x, y, 1) + 0.114f * img(x, y, 2);
        } else {
            gray(x, y) = img(x, y);
        }
        const auto at = [&](int dx, int dy) -> Expr { return gray(x + dx, y + dy); };
        // Differences from row to row and from column to column, as in the .pipe file.
        ix(x, y) = (at(0, 2) + 2 * at(1, 2) + at(2, 2) - at(0, 0) - 2 * at(1, 0) - at(2, 0)) * (1 / 12.f);
        iy(x, y) = (at(2, 0) + 2 * at(2, 1) + at(2, 2) - at(0, 0) - 2 * at(0, 1) - at(0, 2)) * (1 / 12.f);
        ixx(x, y) = ix(x, y) * ix(x, y);
        iyy(x, y) = iy(x, y) * iy(x, y);
        ixy(x, y) = ix(x, y) * iy(x, y);
        const auto box = [&](Func f) {
            Expr sum = 0.f;
            for (int j = 0; j < 3; ++j) {
                for (int i = 0; i < 3; ++i) sum += f(x + i, y + j);
            }
            return sum;
        };
        sxx(x, y) = box(ixx);
        syy(x, y) = box(iyy);
        sxy(x, y) = box(ixy);
        const Expr det = sxx(x, y) * syy(x, y) - sxy(x, y) * sxy(x, y), trace = sxx(x, y) + syy(x, y);
        response(x, y) = det - k * trace * trace;
    }

    void schedule() {
        img.dim(0).set_estimate(0, 4256);
        img.dim(1).set_estimate(0, 2832);
        if (kColour) img.dim(2).set_estimate(0, 3);
        response.set_estimates({{0, 4252}, {0, 2828}});
        k.set_estimate(0.04f);
        if (this->auto_schedule) return;
        if (!this->get_target().has_gpu_feature()) {
            return on_cpu({gray, ix, iy, ixx, iyy, ixy, sxx, syy, sxy, response}, y);
        }
        kernel(response, x, y, {threads_x, threads_y, 1, rows});
        for (Func f : {ix, iy}) {
            if (shared) {
                in_block(f, response, x, y, 1, rows);
            } else {
                in_thread(f, response, {x, y});
            }
        }
        if (share_gray) in_block(gray, response, x, y, 1, rows);
    }

private:
    Var x{"x"}, y{"y"};
    Func gray{"gray"}, ix{"ix"}, iy{"iy"}, ixx{"ixx"}, iyy{"iyy"}, ixy{"ixy"}, sxx{"sxx"}, syy{"syy"}, sxy{"sxy"};
};

}  // namespace bench
