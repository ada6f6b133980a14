// The search for groupings: against all groupings there are, and how it grows.
#include "fusion/search.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <random>
#include <set>

#include "all_groupings.h"

namespace pipec::fusion::search_test {
namespace {

/// Stages that each read some of the few before them.
StageGraph random_graph(std::size_t count, std::mt19937_64& rng) {
    StageGraph graph(count);
    for (std::size_t i = 1; i < count; ++i) {
        for (std::size_t j = i > 4 ? i - 4 : 0; j < i; ++j) {
            if (rng() % 3 == 0) graph[i].push_back(static_cast<int>(j));
        }
    }
    return graph;
}

/// A cost of its own for every group; some are impossible.
GroupCost random_cost(std::uint64_t seed) {
    return [seed](const std::vector<int>& stages) -> std::optional<double> {
        std::uint64_t hash = seed;
        for (const int s : stages) hash = (hash ^ static_cast<std::uint64_t>(s + 1)) * 0x9E3779B97F4A7C15U;
        std::mt19937_64 rng(hash);
        if (stages.size() > 1 && rng() % 4 == 0) return std::nullopt;
        return static_cast<double>(rng() % 1000) * (stages.size() > 1 ? 1.5 : 1);
    };
}

void expect_valid(const StageGraph& graph, const GroupCost& cost, const Grouping& found,
                  const Siblings& siblings = {}) {
    double sum = 0;
    std::set<int> seen, done;
    for (const std::vector<int>& group : found.groups) {
        EXPECT_TRUE(is_connected(graph, group, siblings));
        for (const int s : group) EXPECT_TRUE(seen.insert(s).second);
        for (const int s : group) {
            for (const int source : graph[static_cast<std::size_t>(s)]) EXPECT_TRUE(seen.count(source) > 0);
        }
        sum += cost(group).value();
    }
    EXPECT_EQ(seen.size(), graph.size());
    EXPECT_DOUBLE_EQ(sum, found.cost);
}

TEST(Search, FindsTheCheapestOfAllGroupings) {
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 rng(seed);
        const StageGraph graph = random_graph(1 + rng() % 8, rng);
        const GroupCost cost = random_cost(seed);
        const Grouping found = find_grouping(graph, cost);
        expect_valid(graph, cost, found);
        EXPECT_TRUE(found.exact);
        EXPECT_DOUBLE_EQ(found.cost, cheapest_of_all(graph, cost));
    }
}

TEST(Search, WithBoundsItIsValidAndNoWorseThanStageByStage) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 rng(seed);
        const StageGraph graph = random_graph(12, rng);
        const GroupCost cost = random_cost(seed);
        double stage_by_stage = 0;
        for (int s = 0; s < 12; ++s) stage_by_stage += cost({s}).value();
        const Grouping exact = find_grouping(graph, cost);
        for (const SearchOptions& options : {SearchOptions{.most_groups = 10}, SearchOptions{.most_states = 2}}) {
            const Grouping found = find_grouping(graph, cost, options);
            expect_valid(graph, cost, found);
            EXPECT_LE(found.cost, stage_by_stage);
            EXPECT_GE(found.cost, exact.cost - 1e-9);
        }
    }
}

/// Every group costs less than its parts, up to a number of stages.
GroupCost best_with(std::size_t most) {
    return [most](const std::vector<int>& stages) -> std::optional<double> {
        if (stages.size() > most) return std::nullopt;
        return 100 + static_cast<double>(stages.size());
    };
}

TEST(Search, MergesWhatAPassWithBoundsLeft) {
    StageGraph chain(64);
    for (int i = 1; i < 64; ++i) chain[static_cast<std::size_t>(i)] = {i - 1};
    // The first pass tries pairs only.
    const Grouping found = find_grouping(chain, best_with(16), {.most_groups = 63, .most_states = 1000});
    EXPECT_FALSE(found.exact);
    EXPECT_LE(found.groups.size(), 5u);  // 4 would do
    EXPECT_GE(found.passes, 3u);
}

TEST(Search, GraphsOfMoreNodesThanAPassHasAreSearchedInPieces) {
    StageGraph chain(700);
    for (int i = 1; i < 700; ++i) chain[static_cast<std::size_t>(i)] = {i - 1};
    const GroupCost cost = best_with(7);
    const Grouping found = find_grouping(chain, cost, {.most_groups = 5000});
    expect_valid(chain, cost, found);
    EXPECT_LE(found.groups.size(), 104u);  // 100 would do; groups do not span two pieces
}

