// Generated code against the reference interpreter, a construct at a time, on ordinary and on extreme values: results
// must agree to the bit, in memory dense and strided.
#include <gtest/gtest.h>

#include <functional>

#include "support_lib/compile.h"
#include "support_lib/data.h"
#include "support_lib/device.h"
#include "support_lib/host.h"

namespace pipec::testing::meaning_test {
namespace {

struct Case {
    const char* name;
    const char* program;
    std::map<std::string, std::int64_t> sizes = {{"R", 6}, {"C", 37}};
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.name;
}

class Meaning : public ::testing::TestWithParam<Case> {
protected:
    using Results = std::map<std::string, reference::Array>;
    using Run =
        std::function<Results(const std::string& pipeline, const reference::Arguments& arguments, Layout layout)>;

    Meaning() : compiled_(compile_text(sources_, "case.pipe", GetParam().program)) {
        if (!compiled_.ok()) throw std::runtime_error(compiled_.diags.all().front().message);
        for (std::size_t i = 0; i < compiled_.pipelines.size(); ++i) {
            units_.push_back({&compiled_.pipelines[i], &compiled_.models[i]});
        }
    }

    void expect_reference(const Run& run) const {
        for (const ir::Pipeline& pipeline : compiled_.definitions) {
            std::mt19937_64 rng(7);
            for (const Fill fill : {Fill::Smooth, Fill::Extreme}) {
                const reference::Arguments arguments = random_arguments(pipeline, GetParam().sizes, fill, rng);
                const Results expected = reference::run(pipeline, arguments);
                for (const Layout layout : kLayouts) {
                    const Results actual = run(pipeline.name, arguments, layout);
                    for (const auto& [name, array] : expected) {
                        EXPECT_EQ(difference(array, actual.at(name)), "") << pipeline.name << "." << name;
                    }
                }
            }
        }
    }

    SourceManager sources_;
    Compiled compiled_;
    std::vector<codegen::Unit> units_;
};

TEST_P(Meaning, IsThatOfTheInterpreter) {
    const HostLibrary library(units_, sources_, kNothingUndefined);
    expect_reference([&](const std::string& pipeline, const reference::Arguments& arguments, Layout layout) {
        return run_host(library.info(pipeline), arguments, layout);
    });
}

TEST_P(Meaning, IsThatOfTheInterpreterOnTheDevice) {
    const DeviceLibrary library(units_, sources_, {.deterministic = true});
    expect_reference([&](const std::string& pipeline, const reference::Arguments& arguments, Layout layout) {
        return run_device(library.info(pipeline), arguments, layout);
    });
}

/// Floats of all exponents, by divisors that the device multiplies with reciprocals of.
TEST(Division, ByOddIntegersIsRoundedOnce) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "division.pipe", R"(
        pipeline p(a: float32[R, C]) -> o: float32[6, R, C] {
            o(i, y, x) = if i == 0 then a(y, x) / 3 else if i == 1 then a(y, x) / -5 else if i == 2 then a(y, x) / 7
                else if i == 3 then a(y, x) / 255 else if i == 4 then a(y, x) / 65535 else a(y, x) / 4194303
        })");
    ASSERT_TRUE(compiled.ok());
    const std::vector<codegen::Unit> units{{&compiled.pipelines[0], &compiled.models[0]}};
    const DeviceLibrary library(units, sources, {});
    std::mt19937_64 rng(1);
    reference::Arguments arguments =
        random_arguments(compiled.pipelines[0], {{"R", 200}, {"C", 150}}, Fill::Smooth, rng);
    for (std::byte& byte : arguments.inputs.at("a").data) byte = static_cast<std::byte>(rng());
    const auto expected = reference::run(compiled.pipelines[0], arguments);
    const auto actual = run_device(library.info("p"), arguments, kLayouts[0]);
    EXPECT_EQ(difference(expected.at("o"), actual.at("o")), "");
}

