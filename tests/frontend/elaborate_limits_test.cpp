// Large programs: elaboration takes time and memory in proportion to the program, or says which limit it passes. Each
// of these once took minutes or for ever.
#include <fmt/format.h>

#include <chrono>
#include <functional>

#include "elaborated.h"

namespace pipec {
namespace {

constexpr int kMany = 2000;

/// `text(i)` for each i in 1..count, one after the other.
std::string repeated(int count, const std::function<std::string(int)>& text) {
    std::string result;
    for (int i = 1; i < count; ++i) result += text(i);
    return result;
}

std::string gray(const std::string& statements) {
    return "pipeline p(img: float32[R]) -> out: float32[R] {\n" + statements + "\n}";
}

/// Elaborates and prints within seconds; gives the ids of the diagnostics.
std::vector<std::string> ids_in_time(const std::string& text) {
    const auto begin = std::chrono::steady_clock::now();
    const Elaborated e(text);
    for (const ir::Pipeline& p : e.pipelines) EXPECT_LT(ir::to_string(p).size(), 1'000'000);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
    return e.ids();
}

using Ids = std::vector<std::string>;

TEST(ElaborateLimits, AnUnknownNameInALoopIsLookedForOnce) {
    EXPECT_EQ(ids_in_time(gray("for i in 0..100000 { const a = q }\n out(x) = img(x)")), Ids{"unknown-name"});
    EXPECT_EQ(ids_in_time(gray("for i in 0..5000 { a[2 * i] = img }\n for i in 0..5000 { b[i] = a[2 * i + 1] }\n"
                               "out = img")),
              Ids{"undefined-element"});
}

TEST(ElaborateLimits, ElaborationEndsAfterManyErrors) {
    EXPECT_EQ(
        ids_in_time(gray(repeated(kMany, [](int i) { return fmt::format("let qqa{0} = wwb{0}\n", i); }) + "out = img"))
            .size(),
        Diagnostics::kMaxErrors);
}

TEST(ElaborateLimits, Lets) {
    EXPECT_EQ(
        ids_in_time(gray("let s0 = R + 1\n" +
                         repeated(1000, [](int i) { return fmt::format("let s{0} = s{1} * s{1} + {0}\n", i, i - 1); }) +
                         "out(x) = img(x) + s999")),
        Ids{});
    EXPECT_EQ(ids_in_time(gray("out(x) = let a0 = img(x) * 2" +
                               repeated(kMany, [](int i) { return fmt::format(", a{0} = a{1} * a{1}", i, i - 1); }) +
                               " in a1999")),
              Ids{});
    EXPECT_EQ(ids_in_time(gray("out = let a0 = img * 2" +
                               repeated(kMany, [](int i) { return fmt::format(", a{0} = a{1} * a{1}", i, i - 1); }) +
                               " in a1999")),
              Ids{});
    // A let within the value of a let: each is bound once, however often the outer one is used.
    EXPECT_EQ(ids_in_time(gray("let s0 = R + 1\n" +
                               repeated(500,
                                        [](int i) {
                                            return fmt::format("let s{0} = (let t = s{1} * s{1} in t * t + s{1})\n", i,
                                                               i - 1);
                                        }) +
                               "out(x) = img(x) + s499")),
              Ids{});
}

TEST(ElaborateLimits, TermsWithSharedFactors) {
    EXPECT_EQ(ids_in_time(gray("let s0 = R * 1.5\n" +
                               repeated(1000, [](int i) { return fmt::format("let s{0} = s{1} * s{1}\n", i, i - 1); }) +
                               "out(x) = sum(i in 0..3) img(x) * s999 * s998")),
              Ids{});
}

/// What is chosen from constants has a value in float64 besides.
TEST(ElaborateLimits, LetsOfChosenConstants) {
    const std::string more = repeated(500, [](int i) { return fmt::format(", a{0} = a{1} * a{1}", i, i - 1); });
    for (const char* condition : {"img(x) > 3", "img(x) > (max(i in 0..99) img(i))"}) {
        EXPECT_EQ(ids_in_time(gray(fmt::format("out(x) = let a0 = if {} then 0.5 else 0.25", condition) + more +
                                   " in float32(float64(img(x)) * a499)")),
                  Ids{});
    }
}

TEST(ElaborateLimits, FunctionsThatDoubleTheirArgument) {
    EXPECT_EQ(ids_in_time("fn f0(a) = a * a\n" +
                          repeated(60, [](int i) { return fmt::format("fn f{}(a) = f{}(a * a)\n", i, i - 1); }) +
                          gray("out(x) = f59(img(x))")),
              Ids{});
    // Whether a sum must be unrolled is asked once of each function.
    EXPECT_EQ(ids_in_time("fn f0(i) = i\n" +
                          repeated(12,
                                   [](int i) {
                                       std::string calls = "0";
                                       for (int j = 0; j < i; ++j) calls += fmt::format(" + f{}(i)", j);
                                       return fmt::format("fn f{}(i) = {}\n", i, calls);
                                   }) +
                          gray("out(x) = sum(i in 0..70) f11(i) * img(x)")),
              Ids{});
    // 2^40 calls: refused when the limit is met.
    EXPECT_EQ(
        ids_in_time("fn f0(a) = a + a\n" +
                    repeated(40, [](int i) { return fmt::format("fn f{0}(a) = f{1}(a) + f{1}(a)\n", i, i - 1); }) +
                    gray("out(x) = f39(img(x))")),
        Ids{"too-many-steps"});
}

TEST(ElaborateLimits, ConditionsTablesAndLoops) {
    EXPECT_EQ(
        ids_in_time(gray("out(x) = if img(x) == 0" +
                         repeated(kMany, [](int i) { return fmt::format(" or img(x) == {}", i); }) + " then 1 else 0")),
        Ids{});
    EXPECT_EQ(ids_in_time("const T = [0" + repeated(100'000, [](int i) { return fmt::format(", {}", i % 7); }) + "]\n" +
                          gray("out(x) = img(x) * (T * 2)[99999]")),
              Ids{});
    EXPECT_EQ(ids_in_time(gray("for i in 0..100000 { const a = i }\n out = img")), Ids{"unused-let"});
}

TEST(ElaborateLimits, ChainsOfStages) {
    EXPECT_EQ(ids_in_time(gray("a[0](x) = img(x)\n for k in 1..400 { a[k](x) = a[k - 1](x) * a[k - 1](x) }\n"
                               "out = a[399]")),
              Ids{});
    EXPECT_EQ(ids_in_time(gray("a[0] = img + 1\n for k in 1..400 { a[k] = a[k - 1] * a[k - 1] }\n out = a[399]")),
              Ids{});
    std::string nested = "img";
    for (int i = 0; i < 30; ++i) nested = "s(" + nested + ")";
    EXPECT_EQ(ids_in_time("fn g(f) { h(x) = f(x) * 2\n return h }\nfn s(a) = g(a * a)\n" + gray("out = " + nested)),
              Ids{});
}

TEST(ElaborateLimits, AnExtentThatDoubles) {
    const std::string extent = "let a0 = R * 2 + 1" +
                               repeated(40, [](int i) { return fmt::format(", a{0} = a{1} + a{1}", i, i - 1); }) +
                               " in a39";
    EXPECT_EQ(ids_in_time("pipeline p(img: float32[R]) -> out: float32[R] { f(x in 0.." + extent +
                          ") = 1\n out = img + f(0) }"),
              (Ids{"too-deep"}));
}

}  // namespace
}  // namespace pipec
