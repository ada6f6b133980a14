// Scans in one kernel with the stages that read them at their own points: the bits of the definition from each of the
// kernels, and what is refused.
#include <gtest/gtest.h>

#include "codegen/lower.h"
#include "plan/scan_tile.h"
#include "support_lib/compile.h"
#include "support_lib/data.h"
#include "support_lib/device.h"

namespace pipec::testing::scan_group_test {
namespace {

using fusion::Strategy;
using Sizes = std::map<std::string, std::int64_t>;
using Groups = std::vector<std::vector<std::string>>;

/// Fewer lines than a thread for each asks for, and more; lines of one point, and longer than what a block takes.
const std::vector<Sizes> kImages{{{"R", 1}, {"C", 1}},   {{"R", 1}, {"C", 300}}, {{"R", 300}, {"C", 1}},
                                 {{"R", 33}, {"C", 65}}, {{"R", 7}, {"C", 130}}, {{"R", 131}, {"C", 17}}};

struct Case {
    const char* name;
    const char* program;
    Groups groups;
    std::vector<std::string> unstored{};
    std::vector<Sizes> sizes = kImages;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.name;
}

/// Groups as they are given, no stage inside of another one.
fusion::Schedule schedule_of(const Groups& groups) {
    fusion::Schedule schedule;
    for (const std::vector<std::string>& stages : groups) {
        fusion::GroupSchedule& group = schedule.groups.emplace_back();
        group.stages = stages;
        group.strategy = Strategy::Scan;
    }
    return schedule;
}

class ScanGroups : public ::testing::TestWithParam<Case> {};

TEST_P(ScanGroups, HaveTheBitsOfTheDefinition) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "case.pipe", GetParam().program);
    for (const Diagnostic& d : compiled.diags.all()) ASSERT_NE(d.severity, Severity::Error) << d.message;
    const ir::Pipeline& definition = compiled.definitions.front();
    const std::vector<codegen::Unit> units{{&compiled.pipelines.front(), &compiled.models.front()}};
    fusion::Gpu gpu = fusion::default_target().gpu();
    gpu.sms = 1;
    gpu.threads_per_sm = 100;
    ASSERT_EQ(plan::direct_scan_lines(gpu), 50);
    const codegen::CudaOptions options{.schedules = {{definition.name, schedule_of(GetParam().groups)}},
                                       .target = fusion::Target(gpu)};
    const codegen::kernel::Program program = codegen::lower(units.front(), sources, options);
    const std::string text = codegen::kernel::to_string(program);
    for (const std::string& name : GetParam().unstored)
        EXPECT_EQ(text.find("store " + name + "("), std::string::npos) << text;
    const DeviceLibrary device(units, sources, options);
    std::mt19937_64 rng(7);
    std::uint64_t order = 0;
    for (const Sizes& sizes : GetParam().sizes) {
        for (const Fill fill : {Fill::Smooth, Fill::Extreme}) {
            const reference::Arguments arguments = random_arguments(definition, sizes, fill, rng);
            const auto expected = reference::run(definition, arguments);
            const Layout layout = order % 2 == 0 ? Layout::Dense : Layout::Rotated;
            const auto on_device = run_device(device.info(definition.name), arguments, layout, order++);
            for (const auto& [name, array] : expected)
                EXPECT_EQ(difference(array, on_device.at(name)), "") << name << " of " << sizes.begin()->second;
        }
    }
}

