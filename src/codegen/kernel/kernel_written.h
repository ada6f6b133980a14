// Whether what a kernel reads from shared memory was written before: its threads are followed, one block of them, with
// their numbers and the loops' counters known and everything else (sizes, where the tile lies, data) not. Text alone
// (kernel_flow.h) says that a barrier stands between writing and reading an array; here it is each element.
//
// Registers need no such proof: a variable has a value from its definition on, and kernel::verify sees to it that it is
// used only where its definition came by.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "codegen/kernel/kernel_ir.h"

namespace pipec::codegen::kernel {

struct Written {
    /// Reads by one thread of one element. Proved: it was surely written, by the same thread or with the right barrier
    /// between. Otherwise nothing is claimed: the index, the thread's way to it, or a condition under which it was
    /// written, depends on what is not known.
    struct Reads {
        std::int64_t proved = 0, unproved = 0;
    };
    /// By the branches that a whole block or warp takes and that depend on the unknown, as in "then" for the interior
    /// and "else" for the edges of an image; "" outside of all.
    std::map<std::string, Reads> reads;
    /// Certain violations, wherever their branch is taken at all: an element is read that nobody wrote, or another
    /// thread without a barrier between; an element is replaced while others read it or wrote it without a barrier
    /// between; an index is outside of its array; a shuffle asks for a lane that is none.
    std::vector<std::string> problems;
    /// False where `budget` was used up: the rest is unproved, and not counted.
    bool complete = true;
};

/// `kernel` is well-formed otherwise. `budget` bounds the numbers that are computed and the elements that are looked
/// at.
Written follow_shared_memory(const Kernel& kernel, std::int64_t budget);

}  // namespace pipec::codegen::kernel
