// Conditions on floats that keep indices in bounds: programs that are accepted and ones that are not, and random ones,
// of which what is accepted runs in the interpreter, which checks every access, on every float that is hard.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "reference/interpreter.h"
#include "reference/numeric.h"
#include "support/render.h"
#include "support_lib/compile.h"

namespace pipec::test::float_conditions_test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// `out(n) = e` of `v: T[N]`, `w: T[N]`, a table of L numbers and `img: float32[R]`.
std::string program(const std::string& e, const std::string& type, int length) {
    return "pipeline p(v: " + type + "[N], w: " + type + "[N], lut: float32[" + std::to_string(length) +
           "], img: float32[R]) -> out: float32[N] where R <= 10000 {\n    out(n) = (" + e +
           ") + 0 * lut(0) + 0 * img(0) + 0 * float32(w(n)) + 0 * float32(v(n))\n}\n";
}

std::string messages(const std::string& text) {
    SourceManager sources;
    const testing::Compiled compiled = testing::compile_text(sources, "test.pipe", text, {});
    return render_text(compiled.diags, sources);
}

TEST(FloatConditions, KeepIndicesInBounds) {
    for (const char* e : {
             "if 0 <= v(n) < 1 then lut(int32(v(n) * 256)) else 0",
             "if v(n) >= 0 and v(n) < 1 then lut(int32(256 * v(n))) else 0",
             "if not (v(n) >= 0 and v(n) < 1) then 0 else lut(int32(v(n) * 256))",
             "if v(n) < 0 or v(n) >= 1 then 0 else lut(int32(v(n) * 256))",
             "if v(n) < 0 then 0 else if 1 <= v(n) then 1 else lut(int32(v(n) * 256))",
             "if 0 <= v(n) <= 1 then lut(int32(round(v(n) * 255))) else 0",
             "if -15 <= v(n) and v(n) <= 15 then lut(int32(v(n) * v(n))) else 0",
             "if abs(v(n)) < 100 then lut(int32(abs(v(n)))) else 0",
             "let u = v(n) * 16, i = int32(u) in if 0 <= u < 256 then lut(i) else 0",
             "let inside = 0 <= v(n) < 1, i = int32(v(n) * 256) in if inside then lut(i) else 0",
             "if 0 <= v(n) < R then img(int32(v(n))) else 0",
             "if 0 <= v(n) and R > v(n) then img(int32(floor(v(n)))) else 0",
             "if 0 <= v(n) <= R - 1 then img(int32(round(v(n)))) else 0",
             "if v(n) < 0 or v(n) >= R then 0 else img(int32(v(n)))",
             "if 0 <= v(n) < R - 1 then (let i = int32(floor(v(n))) in img(i) + img(i + 1)) else 0",
             "if -1 < v(n) < R then img(int32(v(n))) else 0",
             // What is compared is rounded already.
             "let u = round(v(n)) in if 0 <= u <= R - 1 then img(int32(u)) else 0",
             "let u = floor(v(n)) in if 0 <= u < R - 1 then img(int32(u)) + img(int32(u) + 1) else 0",
             "let u = ceil(v(n)) in if u < 0 or R <= u then 0 else img(int32(u))",
             "let u = floor(v(n)) in if 0 <= u < R then img(int32(round(u))) else 0",
             // Functions whose values have limits.
             "lut(int32(255 * sqrt(clamp(v(n), 0, 1))))",
             "lut(int32(255 * exp(-(v(n) * v(n))))) + lut(int32(127 * exp2(clamp(v(n), -3, 1))))",
             "lut(int32(round(255 * pow(clamp(v(n), 0, 1), 0.45))))",
             "lut(int32(hypot(clamp(v(n), -100, 100), clamp(w(n), -100, 100))))",
         }) {
        for (const char* type : {"float32", "float64"}) EXPECT_EQ(messages(program(e, type, 256)), "") << type;
    }
    // As stages.
    EXPECT_EQ(messages("pipeline p(v: float32[N], lut: float32[256]) -> out: float32[N] {\n"
                       "    i(n) = int32(v(n) * 256)\n    inside(n) = 0 <= v(n) < 1\n"
                       "    out(n) = if inside(n) then lut(i(n)) else 0\n}\n"),
              "");
    EXPECT_EQ(messages("pipeline p(v: float32[N], lut: float32[256]) -> out: float32[N] {\n"
                       "    i(n) = if 0 <= v(n) < 1 then int32(v(n) * 256) else 0\n    out(n) = lut(i(n))\n}\n"),
              "");
    // Of an update.
    EXPECT_EQ(messages("pipeline p(v: float32[N]) -> h: int32[256] {\n    accumulate h(b in 0..256): int32 = 0 {\n"
                       "        for n in 0..N { if 0 <= v(n) < 1 { h(int32(v(n) * 256)) += 1 } }\n    }\n}\n"),
              "");
}

