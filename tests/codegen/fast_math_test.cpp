// -ffast-math in the SIMT emulator against the interpreter, and what its code looks like: filters whose matrix of
// weights has rank 1 become column sums, which neighbouring points share.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "compiler/passes.h"
#include "ir/print.h"
#include "support/render.h"
#include "support_lib/compile.h"
#include "support_lib/data.h"
#include "support_lib/device.h"

namespace pipec::testing::fast_math_test {
namespace {

/// What results may differ by, of the largest magnitude in an output: floats of 24 bits, some dozens of operations, and
/// differences of numbers that are 100 times as large.
constexpr double kTolerance = 1e-4;

codegen::CudaOptions options_of(const compiler::Checked& checked, const SourceManager& sources,
                                fusion::Strategy strategy) {
    compiler::ScheduleRequest request;
    request.strategy = strategy;
    if (strategy == fusion::Strategy::RegisterTile) {
        request.changed = {fusion::Field::Block, fusion::Field::Tile};
        request.values.block = {32, 2, 1};
        request.values.tile = {4, 4, 1};
    }
    codegen::CudaOptions options;
    options.fast_math = true;
    options.schedules = compiler::schedule(compiler::prepare(checked), request, fusion::default_target(),
                                           {.include_dirs = {}, .analysis = {}, .fast_math = true}, sources)
                            .schedules;
    return options;
}

/// A program, and its code under one strategy.
struct Program {
    Program(const std::string& name, const std::string& text, fusion::Strategy strategy) {
        Diagnostics diags;
        const FileId main = sources.add(name, text);
        checked = compiler::check(sources, main, {}, diags);
        if (diags.has_errors()) throw std::runtime_error(render_text(diags, sources));
        units = checked.units();
        options = options_of(checked, sources, strategy);
    }
    std::string code() { return codegen::cuda_source("p.pipe", "p.h", units, sources, options); }

    SourceManager sources;
    compiler::Checked checked;
    std::vector<codegen::Unit> units;
    codegen::CudaOptions options;
};

void expect_close(const reference::Array& expected, const reference::Array& actual) {
    ASSERT_EQ(expected.size(), actual.size());
    double largest = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) largest = std::max(largest, std::abs(expected.get(i).f));
    for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_NEAR(expected.get(i).f, actual.get(i).f, kTolerance * largest) << "element " << i;
    }
}

void check(const std::string& name, const std::string& text, const std::vector<fusion::Strategy>& strategies) {
    for (const fusion::Strategy strategy : strategies) {
        SCOPED_TRACE(fusion::name(strategy));
        Program program(name, text, strategy);
        const DeviceLibrary library(program.units, program.sources, program.options);
        std::mt19937_64 rng(20260607);
        std::uint64_t order = 0;
        for (const ir::Pipeline& pipeline : program.checked.pipelines) {
            for (const auto& [rows, columns] : {std::pair(1, 1), std::pair(5, 11), std::pair(17, 133)}) {
                for (const Layout layout : {Layout::Dense, Layout::Pitched, Layout::Sparse}) {
                    SCOPED_TRACE(fmt::format("{} x {}, {} images", rows, columns, testing::name(layout)));
                    const reference::Arguments arguments =
                        random_arguments(pipeline, {{"R", rows}, {"C", columns}}, Fill::Smooth, rng);
                    const auto actual = run_device(library.info(pipeline.name), arguments, layout, order++);
                    for (const auto& [output, array] : reference::run(pipeline, arguments)) {
                        expect_close(array, actual.at(output));
                    }
                    if (::testing::Test::HasFailure()) return;
                }
            }
        }
    }
}

/// A program as the language rounds floats, and with -ffast-math.
std::pair<compiler::Checked, compiler::Checked> checked_both_ways(const std::string& text) {
    SourceManager sources;
    Diagnostics diags;
    const FileId main = sources.add("lookup.pipe", text);
    compiler::Checked exact = compiler::check(sources, main, {}, diags);
    compiler::Settings options;
    options.fast_math = true;
    compiler::Checked fast = compiler::check(sources, main, options, diags);
    EXPECT_FALSE(diags.has_errors()) << render_text(diags, sources);
    return {std::move(exact), std::move(fast)};
}

