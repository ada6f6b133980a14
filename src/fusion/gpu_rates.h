// How fast a GPU is, beyond what its maker says of it: the rates, latencies and factors with which the time of a kernel
// is predicted (cost/time_cost.h). They are in the table `time` of gpus/*.toml; docs/gpus.md says what each is.
#pragma once

#include <cstdint>
#include <vector>

namespace pipec::fusion {

struct GpuRates {
    // Parts of the peak rates that kernels attain.
    double dram_part = 0, issue_part = 0, half_rate_part = 0, lsu_part = 0;
    double l2_bytes_per_clock = 0;  ///< that a multiprocessor gets from the L2 cache
    double l2_kept_part = 0;        ///< the part of the L2 cache in which arrays survive until the next kernel

    // What is lost of these rates: by fewer warps at work than enough (as a part of those that a multiprocessor can
    // have), by accesses of half of 16 bytes, by lanes whose accesses lie side by side.
    double enough_warps = 0, few_warps_dram_loss = 0, few_warps_l2_loss = 0;
    double narrow_loss = 0, gap_exponent = 0;
    /// A stage by itself whose threads have few accesses: a block is over after one round of them, and of the rate of
    /// global memory it gets this part.
    double one_round_dram_part = 0;
    // A register tile asks for all that it reads at once: even with few warps much of it is on its way.
    double register_tile_l2_factor = 0, register_tile_few_warps_dram_loss = 0, register_tile_few_warps_l2_loss = 0;
    /// What the threads of a tile in shared memory load, as a multiple: the L1 cache has a little of what they load
    /// again. With several planes it has none, and loses more: a factor besides.
    double read_again = 0, planes_read_again = 0;

    // Seconds.
    double memory = 0;       ///< until a result of global memory comes
    double barrier = 0;      ///< a barrier and what is read behind it
    double update = 0;       ///< an update of an accumulate that waits for the one before
    double block_start = 0;  ///< between the starts of two blocks on a multiprocessor, however little they do
    double launch = 0;       ///< from the end of a kernel to the first instruction of the next one

    double loads_at_once = 0;           ///< of a lane of a register tile, on their way at a time
    double clocks_per_instruction = 0;  ///< of a single warp, whose results depend on each other
    /// Warps of tiles in shared memory that keep a multiprocessor's schedulers busy; fewer wait for their own results.
    double issuing_warps = 0;
    double register_tile_issuing_warps = 0;  ///< the same of register tiles, whose code has no barriers, but waits
    /// Register tiles are code without loops: instructions beyond those that are cached come from the L2 cache, for
    /// each warp anew; each of those takes this multiple of its time in addition.
    double cached_instructions = 0, uncached_slowdown = 0;
    /// How well a kernel keeps several resources busy at a time: exponents of the norm that joins their times, from 1
    /// (one after the other) up. Tiles in shared memory load, then wait at a barrier, then compute.
    double overlap = 0, overlap_with_barriers = 0;
    double edge_wait_part = 0;  ///< of a tile's instructions at the edges, beyond those of others: what blocks wait for
    double ends = 0;            ///< a kernel's begin and end together, as a multiple of the time of one block
};

/// A member of the table: how the file calls it, where it goes, and which numbers it takes.
struct RateMember {
    enum class Kind : std::uint8_t {
        Factor,    ///< above 0
        Part,      ///< above 0, at most 1
        Loss,      ///< 0 and more
        Exponent,  ///< 1 and more
        Power,     ///< 0 to 4
        Time,      ///< microseconds, 0 and more
        Clocks     ///< the same, of what takes a number of clocks
    };
    const char* key;
    double GpuRates::*field;
    Kind kind;
};
const std::vector<RateMember>& rate_members();

}  // namespace pipec::fusion
