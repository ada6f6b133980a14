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
Order chosen_order;
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
    return chosen_order;
}
std::mt19937_64& random_source() {
    return source;
}
Statistics& counted() {
    return counts;
}

void set_order(Order order) {
    chosen_order = order;
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

namespace {

// Only the kernel's own variables are memory to it.
void mark_static(Block& block, const Grid& grid, Record write) {
    if (grid.static_end == 0) return;
    for (const auto& [begin, bytes] : shared_variables(grid.kernel)) block.static_cells.view().set(begin, bytes, write);
}

}  // namespace

bool find_static(Block& block, Grid& grid) {
    const Module module = module_of(grid.kernel);
    grid.module_begin = module.begin;
    grid.module_end = module.end;
    if (module.tls_begin == 0) return false;
    grid.static_begin = module.tls_begin;
    grid.static_end = module.tls_end;
    block.static_cells.reserve(module.tls_end - module.tls_begin);
    mark_static(block, grid, unwritten);
    return true;
}

namespace {

// The blocks' numbers in the order in which they run.
std::vector<std::uint64_t> block_order(std::uint64_t count) {
    std::vector<std::uint64_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), std::uint64_t(0));
    if (chosen_order.mode == Order::Mode::Backward) std::reverse(numbers.begin(), numbers.end());
    if (chosen_order.mode == Order::Mode::Random) std::shuffle(numbers.begin(), numbers.end(), source);
    return numbers;
}

bool run_blocks(Block& block, Grid& grid) {
    const auto [x, y, z] = grid.blocks;
    for (const std::uint64_t number : block_order(std::uint64_t(x) * y * z)) {
        ++counts.blocks;
        counts.lanes += grid.threads.x * grid.threads.y * grid.threads.z;
        const uint3 index{static_cast<unsigned>(number % x), static_cast<unsigned>(number / x % y),
                          static_cast<unsigned>(number / x / y)};
        if (!block.run(grid, index)) return false;
    }
    return true;
}

}  // namespace

bool run_grid(Grid& grid, bool may_overlap, LastKernel& last) {
    static thread_local Block block;
    const bool overlaps = may_overlap && last.begin != 0;
    grid.begin = next_era();
    grid.previous = overlaps ? last.begin : grid.begin;
    grid.wait_is_not_enough = overlaps && !last.all_before_over;
    find_static(block, grid);
    block.dynamic_cells.reserve(grid.dynamic_bytes);
    ++counts.launches;
    if (overlaps) ++counts.early_launches;
    const bool completed = run_blocks(block, grid);
    mark_static(block, grid, unallocated);
    last = {grid.begin, !overlaps || grid.waited};
    if (completed && grid.unwritten_read) keep(*grid.unwritten_read);
    return completed && !grid.unwritten_read;
}

}  // namespace simt
