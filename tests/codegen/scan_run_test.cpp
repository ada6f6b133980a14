// Stages that read themselves: the bits of the sequential definition on the host and on the emulated device, along each
// dimension, in both directions, for lines that are shorter and longer than what a block takes at once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "codegen/lower.h"
#include "plan/scan_tile.h"
#include "support_lib/compile.h"
#include "support_lib/data.h"
#include "support_lib/device.h"
#include "support_lib/host.h"

namespace pipec::testing::scan_run_test {
namespace {

using Sizes = std::map<std::string, std::int64_t>;

const std::vector<Sizes> kImages{{{"R", 1}, {"C", 1}},    {{"R", 1}, {"C", 200}}, {{"R", 300}, {"C", 1}},
                                 {{"R", 33}, {"C", 65}},  {{"R", 64}, {"C", 32}}, {{"R", 5}, {"C", 130}},
                                 {{"R", 129}, {"C", 70}}, {{"R", 2}, {"C", 2}},   {{"R", 41}, {"C", 131}},
                                 {{"R", 24}, {"C", 100}}, {{"R", 9}, {"C", 300}}};

/// Lines shorter and longer than what a block shares out at once, 2048 points along memory and 256 across, and few of
/// them: each takes a block.
const std::vector<Sizes> kAlong{{{"R", 1}, {"C", 1}},    {{"R", 1}, {"C", 2047}}, {{"R", 2}, {"C", 2048}},
                                {{"R", 1}, {"C", 2049}}, {{"R", 2}, {"C", 4501}}, {{"R", 65}, {"C", 3}}};
const std::vector<Sizes> kAcross{{{"R", 1}, {"C", 1}},    {{"R", 255}, {"C", 3}},  {{"R", 256}, {"C", 1}},
                                 {{"R", 257}, {"C", 35}}, {{"R", 1003}, {"C", 2}}, {{"R", 3}, {"C", 65}}};

struct Case {
    const char* name;
    const char* program;
    std::vector<Sizes> sizes{};  ///< empty: kImages
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.name;
}

class Scans : public ::testing::TestWithParam<Case> {};

TEST_P(Scans, HaveTheBitsOfTheDefinition) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "case.pipe", GetParam().program);
    for (const Diagnostic& d : compiled.diags.all()) ASSERT_NE(d.severity, Severity::Error) << d.message;
    const ir::Pipeline& definition = compiled.definitions.front();
    const ir::Pipeline& shared = compiled.pipelines.front();
    const std::vector<codegen::Unit> units{{&shared, &compiled.models.front()}};
    const HostLibrary host(units, sources, kNothingUndefined);
    // Of so few threads that some of the images have a line for each.
    fusion::Gpu gpu = fusion::default_target().gpu();
    gpu.sms = 1;
    gpu.threads_per_sm = 200;
    ASSERT_EQ(plan::direct_scan_lines(gpu), 100);
    const DeviceLibrary device(units, sources, {.target = fusion::Target(gpu)});
    std::mt19937_64 rng(7);
    std::uint64_t order = 0;
    for (const Sizes& sizes : GetParam().sizes.empty() ? kImages : GetParam().sizes) {
        for (const Fill fill : {Fill::Smooth, Fill::Extreme}) {
            const reference::Arguments arguments = random_arguments(definition, sizes, fill, rng);
            const auto expected = reference::run(definition, arguments);
            const Layout layout = order % 2 == 0 ? Layout::Dense : Layout::Rotated;
            const auto on_host = run_host(host.info(definition.name), arguments, layout);
            const auto on_device = run_device(device.info(definition.name), arguments, layout, order++);
            for (const auto& [name, array] : expected) {
                EXPECT_EQ(difference(array, on_host.at(name)), "") << name << ", on the host";
                EXPECT_EQ(difference(array, on_device.at(name)), "") << name << ", on the device";
            }
        }
    }
}

