// From a raw sensor image to a picture: examples/camera_pipe.pipe, whose names are kept.
#include "schedule.h"

namespace bench {

class CameraPipe : public Halide::Generator<CameraPipe> {
public:
    GeneratorParam<int> threads_x{"threads_x", 32}, threads_y{"threads_y", 4};
    GeneratorParam<bool> share_green{"share_green", true};
    Input<Halide::Buffer<uint16_t>> raw{"raw", 2};
    Input<float> color_temp{"color_temp", 3700};
    Input<float> gamma{"gamma", 2};
    Input<float> contrast{"contrast", 50};
    Input<int> black{"black", 25};
    Input<int> white{"white", 1023};
    Output<Halide::Buffer<uint8_t>> out{"out", 3};

    void generate() {
        // A pixel brighter than all of its kind around it is a defect of the sensor.
        const auto sensor = [&](int i, int j) { return min(raw(x + 16 + i, y + 24 + j), cast<uint16_t>(1023)); };
        clean(x, y) = min(sensor(0, 0), max(max(sensor(0, -2), sensor(0, 2)), max(sensor(-2, 0), sensor(2, 0))));
        demosaic();

        // The colour matrix for this light, interpolated in 1 / temperature, with 8 fractional bits.
        const float warm[] = {1.72f, -0.41f, -0.26f, -40, -0.29f, 1.31f, -0.09f, -22, -0.18f, -0.97f, 3.12f, -35};
        const float cold[] = {2.27f, -0.61f, -0.33f, -30, -0.24f, 1.58f, -0.40f, -25, -0.06f, -0.66f, 1.95f, -28};
        const Expr warmth = clamp((1 / color_temp - 1 / 7000.f) / (1 / 3200.f - 1 / 7000.f), 0.f, 1.f);
        std::vector<Expr> elements;
        for (int i = 0; i < 12; ++i) {
            elements.push_back(cast<int>(round(256 * (cold[i] + (warm[i] - cold[i]) * warmth))));
        }
        matrix(x) = mux(x, elements);  // row after row
        const auto m = [&](int j) -> Expr { return matrix(4 * c + j); };
        corrected(x, y, c) = (m(0) * rgb(x, y, 0) + m(1) * rgb(x, y, 1) + m(2) * rgb(x, y, 2) + m(3)) / 256;

        // Gamma, then an S-curve made of two parabolas that meet at one half.
        const Expr b = 2 - pow(2.f, contrast / 100), a = 2 - 2 * b;
        const Expr g = pow(clamp(cast<float>(x - black) / cast<float>(white - black), 0.f, 1.f), 1 / gamma);
        const Expr s = select(g > 0.5f, 1 - (a * (1 - g) + b) * (1 - g), (a * g + b) * g);
        curve(x) = cast<uint8_t>(clamp(255 * s + 0.5f, 0.f, 255.f));
        out(x, y, c) = curve(clamp(corrected(x, y, c), 0, 1023));
    }

