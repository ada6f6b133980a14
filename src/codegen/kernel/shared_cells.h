// What is known of each element of a block's shared arrays while its threads are followed: who wrote it, who can see
// that, who may still be reading.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/kernel/kernel_ir.h"

namespace pipec::codegen::kernel {

class SharedCells {
public:
    /// How certain it is that something happens, or happened.
    enum class Certain : std::uint8_t { No, Maybe, Yes };
    enum class Result : std::uint8_t { Proved, Unproved, Wrong };

    explicit SharedCells(const Kernel& kernel);

    [[nodiscard]] std::int64_t size(std::size_t array) const { return places_[array].size; }
    /// Elements of all arrays, and those about which the next barrier changes something.
    [[nodiscard]] std::size_t count() const { return cells_.size(); }
    [[nodiscard]] std::size_t touched() const { return touched_.size(); }
    /// Element (dense, the last dimension innermost) `element` of an array is read by a thread. Wrong: nobody can have
    /// written it, or certainly another thread did without a barrier since. `problem` says so.
    Result read(std::size_t array, std::int64_t element, int thread, Certain certain);
    /// ... is written. False where that is a race with another thread: `problem` says which.
    bool write(std::size_t array, std::int64_t element, int thread, Certain certain);
    /// ... gets a copy of something, which has begun. While it is under way nobody may touch the element.
    bool copy(std::size_t array, std::int64_t element, int thread, Certain certain);
    /// ... is updated by an atomic operation, which others may do at the same time. Thread -1: by any one.
    Result update(std::size_t array, std::int64_t element, int thread, Certain certain);
    /// ... is updated by a thread that no other one may come between (an exclusive update).
    Result update_own(std::size_t array, std::int64_t element, int thread, Certain certain);
    [[nodiscard]] const std::string& problem() const { return problem_; }

    /// Threads (those that certainly come by) end a batch of copies, or wait for all but their last `pending` batches.
    void commit(const std::vector<bool>& threads);
    void wait(const std::vector<bool>& threads, int pending);

    void block_barrier();
    /// For the warps that take part.
    void warp_barrier(const std::vector<bool>& warps);

    /// What is certain whether this happened or `other`. `by_warp`: each warp may have taken its own way.
    void join(const SharedCells& other, bool by_warp);

private:
    /// Who sees what was written: its writer, the writer's warp, the block.
    enum class Seen : std::uint8_t { Writer, Warp, Block };
    static constexpr std::int16_t kNobody = -1, kSeveral = -2;

    struct Cell {
        Certain written = Certain::No;
        Seen seen = Seen::Block;
        bool atomic = false;                 ///< updated since the last barrier of the writer's warp
        Seen before = Seen::Block;           ///< of what was there before updates
        bool vague = false;                  ///< who wrote is not certain: others may see it as well
        bool touched = false;                ///< in `touched_`
        std::int16_t copy = kNobody;         ///< under way: how many batches have ended since it began
        std::int16_t writer = kNobody;       ///< thread
        std::int16_t reader = kNobody;       ///< thread, since the last barrier of its warp
        std::int16_t reader_warp = kNobody;  ///< of `reader`; kSeveral: readers of different warps
        std::int16_t older_warp = kNobody;   ///< of readers before their warp's last barrier, since the block's
    };
    struct Place {
        std::int64_t first = 0;  ///< of its cells
        std::int64_t size = 0;
        std::int64_t row = 0,
                     pitch = 0;  ///< elements in one index of the first dimension, and bytes from one to the next
        std::int64_t offset = 0, bytes = 0;  ///< in the scratch; of an element
        std::vector<std::size_t> overlaps;   ///< arrays that share memory with this one
    };

    [[nodiscard]] Cell& cell(std::size_t array, std::int64_t element) {
        return cells_[static_cast<std::size_t>(places_[array].first + element)];
    }
    [[nodiscard]] static bool sees(const Cell& cell, int thread);
    [[nodiscard]] static bool still_read(const Cell& cell, int thread);
    void touch(std::size_t array, std::int64_t element);
    bool races(std::size_t array, std::int64_t element, int thread);
    template <class F>
    void for_each_overlapping(std::size_t array, std::int64_t element, const F& f);
    [[nodiscard]] std::string name(std::size_t array, std::int64_t element) const;

    const Kernel* kernel_;
    std::vector<Place> places_;
    std::vector<Cell> cells_;
    std::vector<std::size_t> touched_;  ///< cells about which a barrier changes something
    std::string problem_;
};

}  // namespace pipec::codegen::kernel