TEST(FastMath, IndicesMadeOfFloatsAreClamped) {
    const std::string text = R"(
        pipeline lookup(img: float32[R, C], n: float32) -> out: float32[R, C], h: int32[11], s: int32[R, C]
            where 0 <= n and n <= 3 {
            bucket(b in 0..=10) = float32(b * b)
            out(y, x) = let i = int32(clamp(img(y, x), 0, 1) * 10) in bucket(i) + bucket(int32(clamp(img(y, x), -1, 1) + 5.0))
            accumulate h(i in 0..11): int32 = 0 {
                for y in 0..R, x in 0..C { h(int32(clamp(img(y, x), 0, 1) * 10)) += 1 }
            }
            bin(y, x) = int32(clamp(img(y, x), 0, 1) * 10)
            s(y, x) = int32(bucket(int32(n))) + int32(img(y, x)) + int32(bucket(bin(y, x)))
        })";
    const auto [exact, fast] = checked_both_ways(text);
    ASSERT_FALSE(exact.pipelines.empty() || fast.pipelines.empty());
    const std::string before = ir::to_string(exact.pipelines[0]), after = ir::to_string(fast.pipelines[0]);
    const auto count = [&](const std::string& part) {
        std::size_t result = 0;
        for (std::size_t at = 0; (at = after.find(part, at)) != std::string::npos; ++at) ++result;
        return result;
    };
    EXPECT_EQ(before.find("min(max(int32"), std::string::npos);
    // The let, the sum, the update, the parameter and the stage; what is not an index stays as it is.
    EXPECT_EQ(count("min(max(int32("), 5u) << after;
    EXPECT_EQ(count("0), 10)"), 3u) << after;
    EXPECT_NE(after.find("min(max(int32(n), 0), 3)"), std::string::npos) << after;
    // The same values where floats are rounded as the language says.
    std::mt19937_64 rng(7);
    const auto arguments = random_arguments(exact.pipelines[0], {{"R", 5}, {"C", 7}}, Fill::Smooth, rng);
    const auto expected = reference::run(exact.pipelines[0], arguments),
               actual = reference::run(fast.pipelines[0], arguments);
    for (const auto& [output, array] : expected) {
        for (std::size_t i = 0; i < array.size(); ++i) EXPECT_EQ(array.get(i).f, actual.at(output).get(i).f);
    }
}

// Floats that are not rounded as the language says may pass a condition that the language's would not.
TEST(FastMath, IndicesBehindConditionsOnFloatsAreClamped) {
    const std::string text = R"(
        pipeline lookup(img: float32[R, C], table: float32[256], line: float32[C]) -> out: float32[R, C], h: int32[256], s: float32[R, C]
            where C <= 10000 {
            bin(y, x) = if 0 <= img(y, x) < 1 then int32(img(y, x) * 256) else 0
            out(y, x) = let i = int32(img(y, x) * 256) in if 0 <= img(y, x) < 1 then table(i) else 0
            accumulate h(i in 0..256): int32 = 0 {
                for y in 0..R, x in 0..C { if 0 <= img(y, x) < 1 { h(int32(img(y, x) * 256)) += 1 } }
            }
            s(y, x) = (if 0 <= img(y, x) < C then line(int32(img(y, x))) else 0) + table(bin(y, x)) + line(x)
        })";
    const auto [exact, fast] = checked_both_ways(text);
    ASSERT_FALSE(exact.pipelines.empty() || fast.pipelines.empty());
    const std::string after = ir::to_string(fast.pipelines[0]);
    for (const char* part : {"table(min(max(", "h(min(max(int32(", "line(min(max(int32("}) {
        EXPECT_NE(after.find(part), std::string::npos) << part << " in\n" << after;
    }
    // What a stage gives is what its readers count on.
    EXPECT_NE(after.find("bin(y, x): uint8 = uint8(min(max("), std::string::npos) << after;
    EXPECT_NE(after.find("+ line(x)"), std::string::npos) << after;  // no float decides it
    std::mt19937_64 rng(7);
    for (const Fill fill : {Fill::Smooth, Fill::Extreme}) {
        const auto arguments = random_arguments(exact.pipelines[0], {{"R", 5}, {"C", 7}}, fill, rng);
        const auto expected = reference::run(exact.pipelines[0], arguments),
                   actual = reference::run(fast.pipelines[0], arguments);
        for (const auto& [output, array] : expected) EXPECT_EQ(difference(array, actual.at(output)), "") << output;
    }
}