TEST(FloatConditions, SayNoMoreThanTheyDo) {
    for (const char* e : {
             "if 0 <= v(n) <= 1 then lut(int32(v(n) * 256)) else 0",
             "if 0 <= v(n) < 1 then lut(int32(v(n) * 257)) else 0",
             "if 0 <= v(n) < 1 then 0 else lut(int32(v(n) * 256))",
             "if 0 <= w(n) < 1 then lut(int32(v(n) * 256)) else 0",
             "let u = round(v(n)) in if 0 <= u <= R then img(int32(u)) else 0",
             "let u = floor(v(n)) in if 0 <= u < R then img(int32(ceil(v(n)))) else 0",
             "lut(int32(256 * sqrt(clamp(v(n), 0, 1))))",
             "lut(int32(sqrt(clamp(v(n), 0, 65536))))",
             "lut(int32(round(255 * pow(clamp(v(n), 0, 1), 1000))))",
             "lut(int32(128 * exp2(clamp(v(n), -3, 1))))",
             "if 0 <= v(n) < 1 then lut(int32(w(n) + v(n))) else 0",
             "if v(n) < 1 then lut(int32(v(n) * 256)) else 0",
             "if v(n) != 0.5 then lut(int32(v(n) * 256)) else 0",
             "if 0 <= v(n) or v(n) < 1 then lut(int32(v(n) * 256)) else 0",
             "if not (0 <= v(n) < 1) then lut(int32(v(n) * 256)) else 0",
             "if v(n) < w(n) then lut(int32(v(n))) else 0",
             // NaN is not below 1, and becomes 0, which is below 1.
             "if v(n) < 1 or v(n) > 255 then 0 else lut(int32(v(n)) - 1)",
             "if 0 <= v(n) < R then img(int32(round(v(n)))) else 0",
             "if 0 <= v(n) <= R then img(int32(v(n))) else 0",
             "if -1 < v(n) < R then img(int32(floor(v(n)))) else 0",
             "if v(n) < R then img(int32(v(n))) else 0",
             "if v(n) < 1 or v(n) >= R + 1 then 0 else img(int32(v(n)) - 1)",
             "if 0 <= v(n) < R then img(int32(v(n)) + 1) else 0",
         }) {
        for (const char* type : {"float32", "float64"}) {
            EXPECT_NE(messages(program(e, type, 256)).find("[out-of-bounds]"), std::string::npos) << e;
        }
    }
    // 255.99999 is no float32 of that size: the sum is rounded to 256.
    EXPECT_NE(messages(program("if 0 <= v(n) < 1 then lut(int32(v(n) + 255)) else 0", "float32", 256)), "");
    // Of a larger R, `float32(R)` may be more.
    EXPECT_NE(messages("pipeline p(v: float32[N], img: float32[R]) -> out: float32[N] {\n"
                       "    out(n) = if 0 <= v(n) < R then img(int32(v(n))) else 0\n}\n"),
              "");
}

/// Conditions and indices that are nearly right.
class Programs {
public:
    explicit Programs(unsigned seed) : random_(seed) {}
    int pick(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random_); }
    template <class List>
    std::string one_of(const List& list) {
        return list[static_cast<std::size_t>(pick(0, static_cast<int>(std::size(list)) - 1))];
    }

    std::string expression() {
        const std::string read =
            "if " + condition(pick(0, 2)) + " then " + index() + " else " + (pick(0, 3) == 0 ? index() : "0");
        return pick(0, 3) != 0 ? read : "if " + condition(0) + " then 0 else " + read;
    }