const Case kCases[] = {
    // The counts are wider in between, so that stages get other numbers.
    {"beside_narrow_counts", R"(
        pipeline p(img: uint8[R, C]) -> counts: uint8[16], most: uint8[R, C] {
            accumulate counts(v in 0..16): uint8 = 0 { for y in 0..R, x in 0..C { counts(img(y, x) / 16) += 1 } }
            most(y, x): uint8 = if x == 0 then img(y, x) else max(most(y, x - 1), img(y, x))
        })"},
    {"integral_image", R"(
        pipeline p(img: uint8[R, C]) -> out: uint32[R, C] {
            row(y, x in 0..C): uint32 = if x == 0 then img(y, x) else row(y, x - 1) + img(y, x)
            out(y, x) = if y == 0 then row(y, x) else out(y - 1, x) + row(y, x)
        })"},
    {"recursive_filter_both_ways", R"(
        pipeline p(img: float32[3, R, C], a: float32 = 0.7) -> out: float32[3, R, C] {
            f(c, y, x in 0..C): float32 =
                if x == 0 then img(c, y, x) else a * f(c, y, x - 1) + (1 - a) * img(c, y, x)
            b(c, y in 0..R, x in 0..C): float32 =
                if x == C - 1 then f(c, y, x) else a * b(c, y, x + 1) + (1 - a) * f(c, y, x)
            down(c, y in 0..R, x): float32 =
                if y == 0 then b(c, y, x) else a * down(c, y - 1, x) + (1 - a) * b(c, y, x)
            out(c, y, x) = if y == R - 1 then down(c, y, x) else a * out(c, y + 1, x) + (1 - a) * down(c, y, x)
        })"},
    {"second_order_and_more", R"(
        pipeline p(img: float64[R, C]) -> out: float64[R, C], far: int32[R, C] {
            out(y, x) = if x >= 2 then 1.25 * out(y, x - 1) - 0.5 * out(y, x - 2) + img(y, x) else img(y, x)
            far(y, x) = if y + 9 < R then far(y + 9, x) % 1000 + (if y + 1 < R then far(y + 1, x) % 1000 else 3) + x else x
        })"},
    {"coefficients", R"(
        pipeline p(img: float32[R, C], sigma: float32 = 2.5, k: int32 = 3) -> out: float32[R, C], up: float64[R, C]
            where 1 <= k <= 9, sigma >= 0.5
        {
            let q = if sigma >= 2.5 then 0.98711 * sigma - 0.9633 else 3.97156 - 4.14554 * sqrt(1 - 0.26891 * min(sigma, 3.0))
            let a = 0.4 * exp(-q) + float32(4 / k) * 0.01
            let b = 0.3 / (1 + q)
            total(i in 0..1) = sum(y in 0..R, x in 0..C) img(y, x)
            s(y, x in 0..C): float32 =
                if x >= 2 then (1 - a - b) * img(y, x) + a * s(y, x - 1) + b * s(y, x - 2) else img(y, x) / (1 + abs(total(0)))
            out(y, x) = if y < R - 1 then a * out(y + 1, x) + (1 - a) * s(y, x) else s(y, x) * b
            up(y, x) = if y > 0 then exp(-float64(sigma)) * up(y - 1, x) + img(y, x) else float64(total(0)) * a * b
        })"},
    {"terms_behind_conditions", R"(
        pipeline p(img: uint8[R, C], lut: float32[256]) -> out: uint8[R, C], far: float32[R, C], side: int16[R, C] {
            out(y, x) = if y == 0 then img(y, x) else min(max(img(y, x), out(y - 1, x)), img(max(y - 2, 0), x))
            far(y, x) = if y < R - 1 then 0.5 * far(y + 1, x) + (if y >= 3 then lut(img(y - 3, x)) else float32(img(y, C - 1 - x)))
                        else lut(img(y, x))
            side(y, x) = if x == 0 then int16(img(y, x)) else int16(side(y, x - 1) % 100 + (if x >= 4 and img(y, x - 4) > 9 then
                         img(y, x - 1) else 1))
        })"},
    {"interleaved_colour", R"(
        pipeline p(img: uint8[3, R, C] order (1, 2, 0)) -> out: uint16[3, R, C] order (1, 2, 0), down: uint8[3, R, C] order (1, 2, 0) {
            out(c, y, x) = uint16(if x == 0 then img(c, y, x) else out(c, y, x - 1) + img(c, y, x))
            down(c, y, x) = if y == 0 then img(c, y, x) else max(down(c, y - 1, x), img(c, y, x))
        })"},
    {"bits_of_a_pixel",
     R"(
        pipeline p(img: uint16[R, C]) -> code: int32[R, C, 10], back: uint8[32, R, C] {
            code(y, x, k) = (if k == 0 then 0 else code(y, x, k - 1)) ^ int32(img(y, x) >> k & 1)
            back(k, y, x) = if k == 31 then uint8(img(y, x) & 1) else max(back(k + 1, y, x), uint8(img(y, x) >> k & 1))
        })",
     {{{"R", 3}, {"C", 35}}, {{"R", 1}, {"C", 1}}, {{"R", 17}, {"C", 40}}}},
    {"along_channels",
     R"(
        pipeline p(img: float32[R, C, 5]) -> out: float32[R, C, 5], planes: float16[4, R, C] {
            out(y, x, c) = if c == 0 then img(y, x, c) else out(y, x, c - 1) * 0.5 + img(y, x, c)
            planes(c, y, x) = if c == 3 then float16(img(y, x, 4)) else min(planes(c + 1, y, x), float16(img(y, x, c)))
        })",
     {{{"R", 3}, {"C", 35}}, {{"R", 1}, {"C", 1}}, {{"R", 17}, {"C", 40}}}},
    {"run_lengths_and_last_seen", R"(
        pipeline p(img: uint8[R, C]) -> run: int32[R, C], seen: int32[R, C], any_dark: uint8[R, C] {
            run(y, x) = if img(y, x) < 128 then 0 else (if x > 0 then run(y, x - 1) else 0) + 1
            seen(y, x) = if img(y, x) > 200 then y else if y > 0 then seen(y - 1, x) else -1
            dark(y, x in 0..C): bool = img(y, x) < 10 or (x > 0 and dark(y, x - 1))
            any_dark(y, x) = if dark(y, x) then 1 else 0
        })"},
    {"neighbours_at_the_edges", R"(
        pipeline p(img: float32[R, C], t: float32[256]) -> out: float32[R, C] {
            s(y, x in -2..C + 3): float32 =
                let v = img(y, clamp(x, 0, C - 1)) in
                if x == -2 then v else if x < C then 0.5 * s(y, x - 1) + v * img(max(y - 1, 0), max(x, 0)) else s(y, x - 1)
            out(y, x) = s(y, x + 3) + t(int32(clamp(s(y, x - 2), 0, 255)))
        })"},
    {"the_state_chooses_what_is_read", R"(
        pipeline p(img: uint8[R, C], table: uint8[256]) -> out: uint8[R, C] {
            out(y, x) = if x == 0 then img(y, x) else if out(y, x - 1) > img(y, x - 1) then table(out(y, x - 1)) else img(y, x)
        })"},
    {"in_the_middle_of_a_pipeline", R"(
        pipeline p(img: float32[R, C]) -> out: float32[R, C], total: float32[C] {
            blur(y, x) = (img(max(y - 1, 0), x) + img(y, x)) / 2
            s(y, x in 0..C): float32 = if x == 0 then blur(y, x) else s(y, x - 1) + blur(y, x)
            out(y, x) = (s(y, min(x + 2, C - 1)) - (if x > 2 then s(y, x - 3) else 0)) / 5
            total(x) = sum(y in 0..R) s(y, x)
        })"},
    {"choices_that_use_a_value_often", R"(
        pipeline p(img: uint8[R, C], limit: float32 = 20) -> s: float32[R, C], up: int32[R, C], back: uint8[R, C] {
            s(y in 0..R, x) =
                if y == 0 then img(y, x)
                else let e = img(y, x) - s(y - 1, x) in if abs(e) > limit then img(y, x) else s(y - 1, x) + 0.2 * e
            up(y, x) =
                if y >= R - 3 then img(y, x)
                else let p = 2 * up(y + 1, x) - up(y + 3, x) in if abs(p) > 99 then img(y, x) else (p + img(y, x)) / 2
            back(y in 0..R, x) =
                if y < 2 then img(y, x) else if img(y, x) > back(y - 2, x) then saturate<uint8>(back(y - 2, x) + 1)
                else back(y - 1, x)
        })"},
    {"only_some_lines_are_wanted", R"(
        pipeline p(img: float32[R, C]) -> out: float32[R, C] {
            s(y, x in 0..C): float32 = if x == 0 then img(y, x) else max(s(y, x - 1), img(y, x))
            out(y, x) = if y % 3 == 0 and y >= 6 then s(y, C - 1 - x) else img(y, x)
        })"},
    {"a_long_line",
     R"(
        pipeline p(v: int32[N]) -> sums: int64[N], best: int32[N] {
            sums(i) = if i == 0 then v(i) else sums(i - 1) + v(i)
            best(i) = if i == N - 1 then v(i) else max(best(i + 1), v(i))
        })",
     {{{"N", 1}}, {{"N", 63}}, {{"N", 64}}, {{"N", 65}}, {{"N", 1000}}, {{"N", 4099}}}},
    {"in_any_grouping",
     R"(
        pipeline p(v: float32[K, N], w: float64[N, K], m: int32[K, N])
            -> least: float32[K, N], most: float64[N, K], last: float64[N, K], product: uint32[K, N], mix: int64[K, N]
        {
            least(k, i) = if i == 0 then v(k, i) else min(least(k, i - 1), v(k, i))
            most(i, k) = if i == N - 1 then w(i, k) else max(w(i, k), most(i + 1, k))
            last(i, k) = if i == 0 or w(i, k) > 0.5 then w(i, k) else last(i - 1, k)
            product(k, i) = if i == 0 then 1 else product(k, i - 1) * (uint32(m(k, i)) | 1)
            mix(k, i) = if m(k, i) % 97 == 0 or i == 0 then i else mix(k, i - 1) - m(k, i)
        })",
     {{{"K", 1}, {"N", 1}}, {{"K", 3}, {"N", 2049}}, {{"K", 33}, {"N", 257}}, {{"K", 2}, {"N", 4500}}}},
    {"sums_along_memory",
     R"(
        pipeline p(img: int32[R, C], b: uint8[R, C]) -> wraps: int32[R, C], wide: int64[R, C], back: uint32[R, C],
                                                        less: int64[R, C], flips: int32[R, C] {
            wraps(y, x) = if x == 0 then img(y, x) else wraps(y, x - 1) + img(y, x)
            wide(y, x) = if x == 0 then img(y, x) else wide(y, x - 1) + img(y, x)
            back(y, x) = if x == C - 1 then b(y, x) else b(y, x) + back(y, x + 1)
            less(y, x) = if x == 0 then 5 else less(y, x - 1) - img(y, x)
            flips(y, x) = if x == 0 then b(y, x) else flips(y, x - 1) ^ b(y, x)
        })",
     kAlong},
    {"sums_across_memory",
     R"(
        pipeline p(img: int32[R, C], b: uint8[R, C]) -> wraps: int32[R, C], back: uint64[R, C], product: int32[R, C] {
            wraps(y, x) = if y == 0 then img(y, x) else wraps(y - 1, x) + img(y, x)
            back(y, x) = if y == R - 1 then b(y, x) else back(y + 1, x) + b(y, x)
            product(y, x) = if y == 0 then 1 else product(y - 1, x) * (2 * b(y, x) + 1)
        })",
     kAcross},
    {"extremes_of_floats",
     R"(
        pipeline p(img: float32[R, C], d: float64[R, C]) -> least: float32[R, C], most: float32[R, C],
                                                            back: float64[R, C] {
            least(y, x) = if x == 0 then img(y, x) else min(least(y, x - 1), img(y, x))
            most(y, x) = if x == 0 then img(y, x) else max(img(y, x), most(y, x - 1))
            back(y, x) = if x == C - 1 then d(y, x) else min(d(y, x), back(y, x + 1))
        })",
     kAlong},
    {"extremes_of_floats_across_memory",
     R"(
        pipeline p(img: float32[R, C]) -> down: float32[R, C] {
            down(y, x) = if y == 0 then img(y, x) else max(down(y - 1, x), min(img(y, x), 1000))
        })",
     kAcross},
    {"lines_that_begin_again",
     R"(
        pipeline p(img: uint8[R, C]) -> run: int32[R, C], seen: int32[R, C], blocks: int32[R, C] {
            run(y, x) = if img(y, x) < 5 then 0 else (if x > 0 then run(y, x - 1) else 0) + 1
            seen(y, x) = if img(y, x) > 250 then x else if x > 0 then seen(y, x - 1) else -1
            blocks(y, x) = if x % 100 == 0 then img(y, x) else blocks(y, x - 1) + img(y, x)
        })",
     kAlong},
    {"columns_that_begin_again",
     R"(
        pipeline p(img: uint8[R, C]) -> column: int32[R, C] {
            column(y, x) = if y == R - 1 or img(y, x) == 255 then y else min(column(y + 1, x), img(y, x))
        })",
     kAcross},
    {"constant_extents",
     R"(
        pipeline p(a: uint8[R, 130], b: uint8[R, 300, 3], c: int32[127, R]) -> out: uint32[R, 130],
                                                                              colour: int32[R, 300, 3], short: int32[127, R] {
            out(y, x) = if x == 0 then a(y, x) else out(y, x - 1) + a(y, x)
            colour(y, x, i) = if x == 299 then b(y, x, i) else max(colour(y, x + 1, i), b(y, x, i) - x)
            short(y, x) = if y == 0 then c(y, x) else short(y - 1, x) + c(y, x)
        })",
     {{{"R", 1}}, {{"R", 33}}}},
    {"sums_on_some_lines",
     R"(
        pipeline p(img: int32[R, C]) -> out: int64[R, C] {
            s(y, x in 0..C): int64 = if x == 0 then img(y, x) else s(y, x - 1) + img(y, x)
            t(y in 0..R, x): int64 = if y == 0 then img(y, x) else t(y - 1, x) + img(y, x)
            out(y, x) = (if y % 3 == 0 and y >= 6 then s(y, C - 1 - x) else 0) + (if x % 3 == 1 then t(R - 1 - y, x) else 0)
        })",
     {{{"R", 7}, {"C", 2100}}, {{"R", 300}, {"C", 40}}, {{"R", 1}, {"C", 1}}}},
    {"restarts_at_the_first_point",
     R"(
        pipeline p(img: uint8[R, C]) -> out: uint32[R, C] where C >= 3 {
            a(y, x in 0..C): uint32 = img(y, x) + (if x > 0 then a(y, x - 1) else 0)
            b(y, x in 2..C): uint32 = if x >= 3 then b(y, x - 1) + img(y, x) else 7
            c(y, x in 0..C): uint32 = (if x < C - 1 then c(y, x + 1) else 0) + img(y, x)
            d(y, x in 0..C): uint32 = if not (x == C - 1) then max(d(y, x + 1), img(y, x)) else 9
            e(y in 0..R, x): uint32 = (if y != 0 then e(y - 1, x) else 3) + img(y, x)
            out(y, x) = a(y, x) + b(y, max(x, 2)) * 3 + c(y, x) * 5 + d(y, x) * 7 + e(y, x) * 11
        })",
     {{{"R", 1}, {"C", 3}}, {{"R", 2}, {"C", 2048}}, {{"R", 2}, {"C", 4501}}, {{"R", 300}, {"C", 5}}}},
    {"few_long_lines",
     R"(
        pipeline p(a: uint16[C], b: uint8[3, C]) -> sums: uint32[C], least: uint8[3, C] {
            sums(i) = a(i) + (if i > 0 then sums(i - 1) else 0)
            least(c, i) = if i < C - 1 then min(least(c, i + 1), b(c, i)) else b(c, i)
        })",
     {{{"C", 1}}, {{"C", 16384}}, {{"C", 16385}}, {{"C", 40001}}}},
    {"nothing_to_scan",
     R"(
        pipeline p(img: float32[R, C]) -> out: float32[R, C] where C >= 5 {
            s(y, x in 2..C - 2): float32 = if x == 2 then img(y, x) else s(y, x - 1) + img(y, x)
            out(y, x) = if 2 <= x and x < C - 2 then s(y, x) else 0
        })",
     {{{"R", 3}, {"C", 5}}, {{"R", 40}, {"C", 69}}}},
    {"the_least_path",
     R"(
        pipeline p(img: uint8[R, C]) -> down: int32[R, C], up: int32[R, C] {
            down(y, x) = if y == 0 then img(y, x)
                else img(y, x) + min(down(y - 1, max(x - 1, 0)), min(down(y - 1, x), down(y - 1, min(x + 1, C - 1))))
            up(y, x) = if y == R - 1 then down(y, x) else min(up(y + 1, C - 1 - x), down(y, x)) + img(y, C - 1 - x)
        })"},
    {"costs_along_rows",
     R"(
        pipeline p(img: uint8[R, C]) -> there: int32[R, C, 20], back: int32[R, C, 20] {
            cost(y, x, d) = abs(img(y, x) - img(y, clamp(x - d, 0, C - 1)))
            there(y, x, d) = if x == 0 then cost(y, x, d) else cost(y, x, d) - (min(e in 0..20) there(y, x - 1, e))
                + min(min(there(y, x - 1, d), (min(e in 0..20) there(y, x - 1, e)) + 30),
                      min(there(y, x - 1, max(d - 1, 0)), there(y, x - 1, min(d + 1, 19))) + 7)
            back(y, x, d) = if x >= C - 2 then there(y, x, d)
                else max(back(y, x + 1, 19 - d), back(y, x + 2, d / 2)) - there(y, x, d)
        })"},
    {"steps_in_time",
     R"(
        pipeline p(img: float32[R, C]) -> out: float32[R, C] {
            u(t in 0..5, y in 0..R, x in 0..C): float32 = if t == 0 then img(y, x)
                else (u(t - 1, max(y - 1, 0), x) + u(t - 1, min(y + 1, R - 1), x) + u(t - 1, y, max(x - 1, 0))
                      + u(t - 1, y, min(x + 1, C - 1))) / 4
            out(y, x) = u(4, y, x)
        })"},
    {"where_data_say",
     R"(
        pipeline p(img: uint8[2, R, C]) -> out: int32[2, R, C] {
            p(c, y in 0..R, x in 0..C): int32 = if y < 2 then img(c, y, x)
                else p(c, y - 2, clamp(x + img(c, y, x) % 7 - 3, 0, C - 1)) + p(c, y - 1, 0) % 5 + 1
            out(c, y, x) = p(c, R - 1 - y, x)
        })"},
    {"diagonals",
     R"(
        pipeline p(img: uint8[R, C]) -> out: int32[R, C] {
            out(y, x) = if y == 0 or x == 0 then img(y, x) else max(out(y - 1, x - 1) - 3, img(y, x))
        })"},
    // Slices in shared memory: several dimensions, rings of more than two, values of which all points of a slice need
    // the least or the greatest, and lines that begin at their end.
    {"slices_of_two_dimensions", R"(
        pipeline p(img: uint8[R, C]) -> out: int32[7, R, C] {
            out(t, y, x) = if t < 2 then img(y, x) + t
                else img(y, x) - min(out(t - 1, max(y - 1, 0), x), out(t - 2, y, min(x + 1, C - 1)))
        })"},
    {"three_slices_before", R"(
        pipeline p(img: uint8[R, C]) -> out: int32[R, C] {
            out(y, x) = if y >= R - 3 then img(y, x)
                else (out(y + 3, min(x + 2, C - 1)) ^ out(y + 1, max(x - 1, 0))) + img(y, x) * y
        })"},
    {"least_of_a_slice", R"(
        pipeline p(img: uint8[R, C], cost: int16[R, C]) -> out: int32[R, C] {
            out(y, x) = if y == 0 then img(0, x)
                else let m = min(e in 0..C) out(y - 1, e) in min(out(y - 1, max(x - 1, 0)), m + 5) - m + cost(y, x)
        })"},
    {"extrema_of_floats", R"(
        pipeline p(img: float32[R, C]) -> out: float32[R, C] {
            out(y, x) = if y < 2 then img(y, x)
                else let m = max(e in 0..C) out(y - 2, e), n = min(e in x..C) out(y - 1, e),
                         k = min(e in y % 2..C) (out(y - 1, e) * 0.5) in
                     (if out(y - 1, C - 1 - x) > m * 0.5 then n else m) * 0.5 + img(y, x) - k
        })"},
    {"sums_of_a_constant_slice",
     R"(
        pipeline p(img: uint8[R, C]) -> out: uint32[R, C, 18] {
            out(y, x, d) = if x == 0 then uint32(img(y, x) + d)
                else uint32((sum(e in 0..18) out(y, x - 1, e)) + out(y, x - 1, min(d + 1, 17)) * img(y, x))
        })",
     {{{"R", 1}, {"C", 1}}, {{"R", 3}, {"C", 2}}, {{"R", 2}, {"C", 33}}}},
    // Of values that a size bounds, by induction: they are indices.
    {"kept_in_an_image", R"(
        pipeline p(img: uint8[R, C]) -> path: int32[R], seam: int32[R], label: int32[R, C], out: int32[R, C] {
            path(y) = if y == 0 then 0 else let v = path(y - 1) in clamp(v + img(y, v) - 120, 0, C - 1)
            seam(y) = if y == R - 1 then C / 2 else
                let x = seam(y + 1) in
                if x > 0 and img(y, max(x - 1, 0)) < img(y, x) then x - 1 else x
            label(y, x) = if x == 0 or img(y, x) > 100 then x else label(y, x - 1)
            out(y, x) = img(y, label(y, x)) + img(y, path(y)) * img(y, seam(y))
        })"},
    {"a_slice_with_holes", R"(
        pipeline p(img: uint8[R, C]) -> out: int32[R, C] {
            part(y in 0..R, x in 0..C): int32 = if y == 0 then img(y, x)
                else part(y - 1, min(x + 1, C - 1)) + (if x + y < C then img(y, x + y) else 3)
            out(y, x) = part(y, x)
        })"},
};

