// What distinguishes one group from another for a cost model: groups with equal keys cost the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fusion/group_facts.h"

namespace pipec::cost {

using FactsKey = std::vector<std::int64_t>;

struct FactsKeyHash {
    std::size_t operator()(const FactsKey& key) const;
};

/// All facts of a group, without the names of stages and inputs: members are known by their place in the group, arrays
/// by their order. So branches of a pipeline that compute the same (the two images of a blend) have one key, and so has
/// a group that is the same in several variants of the pipeline. None for scans and histograms, which are groups of
/// one stage.
std::optional<FactsKey> facts_key(const fusion::GroupFacts& facts);

}  // namespace pipec::cost
