// What a lane executes for a patch of a stage's points: columns and rows that lie beside each other share what they
// read and what depends on the column or the row only.
#pragma once

#include <cstdint>
#include <vector>

#include "fusion/group_facts.h"
#include "plan/lane_patches.h"

namespace pipec::cost {

using fusion::GroupFacts;

using plan::PatchAxes;

/// Of 32 lanes that each read global memory where data say, the lines that they touch.
inline constexpr double kScattered = 4;

/// What patches of member `m` read, estimated.
plan::PatchReads patch_reads(const GroupFacts& facts, std::size_t m);

/// The members that `m` reads at places that depend on data.
std::vector<std::size_t> found_members(const GroupFacts& facts, std::size_t m);

struct PatchWork {
    double operations = 0;
    double as_written = 0;  ///< operations, and accesses, of which code has no fewer (fusion::Operations::as_written)
    double inner = 0, outer = 0;  ///< accesses that load from members of the group, and from global memory
    double narrow = 0;            ///< elements of less than 4 bytes that are loaded, each to be made a number
    double wavefronts = 0;        ///< of these accesses, for a warp
    double apart = 0;             ///< the same, of those whose lanes are far from each other
    double elements = 0;          ///< that are read and computed
};

/// For a patch of member `m` of `columns` x `rows` points.
PatchWork patch_work(const GroupFacts& facts, std::size_t m, const PatchAxes& axes, std::int64_t columns,
                     std::int64_t rows);

}  // namespace pipec::cost