const Case kCases[] = {
    {"integers", R"(
        pipeline p(a: int32[R, C], b: int32[R, C], u: uint8[R, C], s: int16[R, C], w: int64[R, C]) -> o: int64[8, R, C] {
            mix(y, x) = a(y, x) + b(y, x) * 3 - -a(y, x)
            parts(i, y, x) = if i == 0 then int64(mix(y, x))
                else if i == 1 then int64(a(y, x) / b(y, x))
                else if i == 2 then int64(a(y, x) % b(y, x))
                else if i == 3 then int64((a(y, x) << b(y, x)) ^ (a(y, x) >> b(y, x)))
                else if i == 4 then int64(a(y, x) / 8 + a(y, x) % 8 + a(y, x) / -3 + a(y, x) % -3)
                else if i == 5 then w(y, x) / (w(y, x) % 7) + abs(w(y, x)) * w(y, x)
                else if i == 6 then int64(u(y, x) * u(y, x) - (s(y, x) & 255) + ~s(y, x))
                else int64(min(a(y, x), b(y, x)) - max(a(y, x), b(y, x)))
            o(i, y, x) = parts(i, y, x)
        })"},
    {"unsigned_integers", R"(
        pipeline p(a: uint32[R, C], b: uint64[R, C], h: uint16[R, C]) -> o: uint64[R, C], q: uint32[R, C] {
            o(y, x) = b(y, x) * 3 - b(y, x) / 5 + (b(y, x) >> 70) + uint64(h(y, x))
            q(y, x) = (a(y, x) - 7) / 3 + uint32(h(y, x) * h(y, x)) % 100
        })"},
    {"casts", R"(
        pipeline p(f: float32[R, C], d: float64[R, C], i: int64[R, C], u: uint64[R, C])
            -> a: int8[R, C], b: uint8[R, C], c: int32[R, C], e: uint64[R, C], g: float32[R, C], h: int16[R, C],
               k: float16[R, C], l: uint32[R, C] {
            a(y, x) = int8(f(y, x))
            b(y, x) = saturate<uint8>(i(y, x))
            c(y, x) = int32(d(y, x))
            e(y, x) = uint64(f(y, x)) + uint64(i(y, x))
            g(y, x) = float32(u(y, x)) + float32(i(y, x))
            h(y, x) = saturate<int16>(u(y, x))
            k(y, x) = float16(d(y, x))
            l(y, x) = uint32(f(y, x))
        })"},
    {"floats", R"(
        pipeline p(f: float32[R, C], g: float32[R, C], d: float64[R, C], k: float32 = 0.1) -> o: float32[R, C], q: float64[R, C] {
            o(y, x) = min(f(y, x), g(y, x)) + max(f(y, x), k) * sqrt(abs(g(y, x))) - round(f(y, x)) / (1 + rsqrt(f(y, x)))
                      + floor(f(y, x)) * ceil(g(y, x)) + trunc(g(y, x)) + (if isnan(f(y, x)) then 1 else -0.0)
            q(y, x) = hypot(d(y, x), 3) - atan2(d(y, x), 0.5) + pow(abs(d(y, x)), 0.25) + exp(-abs(d(y, x)))
        })"},
    {"halves", R"(
        pipeline p(f: float16[R, C], g: float16[R, C], k: float16 = 0.3) -> o: float16[R, C], q: float32[R, C] {
            s(y, x) = f(y, x) * g(y, x) + k
            o(y, x) = min(s(y, x), f(y, x)) / 3 - exp(g(y, x))
            q(y, x) = float32(s(y, x)) + float32(o(y, x))
        })"},
    {"bools", R"(
        pipeline p(m: bool[R, C], f: float32[R, C], flag: bool = true) -> o: bool[R, C] {
            n(y, x) = not m(y, x) or f(y, x) > 0.5
            o(y, x) = n(y, x) and flag or m(y, x) == (f(y, x) < 0.25)
        })"},
    {"lazy_branches", R"(
        fn heavy(v) = let a = v * 2, b = a + 1 in a * b
        pipeline p(f: float32[R, C]) -> o: float32[R, C] {
            o(y, x) = if y > 0 and f(y - 1, x) > 0.5 then heavy(f(y - 1, x)) + f(y, x)
                      else if x + 1 < C then let n = f(y, x + 1) in n * n + f(y, x)
                      else heavy(f(y, x)) - (if y + 1 < R then f(y + 1, x) else 0)
        })"},
    {"reductions", R"(
        pipeline p(f: float32[R, C], i: int32[R, C]) -> o: float32[R, C], q: int32[R], m: float32[C], a: bool[R] {
            o(y, x) = sum(k in 0..x + 1) f(y, k) / float32(k + 1)
            q(y) = max(x in 0..C) i(y, x) + sum(x in 0..C, k in 0..y) i(y, x) * i(k, x)
            m(x) = min(y in 0..R) f(y, x) - prod(y in 0..R) f(y, x)
            a(y) = any(x in 0..C) (f(y, x) > 0.9) and not all(x in 0..C) (i(y, x) > 3)
        })"},
    {"accumulates", R"(
        pipeline p(u: uint8[R, C], f: float32[R, C]) -> hist: int32[256], big: float32[4, 5], o: float32[R, C] {
            accumulate hist(b in 0..256): int32 = b {
                for y in 0..R, x in 0..C {
                    if f(y, x) > 0.25 { hist(u(y, x)) += 1 }
                }
            }
            accumulate big(i in 0..4, j in 0..5): float32 = 0.5 {
                for y in 0..R, x in 0..C {
                    let v = f(y, x)
                    big(y % 4, x % 5) max= v
                    big(0, u(y, x) % 5) += v * v
                }
            }
            accumulate total(): float32 = 0 { for y in 0..R { total() += f(y, 0) } }
            o(y, x) = float32(hist(u(y, x))) + big(y % 4, x % 5) + total()
        })"},
    {"scales_and_gathers", R"(
        pipeline p(f: float32[2 * R, 2 * C + 1], lut: uint16[256], u: uint8[R, C]) -> o: float32[R, C], q: float32[2 * R, C] {
            down(y, x) = (f(2 * y, 2 * x) + f(2 * y + 1, 2 * x + 1)) / 2
            up(y, x) = down(y / 2, x) + float32(y % 3)
            q(y, x) = up(y, x)
            o(y, x) = float32(lut(u(y, x))) + down(R - 1 - y, x)
        })"},
    {"memory_orders", R"(
        pipeline p(f: uint8[3, R, C] order(1, 2, 0)) -> o: uint8[3, R, C] order(1, 2, 0), t: uint8[C, R] order(1, 0) {
            g(c, y, x) = saturate<uint8>(f(c, y, x) + f(2 - c, y, x) / 2)
            o(c, y, x) = g(c, y, x)
            t(x, y) = g(0, y, x)
        })"},
    {"explicit_sizes",
     R"(
        pipeline p(f: float32[R, C]) -> o: float32[R, C], n: int32[1] where K >= 1, K * 2 <= R + 100 {
            o(y, x) = f(y, x) * float32(K)
            n(i) = K * 1000000 + i
        })",
     {{"R", 6}, {"C", 37}, {"K", 5}}},
    {"unusual_names", R"(
        pipeline register(int_extent: float32[R, C], class: float32[R, C], plan: float32 = 2, double_: int32 = 3)
            -> args: float32[R, C], std: float32[R, C] {
            int(y, x) = int_extent(y, x) + class(y, x)
            compute_int(this, dense) = int(this, dense) * plan
            View(y, x) = compute_int(y, x) + float32(double_)
            wrap_add[0] = View
            args(y, x) = wrap_add[0](y, x)
            std(args_, std_) = args(args_, std_) - int(args_, std_)
        })"},
    {"names_of_cuda", R"(
        pipeline launch(threadIdx: float32[R, C], load: uint8[R, C], dim3: float32 = 2) -> max: float32[R, C], store: uint8[R, C] {
            float4(y, x) = threadIdx(y, x) + dim3
            expf(y, x) = exp(float4(y, x) / 8) + float32(load(y, x))
            sqrtf(grid) = sum(block in 0..C) expf(grid, block)
            max(y, x) = min(expf(y, x), sqrtf(y))
            accumulate atomicAdd(warpSize in 0..256): int32 = 0 {
                for y in 0..R, x in 0..C { atomicAdd(load(y, x)) += 1 }
            }
            store(y, x) = saturate<uint8>(atomicAdd(load(y, x)))
        })"},
    {"empty_domains",
     R"(
        pipeline p(f: float32[R, C]) -> o: float32[R, C] {
            inner(y, x) = f(y, x) * 2
            o(y, x) = if y >= 3 and y < R - 3 and x >= 3 and x < C - 3 then inner(y, x) else f(y, x)
        })",
     {{"R", 5}, {"C", 5}}},
};

INSTANTIATE_TEST_SUITE_P(Codegen, Meaning, ::testing::ValuesIn(kCases),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace pipec::testing::meaning_test