/// Runs a program on a GPU of four multiprocessors, for which four lines are many. Returns its kernels.
codegen::kernel::Program run_program(const std::string& program, const std::vector<Sizes>& all_sizes) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "case.pipe", program);
    EXPECT_FALSE(compiled.diags.has_errors());
    const ir::Pipeline& definition = compiled.definitions.front();
    const std::vector<codegen::Unit> units{{&compiled.pipelines.front(), &compiled.models.front()}};
    fusion::Gpu gpu = fusion::default_target().gpu();
    gpu.sms = 4;
    const DeviceLibrary device(units, sources, {.target = fusion::Target(gpu)});
    std::mt19937_64 rng(7);
    for (const Sizes& sizes : all_sizes) {
        const reference::Arguments arguments = random_arguments(definition, sizes, Fill::Extreme, rng);
        const auto expected = reference::run(definition, arguments);
        const auto actual = run_device(device.info(definition.name), arguments, Layout::Dense, 1);
        EXPECT_EQ(difference(expected.at("out"), actual.at("out")), "") << sizes.at("N") << ", " << sizes.at("C");
    }
    return codegen::lower(units.front(), sources, {.target = fusion::Target(gpu)});
}

std::vector<codegen::kernel::Step> run_slices(const std::string& program, const std::vector<Sizes>& all_sizes) {
    return run_program(program, all_sizes).steps;
}

