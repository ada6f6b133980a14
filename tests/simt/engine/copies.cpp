// Asynchronous copies: the bytes come when the lane waits for them. Until then it is as if nobody had written there, so
// that who reads too early is found out, and who writes meanwhile races with the copy.
#include <cstdint>
#include <cstring>

#include "cuda_pipeline_primitives.h"
#include "engine/access.h"
#include "engine/block.h"
#include "engine/report.h"
#include "engine/symbols.h"

void __pipeline_memcpy_async(void* to, const void* from, std::size_t bytes) {
    const void* pc = __builtin_return_address(0);
    simt::Lane& lane = *simt::running.lane;
    const auto addresses = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from);
    if ((bytes != 4 && bytes != 8 && bytes != 16) || addresses % bytes != 0) {
        lane_fault(simt::Kind::Misaligned, lane, "an asynchronous copy that is not of 4, 8 or 16 aligned bytes",
                   simt::place(pc));
    }
    simt::on_access<simt::Access::Read>(from, bytes, pc);
    simt::on_access<simt::Access::Write>(to, bytes, pc);
    simt::forget_shared(to, bytes, pc);
    lane.copies.push_back({to, from, bytes, lane.batch, pc});
}

void __pipeline_commit() {
    ++simt::running.lane->batch;
}

void __pipeline_wait_prior(std::size_t prior) {
    simt::Lane& lane = *simt::running.lane;
    std::erase_if(lane.copies, [&](const simt::PendingCopy& copy) {
        if (copy.batch + prior >= lane.batch) return false;
        simt::on_access<simt::Access::Write>(copy.to, copy.bytes, copy.pc);
        simt::counted().shared_written -= copy.bytes;  // it was counted when it began
        std::memcpy(copy.to, copy.from, copy.bytes);
        return true;
    });
}
