// stdlib/boundary.pipe against the rules as walks over the image.
#include <gtest/gtest.h>

#include <functional>

#include "evaluate.h"

namespace pipec::test {
namespace {

/// The index in [0, n) that a rule reads for i, or -1 for none. Walks step by step, so it shares no formula.
using Rule = std::function<std::int64_t(std::int64_t i, std::int64_t n)>;

std::int64_t clamp_rule(std::int64_t i, std::int64_t n) {
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}
/// Walks |i| steps from 0, turning around at the ends; `repeat`: the end counts twice when turning.
std::int64_t walk(std::int64_t i, std::int64_t n, bool repeat) {
    std::int64_t at = 0, step = 1;
    if (i < 0 && repeat) {
        i = -1 - i;  // the mirror lies between -1 and 0
    } else if (i < 0) {
        i = -i;
    }
    for (std::int64_t k = 0; k < i; k++) {
        if (at + step < 0 || at + step >= n) {
            step = -step;
            if (repeat) continue;
        }
        if (n > 1) at += step;
    }
    return at;
}
std::int64_t wrap_rule(std::int64_t i, std::int64_t n) {
    while (i < 0) i += n;
    while (i >= n) i -= n;
    return i;
}
std::int64_t none_rule(std::int64_t i, std::int64_t n) {
    return i < 0 || i >= n ? -1 : i;
}

struct BoundaryCase {
    const char* name;
    const char* arguments;
    Rule rule;
};

class Boundary : public testing::TestWithParam<BoundaryCase> {};

constexpr double kOutside = 7.5;

TEST(BoundaryOfBools, ConstantIsFalseUnlessStated) {
    const Grid f = random2(3, 4);
    const std::string program =
        "import \"boundary\" pipeline p(f: float32[R, C]) -> out: float32[R + 2, C + 2] {"
        "    bright(y in 0..R, x in 0..C) = f(y, x) > 0"
        "    none = constant(bright)  full = constant(bright, true)"
        "    out(y, x) = if none(y - 1, x - 1) then 2 else if full(y - 1, x - 1) then 1 else 0 }";
    const Grid out = evaluate(program, {{"f", f}});
    EXPECT_EQ(out({0, 0}), 1);
    EXPECT_EQ(out({1, 1}), f({0, 0}) > 0 ? 2 : 0);
}

TEST_P(Boundary, TwoDimensions) {
    for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{5, 7}, {3, 4}}) {
        const Grid f = random2(rows, cols);
        const std::int64_t h = 2;
        const Grid out = evaluate(std::string("import \"boundary\" pipeline p(f: float32[R, C]) -> out: ") +
                                      "float32[R + 4, C + 4] { g = " + GetParam().name + "(f" + GetParam().arguments +
                                      ") out(y, x) = g(y - 2, x - 2) }",
                                  {{"f", f}});
        expect_near(out,
                    make2(rows + 4, cols + 4,
                          [&](auto y, auto x) {
                              const auto i = GetParam().rule(y - h, rows), j = GetParam().rule(x - h, cols);
                              return i < 0 || j < 0 ? kOutside : f({i, j});
                          }),
                    0);
    }
}

TEST_P(Boundary, OneDimensionOfThree) {
    const Grid f = random3(2, 3, 5);
    const Grid out = evaluate(std::string("import \"boundary\" pipeline p(f: float32[A, B, C]) -> out: ") +
                                  "float32[A, B, C + 8] { g = " + GetParam().name + "_1d(f" + GetParam().arguments +
                                  ") out(a, b, x) = g(a, b, x - 4) }",
                              {{"f", f}});
    expect_near(out,
                make3(2, 3, 13,
                      [&](auto a, auto b, auto x) {
                          const auto i = GetParam().rule(x - 4, 5);
                          return i < 0 ? kOutside : f({a, b, i});
                      }),
                0);
}