/// Down and up again: each level is reduced in two stages; on the way back each level adds its own detail.
StageGraph pyramid(int stages) {
    const int levels = std::max(1, (stages - 1) / 6);
    StageGraph graph;
    const auto add = [&](std::vector<int> reads) {
        graph.push_back(std::move(reads));
        return static_cast<int>(graph.size()) - 1;
    };
    std::vector<int> level{add({})}, detail;
    for (int l = 0; l < levels; ++l) level.push_back(add({add({level.back()})}));
    for (int l = 0; l < levels; ++l)
        detail.push_back(add({level[static_cast<std::size_t>(l)], add({level[static_cast<std::size_t>(l) + 1]})}));
    int result = level.back();
    for (int l = levels; l-- > 0;) result = add({detail[static_cast<std::size_t>(l)], add({result})});
    return graph;
}

TEST(Search, SiblingsMayShareAGroup) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 rng(seed);
        const StageGraph graph = random_graph(2 + rng() % 6, rng);
        SearchOptions options;
        for (std::size_t a = 0; a < graph.size(); ++a) {
            for (std::size_t b = a + 1; b < graph.size(); ++b) {
                if (rng() % 4 == 0) options.siblings.emplace_back(static_cast<int>(a), static_cast<int>(b));
            }
        }
        const GroupCost cost = random_cost(seed);
        const Grouping found = find_grouping(graph, cost, options);
        expect_valid(graph, cost, found, options.siblings);
        EXPECT_TRUE(found.exact);
        EXPECT_DOUBLE_EQ(found.cost, cheapest_of_all(graph, cost, options.siblings));
    }
}

TEST(Search, GrowthWithTheNumberOfStages) {
    for (const bool is_chain : {true, false}) {
        for (const int count : {10, 20, 50, 100, 200}) {
            if (!is_chain && count > 100) continue;  // 10 s
            StageGraph graph(static_cast<std::size_t>(count));
            for (int i = 1; i < count; ++i) graph[static_cast<std::size_t>(i)] = {i - 1};
            if (!is_chain) graph = pyramid(count);
            const std::clock_t begin = std::clock();
            const Grouping found = find_grouping(graph, best_with(6), {.impossible_stays_so = true});
            const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
            std::printf("%-8s %3zu stages: %6.3f s, %6zu groups asked for, %zu passes%s\n",
                        is_chain ? "chain" : "pyramid", graph.size(), seconds, found.asked, found.passes,
                        found.exact ? "" : ", bounded");
            expect_valid(graph, best_with(6), found);
            EXPECT_LT(seconds,
                      30);  // of the processor: hundreds of times what it takes where the search is not bounded
        }
    }
}

/// What one starts from stays together, in any order; the cheapest of what is left is found.
TEST(Search, StartsFromGroups) {
    const StageGraph chain{{}, {0}, {1}, {2}};
    const GroupCost cost = [](const std::vector<int>& stages) {
        return stages.size() > 2 ? std::nullopt : std::optional<double>(stages.size() == 2 ? 1 : 3);
    };
    EXPECT_EQ(find_grouping(chain, cost).cost, 2);
    const Grouping found = find_grouping(chain, cost, {}, {{3}, {1, 2}, {0}});
    EXPECT_EQ(found.groups, (std::vector<std::vector<int>>{{0}, {1, 2}, {3}}));
    EXPECT_EQ(found.cost, 7);
    EXPECT_FALSE(found.exact);
}

TEST(Search, ABudgetBoundsAllPassesTogether) {
    for (const std::size_t most : {std::size_t{1}, std::size_t{900}, std::size_t{3000}, std::size_t{20'000}}) {
        SCOPED_TRACE(most);
        const StageGraph graph = pyramid(400);
        const GroupCost cost = best_with(20);
        std::size_t work = 0, largest = 0;
        const GroupCost counted = [&](const std::vector<int>& stages) {
            work += stages.size();
            largest = std::max(largest, stages.size());
            return cost(stages);
        };
        const Grouping found =
            find_grouping(graph, counted, {.most_states = 20, .most_work = most, .impossible_stays_so = true});
        expect_valid(graph, cost, found);
        EXPECT_EQ(found.work, work);
        EXPECT_LE(found.work, std::max(most, graph.size()) + largest);  // each stage by itself is always judged
        EXPECT_FALSE(found.exact);
        EXPECT_LT(found.groups.size(), most > graph.size() ? graph.size() : graph.size() + 1);
    }
}

TEST(Search, WhatCannotBeAGroupComesApart) {
    const StageGraph chain{{}, {0}, {1}, {2}};
    const GroupCost cost = [](const std::vector<int>& stages) {
        const bool possible = stages.size() == 1 || stages == std::vector<int>{2, 3};
        return possible ? std::optional<double>(1) : std::nullopt;
    };
    const Grouping found = find_grouping(chain, cost, {}, {{0, 1, 2}, {3}});
    expect_valid(chain, cost, found);
    EXPECT_EQ(found.cost, 3);
}

}  // namespace
}  // namespace pipec::fusion::search_test