/// Which steps are a launch for each slice, or each few, and which have slices in shared memory.
std::string kinds(const std::vector<codegen::kernel::Step>& steps) {
    std::string text;
    for (const codegen::kernel::Step& step : steps) {
        const codegen::kernel::Kernel& kernel = step.variants[0];
        text += kernel.repetitions == nullptr ? (kernel.shared.empty() ? "block " : "shared ")
                                              : (kernel.shared.empty() ? "launches " : "strips ");
    }
    return text;
}

/// Points that read any of the slice before wait for all of it.
TEST(Slices, AreLaunchesWhereTheyAreLong) {
    const auto steps = run_slices(R"(
        pipeline p(img: uint8[N, R, C]) -> out: int32[N, R, C] {
            out(n, y, x) = if y == 0 then img(n, y, x)
                else img(n, y, x) + min(out(n, y - 1, C - 1 - x), out(n, y - 1, min(x + 1, C - 1)))
        })",
                                  {{{"N", 1}, {"R", 4}, {"C", plan::kLargestBlockSlice}},
                                   {{"N", 2}, {"R", 3}, {"C", plan::kLargestBlockSlice + 1}},
                                   {{"N", 4}, {"R", 2}, {"C", plan::kLargestBlockSlice + 1}}});
    EXPECT_EQ(kinds(steps), "shared shared block launches ");
}

