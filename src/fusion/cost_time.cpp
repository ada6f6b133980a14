#include "fusion/cost_time.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "fusion/tile_work.h"

namespace pipec::fusion {

namespace {

// Constants of the model; docs/cost-model.md says how each was found.

/// Parts of the peak rates that kernels attain.
constexpr double kDramPart = 0.87;
constexpr double kIssuePart = 0.65;
constexpr double kLsuPart = 0.75;
/// Bytes a clock that a multiprocessor gets from the L2 cache.
constexpr double kL2BytesPerClock = 24;
/// A result of global memory comes after so many seconds; a barrier and what is read behind it take so many.
constexpr double kMemorySeconds = 0.8e-6;
constexpr double kBarrierSeconds = 0.06e-6;
/// Clocks from one instruction of a warp to the next one where it is by itself: results depend on each other.
constexpr double kClocksAlone = 3;
/// From the end of a kernel to the first instruction of the next one.
constexpr double kLaunchSeconds = 1.5e-6;
/// What the busiest resources lose by not overlapping perfectly: the exponent of the norm that joins them.
constexpr double kOverlap = 4;
/// The part of the L2 cache in which arrays survive until the next kernel.
constexpr double kL2Part = 0.6;
/// Registers are given to warps in portions.
constexpr int kRegisterPortion = 8;

double norm(std::initializer_list<double> times) {
    double sum = 0, most = *std::max_element(times.begin(), times.end());
    if (most <= 0) return 0;
    for (const double t : times) sum += std::pow(t / most, kOverlap);
    return most * std::pow(sum, 1 / kOverlap);
}

/// Of bytes that another kernel touched while it touched `all`, those that are still in the L2 cache.
double in_l2(double all, const Gpu& gpu) {
    const double room = kL2Part * static_cast<double>(gpu.l2_bytes);
    return all <= room ? 1 : std::max(0.0, 2 - all / room);
}

int blocks_per_sm(const TileWork& work, const Gpu& gpu) {
    const int warps = (work.threads_per_block + gpu.warp_size - 1) / gpu.warp_size;
    const int registers = (std::min(work.registers, gpu.registers_per_thread) + kRegisterPortion - 1) /
                          kRegisterPortion * kRegisterPortion;
    int blocks = std::min(
        {gpu.blocks_per_sm, gpu.warps_per_sm / warps, gpu.registers_per_sm / (registers * gpu.warp_size * warps)});
    if (work.shared_per_block > 0) {
        blocks = static_cast<int>(std::min<std::int64_t>(blocks, gpu.shared_per_sm / (work.shared_per_block + 1024)));
    }
    return blocks;
}

}  // namespace

std::string_view bound_by(const TimePrediction& p) {
    const std::array<std::pair<double, std::string_view>, 5> all{
        {{p.dram, "dram"}, {p.l2, "l2"}, {p.issue, "issue"}, {p.lsu, "lsu"}, {p.latency, "latency"}}};
    return std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; })
        ->second;
}

std::optional<TimePrediction> predict_time(const GroupFacts& facts, const Gpu& gpu, const GroupSchedule& schedule) {
    const std::optional<TileWork> work = tile_work(facts, schedule);
    if (!work || work->registers > gpu.registers_per_thread || work->shared_per_block > gpu.shared_per_block) {
        return std::nullopt;
    }
    TimePrediction p;
    p.registers = work->registers;
    p.shared_per_block = work->shared_per_block;
    p.redundant = work->redundant;
    p.blocks_per_sm = blocks_per_sm(*work, gpu);
    if (p.blocks_per_sm < 1) return std::nullopt;
    const int warps_per_block = (work->threads_per_block + gpu.warp_size - 1) / gpu.warp_size;
    p.occupancy = static_cast<double>(p.blocks_per_sm * warps_per_block) / gpu.warps_per_sm;
    p.blocks = std::ceil(work->tiles / work->tiles_a_block);
    const double places = static_cast<double>(gpu.sms) * p.blocks_per_sm;
    p.waves = p.blocks / places;

    p.instructions = work->instructions * work->tiles;
    p.wavefronts = work->wavefronts * work->tiles;
    p.l2_bytes = work->bytes * work->tiles;
    const Traffic t = traffic(facts);
    const double kept = in_l2(t.bytes(), gpu);
    p.dram_bytes = t.bytes() * (1 - kept);

    // Multiprocessors that have a block at all.
    const double sms = std::min<double>(gpu.sms, p.blocks);
    const double clock = gpu.clock_hz;
    p.issue = p.instructions / (sms * 4 * clock * kIssuePart);
    p.lsu = p.wavefronts / (sms * clock * kLsuPart);
    p.l2 = p.l2_bytes / (sms * clock * kL2BytesPerClock);
    p.dram = p.dram_bytes / (gpu.dram_bandwidth * kDramPart);
    // A tile by itself: it waits for memory, and its instructions for each other.
    const double per_warp = work->instructions / work->warps_per_tile;
    const double alone =
        kMemorySeconds * work->waits + kBarrierSeconds * work->barriers + per_warp * kClocksAlone / clock;
    p.latency = std::max(1.0, p.waves) * alone;
    p.tail = (std::ceil(p.waves) - p.waves) * std::min(1.0, p.waves) * alone * 0.5;
    p.launch = kLaunchSeconds;
    p.seconds = norm({p.dram, p.l2, p.issue, p.lsu, p.latency}) + p.tail + p.launch;
    return p;
}

