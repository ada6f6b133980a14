// Parameters as bounds of loops, ranges and extents: the interpreter's bits on the host and on the emulated device, for
// their least and greatest values, with every strategy that takes the program.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "codegen/lower.h"
#include "fusion/schedule.h"
#include "support_lib/compile.h"
#include "support_lib/data.h"
#include "support_lib/device.h"
#include "support_lib/host.h"

namespace pipec::testing::parameter_run_test {
namespace {

using Sizes = std::map<std::string, std::int64_t>;

struct Case {
    const char* name;
    const char* program;
    std::vector<Sizes> sizes;  ///< with the parameters that ranges use
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.name;
}

class Parameters : public ::testing::TestWithParam<Case> {};

/// Stage after stage, then all stages in one group with each strategy that can.
std::vector<codegen::CudaOptions> ways(const codegen::Unit& unit, const SourceManager& sources) {
    std::vector<codegen::CudaOptions> result(1);
    for (const fusion::Strategy strategy :
         {fusion::Strategy::Otptb, fusion::Strategy::Otpw, fusion::Strategy::Stream, fusion::Strategy::RegisterTile}) {
        fusion::GroupSchedule group;
        for (const ir::Stage& stage : unit.pipeline->stages) group.stages.push_back(stage.name);
        group.strategy = strategy;
        group.block = {32, strategy == fusion::Strategy::Stream ? 1 : 4, 1};
        codegen::CudaOptions options;
        options.schedules[unit.pipeline->name] = fusion::Schedule{{}, {group}};
        try {
            codegen::lower(unit, sources, options);
            result.push_back(options);
        } catch (const fusion::ScheduleError& refused) {
            EXPECT_NE(std::string(refused.what()), "");
        }
    }
    return result;
}

TEST_P(Parameters, BoundRanges) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "case.pipe", GetParam().program);
    for (const Diagnostic& d : compiled.diags.all()) ASSERT_NE(d.severity, Severity::Error) << d.message;
    const ir::Pipeline& definition = compiled.definitions.front();
    const std::vector<codegen::Unit> units{{&compiled.pipelines.front(), &compiled.models.front()}};
    const HostLibrary host(units, sources, kNothingUndefined);
    for (const codegen::CudaOptions& options : ways(units.front(), sources)) {
        const DeviceLibrary device(units, sources, options);
        std::mt19937_64 rng(7);
        for (const Sizes& sizes : GetParam().sizes) {
            const reference::Arguments arguments = random_arguments(definition, sizes, Fill::Smooth, rng);
            const auto expected = reference::run(definition, arguments);
            const auto on_host = run_host(host.info(definition.name), arguments, Layout::Dense);
            const auto on_device = run_device(device.info(definition.name), arguments, Layout::Rotated, rng());
            for (const auto& [name, array] : expected) {
                EXPECT_EQ(difference(array, on_host.at(name)), "") << name << ", on the host";
                EXPECT_EQ(difference(array, on_device.at(name)), "") << name << ", on the device";
            }
        }
    }
}