private:
    std::string part() {
        constexpr std::array kParts{"v(n)",       "v(n)",        "v(n)",      "w(n)",
                                    "(v(n) * 4)", "floor(v(n))", "abs(v(n))", "(v(n) - w(n))"};
        return one_of(kParts);
    }
    std::string limit() {
        constexpr std::array kLimits{"0", "-1", "1", "0.5", "7", "8", "9", "2", "R", "R - 1", "R + 1", "-0.0", "w(n)"};
        return one_of(kLimits);
    }
    std::string condition(int depth) {
        constexpr std::array kComparisons{"<", "<=", ">", ">=", "==", "!="};
        if (depth == 0) {
            if (pick(0, 2) == 0)
                return limit() + (pick(0, 1) == 0 ? " <= " : " < ") + part() + (pick(0, 1) == 0 ? " <= " : " < ") +
                       limit();
            return part() + " " + one_of(kComparisons) + " " + limit();
        }
        if (pick(0, 5) == 0) return "not (" + condition(depth - 1) + ")";
        return "(" + condition(depth - 1) + (pick(0, 2) == 0 ? " or " : " and ") + condition(depth - 1) + ")";
    }
    std::string index() {
        constexpr std::array kForms{"$",       "$ * 8", "$ * 9", "8 * $", "$ + 1",        "floor($)", "round($)",
                                    "ceil($)", "$ * $", "$ + 7", "1 - $", "floor($ * 8)", "min($, 7)"};
        std::string form = one_of(kForms);
        const std::string of = part();
        for (std::size_t at = 0; (at = form.find('$', at)) != std::string::npos; at += of.size())
            form.replace(at, 1, of);
        const std::string number = "int32(" + form + ")" + (pick(0, 4) == 0 ? " + 1" : "");
        return std::string(pick(0, 1) == 0 ? "img" : "lut") + "(" + number + ")";
    }

    std::mt19937 random_;
};

std::vector<double> hard_floats(bool single) {
    std::vector<double> result{std::numeric_limits<double>::quiet_NaN(), kInf, -kInf, 0.0, -0.0, 1e-40, -1e-40};
    for (const double base : {0.25, 0.5, 1.0, 1.75, 2.0, 3.0, 7.0, 8.0, 9.0, 255.0, 256.0, 2147483648.0}) {
        for (const double sign : {1.0, -1.0}) {
            const double v = sign * base;
            result.push_back(v);
            for (const double towards : {kInf, -kInf}) {
                result.push_back(
                    single ? static_cast<double>(std::nextafter(static_cast<float>(v), static_cast<float>(towards)))
                           : std::nextafter(v, towards));
            }
        }
    }
    return result;
}

TEST(FloatConditions, WhatIsAcceptedIsInBounds) {
    int accepted = 0;
    constexpr unsigned kPrograms = 80;
    for (unsigned seed = 0; seed < kPrograms; ++seed) {
        Programs make(seed);
        const bool single = make.pick(0, 3) != 0;
        const std::string text = program(make.expression(), single ? "float32" : "float64", 8);
        SourceManager sources;
        const testing::Compiled compiled = testing::compile_text(sources, "test.pipe", text, {});
        if (compiled.diags.has_errors()) continue;
        ++accepted;
        const ir::Pipeline& pipeline = compiled.pipelines.front();
        const std::vector<double> numbers = hard_floats(single);
        const auto count = static_cast<std::int64_t>(numbers.size());
        const ir::Type type = single ? ir::Type::Float32 : ir::Type::Float64;
        for (const std::int64_t rows : {1, 8}) {
            // Every pair of them.
            reference::Arguments arguments;
            arguments.sizes = {{"N", count * count}, {"R", rows}};
            reference::Array v(type, {count * count}), w(type, {count * count});
            for (std::int64_t i = 0; i < count * count; ++i) {
                v.set(static_cast<std::size_t>(i), reference::real(type, numbers[static_cast<std::size_t>(i / count)]));
                w.set(static_cast<std::size_t>(i), reference::real(type, numbers[static_cast<std::size_t>(i % count)]));
            }
            arguments.inputs.emplace("v", std::move(v));
            arguments.inputs.emplace("w", std::move(w));
            arguments.inputs.emplace("lut", reference::Array(ir::Type::Float32, {8}));
            arguments.inputs.emplace("img", reference::Array(ir::Type::Float32, {rows}));
            ASSERT_NO_THROW(reference::run(pipeline, arguments)) << text << "R = " << rows;
        }
    }
    EXPECT_GT(accepted, 3);
}

}  // namespace
}  // namespace pipec::test::float_conditions_test
