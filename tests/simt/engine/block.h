// A block at work: its lanes, on fibers of one thread, and what they do together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "cuda_runtime.h"
#include "engine/fiber.h"
#include "engine/shadow.h"
#include "simt.h"

namespace simt {

/// A launch at work.
struct Grid {
    const Call* call = nullptr;
    const void* kernel = nullptr;
    uint3 blocks{}, threads{};
    std::size_t dynamic_bytes = 0;
    std::uintptr_t call_begin = 0, call_end = 0;
    std::uintptr_t module_begin = 0, module_end = 0;  ///< code and constants of the kernel's shared object
    std::uintptr_t static_begin = 0, static_end = 0;  ///< its __shared__ variables
    Record begin = 0;                                 ///< its first era
    Record previous = 0;              ///< what a lane that has not waited for the previous kernel knows to be over
    bool waited = false;              ///< some lane has waited for the previous kernel
    bool wait_is_not_enough = false;  ///< the previous kernel has not waited for the one before it
    /// A read of what nobody had written. It is a race if another lane writes it later and nothing orders the two, so
    /// it is reported when that, or another fault, or the end of the launch decides.
    std::optional<Fault> unwritten_read;
};

/// What lanes do together, and where.
struct Collective {
    enum class Kind : std::uint8_t { None, Barrier, WarpBarrier, Shuffle, Vote } kind = Kind::None;
    unsigned mask = 0;
    Site site{};
    bool operator==(const Collective& other) const {
        return kind == other.kind && mask == other.mask && site.line == other.site.line;
    }
};

/// An asynchronous copy that its lane has not waited for.
struct PendingCopy {
    void* to;
    const void* from;
    std::size_t bytes;
    std::size_t batch;  ///< its number: how many the lane had ended before
    const void* pc;     ///< where it began
};

struct Lane {
    enum class State : std::uint8_t { New, Ready, Running, Waiting, Exited } state = State::New;
    View view{};
    uint3 thread{};
    unsigned index = 0;
    std::uint32_t clock = 0;
    Fiber* fiber = nullptr;
    std::uintptr_t stack = 0;
    Collective waiting;
    std::uint64_t value = 0;  ///< given to a shuffle or vote; then what it gives back
    Shuffle shuffle{};
    int argument = 0, width = 0;
    std::vector<PendingCopy> copies;
    std::size_t batch = 0;  ///< of copies that it begins now
};

/// The cells of shared memory. What they say of earlier blocks, of whatever kernel, their eras give away.
class SharedCells {
public:
    void reserve(std::size_t bytes) {
        if (bytes <= bytes_.size()) return;
        words_.resize((bytes + 3) / 4);
        bytes_.resize(4 * words_.size());
    }
    [[nodiscard]] Cells view() { return {words_.data(), bytes_.data()}; }

private:
    std::vector<Cell> words_, bytes_;
};

class Block {
public:
    /// False: there was a fault, and the block was dropped.
    bool run(Grid& grid, uint3 index);

    /// Whether the predicate is true in any lane.
    bool sync_threads(Lane& lane, bool predicate, Site site);
    void sync_warp(Lane& lane, unsigned mask, Site site);
    std::uint64_t shuffle(Lane& lane, unsigned mask, Site site);  ///< the rest is in the lane
    unsigned vote(Lane& lane, unsigned mask, bool predicate, Site site);
    /// The lanes of its warp that exist, and those of them that have not exited.
    [[nodiscard]] unsigned present(const Lane& lane) const;
    [[nodiscard]] unsigned active(const Lane& lane) const;

    /// Called by the running lane: ends the block.
    [[noreturn]] void drop();

    Grid* grid = nullptr;
    uint3 index{};
    SharedCells static_cells, dynamic_cells;

private:
    struct Warp {
        unsigned present = 0, waiting = 0, exited = 0;
    };

    static void main(Fiber& fiber);
    void prepare();
    Fiber& idle_fiber();
    Lane* next_new();
    Lane& next_ready();
    void wait(Lane& lane);
    void make_ready(Lane& lane);
    bool arrive(Lane& lane, Collective collective);
    void new_era();
    void order_warp(unsigned first, unsigned mask);
    void exchange(unsigned first, unsigned mask);
    [[nodiscard]] std::string stuck() const;

    std::vector<Lane> lanes_;
    std::vector<Warp> warps_;
    std::vector<unsigned> order_;  ///< of lanes: how they start
    std::size_t started_ = 0, exited_ = 0, at_barrier_ = 0;
    bool arriving_ = false, arrived_ = false;  ///< the predicate in any lane: at this barrier, at the last one
    std::vector<Lane*> ready_;
    std::size_t ready_begin_ = 0;
    std::vector<std::unique_ptr<Fiber>> fibers_;
    std::vector<Fiber*> idle_;
    bool failed_ = false;
};

/// What this thread runs; null outside of kernels.
struct Running {
    Lane* lane = nullptr;
    Block* block = nullptr;
};
extern thread_local constinit Running running __attribute__((tls_model("initial-exec")));

Order order();
std::mt19937_64& random_source();
Statistics& counted();
/// The next era, as its first record.
Record next_era();

/// Finds the kernel's __shared__ variables. They may not exist before the first access to one: then it is false.
bool find_static(Block& block, Grid& grid);

/// What a stream has last done, for kernels that may start before it is over.
struct LastKernel {
    Record begin = 0;             ///< 0: it was no kernel
    bool all_before_over = true;  ///< when it ends, so have the kernels before it
};
/// Runs a whole grid on this thread. `may_overlap`: with what stands before it, where that is a kernel, until a lane
/// waits for it. False: there was a fault.
bool run_grid(Grid& grid, bool may_overlap, LastKernel& last);

}  // namespace simt
