// What the lanes of a warp do together. The last lane to arrive does the work for all.
#include <algorithm>
#include <bit>

#include "engine/block.h"
#include "engine/report.h"

namespace simt {
namespace {

template <class F>
void for_lanes(unsigned mask, F f) {
    for (; mask != 0; mask &= mask - 1) f(static_cast<unsigned>(std::countr_zero(mask)));
}

// The lane whose value lane `self` is given, both numbered in the warp.
unsigned source_lane(unsigned self, Shuffle kind, int argument, int width) {
    const int lane = static_cast<int>(self), first = lane & ~(width - 1), last = first + width - 1;
    int source = lane;
    switch (kind) {
        case Shuffle::Index: source = first + (argument & (width - 1)); break;
        case Shuffle::Up: source = lane - argument < first ? lane : lane - argument; break;
        case Shuffle::Down: source = argument > last - lane ? lane : lane + argument; break;
        case Shuffle::Xor: source = (lane ^ argument) > last ? lane : lane ^ argument; break;
    }
    return static_cast<unsigned>(source);
}

}  // namespace

// Everything that a lane of the mask did or had seen is now seen by all of them.
void Block::order_warp(unsigned first, unsigned mask) {
    std::array<std::uint32_t, 32> all{};
    for_lanes(mask, [&](unsigned i) {
        const Lane& lane = lanes_[first + i];
        for (unsigned j = 0; j < 32; ++j) all[j] = std::max(all[j], lane.view.seen[j]);
    });
    for_lanes(mask, [&](unsigned i) { all[i] = lanes_[first + i].clock + 1; });
    for_lanes(mask, [&](unsigned i) {
        Lane& lane = lanes_[first + i];
        lane.view.seen = all;
        lane.view.now += Record(1) << clock_shift;
        ++lane.clock;
    });
}

void Block::sync_warp(Lane& lane, unsigned mask, Site site) {
    if (!arrive(lane, {Collective::Kind::WarpBarrier, mask, site})) return;
    if (lane.clock + 2 >= clock_limit) {
        lane_fault(Kind::Divergence, lane, "more than four million warp barriers with no barrier of the block between",
                   text(site));
    }
    const unsigned first = lane.index / 32 * 32, expected = mask & warps_[lane.index / 32].present;
    order_warp(first, expected);
    ++counted().warp_barriers;
    for_lanes(expected, [&](unsigned i) { make_ready(lanes_[first + i]); });
}

std::uint64_t Block::shuffle(Lane& lane, unsigned mask, Site site) {
    if (lane.width < 1 || lane.width > 32 || !std::has_single_bit(static_cast<unsigned>(lane.width))) {
        lane_fault(Kind::BadCollective, lane, "the width of a shuffle is " + std::to_string(lane.width), text(site));
    }
    if (arrive(lane, {Collective::Kind::Shuffle, mask, site})) {
        const unsigned first = lane.index / 32 * 32, expected = mask & warps_[lane.index / 32].present;
        std::array<std::uint64_t, 32> values{};
        for_lanes(expected, [&](unsigned i) { values[i] = lanes_[first + i].value; });
        for_lanes(expected, [&](unsigned i) {
            Lane& to = lanes_[first + i];
            const unsigned source = source_lane(i, to.shuffle, to.argument, to.width);
            if ((expected & (1u << source)) == 0) {
                lane_fault(Kind::BadCollective, to,
                           "a shuffle wants the value of lane " + std::to_string(source) + " of the warp, which " +
                               ((mask & (1u << source)) != 0 ? "does not exist" : "is not in the mask"),
                           text(site));
            }
            to.value = values[source];
        });
        ++counted().shuffles;
        for_lanes(expected, [&](unsigned i) { make_ready(lanes_[first + i]); });
    }
    return lane.value;
}

unsigned Block::vote(Lane& lane, unsigned mask, bool predicate, Site site) {
    lane.value = predicate ? 1 : 0;
    if (arrive(lane, {Collective::Kind::Vote, mask, site})) {
        const unsigned first = lane.index / 32 * 32, expected = mask & warps_[lane.index / 32].present;
        unsigned ballot = 0;
        for_lanes(expected, [&](unsigned i) { ballot |= static_cast<unsigned>(lanes_[first + i].value) << i; });
        ++counted().votes;
        for_lanes(expected, [&](unsigned i) {
            lanes_[first + i].value = ballot;
            make_ready(lanes_[first + i]);
        });
    }
    return static_cast<unsigned>(lane.value);
}

// One line for each place where lanes wait, and one for those that have exited.
std::string Block::stuck() const {
    struct Group {
        std::string what;
        std::vector<unsigned> lanes;
    };
    std::vector<Group> groups;
    for (const Lane& lane : lanes_) {
        std::string what = "have exited";
        if (lane.state != Lane::State::Exited) {
            constexpr const char* names[] = {"run", "__syncthreads", "__syncwarp", "a shuffle", "a vote"};
            what = std::string("wait at ") + names[static_cast<int>(lane.waiting.kind)];
            if (lane.waiting.mask != 0) {
                char mask[32];
                std::snprintf(mask, sizeof mask, " with mask 0x%08x", lane.waiting.mask);
                what += mask;
            }
            what += ", " + text(lane.waiting.site);
        }
        const auto found = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.what == what; });
        if (found == groups.end()) {
            groups.push_back({what, {lane.index}});
        } else {
            found->lanes.push_back(lane.index);
        }
    }
    std::string result;
    for (const Group& group : groups) {
        result += result.empty() ? "lanes" : "\n  lanes";
        for (std::size_t i = 0; i < group.lanes.size();) {
            std::size_t end = i + 1;
            while (end < group.lanes.size() && group.lanes[end] == group.lanes[end - 1] + 1) ++end;
            result += (i == 0 ? " " : ", ") + std::to_string(group.lanes[i]);
            if (end - i > 1) result += "-" + std::to_string(group.lanes[end - 1]);
            i = end;
        }
        result += " " + group.what;
    }
    return result;
}

bool sync_threads(bool predicate, Site site) {
    return running.block->sync_threads(*running.lane, predicate, site);
}
void sync_warp(unsigned mask, Site site) {
    running.block->sync_warp(*running.lane, mask, site);
}

std::uint64_t shuffle(Shuffle kind, unsigned mask, std::uint64_t bits, int argument, int width, Site site) {
    Lane& lane = *running.lane;
    lane.value = bits;
    lane.shuffle = kind;
    lane.argument = argument;
    lane.width = width;
    return running.block->shuffle(lane, mask, site);
}

unsigned vote(Vote kind, unsigned mask, bool predicate, Site site) {
    const unsigned ballot = running.block->vote(*running.lane, mask, predicate, site);
    if (kind == Vote::Ballot) return ballot;
    const unsigned expected = mask & running.block->present(*running.lane);
    return kind == Vote::Any ? ballot != 0 : ballot == expected;
}

unsigned active_mask() {
    return running.block->active(*running.lane);
}
void wait_for_previous_kernel(Site site) {
    Grid& grid = *running.block->grid;
    if (grid.wait_is_not_enough) {
        lane_fault(Kind::Race, *running.lane,
                   "the previous kernel started early and has not waited itself: those before it may still run",
                   text(site));
    }
    grid.waited = true;
    running.lane->view.settled = grid.begin;
}

uint3 thread_index() {
    return running.lane->thread;
}
uint3 block_index() {
    return running.block->index;
}
uint3 block_extent() {
    return running.block->grid->threads;
}
uint3 grid_extent() {
    return running.block->grid->blocks;
}

}  // namespace simt
