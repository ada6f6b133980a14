// Groups that cost models need to judge once only.
#include "cost/facts_key.h"

#include <gtest/gtest.h>

#include "../fusion/programs.h"
#include "cost/cost_models.h"

namespace pipec::cost::facts_key_test {
namespace {

using fusion::GroupFacts;
using testing::Grouped;

/// `a` and `b` do the same with two images; `c` reads another column.
constexpr const char* kBranches = R"(
pipeline branches(left: float32[R, C], right: float32[R, C]) -> a: float32[R - 2, C - 4], b: float32[R - 2, C - 4],
                                                                c: float32[R - 2, C - 4] {
    a1(y, x) = left(y, x) + left(y + 2, x)
    b1(y, x) = right(y, x) + right(y + 2, x)
    a(y, x) = a1(y, x) * a1(y, x + 3)
    b(y, x) = b1(y, x) * b1(y, x + 3)
    c(y, x) = b1(y, x) * b1(y, x + 2)
})";

TEST(CostFactsKey, IsTheSameForBranchesThatComputeTheSame) {
    const Grouped a(kBranches, {"a1", "a"});
    EXPECT_EQ(facts_key(*a.facts), facts_key(*Grouped(kBranches, {"a1", "a"}).facts));
    EXPECT_EQ(facts_key(*Grouped(kBranches, {"a"}).facts), facts_key(*Grouped(kBranches, {"b"}).facts));
    EXPECT_NE(facts_key(*Grouped(kBranches, {"b"}).facts), facts_key(*Grouped(kBranches, {"c"}).facts));
    // `b1` is read outside of the group, too.
    EXPECT_NE(facts_key(*a.facts), facts_key(*Grouped(kBranches, {"b1", "b"}).facts));
}

TEST(CostFactsKey, KnowsWhichReadsAreOfOneArray) {
    const auto key = [](const char* second) {
        const std::string text = std::string(
                                     "pipeline two(i: float32[R, C], j: float32[R, C]) -> o: float32[R, C - 1] {"
                                     "\n    o(y, x) = i(y, x) + ") +
                                 second + "\n}\n";
        return facts_key(*Grouped(text, {"o"}).facts);
    };
    EXPECT_NE(key("i(y, x + 1)"), key("j(y, x + 1)"));
}

TEST(CostFactsKey, IsAnotherOneWithAnyFact) {
    GroupFacts facts = *Grouped(kBranches, {"a1", "a"}).facts;
    const auto before = facts_key(facts);
    const auto changed = [&](auto&& change) {
        GroupFacts other = facts;
        change(other);
        return facts_key(other) != before;
    };
    EXPECT_TRUE(changed([](GroupFacts& f) { ++f.stages[1].registers; }));
    EXPECT_TRUE(changed([](GroupFacts& f) { f.stages[0].operations += 0.5; }));
    EXPECT_TRUE(changed([](GroupFacts& f) { f.stages[0].seconds = 0; }));
    EXPECT_TRUE(changed([](GroupFacts& f) { ++f.stages[0].loads[0].extents[0]; }));
    EXPECT_TRUE(changed([](GroupFacts& f) { f.stages[0].loads[0].indices[0].reset(); }));
    EXPECT_TRUE(changed([](GroupFacts& f) { ++f.group.reach[0][1].hi; }));
    EXPECT_TRUE(changed([](GroupFacts& f) { f.live[0] = !f.live[0]; }));
    EXPECT_TRUE(changed([](GroupFacts& f) { ++f.extents[0]; }));
}

TEST(CostFactsKey, ChoicesThatAreKnownNameTheirOwnStages) {
    const fusion::Gpu gpu = fusion::known_gpu("h200").value();
    const fusion::CostModel model = time_cost_model(gpu);
    const std::vector<fusion::Strategy> allowed = time_fusion_options(gpu).strategies;
    const auto choices = [&](const char* stage) {
        const Grouped group(kBranches, {stage});
        return model(group.pipeline, *group.facts, allowed);
    };
    const auto a = choices("a"), b = choices("b");
    ASSERT_FALSE(a.empty());
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_EQ(a[i].cost, b[i].cost);
        EXPECT_EQ(a[i].schedule.stages, std::vector<std::string>{"a"});
        EXPECT_EQ(b[i].schedule.stages, std::vector<std::string>{"b"});
    }
}

}  // namespace
}  // namespace pipec::cost::facts_key_test
