// Rows of the host's code: points that go through a reduction's loops together, and points that have code of their own
// because of their parity or their plane. All against the interpreter of the definition, bit by bit, for rows shorter
// than a strip and longer ones, and at extreme values.
#include <gtest/gtest.h>

#include "codegen/emit/host/host.h"
#include "compiler/host_schedule.h"
#include "support_lib/compile.h"
#include "support_lib/data.h"
#include "support_lib/host.h"

namespace pipec::testing::host_rows_test {
namespace {

using Sizes = std::map<std::string, std::int64_t>;

struct Case {
    const char* name;
    const char* program;
    std::vector<const char*> contains;  ///< what tells that the code is of the kind that is tested
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.name;
}

const std::vector<Sizes> kSizes{{{"R", 1}, {"C", 1}, {"K", 3}, {"k", 3}},
                                {{"R", 3}, {"C", 7}, {"K", 0}, {"k", 0}},
                                {{"R", 2}, {"C", 63}, {"K", 40}, {"k", 8}},
                                {{"R", 5}, {"C", 64}, {"K", 2}, {"k", 5}},
                                {{"R", 4}, {"C", 151}, {"K", 12}, {"k", 7}}};

class HostRows : public ::testing::TestWithParam<Case> {};

TEST_P(HostRows, HaveTheBitsOfTheDefinition) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "case.pipe", GetParam().program);
    for (const Diagnostic& d : compiled.diags.all()) ASSERT_NE(d.severity, Severity::Error) << d.message;
    const ir::Pipeline& definition = compiled.definitions.front();
    const std::vector<codegen::Unit> units{{&compiled.pipelines.front(), &compiled.models.front()}};
    const HostLibrary host(units, sources, kNothingUndefined);
    const HostLibrary tiles(units, sources, "-O1 -ffp-contract=off -w", HostTiling::Small);
    const std::string source = codegen::host_source("case.pipe", "case.h", units, sources);
    for (const char* text : GetParam().contains) EXPECT_NE(source.find(text), std::string::npos) << text;
    std::mt19937_64 rng(5);
    for (const Sizes& sizes : kSizes) {
        for (const Fill fill : {Fill::Smooth, Fill::Extreme}) {
            const reference::Arguments arguments = random_arguments(definition, sizes, fill, rng);
            const auto expected = reference::run(definition, arguments);
            for (const Layout layout : {Layout::Dense, Layout::Rotated}) {
                for (const HostLibrary* library : {&host, &tiles}) {
                    const auto actual = run_host(library->info(definition.name), arguments, layout);
                    for (const auto& [name, array] : expected)
                        EXPECT_EQ(difference(array, actual.at(name)), "") << name;
                }
            }
        }
    }
}

