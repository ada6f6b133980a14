// Reductions over whole images and rows: what is taken out of a stage and computed in blocks gives the bits that the
// interpreter finds from the definition as it was written, on the host and on the emulated device. Floats are any, so
// that another order shows.
#include <gtest/gtest.h>

#include "support_lib/compile.h"
#include "support_lib/data.h"
#include "support_lib/device.h"
#include "support_lib/host.h"

namespace pipec::testing::reduction_run_test {
namespace {

using Sizes = std::map<std::string, std::int64_t>;

const std::vector<Sizes> kImages{{{"R", 1}, {"C", 1}},
                                 {{"R", 3}, {"C", 130}},
                                 {{"R", 200}, {"C", 7}},
                                 {{"R", 65}, {"C", 64}},
                                 {{"R", 129}, {"C", 321}}};

struct Case {
    const char* name;
    const char* program;
    std::vector<Sizes> sizes{};  ///< empty: kImages
    std::size_t stages = 0;      ///< that the compiler makes, at least
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.name;
}

class Reductions : public ::testing::TestWithParam<Case> {};

TEST_P(Reductions, HaveTheBitsOfTheDefinition) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "case.pipe", GetParam().program);
    for (const Diagnostic& d : compiled.diags.all()) ASSERT_NE(d.severity, Severity::Error) << d.message;
    const ir::Pipeline& definition = compiled.definitions.front();
    const ir::Pipeline& shared = compiled.pipelines.front();
    EXPECT_GE(shared.stages.size(), definition.stages.size() + GetParam().stages);
    const std::vector<codegen::Unit> units{{&shared, &compiled.models.front()}};
    const HostLibrary host(units, sources, kNothingUndefined);
    const DeviceLibrary device(units, sources, {});
    std::mt19937_64 rng(5);
    std::uint64_t order = 0;
    for (const Sizes& sizes : GetParam().sizes.empty() ? kImages : GetParam().sizes) {
        for (const Fill fill : {Fill::Smooth, Fill::Extreme}) {
            const reference::Arguments arguments = random_arguments(definition, sizes, fill, rng);
            const auto expected = reference::run(definition, arguments);
            const Layout layout = order % 2 == 0 ? Layout::Dense : Layout::Rotated;
            const auto by_stages = reference::run(shared, arguments);
            const auto on_host = run_host(host.info(definition.name), arguments, layout);
            const auto on_device = run_device(device.info(definition.name), arguments, layout, order++);
            for (const auto& [name, array] : expected) {
                EXPECT_EQ(difference(array, by_stages.at(name)), "") << name << ", interpreted";
                EXPECT_EQ(difference(array, on_host.at(name)), "") << name << ", on the host";
                EXPECT_EQ(difference(array, on_device.at(name)), "") << name << ", on the device";
            }
        }
    }
}