TEST(Slices, AreStripsWherePointsReadBesideThem) {
    const auto steps = run_slices(R"(
        pipeline p(img: uint8[N, R, C]) -> out: int32[N, R, C] {
            out(n, y, x) = if y == 0 then img(n, y, x)
                else img(n, y, x) + min(out(n, y - 1, max(x - 1, 0)), out(n, y - 1, min(x + 1, C - 1)))
        })",
                                  {{{"N", 1}, {"R", 70}, {"C", 513}},
                                   {{"N", 3}, {"R", 32}, {"C", 640}},
                                   {{"N", 1}, {"R", 3}, {"C", plan::kLargestBlockSlice + 1}},
                                   {{"N", 4}, {"R", 2}, {"C", 1100}},
                                   {{"N", 4}, {"R", 2}, {"C", plan::kLargestBlockSlice + 1}}});
    EXPECT_EQ(kinds(steps), "shared shared strips block ");
}

/// Slices of more points than kLargestBlockSlice, in launches of four: fewer, as many, and more of them.
const std::vector<Sizes> kPatches{{{"N", 1}, {"T", 1}, {"R", 130}, {"C", 64}},
                                  {{"N", 2}, {"T", 4}, {"R", 97}, {"C", 113}},
                                  {{"N", 1}, {"T", 7}, {"R", 57}, {"C", 169}},
                                  {{"N", 1}, {"T", 6}, {"R", 3}, {"C", 2801}}};