const Case kCases[] = {
    {"a_mean_over_frames",
     R"(
        pipeline p(clip: uint8[T, R, C], limit: float32 = 20) -> out: uint8[T, R, C] {
            s(t in 0..T, y, x): float32 =
                if t == 0 then clip(t, y, x)
                else let e = clip(t, y, x) - s(t - 1, y, x) in if abs(e) > limit then clip(t, y, x)
                                                               else s(t - 1, y, x) + 0.2 * e
            out(t, y, x) = saturate<uint8>(round(s(t, y, x)))
        })",
     {{"s", "out"}},
     {"s"},
     {{{"T", 9}, {"R", 5}, {"C", 33}}, {{"T", 1}, {"R", 3}, {"C", 7}}, {{"T", 300}, {"R", 1}, {"C", 3}}}},
    {"a_high_pass_along_memory_both_ways",
     R"(
        pipeline p(img: float32[R, C], a: float32 = 0.7) -> high: float32[R, C], back: uint8[R, C] {
            f(y, x in 0..C): float32 = if x == 0 then img(y, x) else a * f(y, x - 1) + (1 - a) * img(y, x)
            high(y, x) = img(y, x) - f(y, x)
            b(y, x in 0..C): float32 = if x == C - 1 then img(y, x) else a * b(y, x + 1) + (1 - a) * img(y, x)
            back(y, x) = if b(y, x) > 0.5 then 1 else 0
        })",
     {{"f", "high"}, {"b", "back"}},
     {"f", "b"}},
    {"the_same_across_memory",
     R"(
        pipeline p(img: float32[R, C], a: float32 = 0.7) -> high: float32[R, C], back: uint8[R, C] {
            f(y in 0..R, x): float32 = if y == 0 then img(y, x) else a * f(y - 1, x) + (1 - a) * img(y, x)
            high(y, x) = img(y, x) - f(y, x)
            b(y in 0..R, x): float32 = if y == R - 1 then img(y, x) else a * b(y + 1, x) + (1 - a) * img(y, x)
            back(y, x) = if b(y, x) > 0.5 then 1 else 0
        })",
     {{"f", "high"}, {"b", "back"}},
     {"f", "b"}},
    {"what_readers_make_of_readers",
     R"(
        pipeline p(img: int32[R, C], w: int32[C]) -> s: int32[R, C], d: int16[R, C], e: int64[R, C], g: int32[R, C] {
            s(y in 0..R, x): int32 = if y >= 2 then s(y - 1, x) - s(y - 2, x) / 2 + img(y, x) else img(y, x)
            m(y, x): int32 = s(y, x) * w(x)
            d(y, x) = int16(m(y, x))
            e(y, x) = m(y, x) + int64(d(y, x))
            g(y, x) = int32(e(y, x) % 7) - (if s(y, x) > 0 then img(y, max(x - 1, 0)) else w(x))
        })",
     {{"s", "m", "d", "e", "g"}},
     {"m"}},
    {"sums_that_are_shared_out",
     R"(
        pipeline p(img: int32[R, C], v: int32[C]) -> row: int32[R, C], col: int32[R, C], top: uint8[R, C] {
            s(y, x in 0..C): int32 = if x == 0 then img(y, x) else s(y, x - 1) + img(y, x)
            row(y, x) = s(y, x) ^ v(x)
            c(y in 0..R, x): int32 = if y == 0 then img(y, x) else c(y - 1, x) + img(y, x)
            col(y, x) = c(y, x) - img(y, C - 1 - x)
            m(y, x in 0..C): int32 = if x == C - 1 or img(y, x) % 9 == 0 then img(y, x) else max(m(y, x + 1), img(y, x))
            top(y, x) = if m(y, x) == img(y, x) then 1 else 0
        })",
     {{"s", "row"}, {"c", "col"}, {"m", "top"}},
     {"s", "c", "m"}},
    {"a_part_of_the_points",
     R"(
        pipeline p(img: float32[R, C]) -> out: float32[R, C], s: float32[R, C] where R >= 5, C >= 5 {
            s(y, x) = if x == 0 then img(y, x) else 0.5 * s(y, x - 1) + img(y, x)
            part(y in 1..R, x in 2..C - 1): float32 = s(y, x) - img(y - 1, x + 1) * img(y, x - 2)
            out(y, x) = if y >= 1 and x >= 2 and x < C - 1 then part(y, x) else -1
        })",
     {{"s", "part"}},
     {},
     {{{"R", 5}, {"C", 5}}, {{"R", 70}, {"C", 9}}, {{"R", 6}, {"C", 300}}}},
    {"a_part_of_the_points_of_sums",
     R"(
        pipeline p(img: int32[R, C]) -> out: int32[R, C] where R >= 5, C >= 5 {
            s(y, x in 0..C): int32 = if x == 0 then img(y, x) else s(y, x - 1) + img(y, x)
            part(y, x in 2..C - 1): int32 = s(y, x) - img(y, x + 1) * img(y, x - 2)
            out(y, x) = if x >= 2 and x < C - 1 then part(y, x) else s(y, x)
        })",
     {{"s", "part"}},
     {},
     {{{"R", 5}, {"C", 5}}, {{"R", 70}, {"C", 9}}, {{"R", 6}, {"C", 2300}}}},
    {"the_value_says_what_is_in_bounds",
     R"(
        pipeline p(v: int32[N], w: int32[N]) -> out: int32[N], also: int32[N] {
            s(i in 0..N): int32 = if i == 0 then v(i) else s(i - 1) / 2 + (if i % 2 == 0 and i > 8 then w(i - 5) else v(i) % 7)
            out(i) = if s(i) >= 5 and s(i) < i then w(i - 5) else -1
            also(i) = if s(i) >= 6 and s(i) < i and w(i - 6) > 0 then 1 else 0
        })",
     {{"s", "out", "also"}},
     {"s"},
     {{{"N", 1}}, {{"N", 300}}}},
    {"the_value_before_says_what_is_in_bounds",
     R"(
        pipeline p(v: int32[N], f: float32[N]) -> s: int32[N], t: float32[N], u: int32[N], w: int32[N] {
            s(i in 0..N): int32 = if i == 0 then 7
                else if s(i - 1) >= 5 and s(i - 1) < i then v(i - 5) % 40 else (s(i - 1) % 50) * 2 + 1
            t(i in 0..N): float32 = if i == 0 then f(0)
                else if t(i - 1) > 0.5 or i > 8 then (if t(i - 1) > 0.5 then 0.25 else f(i - 9))
                else t(i - 1) + 0.125
            u(i in 0..N): int32 = if i == 0 then v(0) else if u(i - 1) < v(i) then v(i) else u(i - 1) - v(i - 1) / 2
            w(i in 0..N): int32 = if i == 0 then 7 else if w(i - 1) > 5 and w(i - 1) < 3 then v(i - 5)
                else w(i - 1) / 2 + v(i)
        })",
     {{"s"}, {"t"}, {"u"}, {"w"}},
     {},
     {{{"N", 1}}, {{"N", 40}}, {{"N", 300}}}},
    {"interleaved_colour",
     R"(
        pipeline p(img: uint8[3, R, C] order (1, 2, 0)) -> out: uint8[3, R, C] order (1, 2, 0) {
            f(c, y, x in 0..C): float32 = if x == 0 then img(c, y, x) else 0.75 * f(c, y, x - 1) + 0.25 * img(c, y, x)
            out(c, y, x) = saturate<uint8>(img(c, y, x) + 0.5 * (img(c, y, x) - f(c, y, x)))
        })",
     {{"f", "out"}},
     {"f"}},
    {"on_some_lines",
     R"(
        pipeline p(img: int32[R, C]) -> out: int32[R, C] {
            s(y, x in 0..C): int32 = if x == 0 then img(y, x) else s(y, x - 1) * 3 + img(y, x) % 5
            h(y, x): int32 = s(y, x) % 11 + img(y, x)
            out(y, x) = if y % 3 == 0 then h(y, C - 1 - x) else img(y, x)
        })",
     {{"s", "h"}},
     {"s"}},
};