const Case kCases[] = {
    {"a_window",
     R"(pipeline p(img: float32[R + 10, C + 10], r: int32) -> out: float32[R, C] where 0 <= r <= 5 {
            out(y, x) = sum(i in -r..=r, j in -r..=r) img(y + i + 5, x + j + 5)
        })",
     {{{"R", 1}, {"C", 1}, {"r", 0}}, {{"R", 7}, {"C", 37}, {"r", 5}}, {{"R", 20}, {"C", 5}, {"r", 2}}}},
    {"intermediates_as_large_as_needed",
     R"(pipeline p(img: float32[R, C], r: int32 = 3) -> out: float32[R, C] where 0 <= r <= 6 {
            at(y, x) = img(clamp(y, 0, R - 1), clamp(x, 0, C - 1))
            down(y, x) = sum(i in -r..=r) at(y + i, x)
            across(y, x) = sum(j in -r..=r) down(y, x + j)
            out(y, x) = across(y, x) / ((2 * r + 1) * (2 * r + 1)) - at(y + r, x - r)
        })",
     {{{"R", 1}, {"C", 1}, {"r", 6}}, {{"R", 9}, {"C", 41}, {"r", 0}}, {{"R", 33}, {"C", 35}, {"r", 6}}}},
    {"ranges_and_extents",
     R"(pipeline p(img: uint8[R + 2 * r, C + 2 * r], r: int32, n: int32) -> out: int32[R, C], hist: int32[n]
            where 0 <= r <= 3, 1 <= n <= 40
        {
            rows(y in -r..R + r, x) = sum(j in 0..=2 * r) int32(img(y + r, x + j))
            out(y, x) = sum(i in -r..=r) rows(y + i, x)
            accumulate hist(v in 0..n): int32 = 0 { for y in r..R + r, x in 0..C { hist(img(y, x + r) % n) += 1 } }
        })",
     {{{"R", 1}, {"C", 1}, {"r", 0}, {"n", 1}}, {{"R", 8}, {"C", 34}, {"r", 3}, {"n", 40}}}},
    {"negative_and_tied_to_a_size",
     R"(pipeline p(img: float32[R, C], shift: int32, k: int32) -> out: float32[R, C]
            where -4 <= shift <= -1, R >= 4, 0 <= k, 2 * k < C
        {
            strip(y, x in k..C - k) = img(y, x) * k
            out(y, x) = (max(i in shift..0) img(max(y + i, 0), x)) + strip(y, clamp(x, k, C - k - 1))
        })",
     {{{"R", 4}, {"C", 1}, {"shift", -4}, {"k", 0}}, {{"R", 11}, {"C", 35}, {"shift", -1}, {"k", 17}}}},
    {"up_to_a_size_and_strides",
     R"(pipeline p(img: uint8[R, C], n: int32, step: int32) -> out: int32[R, C] where 0 <= n <= C, 1 <= step <= 4 {
            out(y, x) = (sum(j in 0..n) img(y, j)) + (max(i in -1..=1) img(clamp(y + i * step, 0, R - 1), x))
        })",
     {{{"R", 1}, {"C", 1}, {"n", 0}, {"step", 4}}, {{"R", 9}, {"C", 40}, {"n", 40}, {"step", 3}}}},
    // Bounds that only the parameter's value tells: no stage can have as many points, and no tree of blocks is as deep.
    {"rounded_bounds",
     R"(pipeline p(img: float32[R, C], s: int32) -> out: float32[R, C], best: int32[C], most: float32[]
            where 1 <= s <= 4
        {
            at(y, x) = img(clamp(y, 0, R - 1), clamp(x, 0, C - 1))
            weight(i) = exp(-0.5 * i * i / (s * s))
            norm() = sum(i in -int32(ceil(1.5 * s))..=int32(ceil(1.5 * s))) weight(i)
            down(y, x) = sum(i in -int32(ceil(1.5 * s))..=int32(ceil(1.5 * s))) weight(i) / norm() * at(y + i, x)
            out(y, x) = sum(i in -int32(ceil(1.5 * s))..=int32(ceil(1.5 * s))) weight(i) / norm() * down(y, x + i)
            best(x) = argmin(i in -int32(ceil(1.5 * s))..=int32(ceil(1.5 * s))) at(i, x)
            most() = max(y in 0..R, i in 0..=int32(sqrt(float32(s)))) img(y, 0) * i
        })",
     {{{"R", 1}, {"C", 1}, {"s", 1}}, {{"R", 9}, {"C", 37}, {"s", 4}}}},
    // Of few values, one beside a size in products and quotients is affine for each of them.
    {"steps_of_a_grid",
     R"(import "boundary"
        pipeline p(img: float32[R, C], s: int32 = 2) -> mean: float32[R / s, C / s], every: float32[H = R / s, W = C / s],
                left: int32[R]
            where 1 <= s <= 3, s * H <= R and s * W <= C
        {
            up(y, x) = exp(img(y, x))
            mean(y, x) = (sum(i in 0..s, j in 0..s) up(y * s + i, s * x + j)) / (s * s)
            edge(y, x) = if 0 <= y < R and 0 <= x < C then sqrt(img(y, x)) else 0
            every(y, x) = edge(y * s, x * s - 1) + edge(y * s + 1, x * s + 1)
            left(y) = y % s + y / s
        })",
     {{{"R", 1}, {"C", 1}, {"H", 1}, {"W", 1}, {"s", 1}},
      {{"R", 3}, {"C", 4}, {"H", 1}, {"W", 1}, {"s", 3}},
      {{"R", 9}, {"C", 70}, {"H", 4}, {"W", 35}, {"s", 2}},
      {{"R", 14}, {"C", 47}, {"H", 4}, {"W", 15}, {"s", 3}}}},
    {"defaults_of_sizes",
     R"(pipeline p(img: uint8[R, C], n: int32 = 3)
            -> out: uint8[H = (R + 1) / 2, W = max(1, H * C / R)], more: uint8[2 * H + n, L = n]
            where 1 <= n <= 5
        {
            out(y, x) = img(clamp(y * R / H, 0, R - 1), clamp(x * C / W, 0, C - 1))
            more(y, x) = uint8(y + x & 255)
        })",
     {{{"R", 1}, {"C", 1}, {"n", 1}, {"H", 1}, {"W", 1}, {"L", 1}},
      {{"R", 9}, {"C", 41}, {"n", 5}, {"H", 5}, {"W", 22}, {"L", 5}}}},
    {"tiles_as_high_as_a_size",
     R"(pipeline p(img: uint8[8 * H, C]) -> hist: int32[8, 256], odd: uint8[8 * H, C] {
            accumulate hist(i in 0..8, v in 0..256): int32 = 0 {
                for i in 0..8, y in 0..H, x in 0..C { hist(i, img(i * H + y, x)) += 1 }
            }
            odd(y, x) = img(y, x) & 1
        })",
     {{{"H", 1}, {"C", 1}}, {{"H", 5}, {"C", 33}}}},
};

INSTANTIATE_TEST_SUITE_P(All, Parameters, ::testing::ValuesIn(kCases),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace pipec::testing::parameter_run_test