TEST(Slices, ArePatchesWherePointsReadAroundThem) {
    const auto steps = run_slices(R"(
        pipeline p(img: float32[N, R, C], rate: float32[R, C], by: float32[T]) -> out: float32[N, T, R, C] {
            out(n, t, y, x) = if t == 0 then by(t) + img(n, y, x)
                else let c = out(n, t - 1, y, x) in
                    c + rate(y, x) / 256 * (out(n, t - 1, max(y - 1, 0), x) + out(n, t - 1, min(y + 1, R - 1), x) +
                                            out(n, t - 1, y, max(x - 1, 0)) + out(n, t - 1, y, min(x + 1, C - 1)) - 4 * c)
        })",
                                  kPatches);
    EXPECT_EQ(kinds(steps), "shared shared block strips ");
}

TEST(Slices, ArePatchesOfTwoSlicesBefore) {
    const auto steps = run_slices(R"(
        pipeline p(img: int32[N, R, C], by: int32[T]) -> out: int32[N, T, R, C] {
            out(n, t, y, x) = if t >= T - 2 then by(t) % 16 + img(n, y, x) % 256
                else if y < 2 or x < 1 or y >= R - 2 or x >= C - 3 then -1
                else out(n, t + 1, y - 2, x) + out(n, t + 1, y + 2, x + 3) - out(n, t + 2, y, x - 1)
        })",
                                  kPatches);
    EXPECT_EQ(kinds(steps), "shared shared block strips ");
}