INSTANTIATE_TEST_SUITE_P(All, ScanGroups, ::testing::ValuesIn(kCases),
                         [](const auto& tested) { return tested.param.name; });

/// Why a group is refused; empty where it is not.
std::string refusal(const char* program, const Groups& groups) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "case.pipe", program);
    try {
        codegen::lower({&compiled.pipelines.front(), &compiled.models.front()}, sources,
                       {.schedules = {{compiled.definitions.front().name, schedule_of(groups)}}});
        return "";
    } catch (const fusion::ScheduleError& error) {
        return error.what();
    }
}

TEST(ScanGroups, AreOfPointwiseReaders) {
    const char* const program = R"(
        pipeline p(img: float32[R, C]) -> ahead: float32[R, C], turned: float32[C, R], before: float32[R, C],
                                          own: float32[R, C] {
            f(y, x) = sqrt(img(y, x))
            s(y, x in 0..C): float32 = if x == 0 then f(y, x) else s(y, x - 1) / 2 + f(y, x)
            ahead(y, x) = s(y, min(x + 1, C - 1)) + s(y, x)
            turned(x, y) = s(y, x)
            before(y, x) = if x > 0 then s(y, x - 1) else 0
            own(y, x) = s(y, x)
        })";
    const auto mentions = [&](const Groups& groups, const char* text) {
        const std::string reason = refusal(program, groups);
        EXPECT_NE(reason.find(text), std::string::npos) << reason;
    };
    EXPECT_EQ(refusal(program, {{"s", "own"}}), "");
    mentions({{"s", "ahead"}}, "needs `s` at other points than its own");
    mentions({{"s", "turned"}}, "needs `s` at other points than its own");
    mentions({{"s", "before"}}, "needs `s` at other points than its own");
    mentions({{"f", "s"}}, "`s` reads itself, and is not in one kernel with stages before it");
    mentions({{"own"}}, "`own` does not read itself");
}

TEST(ScanGroups, HaveNoAccumulates) {
    const char* const program = R"(
        pipeline p(img: int32[R, C]) -> s: int32[R, C], h: int32[R, C] {
            s(y, x) = if x == 0 then img(y, x) else s(y, x - 1) / 2 + img(y, x)
            accumulate h(y in 0..R, x in 0..C): int32 = 0 {
                for i in 0..R, j in 0..C { h(i, j) += s(i, j) }
            }
        })";
    const std::string reason = refusal(program, {{"s", "h"}});
    EXPECT_NE(reason.find("`h` accumulates"), std::string::npos) << reason;
}

TEST(ScanGroups, HaveNoPointThatTheScanMayLack) {
    const char* const program = R"(
        pipeline p(img: float32[R, C]) -> out: float32[R, C] where C >= 5 {
            s(y, x in 2..C): float32 = if x == 2 then img(y, x) else s(y, x - 1) / 2 + img(y, x)
            out(y, x) = if x >= 2 then s(y, x) else 0
        })";
    EXPECT_NE(refusal(program, {{"s", "out"}}).find("`out` has points that `s` may not have"), std::string::npos);
}

}  // namespace
}  // namespace pipec::testing::scan_group_test
