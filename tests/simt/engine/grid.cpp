// A launch: all blocks of its grid, one after the other.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "engine/block.h"
#include "engine/report.h"
#include "engine/symbols.h"

namespace simt {
namespace {

std::uint32_t eras = 1;
Order chosen;
std::mt19937_64 source;
Statistics counts;

}  // namespace

Record next_era() {
    if (++eras == 0) {
        std::fputs("simt: four thousand million blocks and barriers are more than one process can tell apart\n",
                   stderr);
        std::abort();
    }
    return era_begin(eras);
}
Order order() {
    return chosen;
}
std::mt19937_64& random_source() {
    return source;
}
Statistics& counted() {
    return counts;
}

void set_order(Order order) {
    chosen = order;
    source.seed(order.seed);
}
void set_order(std::uint64_t seed) {
    using Mode = Order::Mode;
    set_order({seed == 0 ? Mode::Forward : seed == 1 ? Mode::Backward : Mode::Random, seed});
}
const Statistics& statistics() {
    return counts;
}
void reset_statistics() {
    counts = {};
}

bool find_static(Block& block, Grid& grid) {
    const Module module = module_of(grid.kernel);
    grid.module_begin = module.begin;
    grid.module_end = module.end;
    if (module.tls_begin == 0) return false;
    grid.static_begin = module.tls_begin;
    grid.static_end = module.tls_end;
    block.static_cells.reserve(module.tls_end - module.tls_begin);
    return true;
}

bool run_grid(Grid& grid, bool overlaps, LastKernel& last) {
    static thread_local Block block;
    overlaps = overlaps && last.begin != 0;
    grid.begin = next_era();
    grid.previous = overlaps ? last.begin : grid.begin;
    grid.wait_is_not_enough = overlaps && !last.all_before_over;
    find_static(block, grid);
    block.dynamic_cells.reserve(grid.dynamic_bytes);

    const std::uint64_t count = std::uint64_t(grid.blocks.x) * grid.blocks.y * grid.blocks.z;
    std::vector<std::uint64_t> shuffled;
    if (chosen.mode == Order::Mode::Random) {
        shuffled.resize(count);
        std::iota(shuffled.begin(), shuffled.end(), 0u);
        std::shuffle(shuffled.begin(), shuffled.end(), source);
    }
    ++counts.launches;
    for (std::uint64_t i = 0; i < count; ++i) {
        std::uint64_t number = i;
        if (chosen.mode == Order::Mode::Backward) number = count - 1 - i;
        if (chosen.mode == Order::Mode::Random) number = shuffled[i];
        const auto [x, y, z] = grid.blocks;
        const uint3 index{static_cast<unsigned>(number % x), static_cast<unsigned>(number / x % y),
                          static_cast<unsigned>(number / x / y)};
        ++counts.blocks;
        counts.lanes += grid.threads.x * grid.threads.y * grid.threads.z;
        if (!block.run(grid, index)) return false;
    }
    last = {grid.begin, !overlaps || grid.waited};
    if (grid.unwritten_read) keep(*grid.unwritten_read);
    return !grid.unwritten_read;
}

}  // namespace simt