TEST(Slices, ArePatchesOfChannels) {
    struct Neighbours {
        const char *order, *above, *right;
    };
    for (const Neighbours& c : {Neighbours{"", "max(y - 1, 0)", "min(x + 1, C - 1)"},
                                Neighbours{" order(1, 2, 3, 0)", "max(y - 1, 0)", "min(x + 1, C - 1)"},
                                Neighbours{"", "(y - 1) % R", "(x + 1) % C"}}) {
        const auto steps = run_slices(fmt::format(R"(
            pipeline p(img: float32[2, R, C], by: float32[T]) -> out: float32[2, T, R, C]{} {{
                out(c, t, y, x) = if t == 0 then img(c, y, x) / 256 + by(t)
                    else out(c, t - 1, y, x) / 2 + out(1 - c, t - 1, {}, {}) / 4
            }})",
                                                  c.order, c.above, c.right),
                                      kPatches);
        EXPECT_EQ(kinds(steps), "shared shared strips ");
    }
}

/// On a torus, in one direction or in both; the last slice alone, or all of them.
TEST(Slices, ArePatchesThatComeBackToTheOtherEnd) {
    for (const char* last : {"T - 1", "max(T - 2, 0)"}) {
        const auto steps = run_slices(fmt::format(R"(
            pipeline p(img: int32[N, R, C], by: int32[T]) -> out: int32[N, R, C] {{
                f(n in 0..N, t in 0..T, y in 0..R, x in 0..C): int32 = if t == 0 then img(n, y, x)
                    else let left = (x + C - 1) % C in
                        by(t) * y + f(n, t - 1, (y - 1) % R, left) * 3 - f(n, t - 1, y, (x + 2) % C) + f(n, t - 1, y, x)
                out(n, y, x) = f(n, {}, y, x)
            }})",
                                                  last),
                                      kPatches);
        EXPECT_EQ(kinds(steps).substr(0, 27), "shared shared block strips ");
    }
    const auto steps = run_slices(R"(
        pipeline p(img: int32[N, R, C], by: int32[T]) -> out: int32[N, R, C] {
            f(n in 0..N, t in 0..T, y in 0..R, x in 0..C): int32 = if t == 0 then img(n, y, x) ^ by(t)
                else f(n, t - 1, (y + 1 + R) % R, x) ^ f(n, t - 1, y, max(x - 1, 0)) ^ f(n, t - 1, y, min(x + 1, C - 1))
            out(n, y, x) = f(n, T - 1, y, x)
        })",
                                  kPatches);
    EXPECT_EQ(kinds(steps).substr(0, 27), "shared shared block strips ");
}

/// A third dimension in which points read around them, or one in which they read far away.
TEST(Slices, AreNoPatchesWherePointsReadFarAway) {
    const auto steps = run_slices(R"(
        pipeline p(img: int32[N, R, C], by: int32[T]) -> out: int32[N, T, R, C] {
            out(n, t, y, x) = if t == 0 then by(t) + img(n, y, x)
                else out(n, t - 1, R - 1 - y, x) + out(n, t - 1, y, max(x - 1, 0))
        })",
                                  kPatches);
    EXPECT_EQ(kinds(steps), "shared shared block launches ");
}

