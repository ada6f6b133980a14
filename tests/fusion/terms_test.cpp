// What is left of the terms of reductions: of those that a condition thins out, of windows that share strips, and of
// weights that are tables.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "ir/build.h"
#include "ir/unique_nodes.h"
#include "ir/visit.h"
#include "support/render.h"
#include "support_lib/compile.h"

namespace pipec::terms_test {
namespace {

/// The terms of a point of each stage of `pipeline p(...) -> out: ... { body }`, by name; loops in loops multiply, and
/// those beside each other add up.
std::map<std::string, std::int64_t> terms_of(const std::string& out, const std::string& body) {
    SourceManager sources;
    const testing::Compiled compiled = testing::compile_text(
        sources, "terms.pipe",
        "pipeline p(f: float32[R + 20, C + 20], u: uint8[R + 20, C + 20], w: float32[200], n: int32[200]) -> out: " +
            out + "[R, C] where R >= 64, C >= 64, R <= 10000, C <= 10000 { " + body + " }");
    EXPECT_EQ(compiled.diags.error_count(), 0U) << render_text(compiled.diags, sources);
    std::map<std::string, std::int64_t> result;
    for (const ir::Stage& stage : compiled.pipelines.at(0).stages) {
        std::int64_t& terms = result[stage.name];
        ir::for_each_node(std::get<ir::Pure>(stage.definition).value, [&](const ir::Expr& e) {
            const auto* reduce = ir::as<ir::Reduce>(e);
            if (reduce == nullptr || ir::as<ir::Reduce>(reduce->body) != nullptr) return;
            std::int64_t all = 1;
            ir::for_each_node(std::get<ir::Pure>(stage.definition).value, [&](const ir::Expr& outer) {
                const auto* around = ir::as<ir::Reduce>(outer);
                if (around == nullptr || !ir::any_node(outer, [&](const ir::Expr& x) { return x == e; })) return;
                for (const ir::Range& range : around->ranges) {
                    all *= ir::as_int(range.hi).value_or(0) - ir::as_int(range.lo).value_or(0);
                }
            });
            terms += all;
        });
    }
    return result;
}

std::int64_t terms_of_out(const std::string& out, const std::string& value) {
    return terms_of(out, "out(y, x) = " + value).at("out");
}

TEST(StridedTerms, ConditionsOnARemainderThinTermsOut) {
    EXPECT_EQ(terms_of_out("float32",
                           "sum(i in 0..10, j in 0..8) "
                           "(if (y - i) % 2 == 0 and (x + j + 3) % 4 == 1 then w(j) * f((y - i) / 2 + 5, x) else 0)"),
              5 * 2);
    EXPECT_EQ(terms_of_out("int32", "sum(i in 0..90) (if (y + i) % 3 != 1 then 0 else n(i) * u(y, x))"), 90);
    EXPECT_EQ(terms_of_out("int32", "sum(i in 0..90) (if (y + i) % 2 != 1 then n(i) * u(y, x) else 0)"), 45);
    EXPECT_EQ(terms_of_out("int32", "sum(i in 0..90) (if (y + i) % 3 == 1 then n(i) * u(y, x) else 0)"), 30);
}

TEST(StridedTerms, OthersStay) {
    // Blocks of float sums have 64 terms, so that of 128 has two.
    EXPECT_EQ(terms_of_out("float32", "sum(i in 0..128) (if (y + i) % 2 == 0 then w(i) * f(y, x) else 0)"), 128);
    // What is not chosen counts.
    EXPECT_EQ(terms_of_out("int32", "sum(i in 0..90) (if (y + i) % 2 == 0 then n(i) * u(y, x) else 1)"), 90);
    // A maximum leaves NaN out where another term follows.
    EXPECT_EQ(terms_of_out("float32", "max(i in 0..90) (if (y + i) % 2 == 0 then w(i) * f(y, x) else -1 / 0.0)"), 90);
    // The dividend wraps, the period does not divide the range, the variable is multiplied.
    EXPECT_EQ(terms_of_out("int32", "sum(i in 0..90) (if (y * 1000000 + i) % 3 == 0 then n(i) * u(y, x) else 0)"), 90);
    EXPECT_EQ(terms_of_out("int32", "sum(i in 0..91) (if (y + i) % 2 == 0 then n(i) * u(y, x) else 0)"), 91);
    EXPECT_EQ(terms_of_out("int32", "sum(i in 0..90) (if (y + i + i / 4) % 2 == 0 then n(i) * u(y, x) else 0)"), 90);
    EXPECT_EQ(terms_of_out("int32", "sum(i in 0..90) (if (n(y % 200) + i) % 2 == 0 then n(i) * u(y, x) else 0)"), 90);
    EXPECT_EQ(terms_of_out("int32", "sum(i in 0..90) (if (y + 2 * i) % 3 == 0 then n(i) * u(y, x) else 0)"), 90);
}

TEST(SharedStrips, WindowsAreSumsOfStrips) {
    using Terms = std::map<std::string, std::int64_t>;
    EXPECT_EQ(terms_of("int32", "out(y, x) = sum(i in 0..11, j in 0..9) int32(u(y + i, x + j))"),
              (Terms{{"out", 9}, {"out.strip", 11}}));
    EXPECT_EQ(terms_of("float32", "out(y, x) = sum(i in 0..11, j in 0..9) w(i) * f(i + 4 + y, 3 + (x + j))"),
              (Terms{{"out", 9}, {"out.strip", 11}}));
    EXPECT_EQ(terms_of("int32", "out(y, x) = sum(k in 0..12, i in 0..7, j in 0..9) int32(u(y + i, x + j)) * n(k)"),
              (Terms{{"out", 9}, {"out.strip_2", 7}, {"out.strip", 12}}));
}

/// The elements that a point of each stage of `pipeline p(...) -> out: ... { body }` reads, by name.
std::map<std::string, std::size_t> reads_of(const std::string& out, const std::string& body) {
    SourceManager sources;
    const testing::Compiled compiled = testing::compile_text(
        sources, "reads.pipe",
        "pipeline p(f: float32[R + 20, C + 20], u: uint8[R + 20, C + 20, 3], m: bool[R + 20, C + 20]) -> out: " + out +
            " where R >= 64, C >= 64, R <= 10000, C <= 10000 { " + body + " }");
    EXPECT_EQ(compiled.diags.error_count(), 0U) << render_text(compiled.diags, sources);
    std::map<std::string, std::size_t> result;
    for (const ir::Stage& stage : compiled.pipelines.at(0).stages) {
        ir::UniqueExpressions nodes;
        std::set<const ir::Node*> reads;
        ir::for_each_node(nodes.get(std::get<ir::Pure>(stage.definition).value), [&](const ir::Expr& e) {
            if (ir::as<ir::Read>(e) != nullptr) reads.insert(e.get());
        });
        result[stage.name] = reads.size();
    }
    return result;
}

TEST(SharedStrips, WindowsThatAreWrittenOutHaveColumns) {
    using Reads = std::map<std::string, std::size_t>;
    const std::string image = "int32[R, C]", colours = "int32[R, C, 3]";
    EXPECT_EQ(reads_of(image, "out(y, x) = max(i in 0..3, j in 0..5) int32(u(y + i, x + j, 1))"),
              (Reads{{"out", 5}, {"out.strip", 3}}));
    // Columns with factors, and terms that are in none.
    EXPECT_EQ(reads_of(colours,
                       "const k = [1, 4, 6, 4, 1] out(y, x, c) = 7 - u(y, x + 9, c) - "
                       "(sum(i in 0..5, j in 0..5) k[i] * (k[j] - 2) * u(y + i, x + j, c))"),
              (Reads{{"out", 6}, {"out.strip", 5}}));
    EXPECT_EQ(reads_of(image,
                       "out(y, x) = sum(i in 0..4, j in 0..4) abs(int32(u(y + i, x + j, 0)) - "
                       "int32(u(y + i + 2, 3 + j + x, 1)))"),
              (Reads{{"out", 4}, {"out.strip", 8}}));
    EXPECT_EQ(reads_of("bool[R, C]", "out(y, x) = any(i in 0..4, j in 0..5) not m(y + i, x + j)"),
              (Reads{{"out", 5}, {"out.strip", 4}}));
    // Along rows, where a window has no three columns; with a step of 2; backwards.
    EXPECT_EQ(reads_of(image, "out(y, x) = sum(i in 0..3, j in 0..3) int32(u(y + i, 9 * j, j))"),
              (Reads{{"out", 3}, {"out.strip", 3}}));
    EXPECT_EQ(reads_of("uint8[R / 2, C / 2]", "out(y, x) = min(i in 0..4, j in 0..6) u(y + i, 2 * x + j, 2)"),
              (Reads{{"out", 6}, {"out.strip", 4}}));
    EXPECT_EQ(reads_of(image, "out(y, x) = sum(i in 0..3, j in 0..3) int32(u(y + i, C - x + j, 0))"),
              (Reads{{"out", 3}, {"out.strip", 3}}));
}

TEST(SharedStrips, OtherWindowsThatAreWrittenOutStay) {
    const auto whole = [](const std::string& out, const std::string& value) {
        const auto reads = reads_of(out, "out(y, x) = " + value);
        EXPECT_EQ(reads.size(), 1U) << value;
    };
    // Floats are added in the order of the text, and of equal minima the left one is taken.
    whole("float32[R, C]", "sum(i in 0..5, j in 0..5) f(y + i, x + j)");
    whole("float32[R, C]", "min(i in 0..5, j in 0..5) f(y + i, x + j)");
    // Columns that differ, of two terms, two of them, or apart.
    whole("int32[R, C]",
          "sum(i in 0..5, j in 0..5) (if (i - 2) * (j - 2) > 1 then 0 else (i * j + 1) * u(y + i, x + j, 0))");
    whole("int32[R, C]", "sum(i in 0..2, j in 0..5) int32(u(y + i, x + j, 0))");
    whole("int32[R, C]", "sum(i in 0..3, j in 0..3) int32(u(y + 2 * i, x + 2 * j, 0))");
    // What is compared with the middle, and what a condition says may be read.
    whole("int32[R, C]", "sum(i in 0..5, j in 0..5) abs(int32(u(y + i, x + j, 0)) - int32(u(y + 2, x + 2, 0)))");
    whole("bool[R, C]", "any(i in 0..5, j in 0..5) (x + j >= 7 and m(y + i, x + j - 7))");
    whole("bool[R, C]", "any(i in 0..5, j in 0..5) (u(y, x, 0) > 3 and m(y + i, x + j))");
    whole("int32[R, C]", "if m(y, x) then (max(i in 0..5, j in 0..5) int32(u(y + i, x + j, 0))) else 0");
}

TEST(SharedStrips, WindowsMayHaveSteps) {
    using Terms = std::map<std::string, std::int64_t>;
    // Those that overlap save terms, whatever they go along.
    EXPECT_EQ(terms_of("float32", "out(y, x) = max(i in 0..9, j in 0..9) f((3 * y + i) % R, x + j)"),
              (Terms{{"out", 9}, {"out.strip", 9}}));
    EXPECT_EQ(terms_of("float32", "out(y, x) = sum(i in 0..9, j in 0..9) f(y + i, (2 * x + j) % C)"),
              (Terms{{"out", 9}, {"out.strip", 9}}));
    // Of blocks, which do not, strips lie side by side in memory: columns of integers, too.
    EXPECT_EQ(terms_of("float32", "out(y, x) = sum(i in 0..9, j in 0..8) f(y + i, (8 * x + j) % C)"),
              (Terms{{"out", 8}, {"out.strip", 9}}));
    EXPECT_EQ(terms_of("int32", "out(y, x) = sum(i in 0..9, j in 0..8) int32(u((9 * y + i) % R, (8 * x + j) % C))"),
              (Terms{{"out", 8}, {"out.strip", 9}}));
}

TEST(SharedStrips, OthersStay) {
    // Weights of their own, places that are no sums, and what only some points need.
    EXPECT_EQ(terms_of_out("float32", "sum(i in 0..9, j in 0..9) w(9 * i + j) * f(y + i, x + j)"), 81);
    // Points between windows, and blocks whose strips would go across memory.
    EXPECT_EQ(terms_of_out("float32", "sum(i in 0..9, j in 0..9) f(y + i, (11 * x + j) % C)"), 81);
    EXPECT_EQ(terms_of_out("float32", "sum(j in 0..9, i in 0..9) f((9 * y + i) % R, x + 9 * j % 10)"), 81);
    EXPECT_EQ(terms_of_out("float32", "sum(i in 0..9, j in 0..9) abs(f(y + i, x + j) - f(y, x))"), 81);
    EXPECT_EQ(terms_of_out("float32", "if f(y, x) > 0 then sum(i in 0..9, j in 0..9) f(y + i, x + j) else 0"), 81);
}

/// The tables of `pipeline p(...) -> out: float32[R, C] { body }`, by name, with their dimensions.
std::vector<std::string> tables_of(const std::string& body) {
    SourceManager sources;
    const testing::Compiled compiled = testing::compile_text(
        sources, "tables.pipe",
        "pipeline p(f: float32[R + 20, C + 20], w: float32[200], s: float32 = 2, n: int32 = 3) -> out: float32[R, C] "
        "where R <= 10000, C <= 10000, 0 <= n <= 9 { " +
            body + " }");
    EXPECT_EQ(compiled.diags.error_count(), 0U) << render_text(compiled.diags, sources);
    std::vector<std::string> result;
    const auto& stages = compiled.pipelines.at(0).stages;
    for (std::size_t i = 0; i < stages.size(); ++i) {
        if (!stages[i].stored) continue;
        std::string name = stages[i].name;
        for (const poly::Interval& interval : compiled.models.at(0).domains[i].box) {
            name +=
                fmt::format(" {}..{}", ir::as_int(interval.lo).value_or(-1000), ir::as_int(interval.hi).value_or(1000));
        }
        result.push_back(name);
    }
    return result;
}

TEST(Tables, WeightsOfOffsetsAreTables) {
    using Names = std::vector<std::string>;
    EXPECT_EQ(tables_of("out(y, x) = sum(i in 0..9, j in 0..9) exp(-float32(i * i + j * j) / s) * f(y + i, x + j)"),
              Names{"out.table 0..9 0..9"});
    // Each factor by itself where the other one depends on the place, and as many values as a radius may ask for.
    EXPECT_EQ(tables_of("out(y, x) = sum(i in -n..=n, j in -n..=n) exp(-float32(i * i + j * j) / s) * "
                        "f(y + i + 9, x + j + 9) * exp(-abs(f(y + i + 9, x + j + 9) - f(y + 9, x + 9)))"),
              Names{"out.table -1000..1000 -1000..1000"});
    // Through names, also of what is cheap by itself; nothing is left of names that no value needs.
    EXPECT_EQ(tables_of("out(y, x) = sum(i in 0..9, j in 0..9) (let d = i * i + j * j, v = exp(-d / s) in "
                        "v * f(y + i, x + j))"),
              Names{"out.table 0..9 0..9"});
    // A bank of filters, and a table that two stages share.
    EXPECT_EQ(tables_of("g(k, y, x) = sum(i in 0..90) cos(float32(i * k)) * f(y + i % 9, x)"
                        "h(k, y, x) = sum(i in 0..90) cos(float32(i * k)) * f(y, x + i % 9)"
                        "out(y, x) = sum(k in 0..8) (g(k, y, x) + h(k, y, x))"),
              Names{"g.table 0..8 0..90"});
}

// Parts that share what they are made of are looked at once each: as trees, these would be 2^60 nodes.
TEST(Tables, SharedPartsAreLookedAtOnce) {
    std::string value = "f(y + i % 9, x)";
    for (int n = 0; n < 60; ++n) value = fmt::format("(let t{0} = {1} in t{0} * t{0} + t{0})", n, value);
    EXPECT_EQ(tables_of("out(y, x) = sum(i in 0..90) " + value), std::vector<std::string>{});
    value = "float32(i)";
    for (int n = 0; n < 60; ++n) value = fmt::format("(let t{0} = {1} in t{0} * t{0} + t{0})", n, value);
    EXPECT_EQ(tables_of("out(y, x) = sum(i in 0..90) " + value + " * f(y + i % 9, x)").size(), 1U);
}

TEST(Tables, OthersStay) {
    using Names = std::vector<std::string>;
    // Cheap ones, those of data, of the place, and what few points evaluate.
    EXPECT_EQ(tables_of("out(y, x) = sum(i in 0..90) (i * s + 1) * f(y + i % 9, x)"), Names{});
    EXPECT_EQ(tables_of("out(y, x) = sum(i in 0..90) exp(w(i)) * f(y + i % 9, x)"), Names{});
    EXPECT_EQ(tables_of("out(y, x) = sum(i in 0..90) exp(float32(x - i)) * f(y + i % 9, x)"), Names{});
    EXPECT_EQ(tables_of("out(y, x) = sum(i in 0..4, j in 0..20) (exp(float32(i - (y + 0.5) / 3)) * f(y + i, x + j))"),
              Names{});
    // nvcc writes loops of few terms out, and finds the roots.
    EXPECT_EQ(tables_of("out(y, x) = sum(i in -3..=3, j in -3..=3) exp(-f(y, x) * sqrt(float32(i * i + j * j)))"),
              Names{});
    EXPECT_EQ(tables_of("t() = sum(i in 0..90) exp(float32(i)) "
                        "out(y, x) = f(y, x) * t()"),
              Names{});
    EXPECT_EQ(tables_of("out(y, x) = sum(i in 0..90, j in 0..R) exp(float32(i * j)) * f(y, x)"), Names{});
}

}  // namespace
}  // namespace pipec::terms_test