const Case kCases[] = {
    {"whole_images",
     R"(
        pipeline p(f: float32[R, C], u: uint8[R, C], h: float16[R, C], b: float64[R, C])
            -> total: float32[1], least: float32[1], count: uint32[1], sums: float16[1], product: float64[1], dark: uint8[1] {
            total(z) = sum(y in 0..R, x in 0..C) f(y, x)
            least(z) = min(y in 0..R, x in 0..C) abs(f(y, x) - 0.5)
            count(z) = sum(y in 0..R, x in 0..C) uint32(u(y, x))
            sums(z) = sum(y in 0..R, x in 0..C) h(y, x)
            product(z) = prod(y in 0..R, x in 0..C) (b(y, x) + 0.5)
            dark(z) = if any(y in 0..R, x in 0..C) (u(y, x) < 3) then 1 else 0
        })",
     {},
     6},
    {"rows_and_columns",
     R"(
        pipeline p(f: float32[R, C], u: uint8[R, C]) -> rows: float32[R], columns: float32[C], tops: uint8[R], both: float32[2] {
            rows(y) = sum(x in 0..C) (f(y, x) * f(y, x))
            columns(x) = sum(y in 0..R) f(y, x) / R
            tops(y) = max(x in 0..C) u(y, x)
            both(i) = max(y in 0..R) (sum(x in 0..C) f(y, x)) + i
        })",
     {},
     4},
    {"statistics_of_the_image_that_is_scaled",
     R"(
        pipeline p(f: float32[3, R, C]) -> out: float32[3, R, C], variance: float32[3] {
            mean(c) = sum(y in 0..R, x in 0..C) f(c, y, x) / (R * C)
            variance(c) = sum(y in 0..R, x in 0..C) ((f(c, y, x) - mean(c)) * (f(c, y, x) - mean(c))) / (R * C)
            out(c, y, x) = (f(c, y, x) - mean(c)) / max(0.25, sqrt(variance(c)))
        })",
     {},
     4},
    {"written_inside_of_pixels",
     R"(
        pipeline p(f: float32[R, C], w: float32[K]) -> out: float32[R, C], inner: float32[R, C] {
            out(y, x) = let m = max(i in 0..R, j in 0..C) f(i, j) in
                if m > 0.5 then f(y, x) / m else f(y, x) * sum(k in 0..K) w(k)
            inner(y, x) = if x > 0 and x < C - 1 then sum(i in 0..R) f(i, x + 1) / (sum(k in 0..K) w(k)) else 0
        })",
     {{{"R", 1}, {"C", 1}, {"K", 1}}, {{"R", 70}, {"C", 5}, {"K", 3}}, {{"R", 5}, {"C", 90}, {"K", 200}}},
     1},
    {"interleaved_colour",
     R"(
        pipeline p(u: uint8[3, R, C] order (1, 2, 0)) -> mean: float32[3], grey: float32[1] {
            mean(c) = float32(sum(y in 0..R, x in 0..C) uint32(u(c, y, x))) / (R * C)
            grey(z) = sum(c in 0..3, y in 0..R, x in 0..C) (float32(u(c, y, x)) / 255)
        })",
     {},
     2},
    {"the_same_at_all_points",
     R"(
        fn of(a, t) = let b = sqrt(abs(a * a + t)), c = sqrt(b + abs(t)), d = b / (c + 1) in sqrt(d * b) + c / (d + 2)
        pipeline p(f: float32[R, C], s: float32, t: float32) -> out: float32[R, C], counts: int32[8], rows: float32[R] {
            out(y, x) = let v = of(s, t) in f(y, x) * v + (if x > 3 then of(t, s) else v)
            rows(y) = sum(x in 2..C) (f(y, x) + of(s - t, t))
            accumulate counts(i in 0..8): int32 = 1 {
                for y in 0..R, x in 3..C {
                    let total = int32(of(t, t)) + (sum(i in 0..R, j in 0..C) int32(f(i, j) > s))
                    counts(clamp(int32(f(y, x) * 8), 0, 7)) += total % 16 + x
                }
            }
        })",
     {{{"R", 1}, {"C", 1}}, {{"R", 2}, {"C", 3}}, {{"R", 3}, {"C", 70}}, {{"R", 37}, {"C", 9}}},
     4},
    {"a_long_line",
     R"(
        pipeline p(f: float32[N]) -> total: float32[1], top: float32[1] {
            total(z) = sum(i in 0..N) f(i)
            top(z) = max(i in 3..N) abs(f(i) - f(i - 3))
        })",
     {{{"N", 1}}, {{"N", 64}}, {{"N", 65}}, {{"N", 4097}}, {{"N", 270'000}}},
     4},
    {"bounds_that_depend_on_each_other", R"(
        pipeline p(f: float32[R, C]) -> lower: float32[1], triangle: float32[R] {
            lower(z) = sum(y in 0..R, x in 0..min(y + 1, C)) f(y, x)
            triangle(y) = sum(x in 0..min(y + 1, C)) f(y, x)
        })"},
    {"any_number_of_terms",
     R"(
        pipeline p(f: float32[N, R, C], u: uint8[N, R, C], s: float32)
            -> total: float32[R, C], least: uint8[R, C], place: int32[R, C], spread: float64[R, C] {
            total(y, x) = sum(n in 0..N) f(n, y, x) * (s * 0.5 + N)
            least(y, x) = min(n in 0..N) u(n, y, x)
            place(y, x) = argmax(n in 0..N) f(n, y, x)
            spread(y, x) = sum(n in 1..N) abs(float64(f(n, y, x)) - f(n - 1, y, x) / sqrt(abs(s) + 1))
        })",
     {{{"R", 3}, {"C", 70}, {"N", 1}},
      {{"R", 9}, {"C", 33}, {"N", 2}},
      {{"R", 1}, {"C", 65}, {"N", 15}},
      {{"R", 2}, {"C", 64}, {"N", 16}},
      {{"R", 5}, {"C", 31}, {"N", 29}},
      {{"R", 2}, {"C", 40}, {"N", 66}},
      {{"R", 3}, {"C", 5}, {"N", 150}}}},
    {"products_of_matrices",
     R"(
        pipeline p(x: float32[N, K], w: float32[M, K], b: int8[M, 3, K], t: float32[C, M] order(1, 0))
            -> out: float32[N, M], whole: int32[N, M], turned: float32[N, C], sums: float32[M, N] order(1, 0) {
            out(n, m) = sum(k in 0..K) x(n, k) * w(m, k)
            whole(n, m) = sum(j in 0..3, k in 0..K) int32(b(m, j, K - 1 - k)) * (n + j)
            turned(n, c) = max(m in 0..M) (t(c, m) - x(n, m % K))
            scaled(m, k) = w(m, k) * 0.5
            sums(m, n) = sum(k in 0..K) scaled(m, k) * x(n, k)
        })",
     {{{"N", 1}, {"K", 1}, {"M", 1}, {"C", 1}},
      {{"N", 5}, {"K", 70}, {"M", 33}, {"C", 9}},
      {{"N", 37}, {"K", 3}, {"M", 130}, {"C", 64}}},
     3},
    {"a_scan_of_products",
     R"(
        pipeline p(x: float32[N, K], w: float32[M, K]) -> s: float32[N, M] {
            out(n, m) = sum(k in 0..K) x(n, k) * w(m, k)
            s(n in 0..N, m in 0..M) = if n == 0 then out(n, m) else s(n - 1, m) * 0.5 + out(n, m)
        })",
     {{{"N", 1}, {"K", 1}, {"M", 1}}, {{"N", 9}, {"K", 33}, {"M", 40}}},
     1},
    {"windows_of_any_size",
     R"(
        pipeline p(f: float32[R + K, C + L], w: float32[K, L]) -> out: float32[R, C], largest: float32[R, C], fixed: float32[R, C] where K >= 12 and L >= 12 {
            out(y, x) = sum(i in 0..K, j in 0..L) w(i, j) * f(y + i, x + j)
            largest(y, x) = max(i in 0..K, j in 0..L) f(y + i, x + j)
            fixed(y, x) = sum(i in -1..11, j in 0..12) (f(y + i + 1, x + j) * 0.125)
        })",
     {{{"R", 3}, {"C", 5}, {"K", 12}, {"L", 12}}, {{"R", 2}, {"C", 9}, {"K", 70}, {"L", 13}}}},
    {"nothing_to_add",
     R"(
        pipeline p(f: float32[R, C]) -> out: float32[1], inner: float32[R, C] {
            out(z) = sum(y in 2..R - 2, x in 2..C - 2) f(y - 2, x + 2)
            far(y, x) = f(y - 4, x) - max(i in 0..C) f(3, i)
            inner(y, x) = if y >= 4 then far(y, x) else 0
        })",
     {{{"R", 1}, {"C", 1}}, {{"R", 4}, {"C", 4}}, {{"R", 9}, {"C", 300}}},
     2},
    {"places_in_windows",
     R"(
        pipeline p(u: uint8[R + 8, C + 200], f: float32[R + 8, C + 200], d: float64[R + 8, C + 200])
            -> a: int32[R, C], b: int32[R, C], c: float32[R, C], e: int32[R, C], g: int32[R, C], h: uint8[R, C] {
            a(y, x) = argmin(k in 0..9) u(y, x + k)
            b(y, x) = let [v, w] = argmax(i in -2..=2, j in -3..=3) f(y + 2 + i, x + 3 + j) in 100 * v + w
            c(y, x) = let i = argmin(k in 3..200) abs(f(y, x + k)), v = min(k in 3..200) abs(f(y, x + k)) in v + i
            e(y, x) = let [v, w] = argmin(i in 0..8, j in 0..150) (d(y + i, x + j) + u(y, x)) in v * 1000 + w
            g(y, x) = argmax(k in 0..100) (if k % 3 == 0 then int64(u(y, x + k)) else -1)
            h(y, x) = u(y, x + argmax(k in 0..70) f(y, x + k))
        })",
     {{{"R", 1}, {"C", 1}}, {{"R", 3}, {"C", 37}}}},
    {"places_in_images",
     R"(
        pipeline p(u: uint8[R, C], f: float32[3, R, C]) -> dark: int32[2], bright: int32[3, 2], rows: int32[R], out: float32[3, R, C] {
            darkest() = argmin(y in 0..R, x in 0..C) u(y, x)
            dark(i) = if i == 0 then darkest()[0] else darkest()[1]
            brightest(c) = argmax(y in 0..R, x in 0..C) f(c, y, x)
            bright(c, i) = let [y, x] = brightest(c) in if i == 0 then y else x
            rows(y) = argmax(x in 0..C) (u(y, x) + 0.5 * f(0, y, x))
            out(c, y, x) = let [i, j] = brightest(c) in f(c, y, x) - f(c, i, j)
        })",
     {{{"R", 1}, {"C", 1}}, {{"R", 3}, {"C", 70}}, {{"R", 33}, {"C", 20}}},
     8},
    {"several_values",
     R"(
        fn moments(v) = [v, v * v]
        fn gradient(img) {
            across(y, x) = img(y, x + 1) - img(y, x)
            down(y, x) = img(y + 1, x) - img(y, x)
            return [across, down]
        }
        pipeline p(f: float32[R + 12, C + 200], w: float32[R + 12, C + 200])
            -> a: float32[R, C], b: float32[R, C], c: float32[R, C], e: float32[R, C], s: float32[3] {
            a(y, x) = let [n, d] = sum(i in 0..12, j in 0..11) [f(y + i, x + j) * w(y + i, x + j), w(y + i, x + j)] in n / d
            b(y, x) = let m = sum(k in 0..200) moments(f(y, x + k)) in m[1] / 200 - (m[0] / 200) * (m[0] / 200)
            g = gradient(f)
            c(y, x) = let [u, v] = g(y, x) in u * v + g[0](y, x + 2)
            pair(y, x) = if w(y, x) > 0.5 then [f(y, x), 1] else [w(y, x), f(y, x)]
            e(y, x) = pair(y, x)[0] - 2 * pair[1](y, x + 1)
            both() = sum(y in 0..R, x in 0..C) [f(y, x), 1]
            s(i) = if i == 0 then both()[0] else if i == 1 then both()[1] else max(k in 0..C) f(0, k) - min(k in 0..C) f(0, k)
        })",
     {{{"R", 1}, {"C", 1}}, {{"R", 5}, {"C", 67}}, {{"R", 70}, {"C", 70}}},
     2},
    {"loops_in_loops",
     R"(
        pipeline p(f: float32[R + 80, C + 80], k: int32) -> a: float32[R, C], b: float32[R, C], c: float32[R, C] {
            a(y, x) = let m = (sum(i in 0..80) f(y + i, x)) / 80 in (sum(i in 0..80) (f(y + i, x) - m) * (f(y + i, x) - m)) + m
            b(y, x) = sum(i in 0..70) (max(j in 0..80) f(y + i, x + j)) - sum(i in 0..70) (min(j in 0..80) f(y + i, x + j))
            c(y, x) = if k > 0 then sum(i in 0..79) f(y + i, x) else (sum(i in 0..79) f(y, x + i)) * (sum(i in 0..79) f(y + i, x))
        })",
     {{{"R", 1}, {"C", 1}}, {{"R", 3}, {"C", 37}}}},
    {"blocks_of_planes",
     R"(
        pipeline p(f: float32[96, R + 2, C + 2], w: float32[8, 96, 3, 3], v: float32[K, 96]) -> a: float32[8, R, C], b: float32[K, R, C] {
            a(o, y, x) = max(sum(k in 0..96, i in 0..3, j in 0..3) w(o, k, i, j) * f(k, y + i, x + j), 0)
            b(o, y, x) = (sum(k in 0..96) v(o, k) * f(k, y, x)) / (1 + abs(max(k in 0..96) f(k, y, x)))
        })",
     {{{"R", 1}, {"C", 1}, {"K", 1}}, {{"R", 3}, {"C", 37}, {"K", 5}}, {{"R", 17}, {"C", 70}, {"K", 8}}}},
    {"blocks_of_rows",
     R"(
        pipeline p(f: float32[R + 10, C + 10], w: float32[2 * K + 1], u: uint8[R + 10, C]) -> a: float32[R, C], b: float32[R, C], c: int32[R, C] where K <= 5 {
            a(y, x) = sum(i in 0..11, j in 0..11) f(y + i, x + j) * (i + j)
            b(y, x) = sum(i in 0..=2 * K) w(i) * f(y + i, x) + max(j in 0..=2 * K) f(y, x + j)
            c(y, x) = (argmin(i in 0..=2 * K) u(y + i, x)) + sum(i in 0..=2 * K) u(y + i, x)
        })",
     {{{"R", 1}, {"C", 1}, {"K", 0}}, {{"R", 3}, {"C", 37}, {"K", 5}}, {{"R", 18}, {"C", 150}, {"K", 2}}}},
    {"many_terms_in_each_other",
     R"(
        pipeline p(f: float32[R, C]) -> a: float32[R, C], b: int32[R, C] {
            at(y, x) = f(clamp(y, 0, R - 1), clamp(x, 0, C - 1))
            a(y, x) = sum(i in 0..20) (max(j in 0..20) f(clamp(y + i, 0, R - 1), clamp(x + j, 0, C - 1)))
            b(y, x) = argmin(i in 0..9) (2 * (sum(j in 0..9) at(y + i, x - j)) - at(y, x))
        })",
     {{{"R", 1}, {"C", 1}}, {{"R", 3}, {"C", 37}}}},
    // Terms that are loops become points of a stage; those of both searches for the best are the same ones.
    {"searches_for_blocks",
     R"(
        pipeline p(f: uint8[8 * R + 8, 8 * C + 8], g: float32[8 * R + 8, 8 * C + 8])
            -> away: int32[R, C, 2], least: float32[R, C], best: int32[R, C] {
            place(t, s) = argmin(i in 0..=8, j in 0..=8)
                              (i + j + (sum(y in 0..8, x in 0..8) abs(f(8 * t + y, 8 * s + x) - f(8 * t + i + (y + j) / 2, 8 * s + j))))
            away(t, s, k) = if k == 0 then place[0](t, s) else place[1](t, s)
            least(t, s) = min(i in 0..9) (sum(y in 0..20, x in 0..8) g(8 * t + (y + i) / 4, 8 * s + x))
            best(t, s) = argmax(i in 0..6) (sum(y in 0..9, x in 0..8) g(8 * t + y % 8 + i, 8 * s + x))
        })",
     {{{"R", 1}, {"C", 1}}, {{"R", 2}, {"C", 9}}},
     2},
    // Blocks are summed where the condition holds, which may be what keeps their reads in bounds.
    {"behind_conditions_on_places",
     R"(
        pipeline p(f: float32[T, R, C], u: uint8[T]) -> first: float32[T], last: uint8[T], nested: float32[T], which: float32[4], fixed: float32[T] {
            first(t) = if t == 0 then 0 else (sum(y in 0..R, x in 0..C) abs(f(t, y, x) - f(t - 1, y, x))) / (float32(R) * C)
            last(t) = if t + 1 >= T or all(y in 0..R, x in 0..C) (f(t, y, x) > f(t + 1, y, x) - 0.9) then 1 else 0
            nested(t) = if t == 0 then 1 else if u(t) > u(t - 1) then 2
                        else if t != 1 and u(t - 2) % 4 > 0 then sum(y in 0..R, x in 0..C) f(t, y, x) * f(t - 2, y, x)
                        else max(y in 0..R, x in 0..C) f(t - 1, y, x)
            which(i) = if i == 0 then sum(y in 0..R, x in 0..C) f(0, y, x)
                       else if i == 1 then min(y in 0..R, x in 0..C) f(T - 1, y, x)
                       else if i < 3 then max(y in 0..R, x in 0..C) f(0, y, x) else prod(y in 0..R, x in 0..C) (f(0, y, x) + 0.5)
            fixed(t) = if t == 3 then sum(y in 0..R, x in 0..C) f(t, y, x) + f(t - 3, 0, 0) else f(t, 0, 0)
        })",
     {{{"T", 1}, {"R", 1}, {"C", 1}}, {{"T", 2}, {"R", 3}, {"C", 70}}, {{"T", 5}, {"R", 67}, {"C", 9}}},
     9},
    {"behind_conditions_on_data",
     R"(
        pipeline p(f: float32[T, R, C], u: uint8[T], k: int32[N], w: float32[8], mode: int32)
            -> both: float32[T], rows: float32[N], heavy: float32[T], asked: float32[T], modes: float32[1], cast: uint8[T] {
            both(t) = if u(t) > 100 then sum(y in 0..R, x in 0..C) f(t, y, x) else max(y in 0..R, x in 0..C) f(t, y, x)
            rows(n) = if 0 <= k(n) % 8 and k(n) % 8 < T then sum(y in 0..R, x in 0..C) f(k(n) % 8, y, x) else -1
            heavy(t) = if t > 0 and (sum(i in 0..8) exp(w(i) * sin(f(t - 1, i % R, 0)))) > 8
                       then sum(y in 0..R, x in 0..C) f(t - 1, y, x) else 0
            asked(t) = if (max(y in 0..R, x in 0..C) f(t, y, x)) > 0.99 then let m = sum(y in 0..R, x in 0..C) f(t, y, x) in
                       sqrt(abs(sum(y in 0..R, x in 0..C) (f(t, y, x) - m) * (f(t, y, x) - m))) else 3
            modes(z) = if mode == 0 then sum(y in 0..R, x in 0..C) f(0, y, x) else if mode > 0 then max(y in 0..R, x in 0..C) f(0, y, x)
                       else min(y in 0..R, x in 0..C) f(0, y, x)
            cast(t) = if t < 1 then 7 else saturate<uint8>(sqrt(clamp((sum(y in 0..R, x in 0..C) f(t, y, x) * f(t - 1, y, x)) / (R * C), 0, 100)) * 200)
        })",
     {{{"T", 1}, {"R", 1}, {"C", 1}, {"N", 1}},
      {{"T", 3}, {"R", 8}, {"C", 70}, {"N", 5}},
      {{"T", 6}, {"R", 65}, {"C", 9}, {"N", 13}}},
     9},
    {"behind_conditions_on_sizes",
     R"(
        pipeline p(f: float32[R, C]) -> out: float32[1], product: float32[1], inner: float32[R] {
            out(z) = if R > 2 and C > 3 then sum(y in 0..R - 2, x in 0..C) f(y + 2, x) * f(2, 3) else 7
            product(z) = if R * C > 70 then sum(y in 0..R, x in 0..C) f(y, x) else max(y in 0..R, x in 0..C) f(y, x)
            inner(y) = if C > 9 and y < R - 1 and y > 2 then sum(i in 9..C) f(y - 3, i - 9) * f(y + 1, i) else 0
        })",
     {},
     3},
    // The condition follows the pixel, the sum does not: it is computed once, as its reads are in bounds everywhere.
    {"behind_conditions_of_pixels",
     R"(
        pipeline p(f: float32[R, C], u: uint8[R, C], w: float32[K]) -> out: float32[R, C], rows: float32[R, C], weights: float32[R, C], early: float32[R, C] {
            out(y, x) = if u(y, x) > 100 then f(y, x) - (sum(i in 0..R, j in 0..C) f(i, j)) / (R * C) else 0
            rows(y, x) = if y > 0 and u(y, x) > 100 then f(y, x) - (max(j in 0..C) f(y - 1, j)) else 1
            weights(y, x) = if f(y, x) > 0.5 then f(y, x) * sum(k in 0..K) w(k) else if x >= 5 then sum(i in 0..R) f(i, x - 5) else 3
            early(y, x) = if u(y, x) < K then (sum(i in 0..R) f(i, 0)) * w(u(y, x)) + sum(k in 0..K - 1) w(k) * w(u(y, x)) else 2
        })",
     {{{"R", 1}, {"C", 1}, {"K", 1}}, {{"R", 70}, {"C", 5}, {"K", 3}}, {{"R", 5}, {"C", 90}, {"K", 200}}},
     4},
    {"places_behind_conditions",
     R"(
        pipeline p(f: float32[T, R, C], u: uint8[T]) -> where_: int32[T], dark: int32[T] {
            where_(t) = if t == T - 1 then -1 else let [y, x] = argmax(y in 0..R, x in 0..C) abs(f(t, y, x) - f(t + 1, y, x)) in y * C + x
            dark(t) = if u(t) > 128 and t > 0 then argmin(y in 0..R) (sum(x in 0..C) f(t - 1, y, x)) else argmin(x in 0..C) f(t, 0, x)
        })",
     {{{"T", 1}, {"R", 1}, {"C", 1}}, {{"T", 3}, {"R", 3}, {"C", 70}}, {{"T", 4}, {"R", 33}, {"C", 20}}},
     4},
    {"conditions_in_loops",
     R"(
        pipeline p(f: float32[T, R, C], u: uint8[T]) -> out: float32[1], terms: float32[1], t3: float32[R] {
            out(z) = sum(t in 0..T) (if t > 0 and u(t) > 50 then sum(y in 0..R, x in 0..C) f(t, y, x) * f(t - 1, y, x) else f(t, 0, 0))
            terms(z) = sum(y in 0..R, x in 0..C) (if x > 0 and f(0, y, x) > 0.3 then f(0, y, x) - f(0, y, x - 1) else 0)
            t3(y) = max(t in 0..T) (if t != T - 1 then min(x in 0..C) (f(t + 1, y, x) - f(t, R - 1 - y, x)) else 0)
        })",
     {{{"T", 1}, {"R", 1}, {"C", 1}}, {{"T", 3}, {"R", 3}, {"C", 70}}, {{"T", 4}, {"R", 33}, {"C", 20}}},
     4},
    {"reductions_of_scans",
     R"(
        pipeline p(f: float32[T, R, C]) -> smooth: float32[T], state: float32[T], own: float32[T], back: float32[T] {
            score(t) = if t == 0 then 0 else (sum(y in 0..R, x in 0..C) abs(f(t, y, x) - f(t - 1, y, x))) / (R * C)
            smooth(t) = if t == 0 then score(t) else 0.9 * smooth(t - 1) + 0.1 * score(t)
            state(t) = if t == 0 then sum(y in 0..R, x in 0..C) f(0, y, x)
                       else 0.5 * state(t - 1) + (sum(y in 0..R, x in 0..C) abs(f(t, y, x) - f(t - 1, y, x)))
            own(t) = if t == 0 then 0.5 else if own(t - 1) > 0.6 then (max(y in 0..R, x in 0..C) f(t - 1, y, x)) / 2
                     else own(t - 1) + sum(x in 0..C) (f(t, 0, x) * own(t - 1)) / C
            back(t) = if t == T - 1 then 0 else 0.25 * back(t + 1) + min(y in 0..R, x in 0..C) f(t + 1, y, x)
        })",
     {{{"T", 1}, {"R", 1}, {"C", 1}}, {{"T", 3}, {"R", 3}, {"C", 70}}, {{"T", 70}, {"R", 33}, {"C", 20}}},
     6},
    {"accumulates_behind_conditions",
     R"(
        pipeline p(f: float32[T, R, C], u: uint8[T, R, C]) -> h: int32[T, 16] {
            accumulate h(t in 0..T, v in 0..16): int32 = 0 {
                for t in 0..T, y in 0..R, x in 0..C {
                    if t > 0 and (sum(i in 0..R, j in 0..C) f(t - 1, i, j)) > f(t, y, x) {
                        h(t, u(t, y, x) / 16) += if f(t, y, x) > (max(i in 0..R, j in 0..C) f(t - 1, i, j)) / 2 then 1 else 2
                    }
                }
            }
        })",
     {{{"T", 1}, {"R", 1}, {"C", 1}}, {{"T", 3}, {"R", 3}, {"C", 70}}, {{"T", 4}, {"R", 33}, {"C", 20}}},
     2},
    // Points are so few that a warp shares out the reductions of each: in any order, in the order of the terms, in
    // blocks, with places, several in one loop, and with bounds of each point's own.
    {"few_points",
     R"(
        pipeline p(f: float32[R, C], u: uint8[R, C], h: float16[C], d: float64[C]) -> a: float32[5], b: int32[6, 5], c: float64[2, 5], e: float16[5] where C >= 5 {
            a(n) = (sum(x in n..C) f(0, x)) + (sum(i in 0..40) f(0, min(i + n, C - 1))) * (min(x in n..C) f(0, x))
            most(n) = argmax(x in n..C) f(0, x)
            lowest(n) = argmin(y in 0..R, x in n..C) u(y, x)
            b(k, n) = if k == 0 then sum(y in 0..R, x in n..C) int32(u(y, x))
                      else if k == 1 then most(n)
                      else if k == 2 then lowest(n)[0] * C + lowest(n)[1]
                      else if k == 3 then (if any(x in n..C) (u(R - 1, x) == 7) then 1 else 0)
                      else if k == 4 then max(y in 0..R, x in n..C) int32(u(y, x) ^ 21)
                      else prod(x in n..C) int32(u(0, x) | 1)
            c(k, n) = if k == 0 then sum(x in n..C) (d(x) * x) else (prod(x in n..C) (1 + d(x) / C)) + max(x in n..C) d(x)
            e(n) = sum(x in n..C) h(x)
        })",
     {{{"R", 1}, {"C", 5}}, {{"R", 3}, {"C", 69}}, {{"R", 40}, {"C", 130}}, {{"R", 2}, {"C", 4500}}}},
    // What is reduced up to a point is a scan: with ends of all kinds, of two variables, inside of more.
    {"prefixes",
     R"(
        pipeline p(u: uint8[R, C], k: int32[N], f: float32[N])
            -> image: uint32[R, C], shifted: int64[R, C], ends: int32[4, N], most: float32[N], mean: float32[N] where R >= 1, C >= 1, N >= 1 {
            image(y, x) = sum(j in 0..=y, i in 0..=x) uint32(u(j, i))
            shifted(y, x) = (sum(i in 0..x) int64(u(y, i)) * i) - sum(j in 0..=y) u(j, x)
            ends(e, x) = if e == 0 then sum(i in 0..=x) k(i) else if e == 1 then sum(i in 0..x) k(i) else x
            most(x) = max(i in 0..x + 1) f(i)
            mean(x) = float32(sum(i in 0..=x) k(i)) / (x + 1) + (min(i in 0..=x) f(i)) + (sum(i in 0..=x) f(i))
        })",
     {{{"R", 1}, {"C", 1}, {"N", 1}}, {{"R", 33}, {"C", 70}, {"N", 300}}, {{"R", 3}, {"C", 40}, {"N", 65}}},
     2},
    // Conditions leave every second or third term: with variables that are added and subtracted, both in one condition,
    // other conditions beside them, ranges that the period does not divide, and more terms than a block has.
    {"every_second_term",
     R"(
        import "boundary"
        pipeline p(f: float32[5, R, C], w: float32[5, 4, 4], b: uint8[R, C], line: float32[C])
            -> up: float32[2 * R, 2 * C], mixed: int32[R, C], most: uint8[R, C], rest: int32[R, C], data: int32[R, C],
               long: float32[C]
            where R <= 1000, C <= 1000 {
            e = constant(f)
            up(y, x) = sum(k in 0..5, i in 0..4, j in 0..4)
                (if (y + 1 - i) % 2 == 0 and (x + 1 - j) % 2 == 0 then w(k, i, j) * e(k, (y + 1 - i) / 2, (x + 1 - j) / 2) else 0)
            mixed(y, x) = sum(i in 0..12, j in -6..6)
                (if (y + i + j) % 3 == 1 and b(y, x) > j then int32(b((y + i) % R, x)) * (j + 7) + (y + i + j + 4) / 3 else 0)
            most(y, x) = uint8(max(i in 1..10, j in 0..9) (if 2 == (x - j) % 3 then uint8(b((y + i) % R, (x - j) % C) / 2 + i) else uint8(0)))
            rest(y, x) = sum(i in 0..10, j in 0..9)
                (if (y + i) % 4 != 1 then 0 else if (x - j) % 2 != 0 then int32(b((y + i) % R, (x - j) % C)) * (i - j) else 0)
            data(y, x) = sum(i in 0..80) (if i % R < R - 1 and (i + b(i % R + 1 - 1, x)) % 2 == 0 then i - x else 0) +
                         sum(i in 0..80) (if (i + x - i / 3) % 2 == 0 then i - y else 0)
            long(x) = sum(i in 0..128) (if (x + i) % 2 == 0 then line((x + i) / 2 % C) * i else 0)
        })",
     {{{"R", 1}, {"C", 1}}, {{"R", 3}, {"C", 5}}, {{"R", 33}, {"C", 70}}}},
    // Weights that offsets decide, as tables: of a window, of a radius given when it runs, of a bank's filters, behind
    // a condition, in a place of a minimum, and of a long sum of few points.
    {"weights",
     R"(
        import "boundary"
        fn bell(i, j, s) = let d = sqrt(1.0 * i * i + 1.0 * j * j) in if d > 5 then 0 else exp(-d * d / s)
        pipeline p(img: float32[R, C], s: float32 = 3, n: int32 = 2) -> round: float32[R, C], wide: float32[R, C],
            bank: float32[3, R, C], far: int32[R, C], once: float32[] where 0 <= n <= 4 {
            f = mirror(img)
            round(y, x) = sum(i in -5..=5, j in -5..=5) bell(i, j, s) * f(y + i, x + j)
            wide(y, x) = (sum(i in -n..=n, j in -n..=n) bell(i, j, s) * f(y + i, x + j)) /
                         (sum(i in -n..=n, j in -n..=n) bell(i, j, s))
            bank(k, y, x) = sum(i in 0..70) (if i == k then f(y, x) else cos(0.1 * i * k) * f(y + i % 7, x - i % 5))
            far(y, x) = argmin(i in 0..70) (exp(float32(i % 11)) - f(y, x + i))
            once() = sum(i in 0..100) exp(-i / s) * (i - n)
        })",
     {{{"R", 1}, {"C", 1}, {"n", 0}}, {{"R", 3}, {"C", 5}, {"n", 4}}, {{"R", 33}, {"C", 70}, {"n", 2}}}},
    // Windows as windows of strips: of integers, of floats in their order, with borders, weights along one side,
    // channels, a radius given when it runs, behind a condition, and beside each other.
    {"windows",
     R"(
        import "boundary"
        pipeline p(u: uint8[R, C], f: float32[R, C], rgb: uint8[3, R, C], w: float32[9], s: int32[2 * N + 1])
            -> box: int32[R, C], mean: float32[R, C], run: int32[R, C], sums: int32[R, C], most: float32[R, C],
               valid: uint64[R - 10, C - 12], chosen: int32[R, C], apart: int32[R, C]
            where R >= 11, C >= 13, R <= 1000, C <= 1000, N <= 6 {
            e = clamp_to_edge(u)
            g = mirror(f)
            box(y, x) = sum(i in -5..=5, j in -5..=5) int32(e(y + i, x + j))
            mean(y, x) = (sum(i in 0..9, j in 0..9) w(i) * g(y + i - 4, x + j - 4)) /
                         (sum(i in 0..9, j in 0..9) f(clamp(y + i, 0, R - 1), clamp(j + x - 3, 0, C - 1)))
            run(y, x) = sum(i in -N..=N, j in -N..=N) int32(e(y + i, x + j)) * s(i + N)
            sums(y, x) = sum(k in 0..3, i in 0..7, j in 0..7) int32(rgb(k, (y + i) % R, (x + j) % C))
            most(y, x) = max(i in -4..=4, j in -4..=4) g(y + i, x + j)
            valid(y, x) = sum(i in 0..11, j in 0..13) uint64(u(y + i, x + j)) * uint64(u(y + i, x + j))
            chosen(y, x) = if u(y, x) > 40 then sum(i in -5..=5, j in -5..=5) int32(e(y + i, x + j)) else s(N)
            apart(y, x) = box((y + 3) % R, x) + sum(i in -N..=N, j in -5..=5) int32(e(y + i, x + j))
        })",
     {{{"R", 11}, {"C", 13}, {"N", 5}}, {{"R", 30}, {"C", 47}, {"N", 1}}, {{"R", 12}, {"C", 130}, {"N", 6}}},
     7},
    // Inner points of a stage with loops have threads of their own, and what many columns load exceeds the registers.
    {"many_loads_and_few_channels",
     R"(
        pipeline p(f: float32[R, 64, C], w: float32[64]) -> re: float32[R, 64, C], im: float32[R, 64, C], rgb: float32[R, C, 3] {
            re(r, k, x) = sum(y in 0..64) (f(r, y, x) * w(k * y % 64) + f(r, 63 - y, x) * w((k * y + 16) % 64))
            im(r, k, x) = sum(y in 0..64) (f(r, y, x) * w((k * y + 16) % 64) - f(r, 63 - y, x) * w(k * y % 64))
            rgb(r, x, c) = sum(y in 0..64, k in 0..3) f(r, (y + c) % 64, x) * w(k + c)
        })",
     {{{"R", 1}, {"C", 1}}, {{"R", 2}, {"C", 64}}, {{"R", 3}, {"C", 37}}}},
    // Windows that end at the edges; `late` is empty in the first columns.
    {"clipped_windows",
     R"(
        pipeline p(u: uint8[R, C], f: float32[R, C], r: int32 = 2)
            -> count: int32[R, C], mean: float32[R, C], low: float32[R, C], high: uint8[R, C], at: int32[R, C],
               far: int32[R, C], tile: float32[(R + 15) / 16, (C + 15) / 16], late: float32[R, C], all_in: bool[R, C],
               box: int32[R, C], product: float32[R, C]
            where 0 <= r <= 9 {
            count(y, x) = sum(i in max(y - 2, 0)..=min(y + 2, R - 1), j in max(x - 2, 0)..=min(x + 2, C - 1))
                              (if u(i, j) > 100 then 1 else 0)
            mean(y, x) = (sum(i in max(0, y - 1)..min(y + 2, R), j in max(x - 3, 0)..min(C, x + 1)) f(i, j)) /
                         ((min(y + 2, R) - max(0, y - 1)) * (min(C, x + 1) - max(x - 3, 0)))
            low(y, x) = min(i in max(y - 2, 0)..=min(y + 2, R - 1), j in max(x - 2, 0)..=min(x + 2, C - 1)) f(i, j)
            high(y, x) = max(i in max(y - 4, 0)..=y) u(i, x)
            at(y, x) = argmin(j in max(x - 2, 0)..=min(x + 2, C - 1)) f(y, j)
            far(y, x) = argmax(i in y..min(y + 7, R)) u(i, x)
            tile(i, j) = sum(y in 16 * i..min(16 * i + 16, R), x in 16 * j..min(16 * j + 16, C)) f(y, x)
            late(y, x) = max(j in max(x - 9, 0)..min(x - 4, C)) f(y, j)
            all_in(y, x) = all(j in max(x - 1, 0)..min(x + 2, C)) (u(y, j) > 3)
            box(y, x) = sum(i in max(y - r, 0)..=min(y + r, R - 1), j in max(x - r, 0)..=min(x + r, C - 1)) u(i, j)
            product(y, x) = prod(i in max(y - 1, 0)..min(y + 2, R), j in x..min(x + 2, C)) f(i, j)
        })",
     {{{"R", 1}, {"C", 1}, {"r", 0}},
      {{"R", 3}, {"C", 130}, {"r", 9}},
      {{"R", 40}, {"C", 7}, {"r", 2}},
      {{"R", 33}, {"C", 64}, {"r", 1}}}},
    // At places that data tell: tables of three values, and cases that read different elements of one.
    {"tables",
     R"(
        pipeline p(rgb: uint8[R, C, 3], t: float32[20, 20, 3], planes: uint16[3, 32, 32], wide: float32[300])
            -> graded: float32[R, C, 3], sum3: int32[R, C], cases: float32[R, C, 3], far: float32[R, C] {
            graded(y, x, c) =
                let i = rgb(y, x, 0) / 14, j = rgb(y, x, 1) / 14, a = rgb(y, x, 2) / 256.0 in
                lerp(t(i, j, c), t(i + 1, j + 1, c), a)
            sum3(y, x) = sum(c in 0..3) planes(c, rgb(y, x, 0) / 8, rgb(y, x, 2) / 8) * (c + 1)
            cases(y, x, c) =
                let p = rgb(y, x, 0) / 14.0, q = rgb(y, x, 1) / 14.0, i = int32(p), j = int32(q), a = p - i, b = q - j,
                    first = t(i, j, c), end = t(i + 1, j + 1, c) in
                if a > b then first + a * (t(i + 1, j, c) - first) + b * (end - t(i + 1, j, c))
                else if a < b then first + b * (t(i, j + 1, c) - first) + a * (end - t(i, j + 1, c))
                else first + a * (t(i + 1, j, c) - first)
            far(y, x) =
                let k = int32(rgb(y, x, 0)) in
                if rgb(y, x, 1) > 99 then (if k < 200 then wide(k + 99) else wide(k)) else wide(k / 2) + wide(299 - k)
        })",
     {},
     2},
    // Slices of a scan stay apart where the choice between them depends on data.
    {"chosen_slices",
     R"(
        pipeline p(u: uint8[R, C], d: uint8[R, C]) -> s: int32[R, C], t: int32[R, C] {
            s(y in 0..R, x in 0..C): int32 =
                if y < 2 then int32(u(y, x))
                else if u(y, x) > 99 then s(y - 1, min(int32(d(y, x)), C - 1)) + 1
                else s(y - 2, min(d(y, x) / 2, C - 1))
            t(y in 0..R, x in 0..C): int32 =
                if y < 1 then int32(u(y, x))
                else if u(y, x) > 99 then t(y - 1, min(int32(d(y, x)), C - 1)) + 1
                else t(y - 1, min(d(y, x) / 2, C - 1))
        })"},
};

INSTANTIATE_TEST_SUITE_P(All, Reductions, ::testing::ValuesIn(kCases),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace pipec::testing::reduction_run_test