/// Memory has as many slices as a launch and what it reads take, where others read the last ones alone.
TEST(Slices, AreKeptWhereTheyAreReadAgain) {
    const std::vector<Sizes> sizes{{{"N", 2}, {"T", 1}, {"R", 5}, {"C", 9}},
                                   {{"N", 5}, {"T", 19}, {"R", 11}, {"C", 9}},
                                   {{"N", 1}, {"T", 13}, {"R", 80}, {"C", 110}},
                                   {{"N", 4}, {"T", 10}, {"R", 2}, {"C", 4100}}};
    struct Scan {
        const char* read;
        std::int64_t last, slices;
    };
    for (const Scan& scan :
         {Scan{"f(n, T - 1, y, x) - f(n, T - 1, 0, x)", 1, 8}, Scan{"f(n, max(T - 2, 0), y, x)", 0, 0},
          Scan{"f(n, 0, y, x)", 0, 0}, Scan{"f(n, T - 1, y, x) + by(min(y, T - 1))", 1, 8}}) {
        const auto program = run_program(fmt::format(R"(
            pipeline p(img: int32[N, R, C], by: int32[T]) -> out: int32[N, R, C] {{
                f(n in 0..N, t in 0..T, y in 0..R, x in 0..C): int32 = if t == 0 then img(n, y, x)
                    else by(t) + f(n, t - 1, max(y - 1, 0), x) * 3 - f(n, t - 1, y, min(x + 1, C - 1))
                out(n, y, x) = {}
            }})",
                                                     scan.read),
                                         scan.slices > 0 ? sizes : std::vector<Sizes>{});
        ASSERT_EQ(program.kept.size(), scan.slices > 0 ? 1U : 0U) << scan.read;
        if (scan.slices == 0) continue;
        EXPECT_EQ(program.kept[0].last, scan.last) << scan.read;
        EXPECT_EQ(program.kept[0].slices, scan.slices) << scan.read;
    }
}

TEST(Slices, AreKeptFromTheLastOneOn) {
    const auto program = run_program(
        R"(
        pipeline p(img: int32[N, C], by: int32[T]) -> out: int32[N, C] where T >= 3 {
            f(n in 0..N, t in 2..T, x in 0..C): int32 = if t >= T - 2 then img(n, x) + by(t)
                else by(t) + f(n, t + 2, max(x - 1, 0)) * 3 - f(n, t + 1, min(x + 1, C - 1))
            out(n, x) = if T > 4 then f(n, 2, x) - f(n, 4, x) else f(n, 2, x)
        })",
        {{{"N", 1}, {"T", 3}, {"C", 5}}, {{"N", 2}, {"T", 70}, {"C", 90}}, {{"N", 1}, {"T", 140}, {"C", 600}}});
    ASSERT_EQ(program.kept.size(), 1U);
    EXPECT_EQ(program.kept[0].last, 3);
    EXPECT_EQ(program.kept[0].slices, 64);
}

TEST(Slices, AreStripsWithPointsOnOneSide) {
    const auto steps = run_slices(R"(
        pipeline p(img: uint8[N, R, C]) -> out: float32[N, R, C] {
            out(n, t, y in 0..C) = if t >= R - 3 or y == 0 then img(n, t, y)
                else let above = y - 1, v = img(n, t, y) + (out(n, t + 1, y) * 7 + out(n, t + 3, above) * 3 +
                                                            out(n, t + 2, max(y - 2, 0))) / 16 in
                    if v >= 128 then v - 255 else v
        })",
                                  {{{"N", 1}, {"R", 70}, {"C", 600}}, {{"N", 2}, {"R", 2}, {"C", 1025}}});
    EXPECT_EQ(kinds(steps), "shared shared strips block ");
}

/// What is shared of a block beside the ends of its warps says where lines restart.
TEST(SerialScans, KeepCoefficientsOutOfSharedMemory) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "case.pipe", R"(
        pipeline p(img: float32[R, C], s: float32) -> out: float32[R, C] {
            out(y, x) = if x > 0 then exp(-s) * img(y, x) + (1 - exp(-s)) * out(y, x - 1) else img(y, x)
        })");
    ASSERT_FALSE(compiled.diags.has_errors());
    const codegen::Unit unit{&compiled.pipelines.front(), &compiled.models.front()};
    // One term, and the values.
    EXPECT_EQ(codegen::lower(unit, sources).steps.front().variants.front().shared.size(), 2u);
}

TEST(ParallelScans, NeedNoFlagsForTheFirstPoint) {
    SourceManager sources;
    const auto arrays = [&](const std::string& value) {
        const Compiled compiled = compile_text(
            sources, "case.pipe", "pipeline p(img: uint8[R, C]) -> out: uint32[R, C] { out(y, x) = " + value + " }");
        EXPECT_FALSE(compiled.diags.has_errors());
        const codegen::Unit unit{&compiled.pipelines.front(), &compiled.models.front()};
        return codegen::lower(unit, sources).steps.front().variants.front().shared.size();
    };
    EXPECT_EQ(arrays("img(y, x) + (if x > 0 then out(y, x - 1) else 0)"), 2u);
    EXPECT_EQ(arrays("img(y, x) + (if x == 0 then 0 else out(y, x - 1))"), 2u);
    EXPECT_EQ(arrays("if x >= C - 1 then 5 else img(y, x) + out(y, x + 1)"), 2u);
    EXPECT_EQ(arrays("img(y, x) + (if x % 9 > 0 then out(y, x - 1) else 0)"), 4u);
}

INSTANTIATE_TEST_SUITE_P(All, Scans, ::testing::ValuesIn(kCases), [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace pipec::testing::scan_run_test
