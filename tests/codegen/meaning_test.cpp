// Generated code against the reference interpreter, a construct at a time, on ordinary and on extreme values: results
// must agree to the bit, in memory dense and strided.
#include <gtest/gtest.h>

#include <functional>

#include "support_lib/compile.h"
#include "support_lib/data.h"
#include "support_lib/device.h"
#include "support_lib/host.h"

namespace pipec::testing {
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
        for (const ir::Pipeline& pipeline : compiled_.pipelines) {
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
    const HostLibrary library(units_, sources_, "-O1 -ffp-contract=off -fsanitize=undefined -fno-sanitize-recover=all");
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
            o(i, x, y) = if i == 0 then a(x, y) / 3 else if i == 1 then a(x, y) / -5 else if i == 2 then a(x, y) / 7
                else if i == 3 then a(x, y) / 255 else if i == 4 then a(x, y) / 65535 else a(x, y) / 4194303
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
            mix(x, y) = a(x, y) + b(x, y) * 3 - -a(x, y)
            parts(i, x, y) = if i == 0 then int64(mix(x, y))
                else if i == 1 then int64(a(x, y) / b(x, y))
                else if i == 2 then int64(a(x, y) % b(x, y))
                else if i == 3 then int64((a(x, y) << b(x, y)) ^ (a(x, y) >> b(x, y)))
                else if i == 4 then int64(a(x, y) / 8 + a(x, y) % 8 + a(x, y) / -3 + a(x, y) % -3)
                else if i == 5 then w(x, y) / (w(x, y) % 7) + abs(w(x, y)) * w(x, y)
                else if i == 6 then int64(u(x, y) * u(x, y) - (s(x, y) & 255) + ~s(x, y))
                else int64(min(a(x, y), b(x, y)) - max(a(x, y), b(x, y)))
            o(i, x, y) = parts(i, x, y)
        })"},
    {"unsigned_integers", R"(
        pipeline p(a: uint32[R, C], b: uint64[R, C], h: uint16[R, C]) -> o: uint64[R, C], q: uint32[R, C] {
            o(x, y) = b(x, y) * 3 - b(x, y) / 5 + (b(x, y) >> 70) + uint64(h(x, y))
            q(x, y) = (a(x, y) - 7) / 3 + uint32(h(x, y) * h(x, y)) % 100
        })"},
    {"casts", R"(
        pipeline p(f: float32[R, C], d: float64[R, C], i: int64[R, C], u: uint64[R, C])
            -> a: int8[R, C], b: uint8[R, C], c: int32[R, C], e: uint64[R, C], g: float32[R, C], h: int16[R, C],
               k: float16[R, C], l: uint32[R, C] {
            a(x, y) = int8(f(x, y))
            b(x, y) = saturate<uint8>(i(x, y))
            c(x, y) = int32(d(x, y))
            e(x, y) = uint64(f(x, y)) + uint64(i(x, y))
            g(x, y) = float32(u(x, y)) + float32(i(x, y))
            h(x, y) = saturate<int16>(u(x, y))
            k(x, y) = float16(d(x, y))
            l(x, y) = uint32(f(x, y))
        })"},
    {"floats", R"(
        pipeline p(f: float32[R, C], g: float32[R, C], d: float64[R, C], k: float32 = 0.1) -> o: float32[R, C], q: float64[R, C] {
            o(x, y) = min(f(x, y), g(x, y)) + max(f(x, y), k) * sqrt(abs(g(x, y))) - round(f(x, y)) / (1 + rsqrt(f(x, y)))
                      + floor(f(x, y)) * ceil(g(x, y)) + trunc(g(x, y)) + (if isnan(f(x, y)) then 1 else -0.0)
            q(x, y) = hypot(d(x, y), 3) - atan2(d(x, y), 0.5) + pow(abs(d(x, y)), 0.25) + exp(-abs(d(x, y)))
        })"},
    {"halves", R"(
        pipeline p(f: float16[R, C], g: float16[R, C], k: float16 = 0.3) -> o: float16[R, C], q: float32[R, C] {
            s(x, y) = f(x, y) * g(x, y) + k
            o(x, y) = min(s(x, y), f(x, y)) / 3 - exp(g(x, y))
            q(x, y) = float32(s(x, y)) + float32(o(x, y))
        })"},
    {"bools", R"(
        pipeline p(m: bool[R, C], f: float32[R, C], flag: bool = true) -> o: bool[R, C] {
            n(x, y) = not m(x, y) or f(x, y) > 0.5
            o(x, y) = n(x, y) and flag or m(x, y) == (f(x, y) < 0.25)
        })"},
    {"lazy_branches", R"(
        fn heavy(v) = let a = v * 2, b = a + 1 in a * b
        pipeline p(f: float32[R, C]) -> o: float32[R, C] {
            o(x, y) = if x > 0 and f(x - 1, y) > 0.5 then heavy(f(x - 1, y)) + f(x, y)
                      else if y + 1 < C then let n = f(x, y + 1) in n * n + f(x, y)
                      else heavy(f(x, y)) - (if x + 1 < R then f(x + 1, y) else 0)
        })"},
    {"reductions", R"(
        pipeline p(f: float32[R, C], i: int32[R, C]) -> o: float32[R, C], q: int32[R], m: float32[C], a: bool[R] {
            o(x, y) = sum(k in 0..y + 1) f(x, k) / float32(k + 1)
            q(x) = max(y in 0..C) i(x, y) + sum(y in 0..C, k in 0..x) i(x, y) * i(k, y)
            m(y) = min(x in 0..R) f(x, y) - prod(x in 0..R) f(x, y)
            a(x) = any(y in 0..C) (f(x, y) > 0.9) and not all(y in 0..C) (i(x, y) > 3)
        })"},
    {"accumulates", R"(
        pipeline p(u: uint8[R, C], f: float32[R, C]) -> hist: int32[256], big: float32[4, 5], o: float32[R, C] {
            accumulate hist(b in 0..256): int32 = b {
                for x in 0..R, y in 0..C {
                    if f(x, y) > 0.25 { hist(u(x, y)) += 1 }
                }
            }
            accumulate big(i in 0..4, j in 0..5): float32 = 0.5 {
                for x in 0..R, y in 0..C {
                    let v = f(x, y)
                    big(x % 4, y % 5) max= v
                    big(0, u(x, y) % 5) += v * v
                }
            }
            accumulate total(): float32 = 0 { for x in 0..R { total() += f(x, 0) } }
            o(x, y) = float32(hist(u(x, y))) + big(x % 4, y % 5) + total()
        })"},
    {"scales_and_gathers", R"(
        pipeline p(f: float32[2 * R, 2 * C + 1], lut: uint16[256], u: uint8[R, C]) -> o: float32[R, C], q: float32[2 * R, C] {
            down(x, y) = (f(2 * x, 2 * y) + f(2 * x + 1, 2 * y + 1)) / 2
            up(x, y) = down(x / 2, y) + float32(x % 3)
            q(x, y) = up(x, y)
            o(x, y) = float32(lut(u(x, y))) + down(R - 1 - x, y)
        })"},
    {"memory_orders", R"(
        pipeline p(f: uint8[3, R, C] order(1, 2, 0)) -> o: uint8[3, R, C] order(1, 2, 0), t: uint8[C, R] order(1, 0) {
            g(c, x, y) = saturate<uint8>(f(c, x, y) + f(2 - c, x, y) / 2)
            o(c, x, y) = g(c, x, y)
            t(y, x) = g(0, x, y)
        })"},
    {"explicit_sizes",
     R"(
        pipeline p(f: float32[R, C]) -> o: float32[R, C], n: int32[1] where K >= 1, K * 2 <= R + 100 {
            o(x, y) = f(x, y) * float32(K)
            n(i) = K * 1000000 + i
        })",
     {{"R", 6}, {"C", 37}, {"K", 5}}},
    {"unusual_names", R"(
        pipeline register(int_extent: float32[R, C], class: float32[R, C], plan: float32 = 2, double_: int32 = 3)
            -> args: float32[R, C], std: float32[R, C] {
            int(x, y) = int_extent(x, y) + class(x, y)
            compute_int(this, dense) = int(this, dense) * plan
            View(x, y) = compute_int(x, y) + float32(double_)
            wrap_add[0] = View
            args(x, y) = wrap_add[0](x, y)
            std(args_, std_) = args(args_, std_) - int(args_, std_)
        })"},
    {"names_of_cuda", R"(
        pipeline launch(threadIdx: float32[R, C], load: uint8[R, C], dim3: float32 = 2) -> max: float32[R, C], store: uint8[R, C] {
            float4(x, y) = threadIdx(x, y) + dim3
            expf(x, y) = exp(float4(x, y) / 8) + float32(load(x, y))
            sqrtf(grid) = sum(block in 0..C) expf(grid, block)
            max(x, y) = min(expf(x, y), sqrtf(x))
            accumulate atomicAdd(warpSize in 0..256): int32 = 0 {
                for x in 0..R, y in 0..C { atomicAdd(load(x, y)) += 1 }
            }
            store(x, y) = saturate<uint8>(atomicAdd(load(x, y)))
        })"},
    {"empty_domains",
     R"(
        pipeline p(f: float32[R, C]) -> o: float32[R, C] {
            inner(x, y) = f(x, y) * 2
            o(x, y) = if x >= 3 and x < R - 3 and y >= 3 and y < C - 3 then inner(x, y) else f(x, y)
        })",
     {{"R", 5}, {"C", 5}}},
};

INSTANTIATE_TEST_SUITE_P(Codegen, Meaning, ::testing::ValuesIn(kCases),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace pipec::testing
