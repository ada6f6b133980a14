#include "codegen/lane_patches.h"

#include <algorithm>

namespace pipec::codegen {

namespace {

constexpr std::int64_t kWarp = 32;

std::int64_t ceil_quotient(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

/// What a team spends: the issue slots of its warps, and the turns that it waits for at the next barrier. A patch costs
/// as much as its rows, and one more row for what it reads beyond them.
std::int64_t cost(const Patches& patches, std::int64_t lanes) {
    const std::int64_t slots = ceil_quotient(patches.count(), kWarp);
    const std::int64_t waiting = patches.turns(lanes) * ceil_quotient(lanes, kWarp);
    return (slots + waiting) * (patches.rows + 1);
}

}  // namespace

std::vector<Patches> patches_by_cost(std::int64_t columns, std::int64_t of_columns, std::int64_t of_rows,
                                     std::int64_t others, std::int64_t lanes, std::int64_t most_rows) {
    std::vector<Patches> result;
    for (std::int64_t rows = 1; rows <= std::min(of_rows, std::max<std::int64_t>(1, most_rows)); ++rows) {
        result.push_back({columns, rows, of_columns / columns, ceil_quotient(of_rows, rows), others});
    }
    std::stable_sort(result.begin(), result.end(),
                     [&](const Patches& a, const Patches& b) { return cost(a, lanes) < cost(b, lanes); });
    return result;
}

}  // namespace pipec::codegen