    void schedule() {
        raw.set_estimates({{0, 2592}, {0, 1968}});
        out.set_estimates({{0, 2560}, {0, 1920}, {0, 3}});
        color_temp.set_estimate(3700);
        gamma.set_estimate(2);
        contrast.set_estimate(50);
        black.set_estimate(25);
        white.set_estimate(1023);
        if (auto_schedule) return;
        curve.bound(x, 0, 1024);
        matrix.bound(x, 0, 12);
        if (!get_target().has_gpu_feature()) {
            matrix.compute_root();
            curve.compute_root();
            return on_cpu({clean, g_r, g_b, rgb, corrected, out}, y);
        }
        for (Func table : {curve, matrix}) table.compute_root().gpu_tile(x, tx, table.name() == "curve" ? 128 : 12);
        // A thread computes the four pixels of a cell in all colours, so that which colour lies where is known.
        out.reorder(c, x, y).bound(c, 0, 3).unroll(c);
        even(out, x, y);
        kernel(out, x, y, {threads_x, threads_y, 2, 2});
        in_thread(rgb, out, {x, y});
        rgb.reorder(c, x, y).bound(c, 0, 3).unroll(c);
        in_block(clean, out, x, y, 2, 2);
        if (share_green) {
            for (Func green : {g_r, g_b}) in_block(green, out, x, y, 1, 1);
        }
    }

private:
    /// Missing colours from the neighbours'. `r_b` is the red value at the blue pixels; there is one point a cell.
    void demosaic() {
        using Pair = std::pair<Expr, Expr>;
        const auto at = [&](int dx, int dy) {
            return [=](int i, int j) -> Expr { return cast<int>(clean(2 * (x + i) + dx, 2 * (y + j) + dy)); };
        };
        const auto g_gr = at(0, 0), r_r = at(1, 0), b_b = at(0, 1), g_gb = at(1, 1);
        const auto average = [](const Pair& p) { return (p.first + p.second + 1) / 2; };
        const auto distance = [](const Pair& p) { return abs(p.first - p.second); };

        // Green at red and blue: along the smaller difference.
        const auto smoother = [&](const Pair& horizontal, const Pair& vertical) {
            return select(distance(horizontal) < distance(vertical), average(horizontal), average(vertical));
        };
        g_r(x, y) = smoother({g_gr(1, 0), g_gr(0, 0)}, {g_gb(0, -1), g_gb(0, 0)});
        g_b(x, y) = smoother({g_gb(-1, 0), g_gb(0, 0)}, {g_gr(0, 1), g_gr(0, 0)});
        const auto gr = [&](int i, int j) -> Expr { return g_r(x + i, y + j); };
        const auto gb = [&](int i, int j) -> Expr { return g_b(x + i, y + j); };

        // Red and blue elsewhere: the mean of two neighbours, corrected by how much green differs there.
        const auto corrected_mean = [&](const Pair& colour, const Expr& green, const Pair& green_there) {
            return average(colour) + green - average(green_there);
        };
        const Expr r_gr = corrected_mean({r_r(-1, 0), r_r(0, 0)}, g_gr(0, 0), {gr(-1, 0), gr(0, 0)});
        const Expr b_gr = corrected_mean({b_b(0, -1), b_b(0, 0)}, g_gr(0, 0), {gb(0, -1), gb(0, 0)});
        const Expr r_gb = corrected_mean({r_r(0, 0), r_r(0, 1)}, g_gb(0, 0), {gr(0, 0), gr(0, 1)});
        const Expr b_gb = corrected_mean({b_b(0, 0), b_b(1, 0)}, g_gb(0, 0), {gb(0, 0), gb(1, 0)});

        // At the other of the two: the same along the diagonal with the smaller difference.
        const Pair red_p{r_r(0, 0), r_r(-1, 1)}, red_n{r_r(-1, 0), r_r(0, 1)};
        const Expr r_b =
            select(distance(red_p) < distance(red_n), corrected_mean(red_p, gb(0, 0), {gr(0, 0), gr(-1, 1)}),
                   corrected_mean(red_n, gb(0, 0), {gr(-1, 0), gr(0, 1)}));
        const Pair blue_p{b_b(0, 0), b_b(1, -1)}, blue_n{b_b(1, 0), b_b(0, -1)};
        const Expr b_r =
            select(distance(blue_p) < distance(blue_n), corrected_mean(blue_p, gr(0, 0), {gb(0, 0), gb(1, -1)}),
                   corrected_mean(blue_n, gr(0, 0), {gb(1, 0), gb(0, -1)}));

        // The four places side by side again.
        cells(x, y, c) = mux(c, {r_gr, r_r(0, 0), r_b, r_gb,                  //
                                 g_gr(0, 0), gr(0, 0), gb(0, 0), g_gb(0, 0),  //
                                 b_gr, b_r, b_b(0, 0), b_gb});
        rgb(x, y, c) =
            select(y % 2 == 0, select(x % 2 == 0, cells(x / 2, y / 2, 4 * c), cells(x / 2, y / 2, 4 * c + 1)),
                   select(x % 2 == 0, cells(x / 2, y / 2, 4 * c + 2), cells(x / 2, y / 2, 4 * c + 3)));
    }

    Var x{"x"}, y{"y"}, c{"c"};
    Func clean{"clean"}, g_r{"g_r"}, g_b{"g_b"}, cells{"cells"}, rgb{"rgb"};
    Func matrix{"matrix"}, corrected{"corrected"}, curve{"curve"};
};

}  // namespace bench

HALIDE_REGISTER_GENERATOR(bench::CameraPipe, camera_pipe)
