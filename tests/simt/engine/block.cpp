#include "engine/block.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "engine/report.h"

namespace simt {

thread_local constinit Running running;

namespace {

unsigned threads_of(const Grid& grid) {
    return grid.threads.x * grid.threads.y * grid.threads.z;
}

template <class T>
void arrange(std::vector<T>& items, Order::Mode mode) {
    if (mode == Order::Mode::Backward) std::reverse(items.begin(), items.end());
    if (mode == Order::Mode::Random) std::shuffle(items.begin(), items.end(), random_source());
}

}  // namespace

bool Block::run(Grid& g, uint3 block_index) {
    grid = &g;
    index = block_index;
    prepare();
    running.block = this;
    while (!failed_) {
        const bool can_start = started_ < order_.size(), can_resume = ready_begin_ < ready_.size();
        if (!can_start && !can_resume) break;
        // Lanes that have begun go first, so that few stacks are in use.
        const bool resume =
            can_resume && !(can_start && order().mode == Order::Mode::Random && random_source()() % 2 == 0);
        if (resume) {
            Lane& lane = next_ready();
            lane.state = Lane::State::Running;
            running.lane = &lane;
            lane.fiber->enter();
        } else {
            idle_fiber().enter();
        }
        running.lane = nullptr;
    }
    if (!failed_ && exited_ < lanes_.size()) {
        failed_ = true;
        block_fault(Kind::Divergence, stuck());
    }
    running.block = nullptr;
    if (failed_) {
        idle_.clear();
        for (const auto& fiber : fibers_) {
            fiber->reset();
            idle_.push_back(fiber.get());
        }
    }
    return !failed_;
}

void Block::prepare() {
    const unsigned count = threads_of(*grid);
    const uint3 extent = grid->threads;
    const Record begin = next_era();
    lanes_.assign(count, Lane());
    for (unsigned i = 0; i < count; ++i) {
        Lane& lane = lanes_[i];
        lane.index = i;
        lane.thread = {i % extent.x, i / extent.x % extent.y, i / extent.x / extent.y};
        lane.view.now = begin | i;
        lane.view.settled = grid->previous;
        lane.view.block = lane.view.era = begin;
    }
    warps_.assign((count + 31) / 32, Warp());
    for (unsigned i = 0; i < count; ++i) warps_[i / 32].present |= 1u << (i % 32);
    order_.resize(count);
    std::iota(order_.begin(), order_.end(), 0u);
    arrange(order_, order().mode);
    started_ = exited_ = at_barrier_ = ready_begin_ = 0;
    arriving_ = arrived_ = false;
    ready_.clear();
    failed_ = false;
}

// A fiber runs new lanes for as long as none of them waits.
void Block::main(Fiber& fiber) {
    for (;;) {
        Block& self = *running.block;
        while (Lane* lane = self.next_new()) {
            lane->fiber = &fiber;
            lane->stack = reinterpret_cast<std::uintptr_t>(fiber.stack());
            lane->state = Lane::State::Running;
            running.lane = lane;
            self.grid->call->run();
            lane->state = Lane::State::Exited;
            self.warps_[lane->index / 32].exited |= 1u << (lane->index % 32);
            ++self.exited_;
        }
        self.idle_.push_back(&fiber);
        fiber.leave();
    }
}

Fiber& Block::idle_fiber() {
    if (idle_.empty()) {
        fibers_.push_back(std::make_unique<Fiber>(&Block::main));
        return *fibers_.back();
    }
    Fiber* fiber = idle_.back();
    idle_.pop_back();
    return *fiber;
}

Lane* Block::next_new() {
    return started_ < order_.size() ? &lanes_[order_[started_++]] : nullptr;
}

Lane& Block::next_ready() {
    if (order().mode == Order::Mode::Random) {
        const std::size_t choice = ready_begin_ + random_source()() % (ready_.size() - ready_begin_);
        std::swap(ready_[ready_begin_], ready_[choice]);
    }
    Lane& lane = *ready_[ready_begin_++];
    if (ready_begin_ == ready_.size()) {
        ready_.clear();
        ready_begin_ = 0;
    }
    return lane;
}

void Block::drop() {
    failed_ = true;
    running.lane->fiber->leave();
    __builtin_unreachable();
}

void Block::wait(Lane& lane) {
    lane.state = Lane::State::Waiting;
    lane.fiber->leave();
}

void Block::make_ready(Lane& lane) {
    lane.waiting = {};
    if (&lane == running.lane) return;
    lane.state = Lane::State::Ready;
    ready_.push_back(&lane);
}

// A barrier of the block: what was before it is before all that comes, for every lane.
void Block::new_era() {
    const Record begin = next_era();
    Record settled = 0;
    for (const Lane& lane : lanes_) settled = std::max(settled, lane.view.settled);
    for (Lane& lane : lanes_) {
        lane.clock = 0;
        lane.view.now = begin | lane.index;
        lane.view.settled = settled;
        lane.view.era = begin;
        lane.view.seen = {};
    }
}

bool Block::sync_threads(Lane& lane, bool predicate, Site site) {
    lane.waiting = {Collective::Kind::Barrier, 0, site};
    lane.state = Lane::State::Waiting;
    arriving_ = arriving_ || predicate;
    if (++at_barrier_ < lanes_.size()) {
        wait(lane);
        return arrived_;
    }
    const auto same = [&](const Lane& other) { return other.waiting == lane.waiting; };
    if (!std::all_of(lanes_.begin(), lanes_.end(), same)) {
        lane_fault(Kind::Divergence, lane, "lanes of one block wait at different barriers", text(site), stuck());
    }
    at_barrier_ = 0;
    arrived_ = std::exchange(arriving_, false);
    ++counted().block_barriers;
    new_era();
    const std::size_t first = ready_.size();
    for (Lane& other : lanes_) make_ready(other);
    lane.state = Lane::State::Running;
    if (order().mode == Order::Mode::Backward) std::reverse(ready_.begin() + std::ptrdiff_t(first), ready_.end());
    return arrived_;
}

// True: this lane is the last of those that are named; it does the work for all, and they wait meanwhile. False: it has
// waited, and the work is done.
bool Block::arrive(Lane& lane, Collective collective) {
    const unsigned self = 1u << (lane.index % 32);
    Warp& warp = warps_[lane.index / 32];
    if ((collective.mask & self) == 0) {
        lane_fault(Kind::BadCollective, lane, "the mask of a collective does not have the lane that calls it",
                   text(collective.site));
    }
    lane.waiting = collective;
    warp.waiting |= self;
    const unsigned expected = collective.mask & warp.present;
    bool complete = (warp.waiting & expected) == expected;
    const unsigned first = lane.index / 32 * 32;
    for (unsigned rest = complete ? expected : 0; rest != 0; rest &= rest - 1) {
        complete = complete && lanes_[first + std::countr_zero(rest)].waiting == collective;
    }
    if (!complete) {
        wait(lane);
        return false;
    }
    warp.waiting &= ~expected;
    return true;
}

unsigned Block::present(const Lane& lane) const {
    return warps_[lane.index / 32].present;
}

unsigned Block::active(const Lane& lane) const {
    const Warp& warp = warps_[lane.index / 32];
    return warp.present & ~warp.exited;
}

}  // namespace simt
