// Functions of data that have few values become tables, with the same values.
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "support/render.h"
#include "support_lib/compile.h"
#include "support_lib/same_values.h"

namespace pipec::tabulate_values_test {
namespace {

testing::Compiled compiled(SourceManager& sources, const std::string& program) {
    testing::Compiled result = testing::compile_text(sources, "tables.pipe", program);
    EXPECT_EQ(result.diags.error_count(), 0U) << render_text(result.diags, sources);
    return result;
}

/// "out.table 0..256" and the like.
std::vector<std::string> tables(const testing::Compiled& result) {
    std::vector<std::string> found;
    const std::string text = poly::to_string(result.pipelines.at(0), result.models.at(0));
    const std::regex table(R"(stage (\S*\.table\S*)\(\S+ in (\S+)\))");
    for (std::sregex_iterator i(text.begin(), text.end(), table), end; i != end; ++i) {
        found.push_back((*i)[1].str() + " " + (*i)[2].str());
    }
    return found;
}

using Tables = std::vector<std::string>;

const std::vector<std::map<std::string, std::int64_t>> kSizes{
    {{"R", 1}, {"C", 33}}, {{"R", 5}, {"C", 33}}, {{"R", 40}, {"C", 33}}};

TEST(TabulateValues, OfPixelsDifferencesAndUnpackedBits) {
    SourceManager sources;
    const testing::Compiled result = compiled(sources, R"(
pipeline p(a: uint8[R, C], b: int8[R, C], w: uint16[R, C], g: float32 = 2.2) -> out: float32[R, C], dark: uint8[R, C] {
    value(y, x) = (w(y, x) >> 4) & 1023
    curve(y, x) = log(1 + pow(value(y, x) / 1023.0, g))
    weight(y, x) = let d = int32(a(y, x)) - int32(b(y, x)) in exp(-(d * d) / 50.0) / (1 + sqrt(abs(float32(d)))) * atan(float32(d))
    out(y, x) = curve(y, x) * weight(y, clamp(x + 1, 0, C - 1))
    dark(y, x) = uint8(255 * pow(a(y, x) / 255.0, 1 / g) + 0.5)
})");
    EXPECT_EQ(tables(result), (Tables{"curve.table 0..1024", "weight.table -127..384", "dark.table 0..256"}));
    testing::expect_same_values(result, result.pipelines.at(0), sources, kSizes, testing::Fill::Extreme);
}

TEST(TabulateValues, SharedByAllThatDependOnTheSame) {
    // One table of `linear`, not three of its products; and none of what is cheap.
    SourceManager sources;
    const testing::Compiled result = compiled(sources, R"(
import "color"

fn luma(r, g, b) = let p = srgb_to_linear(r / 255.0), q = srgb_to_linear(g / 255.0), s = srgb_to_linear(b / 255.0) in
    [0.2 * p + 0.7 * q + 0.1 * s, 0.4 * p - 0.6 * q, 0.3 * s - p]

pipeline p(img: uint8[R, C, 3]) -> out: float32[3, R, C] {
    out(c, y, x) = let [l, u, v] = luma(img(y, x, 0), img(y, x, 1), img(y, x, 2)) in
        (if c == 0 then l else if c == 1 then u else v) + sqrt(img(y, x, c) / 255.0)
})");
    EXPECT_EQ(tables(result), Tables{"out.table 0..256"});
    testing::expect_same_values(result, result.pipelines.at(0), sources, kSizes, testing::Fill::Extreme);
}

TEST(TabulateValues, InLoopsAndUpdates) {
    SourceManager sources;
    const testing::Compiled result = compiled(sources, R"(
pipeline p(img: uint8[R, C]) -> total: float64[1], rows: float64[R] {
    accumulate rows(y in 0..R): float64 = 0 {
        for y in 0..R, x in 0..C { rows(y) += float64(pow(img(y, x) / 255.0, 0.45)) }
    }
    total(i) = sum(y in 0..R, x in 0..C) float64(exp(pow(img(y, x) / 100.0, 1.5)))
})");
    EXPECT_EQ(tables(result), (Tables{"rows.table 0..256", "total.table 0..256"}));
    testing::expect_same_values(result, result.pipelines.at(0), sources, kSizes, testing::Fill::Extreme);
}

TEST(TabulateValues, NotWhatIsOfMoreThanOneInteger) {
    // Of two pixels, of a place, of 16 bits, of a value that a loop adds up; nor what parameters tell.
    SourceManager sources;
    const testing::Compiled result = compiled(sources, R"(
pipeline p(a: uint8[R, C], w: uint16[R, C], g: float32 = 2.2) -> out: float32[R, C] {
    two(y, x) = pow(float32(a(y, x)), float32(a(y, clamp(x + 1, 0, C - 1))) / 255)
    place(y, x) = pow(float32(y % 8), g)
    deep(y, x) = pow(w(y, x) / 65535.0, g)
    param(y, x) = a(y, x) * pow(g, 3) * exp(pow(g, 5))
    out(y, x) = two(y, x) + place(y, x) + deep(y, x) + param(y, x)
})");
    EXPECT_EQ(tables(result), Tables{});
}

}  // namespace
}  // namespace pipec::tabulate_values_test