class FastMathExample : public ::testing::TestWithParam<const char*> {};

TEST_P(FastMathExample, IsCloseToReference) {
    const std::string path = fmt::format(PIPEC_SOURCE_DIR "/examples/{}.pipe", GetParam());
    check(path, read_file(path), {fusion::Strategy::RegisterTile, fusion::Strategy::Stage});
}

INSTANTIATE_TEST_SUITE_P(All, FastMathExample, ::testing::Values("blur", "unsharp", "harris"),
                         [](const auto& param_info) { return std::string(param_info.param); });

struct Filter {
    const char *name, *text;
};

class FastMathFilter : public ::testing::TestWithParam<Filter> {};

TEST_P(FastMathFilter, IsCloseToReference) {
    check("filter.pipe", GetParam().text, {fusion::Strategy::RegisterTile});
}

constexpr Filter kFilters[] = {
    // Of rank 1: with zeros, with signs, with a common factor that is no power of two.
    {"RankOne", R"(import "stencil"
pipeline p(img: float32[R + 2, C + 2]) -> out: float32[R, C], other: float32[R, C] {
    a = conv2d(img, SOBEL_Y / 12)
    b = conv2d(img, [[0.1, -0.3, 0.1], [-0.2, 0.6, -0.2], [0.05, -0.15, 0.05]])
    out(y, x) = a(y + 1, x + 1)
    other(y, x) = b(y + 1, x + 1) - a(y + 1, x + 1)
})"},
    {"RankTwo", R"(import "stencil"
pipeline p(img: float32[R + 2, C + 2]) -> out: float32[R, C], other: float32[R, C] {
    a = laplacian(img)
    b = conv2d(img, [[1, 2, 3], [4, 5, 6], [7, 8, 9.5]])
    out(y, x) = a(y + 1, x + 1)
    other(y, x) = b(y + 1, x + 1)
})"},
    {"Binomial5", R"(
const W = [1, 4, 6, 4, 1] / 16
pipeline p(img: float32[R + 4, C + 4]) -> out: float32[R, C] {
    out(y, x) = sum(i in 0..5, j in 0..5) W[i] * W[j] * img(y + i, x + j)
})"},
    {"Constants", R"(
pipeline p(img: float32[R, C + 1]) -> out: float32[R, C], other: float32[R, C] {
    a(y, x) = 0 * img(y, x) + (img(y, x) - 0) / 3 + 0
    out(y, x) = (0 - a(y, x)) / 7 + 1 * a(y, x + 1) / 1e-3 - (a(y, x) - 2) * 0
    other(y, x) = (a(y, x) + 1) / (a(y, x + 1) + 2) / 1e38
})"},
    {"Upsampled", R"(
pipeline p(img: float32[R + 2, C + 2]) -> out: float32[2 * R, 2 * C] {
    smooth(y, x) = (img(y, x) + 2 * img(y + 1, x) + img(y + 2, x) + img(y, x + 1) + 2 * img(y + 1, x + 1)
                    + img(y + 2, x + 1)) / 8
    out(y, x) = (smooth(y / 2, x / 2) + smooth(y / 2, (x + 1) / 2) + 3 * smooth(y / 2, x / 2)) / 5
})"},
    // Factors that wait: through sums, products and columns of other lanes; asked for by what is no sum; of a stage
    // that is an output as well; too large to wait.
    {"Means", R"(
pipeline p(img: float32[R + 4, C + 4]) -> out: float32[R, C] {
    a(y, x) = (img(y, x) + img(y + 1, x) + img(y + 2, x)) / 3
    b(y, x) = (a(y, x) + a(y, x + 1) + a(y, x + 2)) / 3
    c(y, x) = (b(y, x) + b(y + 1, x) + b(y + 2, x)) / 3
    out(y, x) = (c(y, x) + c(y, x + 1) + c(y, x + 2)) / 3
})"},
    {"Products", R"(
pipeline p(img: float32[R + 2, C + 4]) -> out: float32[R, C], other: float32[R, C] {
    dy(y, x) = (img(y + 2, x) - img(y, x)) / 12
    dx(y, x) = (img(y, x + 2) - img(y, x)) / 5
    xy(y, x) = dy(y, x) * dx(y, x)
    xx(y, x) = dx(y, x) * dx(y, x)
    sxy(y, x) = xy(y, x) + xy(y, x + 1) + xy(y, x + 2)
    sxx(y, x) = xx(y, x) + xx(y, x + 1) + xx(y, x + 2)
    out(y, x) = sxy(y, x) * sxx(y, x) - 0.04 * (sxy(y, x) + sxx(y, x)) * sxy(y, x)
    other(y, x) = sxy(y, x) / (1 + abs(sxx(y, x)))
})"},
    {"Whole", R"(
pipeline p(img: float32[R + 2, C + 2]) -> out: float32[R, C], mean: float32[R, C] {
    mean(y, x) = (img(y, x) + img(y + 1, x) + img(y + 2, x)) / 3
    wide(y, x) = (img(y, x) + img(y, x + 1) + img(y, x + 2)) / 7
    top(y, x) = max(wide(y, x), 0.5) - wide(y, x) / 2
    out(y, x) = if mean(y, x) > wide(y, x) then sqrt(mean(y, x) - wide(y, x)) + top(y, x) else top(y, x)
})"},
    {"Float64", R"(
pipeline p(img: float64[R + 2, C + 2]) -> out: float64[R, C] {
    a(y, x) = (img(y, x) + img(y + 1, x) + img(y + 2, x)) / 3 + 1
    out(y, x) = (a(y, x) + a(y, x + 1) - 2 * a(y, x + 2)) / 3
})"},
    {"Extremes", R"(
pipeline p(img: float32[R + 2, C + 2]) -> out: float32[R, C] {
    a(y, x) = (img(y, x) + img(y + 1, x) + img(y + 2, x)) * 1e-18
    b(y, x) = (a(y, x) + a(y, x + 1) + a(y, x + 2)) * 1e-18
    c(y, x) = b(y, x) * 1e30 + a(y, x) * 1e12
    out(y, x) = (c(y, x) - b(y, x)) * 1e6
})"},
};
INSTANTIATE_TEST_SUITE_P(All, FastMathFilter, ::testing::ValuesIn(kFilters),
                         [](const auto& param_info) { return std::string(param_info.param.name); });

