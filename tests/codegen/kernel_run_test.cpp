// The kernels of `accumulate` on the SIMT emulator against the interpreter: every way of sharing targets, domains of
// all shapes, lanes and blocks in several orders. Floats are small integers where they are added, so that every order
// gives the same sum.
#include <gtest/gtest.h>

#include "support_lib/compile.h"
#include "support_lib/data.h"
#include "support_lib/device.h"

namespace pipec::testing::kernel_run_test {
namespace {

struct Case {
    const char* name;
    const char* program;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.name;
}

class AccumulateRuns : public ::testing::TestWithParam<Case> {};

TEST_P(AccumulateRuns, LikeTheInterpreter) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "case.pipe", GetParam().program);
    for (const Diagnostic& d : compiled.diags.all()) ASSERT_NE(d.severity, Severity::Error) << d.message;
    const ir::Pipeline& pipeline = compiled.pipelines.front();
    for (const bool deterministic : {false, true}) {
        codegen::CudaOptions options;
        options.deterministic = deterministic;
        const DeviceLibrary library({{&pipeline, &compiled.models.front()}}, sources, options);
        std::mt19937_64 rng(11);
        std::uint64_t order = 0;
        for (const auto& [r, c] : {std::pair{1, 1}, {3, 5}, {2, 300}, {150, 2}, {71, 45}}) {
            for (const Fill fill : {Fill::Smooth, Fill::Extreme}) {
                const reference::Arguments arguments = random_arguments(pipeline, {{"R", r}, {"C", c}}, fill, rng);
                const auto expected = reference::run(pipeline, arguments);
                const Layout layout = order % 2 == 0 ? Layout::Dense : Layout::Rotated;
                const auto actual = run_device(library.info(pipeline.name), arguments, layout, order++);
                for (const auto& [name, array] : expected) {
                    EXPECT_EQ(difference(array, actual.at(name)), "")
                        << name << " with R = " << r << ", C = " << c << (deterministic ? ", in order" : "");
                }
            }
        }
    }
}