const Case kCases[] = {
    {"windows",
     R"(
        pipeline p(f: float32[R + 9, C + 90], w: float32[2 * K + 1]) -> a: float32[R, C], b: int32[R, C, 2] where K <= 40 {
            // Terms in blocks; a reduction that is the same at all points; one in which another one is.
            a(y, x) = (sum(i in 0..2 * K + 1) w(i) * f(y, x + i)) / (sum(i in 0..2 * K + 1) abs(w(i)))
                      + (sum(i in 0..3) (max(j in 0..66) max(f(y + i, x + j), f(y + 4, x + 5))))
            best(y, x) = argmin(i in 0..9, j in 0..12) abs(f(y + i, x + j) - f(y, x))
            b(y, x, c) = if c == 0 then best(y, x)[0] else best(y, x)[1]
        })",
     {"lane"}},
    {"planes_of_a_strip",
     R"(
        pipeline p(u: uint8[R + 9, C + 9, 3], k: int32) -> a: uint8[R, C, 3], b: float32[R, C, 15] where 0 <= k <= 8 {
            a(y, x, c) = uint8((sum(i in 0..=k, j in 0..=k) int32(u(y + i, x + j, c))) / ((k + 1) * (k + 1)))
            b(y, x, n) = sum(i in 0..=k) u(y + i, x + n / 3, n % 3) * 0.25
        })",
     {"lane"}},
    {"many_choices",
     R"(
        pipeline p(f: float32[R + 40, C + 40]) -> a: float32[R, C], b: float64[R, C] {
            a(y, x) = max(k in 0..30) f(y + k, x)
            b(y, x) = min(k in 0..23) float64(f(y, x + k))
        })",
     {"max_of_many(max_of_many(", "min_of_many(min_of_many("}},
    {"chains",
     R"(
        pipeline p(u: uint8[R, C + 64], f: float32[R + 9, C + 64], w: float32) -> a: uint8[R, C], b: int32[R, C, 2],
                 c: float32[R, C], d: float32[R, C, 2], e: int32[R, C], g: float32[R, C] {
            a(y, x) = uint8(argmin(k in 0..64) abs(u(y, x) - u(y, x + k)))
            at(y, x) = argmax(i in 0..7, j in 0..8) f(y + i, x + j) * w
            b(y, x, n) = if n == 0 then at(y, x)[0] else at(y, x)[1]
            // The first terms, and the last, are unlike the others.
            c(y, x) = u(y, x) - f(y, x) + (sum(k in 0..60) abs(f(y, x) - f(y, x + k))) + w
            d(y, x, n) = max(k in 0..40) f(y + n, x + k)
            e(y, x) = (sum(k in 0..37) int32(u(y, x + k * k % 64)) * (k * k - 50))
            g(y, x) = let [best, at_best] = [min(k in 0..33) f(y, x + k), argmin(k in 0..33) f(y, x + k)] in best * at_best
        })",
     {"so_far", "of_terms"}},
    {"chains_of_windows",
     R"(
        pipeline p(f: float32[R + 9, C + 9], v: float32[R, C, 40], w: uint8[R + 30, C + 30]) -> a: float32[R, C],
                 b: float32[R, C], c: int32[R, C], d: float32[R, C], e: int32[R, C, 5], g: int32[R, C] {
            a(y, x) = sum(i in 0..8, j in 0..8) f(y + i, x + j) * (i + 2 * j)
            b(y, x) = sum(i in 0..3, j in 0..3) sqrt(abs(f(y + i, x + j) - f(y, x))) / (1 + abs(f(y + i, x + j) *
                f(y, x) + 3 * f(y + 1, x + 1) * f(y + i, x + j) - f(y + j, x + i) * f(y + 2 * i, x + 2 * j) -
                f(y + j, x + j) * f(y + i, x + i) + f(y + 2 * j, x + 2 * i) * f(y + j, x + 2 * j) - f(y + i + j, x)))
            // Terms of neighbours lie far apart.
            c(y, x) = argmin(k in 0..40) v(y, x, k)
            d(y, x) = if f(y, x) > 0 then max(k in 0..40) v(y, x, k) else 0
            // Too few points for vectors; a window whose rows are written out.
            e(y, x, n) = sum(i in 0..16, j in 0..16) abs(int32(w(y, x)) - w(y + i + n, x + j + n))
            g(y, x) = sum(i in 0..16, j in 0..16) abs(int32(w(y, x)) - w(y + i, x + j)) * (i + j)
        })",
     {"so_far"}},
    {"slices",
     R"(
        pipeline p(cost: uint8[R, C, 64], f: float32[R, C]) -> a: int32[R, C, 64], b: float32[R, C] {
            a(y, x in 0..C, d) =
                if x == 0 then int32(cost(y, x, d))
                else let least = min(e in 0..64) a(y, x - 1, e) in
                     cost(y, x, d) - least + min(a(y, x - 1, d), min(a(y, x - 1, max(d - 1, 0)) + 8, least + 64))
            b(y in 0..R, x) = if y == 0 then f(y, x) else b(y - 1, max(x - 1, 0)) + f(y, x)
        })",
     {"if (d_begin < d_end)"}},
    {"sums_of_images",
     R"(
        pipeline p(u: uint8[R, C], f: float32[R, C]) -> a: int32[1], b: float32[1] {
            n() = sum(y in 0..R, x in 0..C) int32(u(y, x))
            s() = sum(y in 0..R, x in 0..C) f(y, x)
            a(i) = n()
            b(i) = s()
        })",
     {"x_2 < 64; ++x_2", "PIPE_APART"}},
    {"conditional_reductions",
     R"(
        pipeline p(f: float32[R, C + 90], w: float32[2 * K + 1]) -> a: float32[R, C] where K <= 40 {
            a(y, x) = if f(y, x) > 0 then sum(i in 0..2 * K + 1) w(i) * f(y, x + i) else 1
        })",
     {}},
    {"parity",
     R"(
        pipeline p(u: uint16[R + 2, C + 2], f: float32[R + 1, C + 1]) -> a: uint16[R, C, 3], b: float32[2 * R, 2 * C], d: int32[R, C] {
            s(y, x) = (u(y, x + 1) + u(y + 1, x)) / 2
            a(y, x, c) = if c == 1 then (if (y + x) % 2 == 0 then u(y, x) else uint16(s(y, x)))
                         else if y % 2 == c / 2 then u(y, x) else uint16(s(y + 1, x + 1) >> 1)
            b(y, x) = if x % 2 == 0 then f(y / 2, x / 2) else 0.5 * (f(y / 2, x / 2) + f((y + 1) / 2, x / 2 + 1))
            d(y, x) = (if x % 4 == 3 then u(y, x) else u(y, x / 4)) + x % 2
        })",
     {"PIPE_COLD"}},
    // Conditions on data are no branches, and what they choose from is read before.
    {"choices_on_data",
     R"(
        pipeline p(u: uint8[R, C], v: uint8[R, C], f: float32[R, C], w: float32[10]) -> a: uint8[R, C], b: int32[R], c: float32[R, C] {
            a(y, x) = if u(y, x) > 100 and v(y, x) > 100 or f(y, x) < 0.5 then u(y, x) else if v(y, x) > 7 then v(y, x) else 1
            b(y) = sum(x in 0..C) (if u(y, x) > 100 and f(y, x) > 0 then v(y, x) else 0)
            c(y, x) = if u(y, x) < 10 then w(u(y, x)) else if x > 0 then f(y, x - 1) else f(y, x)
        })",
     {"const uint8_t t_2 = v(y, x);", "(int32_t(int32_t(t) > 100) & int32_t(t_3 > 100))"}},
    {"tables",
     R"(
        pipeline p(u: uint8[R, C], gamma: float32) -> a: float32[R, C] {
            curve(v in 0..256) = 255 * clamp(pow(v / 255.0, 1 / gamma), 0, 1)
            a(y, x) = curve(u(y, x)) - curve(255 - u(y, x))
        })",
     {}},
    {"planes",
     R"(
        pipeline p(u: uint8[R, C, 4], f: float16[R, C]) -> a: uint8[R, C, 4], b: float32[R, C, 2] {
            m(y, x) = max(c in 0..3) u(y, x, c)
            a(y, x, c) = if c == 3 then uint8(255 - u(y, x, 3)) else uint8(u(y, x, 2 - c) * m(y, x) / 255)
            b(y, x, n) = if n == 0 then max(f(y, x), 0) else min(f(y, x), u(y, x, 0))
        })",
     {}},
};

/// A table of which every entry takes a call of the C library is kept in memory, and read.
TEST(HostTables, AreNotComputedAgainForEachPoint) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "case.pipe", R"(
        pipeline p(u: uint8[R, C], gamma: float32) -> a: uint8[R, C] where gamma > 0 {
            curve(v in 0..256) = uint8(255 * clamp(pow(v / 255.0, 1 / gamma), 0, 1))
            a(y, x) = curve(u(y, x))
        })");
    for (const Diagnostic& d : compiled.diags.all()) ASSERT_NE(d.severity, Severity::Error) << d.message;
    const std::vector<fusion::Inlined> pipelines{{compiled.pipelines.front(), compiled.models.front()}};
    const fusion::Schedules schedules = compiler::host_schedules(pipelines, fusion::default_cpu());
    EXPECT_EQ(schedules.at("p").inlined, std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(All, HostRows, ::testing::ValuesIn(kCases),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace pipec::testing::host_rows_test