/// What threads of the interior do in the kernel that reads the widest vectors.
std::vector<std::string> interior_lines(const std::string& code) {
    std::istringstream lines(code);
    std::vector<std::string> result;
    bool inside = false;
    for (std::string line; std::getline(lines, line);) {
        if (line.find(" out_wide16(") != std::string::npos) inside = true;
        if (inside && line.find("} else {") != std::string::npos) break;
        if (inside) result.push_back(line);
    }
    return result;
}

std::ptrdiff_t occurrences(const std::vector<std::string>& lines, const std::string& pattern) {
    const std::regex regex(pattern);
    std::ptrdiff_t result = 0;
    for (const std::string& line : lines) {
        result += std::distance(std::sregex_iterator(line.begin(), line.end(), regex), std::sregex_iterator());
    }
    return result;
}

TEST(FastMathText, SobelIsMadeOfColumnSums) {
    Program program("sobel.pipe", R"(import "stencil"
pipeline p(img: float32[R + 2, C + 2]) -> out: float32[R, C] {
    s = sobel_y(img)
    out(y, x) = s(y + 1, x + 1)
})",
                    fusion::Strategy::RegisterTile);
    const std::vector<std::string> lines = interior_lines(program.code());
    EXPECT_EQ(occurrences(lines, R"(\b0\.0f \*|\* -?0\.0f)"), 0) << fmt::format("{}", fmt::join(lines, "\n"));
    // 4 rows of 4 columns: a sum for each column that the lane has, two of which its neighbour computes; one factor of
    // 2 in each point, and none of 1.
    EXPECT_EQ(occurrences(lines, R"(float img_sum\w* = img)"), 16);
    EXPECT_EQ(occurrences(lines, R"(float img_sum\w* = __shfl_down_sync)"), 8);
    EXPECT_EQ(occurrences(lines, R"(\b2\.0f \*)"), 16);
    EXPECT_EQ(occurrences(lines, R"([^\w]1\.0f \*)"), 0);
}