const Case kCases[] = {
    {"shared_memory", R"(
        pipeline p(u: uint8[R, C], f: float32[R, C]) -> hist: int32[256], top: float32[16, 17], far: uint64[5], mean: float32[16], several: int32[40] {
            accumulate hist(b in 0..256): int32 = b {
                for y in 0..R, x in 0..C { if f(y, x) > 0.25 { hist(u(y, x)) += y - x } }
                for y in 0..R, x in 0..C { hist(u(y, x) / 2) max= x }
            }
            accumulate top(i in 0..16, j in 0..17): float32 = -5 {
                for y in 0..R, x in 0..C { top(u(y, x) / 16, u(y, x) % 16 + 1) max= f(y, x) }
                for y in 0..R, x in 0..C { top(u(y, x) % 16, u(y, x) / 16) min= f(y, x) }
            }
            accumulate several(i in 0..40): int32 = 0 {
                for y in 0..R, x in 0..C {
                    several(u(y, x) % 40) += y
                    if u(y, x) > 100 { several(39 - u(y, x) % 40) += int32(u(y, x)) }
                    several(x % 40) min= y
                    several(y % 40) min= x - 5
                }
            }
            accumulate mean(i in 0..16): float32 = i {
                for y in 0..R, x in 0..C { mean(u(y, x) % 16) += float32(u(y, x)) }
            }
            accumulate far(i in 0..5): uint64 = 1 {
                for y in 0..R, x in 0..C { far(u(y, x) % 5) *= uint64(u(y, x) + 3) }
            }
        })"},
    {"shared_memory_that_begins_below_zero", R"(
        pipeline p(u: uint8[R, C]) -> out: int32[3, 4] {
            accumulate a(i in -2..3, j in 1..8): int32 = i * j {
                for y in 0..R, x in 0..C { a(u(y, x) % 5 - 2, u(y, x) % 7 + 1) += int32(u(y, x)) }
            }
            out(i, j) = a(i - 2, j + 1) + a(i, j + 3)
        })"},
    {"global_memory", R"(
        pipeline p(u: uint8[R, C]) -> grid: float32[R / 8 + 2, C / 8 + 2, 11], n: int64[R], d: float64[C, 9],
                                      h: float16[C] {
            accumulate grid(gy in 0..R / 8 + 2, gx in 0..C / 8 + 2, z in 0..11): float32 = 0 {
                for y in 0..R, x in 0..C { grid((y + 4) / 8, (x + 4) / 8, u(y, x) / 25) += float32(u(y, x)) }
            }
            accumulate n(y in 0..R): int64 = -1 {
                for y in 0..R, x in 0..C { n(y) += int64(u(y, x)) * 1000000007 }
                for y in 0..R, x in 0..C { n(R - 1 - y) min= int64(x) * 99999999999 }
            }
            accumulate d(x in 0..C, i in 0..9): float64 = 2 {
                for y in 0..R, x in 0..C, i in 0..3 { d(x, i * 2) += float64(u(y, x)) }
                for y in 0..R, x in 0..C, i in 0..3 { d(x, i * 3) max= float64(i) }
            }
            accumulate h(x in 0..C): float16 = 1 {
                for y in 0..R, x in 0..C { if y < 20 { h(C - 1 - x) += float16(u(y, x) % 8) } }
                for y in 0..R, x in 0..C { h(x / 2) max= float16(u(y, x)) }
            }
        })"},
    {"one_target", R"(
        pipeline p(u: uint8[R, C], f: float32[R, C], k: int32 = 2, level: float32 = 0.5)
            -> sums: int32[3], last: float32[3], products: uint32[1], halves: float16[1], wide: float64[R] {
            accumulate sums(i in 0..3): int32 = i {
                for y in 0..R, x in 0..C { sums(1) += int32(u(y, x)) }
                for y in 0..R, x in 0..C { if f(y, x) > level { sums(clamp(k, 0, 2)) += 1 } }
                for y in 0..R, x in 0..C { sums(0) min= int32(u(y, x)) - 300 }
            }
            accumulate last(i in 0..3): float32 = 0 {
                for y in 0..R, x in 0..C { last(0) max= f(y, x) }
                for y in 0..R, x in 0..C { last(1) min= f(y, x) }
                for y in 0..R, x in 0..C { last(2) += float32(u(y, x)) }
            }
            accumulate products(i in 0..1): uint32 = 3 {
                for y in 0..R, x in 0..C { products(0) *= uint32(u(y, x)) | 1 }
            }
            accumulate halves(i in 0..1): float16 = 3 {
                for y in 0..R, x in 0..C { halves(0) max= float16(u(y, x)) }
            }
            accumulate wide(y in 0..R): float64 = 0 {
                for y in 0..R, x in 0..C { wide(R - 1) += float64(u(y, x)) }
            }
        })"},
    {"own_targets", R"(
        pipeline p(u: uint8[R, C], f: float32[R, C]) -> out: uint8[2, R + 1, C], t: float32[C, R], s: int16[R] {
            accumulate out(i in 0..2, y in 0..R + 1, x in 0..C): uint8 = 5 {
                for y in 0..R, x in 0..C { out(1, y + 1, x) += u(y, x) }
                for y in 0..R, x in 0..C { if u(y, x) > 7 { out(0, y, x) max= u(y, x) } }
                out(0, 0, 0) *= 3
            }
            accumulate t(x in 0..C, y in 0..R): float32 = 1 {
                for y in 0..R, x in 0..C { t(x, y) *= f(y, x) }
                for y in 1..R, x in 0..C { t(x, y - 1) += f(y, x) / 3 }
            }
            accumulate s(y in 0..R): int16 = 0 { for y in 0..R { s(y) += int16(y) } }
        })"},
    {"bytes", R"(
        pipeline p(u: uint8[R, C], i: int16[R, C]) -> a: uint8[16], b: int16[R], c: int8[4], o: int32[16] {
            accumulate a(k in 0..16): uint8 = 200 {
                for y in 0..R, x in 0..C { a(u(y, x) % 16) max= u(y, x) }
                for y in 0..R, x in 0..C { a(u(y, x) % 16) += 3 }
                for y in 0..R, x in 0..C { a(u(y, x) / 16) *= uint8(u(y, x) | 1) }
                for y in 0..R, x in 0..C { a(u(y, x) / 16) min= 250 }
            }
            accumulate b(y in 0..R): int16 = 7 {
                for y in 0..R, x in 0..C { b(y) += i(y, x) }
                for y in 0..R, x in 0..C { b(R - 1 - y) max= i(y, x) }
            }
            accumulate c(k in 0..4): int8 = -3 {
                for y in 0..R, x in 0..C { c(u(y, x) % 4) min= int8(i(y, x)) }
                for y in 0..R, x in 0..C { c(u(y, x) % 3) += int8(i(y, x)) }
            }
            o(k) = int32(a(k)) + int32(a(15 - k)) + int32(c(k / 4))
        })"},
    {"domains", R"(
        pipeline p(u: uint8[R, C]) -> below: int32[C], above: int32[R, R], deep: int32[9], box: int32[12], big: int32[3] {
            accumulate below(i in 0..C): int32 = 0 {
                for x in 0..C, k in 0..x { below(k) += x * int32(u(R - 1, x)) }
            }
            accumulate above(a in 0..R, b in 0..R): int32 = -1 {
                for a in 0..R, b in a + 1..R { above(b, a) += a - b }
                for a in 0..R, k in 0..min(a, 5), b in 0..R { above(a, b) += k * int32(u(b, 0)) }
            }
            accumulate deep(i in 0..9): int32 = 0 {
                for a in 0..R, k in a / 2..a + 3, c in 0..3 { deep((k + c) % 9) += a }
                for a in 0..2, b in 0..3, c in 0..4, d in 0..5 { deep(a + c) max= d * 1000 + b }
                for c in 0..4, y in 0..R, x in 0..C, d in 0..C / 2 { deep(int32(u(y, x)) % 9) += c + d }
            }
            accumulate box(i in 0..12): int32 = 0 {
                for y in -3..R - 5, x in 2..C { box((y + 3) % 12) += x }
                for y in 3..3 { box(y) += 1 }
                for y in 5..1, x in 0..C { box(y) += x }
                for y in R..2 * R, c in 0..2 { box((y - R) % 12) += c + 1 }
            }
            accumulate big(i in 0..3): int32 = 0 {
                for k in 0..R * C { big(k % 3) += k }
                for k in 0..R * C { big(1) max= k }
            }
        })"},
};

INSTANTIATE_TEST_SUITE_P(All, AccumulateRuns, ::testing::ValuesIn(kCases),
                         [](const auto& param_info) { return param_info.param.name; });

}  // namespace
}  // namespace pipec::testing::kernel_run_test