namespace {

constexpr std::array<std::array<int, 3>, 3> kWarpBlocks{{{64, 1, 1}, {32, 4, 1}, {128, 1, 1}}};

/// The schedules that are tried for a group.
std::vector<GroupSchedule> candidates(const GroupFacts& facts, Strategy strategy) {
    std::vector<GroupSchedule> result;
    GroupSchedule s;
    s.strategy = strategy;
    const bool line = facts.group.rank < 2;
    const auto tiles = [&](std::initializer_list<int> xs, std::initializer_list<int> ys) {
        for (const int x : xs) {
            for (const int y : ys) {
                if (line && y > 1) continue;
                s.tile = {x, y, 1};
                result.push_back(s);
            }
        }
    };
    switch (strategy) {
        case Strategy::Stage: result.push_back(s); break;
        case Strategy::RegisterTile:
            for (const auto& block : kWarpBlocks) {
                if (line && block[1] > 1) continue;
                s.block = block;
                tiles({1, 2, 4, 8, 16}, {1, 2, 4, 8, 16});
            }
            break;
        case Strategy::Otptb:
            for (const auto& block : {std::array{32, 8, 1}, {32, 16, 1}, {64, 4, 1}, {16, 16, 1}, {32, 32, 1}}) {
                if (line && block[1] > 1) continue;
                s.block = block;
                s.vector = 1;
                tiles({1, 2, 4}, {1, 2, 4, 8});
                s.vector = 4;
                tiles({4}, {1, 2, 4});
            }
            if (line) s.block = {256, 1, 1}, s.vector = 1, tiles({1, 2, 4}, {1});
            break;
        case Strategy::Otpw:
            for (const auto& block : {std::array{32, 4, 1}, {64, 1, 1}}) {
                if (line && block[1] > 1) continue;
                s.block = block;
                s.vector = 1;
                tiles({1, 2, 4}, {4, 8, 16});
                s.vector = 4;
                tiles({4}, {4, 8});
            }
            break;
        case Strategy::Hybrid:
            s.block = {32, 4, 1};
            if (line) s.block = {128, 1, 1};
            for (const double part : {0.5, 1.0}) {
                s.frac_reg = part;
                tiles({2, 4}, {1, 2, 4});
            }
            break;
    }
    return result;
}

}  // namespace

std::vector<TimeChoice> time_choices(const GroupFacts& facts, const Gpu& gpu, const std::vector<Strategy>& allowed,
                                     std::size_t count) {
    std::vector<TimeChoice> result;
    for (const Strategy strategy : allowed) {
        if (strategy == Strategy::Stage && facts.stages.size() > 1) continue;
        for (const GroupSchedule& schedule : candidates(facts, strategy)) {
            if (const auto time = predict_time(facts, gpu, schedule)) result.push_back({schedule, *time});
        }
    }
    const auto faster = [](const TimeChoice& a, const TimeChoice& b) { return a.time.seconds < b.time.seconds; };
    std::stable_sort(result.begin(), result.end(), faster);
    if (result.size() > count) result.resize(count);
    return result;
}

}  // namespace pipec::fusion