TEST(FastMathText, MeansAreMultipliedAtTheEnd) {
    Program program("means.pipe", R"(pipeline p(img: float32[R + 4, C + 4]) -> out: float32[R, C] {
    a(y, x) = (img(y, x) + img(y + 1, x) + img(y + 2, x)) / 3
    b(y, x) = (a(y, x) + a(y, x + 1) + a(y, x + 2)) / 3
    c(y, x) = (b(y, x) + b(y + 1, x) + b(y + 2, x)) / 3
    out(y, x) = (c(y, x) + c(y, x + 1) + c(y, x + 2)) / 3
})",
                    fusion::Strategy::RegisterTile);
    const std::vector<std::string> lines = interior_lines(program.code());
    EXPECT_EQ(occurrences(lines, R"(float out\w* = 0\.012345\d+f \* )"), 16)
        << fmt::format("{}", fmt::join(lines, "\n"));
    EXPECT_EQ(occurrences(lines, R"(\d?\.\d+f \*|\* \d?\.\d+f)"), 16);
    // Two of three terms are added once for two points: 6 additions for 4 points, of a and b in 6 rows, of c and out
    // in 4.
    EXPECT_LE(occurrences(lines, R"( \+ (img|[abct])_)"), (6 + 6 + 4 + 4) * 6);
}

/// And named once, so that a branch is an expression.
TEST(FastMathText, WhatIsTheSameEverywhereTakesTheFactor) {
    Program program("mask.pipe", R"(pipeline p(img: float32[R + 2, C + 2], weight: float32 = 2) -> out: float32[R, C] {
    a(y, x) = (img(y, x) + img(y + 1, x) + img(y + 2, x)) / 3
    b(y, x) = (a(y, x) + a(y, x + 1) + a(y, x + 2)) / 3
    out(y, x) = if abs(img(y + 1, x) - b(y, x)) < 0.1 then img(y + 1, x)
                else (1 + weight) * img(y + 1, x) - weight * b(y, x)
})",
                    fusion::Strategy::RegisterTile);
    const std::vector<std::string> lines = interior_lines(program.code());
    EXPECT_EQ(occurrences(lines, R"(float t\w* = 0\.1111\d+f \* weight;)"), 1)
        << fmt::format("{}", fmt::join(lines, "\n"));
    EXPECT_EQ(occurrences(lines, R"(float t\w* = 1\.0f \+ weight;)"), 1);
    EXPECT_EQ(occurrences(lines, R"(float v\w*;)"), 0);
    EXPECT_EQ(occurrences(lines, R"( \? )"), 2 + 16);  // the block's place, and the points
}

/// A reciprocal that the type does not hold, or holds with few bits, is no replacement for a division.
TEST(FastMathText, DivisionsByExtremesStay) {
    Program program("extremes.pipe", R"(pipeline p(img: float32[R]) -> out: float32[R] {
    out(x) = img(x) / 1e-39 + img(x) / 3e38 + img(x) / 4
})",
                    fusion::Strategy::Stage);
    const std::string code = program.code();
    EXPECT_NE(code.find("* 0.25f"), std::string::npos);
    EXPECT_EQ(code.find("INFINITY"), std::string::npos);
    EXPECT_NE(code.find("/ 3e+38f"), std::string::npos);
}

}  // namespace
}  // namespace pipec::testing::fast_math_test
