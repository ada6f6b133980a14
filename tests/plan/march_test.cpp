// How blocks march along their strips.
#include "plan/march.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "support_lib/groups.h"

namespace pipec::plan::march_test {
namespace {

poly::Group group_of(const std::string& text) {
    return testing::whole_group(text).group;
}

/// "24x8, 5 steps; 2 each from -4 of 12, window 6; ..."
std::string describe(const poly::Group& group, const std::array<int, 3>& block, const std::array<int, 3>& tile) {
    const auto made = make_march(group, block, tile);
    if (const auto* refusal = std::get_if<std::string>(&made)) return *refusal;
    const auto& march = std::get<March>(made);
    std::string text = fmt::format("{}x{}, {} steps", march.size.back(), march.size[march.dim], march.steps);
    for (const March::Member& m : march.members) {
        if (m.rows)
            text += fmt::format("; {} each from {} of {}, window {}", m.each, m.ahead, m.count, m.window);
        else
            text += "; before";
    }
    return text;
}

constexpr const char* kBlur = R"(pipeline p(img: float32[R, C]) -> out: float32[R - 2, C - 2] {
    rows(y, x) = img(y, x) + img(y, x + 1) + img(y, x + 2)
    out(y, x) = rows(y, x) + rows(y + 1, x) + rows(y + 2, x)
})";

// `out` is late by a step, and of what it reads two rows are older than the row that it computes.
TEST(March, KeepsTheRowsThatAreStillRead) {
    EXPECT_EQ(describe(group_of(kBlur), {32, 1, 1}, {1, 8, 1}),
              "32x8, 11 steps; 1 each from 0 of 10, window 4; 1 each from -3 of 8, window 0");
    EXPECT_EQ(describe(group_of(kBlur), {32, 4, 1}, {1, 2, 1}),
              "32x8, 4 steps; 4 each from -2 of 10, window 10; 4 each from -8 of 8, window 0");
}

// What all members need of their columns fits into the block's.
TEST(March, OwnsWhatTheHaloLeaves) {
    const poly::Group group = group_of(R"(pipeline p(img: float32[R, C]) -> out: float32[R, C - 6] {
        a(y, x) = img(y, x) * 2
        b(y, x) = a(y, x) + a(y, x + 4)
        out(y, x) = b(y, x) + b(y, x + 2)
    })");
    EXPECT_EQ(describe(group, {32, 1, 1}, {1, 4, 1}),
              "26x4, 6 steps; 1 each from 0 of 4, window 2; 1 each from -1 of 4, window 2; 1 each from -2 of 4, "
              "window 0");
    EXPECT_EQ(describe(group, {4, 8, 1}, {1, 4, 1}),
              "its blocks compute 4 columns, but the least that an output takes is 7");
}

// Two rows of `rows` for one of `out`, and the other way round.
TEST(March, StepsAreWholeRowsOfAllScales) {
    EXPECT_EQ(describe(group_of(R"(pipeline p(img: float32[2 * R, C]) -> out: float32[R - 1, C] {
        rows(y, x) = img(y, x) * 2
        out(y, x) = rows(2 * y, x) + rows(2 * y + 1, x) + rows(2 * y + 2, x)
    })"),
                       {32, 1, 1}, {1, 4, 1}),
              "32x8, 6 steps; 2 each from -1 of 9, window 5; 1 each from -2 of 4, window 0");
    EXPECT_EQ(describe(group_of(R"(pipeline p(img: float32[R + 1, C]) -> out: float32[2 * R, C] {
        rows(y, x) = img(y, x) * 2
        out(y, x) = rows(y / 2, x) + rows(y / 2 + 1, x)
    })"),
                       {32, 1, 1}, {1, 4, 1}),
              "32x8, 6 steps; 1 each from 0 of 5, window 3; 2 each from -4 of 8, window 0");
}

// A row of weights is the same for all rows.
TEST(March, BeginsBehindWhatHasNoRows) {
    EXPECT_EQ(describe(group_of(R"(pipeline p(img: float32[R, C]) -> out: float32[R, C] {
        weight(x) = sqrt(float32(x))
        out(y, x) = img(y, x) * weight(x)
    })"),
                       {32, 2, 1}, {1, 4, 1}),
              "32x8, 4 steps; before; 2 each from 0 of 8, window 0");
}

TEST(March, NeedsTwoDimensions) {
    EXPECT_EQ(describe(group_of(R"(pipeline p(a: float32[N]) -> out: float32[N] {
        b(x) = a(x) * 2
        out(x) = b(x) + 1
    })"),
                       {32, 1, 1}, {1, 4, 1}),
              "the group has one dimension, and none to march along");
}

}  // namespace
}  // namespace pipec::plan::march_test