TEST_P(Boundary, RowsAndColumnsOfAnInterleavedImage) {
    const Grid f = random3(4, 5, 3);
    const Grid out = evaluate(std::string("import \"boundary\" pipeline p(f: float32[R, C, 3]) -> out: ") +
                                  "float32[R + 4, C + 4, 3] { g = " + GetParam().name + "_yxc(f" +
                                  GetParam().arguments + ") out(y, x, c) = g(y - 2, x - 2, c) }",
                              {{"f", f}});
    expect_near(out,
                make3(8, 9, 3,
                      [&](auto y, auto x, auto c) {
                          const auto i = GetParam().rule(y - 2, 4), j = GetParam().rule(x - 2, 5);
                          return i < 0 || j < 0 ? kOutside : f({i, j, c});
                      }),
                0);
}

TEST_P(Boundary, ThreeDimensions) {
    const Grid f = random3(3, 4, 5);
    const Grid out = evaluate(std::string("import \"boundary\" pipeline p(f: float32[D, R, C]) -> out: ") +
                                  "float32[D + 4, R + 4, C + 4] { g = " + GetParam().name + "_3d(f" +
                                  GetParam().arguments + ") out(z, y, x) = g(z - 2, y - 2, x - 2) }",
                              {{"f", f}});
    expect_near(out,
                make3(7, 8, 9,
                      [&](auto z, auto y, auto x) {
                          const auto k = GetParam().rule(z - 2, 3), i = GetParam().rule(y - 2, 4),
                                     j = GetParam().rule(x - 2, 5);
                          return k < 0 || i < 0 || j < 0 ? kOutside : f({k, i, j});
                      }),
                0);
}

TEST_P(Boundary, OnePixelAndIntegers) {
    const Grid f({1, 1}, 42);
    const Grid out = evaluate(std::string("import \"boundary\" pipeline p(f: uint8[R, C]) -> out: ") +
                                  "float32[R + 6, C + 6] { g = " + GetParam().name + "(f" + GetParam().arguments +
                                  ") out(y, x) = g(y - 3, x - 3) }",
                              {{"f", f}});
    const bool has_outside = GetParam().rule(-1, 1) < 0;
    expect_near(out, make2(7, 7, [&](auto y, auto x) { return has_outside && (y != 3 || x != 3) ? kOutside : 42; }), 0);
}

INSTANTIATE_TEST_SUITE_P(All, Boundary,
                         testing::Values(BoundaryCase{"clamp_to_edge", "", clamp_rule},
                                         BoundaryCase{"mirror", "", [](auto i, auto n) { return walk(i, n, false); }},
                                         BoundaryCase{"reflect", "", [](auto i, auto n) { return walk(i, n, true); }},
                                         BoundaryCase{"wrap", "", wrap_rule},
                                         BoundaryCase{"constant", ", 7.5", none_rule}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(BoundaryMore, FarOutsideRepeatsTheOutermost) {
    // Width 3: one further image on each side, then its last pixel.
    Grid f({3});
    f.data = {1, 2, 3};
    const auto row = [&](const std::string& call) {
        return evaluate("import \"boundary\" pipeline p(f: float32[C]) -> out: float32[C + 12] { g = " + call +
                            " out(x) = g(x - 6) }",
                        {{"f", f}})
            .data;
    };
    EXPECT_EQ(row("mirror_1d(f)"), (std::vector<double>{3, 3, 3, 3, 3, 2, 1, 2, 3, 2, 1, 1, 1, 1, 1}));
    EXPECT_EQ(row("reflect_1d(f)"), (std::vector<double>{3, 3, 3, 3, 2, 1, 1, 2, 3, 3, 2, 1, 1, 1, 1}));
    EXPECT_EQ(row("wrap_1d(f)"), (std::vector<double>{1, 1, 1, 1, 2, 3, 1, 2, 3, 1, 2, 3, 3, 3, 3}));
}

TEST(BoundaryMore, StageWithRangesThatDoNotStartAtZero) {
    const Grid f = random2(4, 4);
    const Grid out = evaluate(
        "import \"boundary\" pipeline p(f: float32[R, C]) -> out: float32[R, C] {"
        " s(y in 10..R + 10, x in -5..C - 5) = f(y - 10, x + 5)"
        " g = clamp_to_edge(s) out(y, x) = g(y + 9, x - 6) }",
        {{"f", f}});
    expect_near(out, make2(4, 4, [&](auto y, auto x) { return f({clamp_rule(y - 1, 4), clamp_rule(x - 1, 4)}); }), 0);
}

}  // namespace
}  // namespace pipec::test
