// Stages that are read beyond their ends at the other end are computed there, with the same values.
#include <gtest/gtest.h>

#include "support/render.h"
#include "support_lib/compile.h"
#include "support_lib/same_values.h"

namespace pipec::periodic_stages_test {
namespace {

testing::Compiled compiled(SourceManager& sources, const std::string& program) {
    testing::Compiled result = testing::compile_text(sources, "periodic.pipe", program);
    EXPECT_EQ(result.diags.error_count(), 0U) << render_text(result.diags, sources);
    return result;
}

bool has_domain(const testing::Compiled& result, const std::string& domain) {
    return poly::to_string(result.pipelines.at(0), result.models.at(0)).find("stage " + domain + "\n") !=
           std::string::npos;
}

TEST(PeriodicStages, GrowByWhatTheirReadersTake) {
    // As `wrap`, a remainder and a condition write it; places count, too.
    SourceManager sources;
    const testing::Compiled result = compiled(sources, R"(
import "boundary"

pipeline p(img: float32[H, W]) -> out: float32[H, W] {
    a(y in 0..H, x in 0..W) = img(y, x) * 2 + y
    b = wrap(a)
    c(y in 0..H, x in 0..W) = b(y - 1, x) - b(y, x + 2) * (if y == 0 then 3 else 1)
    d(y in 0..H, x in 0..W) = c((y + 1) % H, x) - c(y, (x - 1 + W) % W) + img(y, x)
    e(y, x) = d(if y == 0 then H - 1 else y - 1, x) + d(y, if x + 1 == W then 0 else x + 1)
    out(y, x) = e(y, x) + (sum(j in -1..3) d(y, (x + j + W) % W))
})");
    EXPECT_TRUE(has_domain(result, "d(y in -1..H, x in -1..W + 2)"));
    EXPECT_TRUE(has_domain(result, "c(y in -1..H + 1, x in -2..W + 2)"));
    EXPECT_TRUE(has_domain(result, "a(y in -2..H + 1, x in -2..W + 4)"));
    testing::expect_same_values(
        result, result.pipelines.at(0), sources,
        {{{"H", 1}, {"W", 1}}, {{"H", 2}, {"W", 3}}, {{"H", 3}, {"W", 1}}, {{"H", 37}, {"W", 70}}});
}

TEST(PeriodicStages, LongChainsReadWrappedPlacesNowAndThen) {
    SourceManager sources;
    const testing::Compiled result = compiled(sources, R"(
import "boundary"

pipeline p(u0: float32[N, M]) -> out: float32[N, M] {
    u[0] = u0
    for t in 0..20 {
        w = wrap(u[t])
        near(y, x) = w(y - 1, x) + w(y, x + 1)
        u[t + 1](y in 0..N, x in 0..M) = u[t](y, x) / 2 + near(y, x) / 4
    }
    out = u[20]
})");
    EXPECT_TRUE(has_domain(result, "u[19](y in -1..N, x in 0..M + 1)"));
    EXPECT_TRUE(has_domain(result, "u[5](y in -15..N, x in 0..M + 15)"));
    EXPECT_TRUE(has_domain(result, "u[4](y in 0..N, x in 0..M)"));
    EXPECT_TRUE(has_domain(result, "u[3](y in -1..N, x in 0..M + 1)"));
    testing::expect_same_values(result, result.pipelines.at(0), sources,
                                {{{"N", 1}, {"M", 1}}, {{"N", 5}, {"M", 3}}, {{"N", 40}, {"M", 33}}});
}

TEST(PeriodicStages, AStepGrowsAsAWhole) {
    // A window of 3 to each side is periodic for images of 3 points and more only (`wrap` goes around once).
    const std::string body = R"(
    a(y in 0..N, x in 0..M): int32 = cells(y, x) & 1
    v = wrap(a)
    row(y, x) = sum(j in -3..=3) v(y, x + j)
    b(y in 0..N, x in 0..M) = (sum(i in -3..=3) row(y + i, x)) % 5
    w = wrap(b)
    out(y, x) = w(y - 3, x) + w(y, x + 3)
})";
    const std::string head = "import \"boundary\"\n\npipeline p(cells: uint8[N, M]) -> out: int32[N, M]";
    SourceManager sources;
    const testing::Compiled result = compiled(sources, head + " where N >= 3, M >= 3 {" + body);
    EXPECT_TRUE(has_domain(result, "b(y in -3..N, x in 0..M + 3)"));
    EXPECT_TRUE(has_domain(result, "row(y in -6..N + 3, x in 0..M + 3)"));
    EXPECT_TRUE(has_domain(result, "a(y in -6..N + 3, x in -3..M + 6)"));
    testing::expect_same_values(result, result.pipelines.at(0), sources,
                                {{{"N", 3}, {"M", 4}}, {{"N", 35}, {"M", 20}}});

    const testing::Compiled small = compiled(sources, head + " {" + body);
    EXPECT_TRUE(has_domain(small, "b(y in 0..N, x in 0..M)"));
    testing::expect_same_values(small, small.pipelines.at(0), sources, {{{"N", 1}, {"M", 2}}, {{"N", 2}, {"M", 5}}});
}

TEST(PeriodicStages, OthersStayAsTheyAre) {
    // A staggered grid has one point more than its neighbours; a few channels are no torus; outputs have their extents.
    SourceManager sources;
    const testing::Compiled result = compiled(sources, R"(
pipeline p(img: float32[3, N, M]) -> out: float32[3, N, M], edge: float32[N + 1, M] {
    a(c in 0..3, y in 0..N, x in 0..M) = img(c, y, x) * img(c, y, x)
    edge(y, x) = a(0, y % N, x) + a(1, (y + N - 1) % N, x)
    b(c in 0..3, y in 0..N, x in 0..M) = a((c + 1) % 3, y, x) - edge((y + 1) % (N + 1), x)
    out(c, y, x) = b((c + 2) % 3, (y + 1) % N, x)
})");
    EXPECT_TRUE(has_domain(result, "b(c in 0..3, y in 0..N + 1, x in 0..M)"));
    EXPECT_TRUE(has_domain(result, "edge(y in 0..N + 1, x in 0..M)"));
    testing::expect_same_values(result, result.pipelines.at(0), sources,
                                {{{"N", 1}, {"M", 1}}, {{"N", 4}, {"M", 7}}, {{"N", 33}, {"M", 40}}});
}

}  // namespace
}  // namespace pipec::periodic_stages_test
