// Distances between lanes, in one dimension of a hybrid tile (paper, section "Hybrid Tiling" and its appendix). The
// points of a stage that lie in registers are numbered so that iteration r of lane t has number r W + t, W lanes wide.
// Along the split dimension number 0 is where shared memory ends: its points have negative numbers.
#pragma once

#include <cstdint>

namespace pipec::codegen {

/// Where lane t finds number `offset` + t: in iteration `iteration` of lane t + `shift`, or, where there is no such
/// lane, in the next iteration of lane t + shift - W.
struct LanePlace {
    std::int64_t iteration = 0, shift = 0;  ///< 0 <= shift < W

    /// Every lane has it in a register of its own: the paper's type 1.
    [[nodiscard]] bool own() const { return shift == 0 && iteration >= 0; }
    /// Every lane finds it in shared memory: type 2.
    [[nodiscard]] bool shared() const { return iteration < -1 || (iteration == -1 && shift == 0); }
    /// Lanes below W - shift find it in shared memory, the others in registers of other lanes: types 2 and 3.
    [[nodiscard]] bool partly_shared() const { return iteration == -1 && shift > 0; }
    // Otherwise in registers of other lanes, of this iteration or the next: types 4 and 3.
};

inline LanePlace lane_place(std::int64_t offset, std::int64_t lanes) {
    const std::int64_t shift = (offset % lanes + lanes) % lanes;
    return {(offset - shift) / lanes, shift};
}

/// The same from the other side: the iteration of which a lane must publish its register, so that every lane gets what
/// it needs in one shuffle from lane (t + shift) mod W. The figure in the paper has two shuffles and a selection after
/// them; a selection before one shuffle is as good, and cheaper.
inline std::int64_t published_iteration(const LanePlace& place, std::int64_t lane) {
    return lane < place.shift ? place.iteration + 1 : place.iteration;
}

}  // namespace pipec::codegen
