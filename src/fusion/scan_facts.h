// What the time of a scan depends on besides its bytes: how many lines it has, how long they are, and how long a point
// waits for the one before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/pipeline.h"
#include "ir/scan.h"

namespace pipec::fusion {

struct ScanFacts {
    int dim = 0;  ///< along which its lines run
    double lines = 0;
    std::int64_t length = 0;    ///< slices of a line
    double slice = 1;           ///< points of one; more than one where a scan reads itself at other lines (ir::Scan)
    std::vector<int> across{};  ///< dimensions in which it does: those of a slice
    int distance = 1;           ///< slices between a point and the farthest that it reads
    double operations = 0;      ///< from a value that a point reads of its own line to its value, each after the other
    std::vector<std::optional<ir::ScanReach>> reaches{};  ///< in the dimensions `across`
    [[nodiscard]] bool is_across(std::size_t d) const {
        return std::find(across.begin(), across.end(), static_cast<int>(d)) != across.end();
    }
    std::int64_t work = 0;               ///< slice_work
    std::optional<std::int64_t> last{};  ///< slices at the end that others read, where they read no others
    bool shared = false;  ///< points are shared out along lines (ir/associative.h); -ffast-math is not considered
};

/// What a point of a scan that goes slice by slice takes, in simple operations on 32 bits, about.
std::int64_t slice_work(const ir::Stage& stage);

/// Of the stage with number `index`; `extents` of its dimensions. None where it is no scan.
std::optional<ScanFacts> scan_facts(const ir::Pipeline& pipeline, int index, const std::vector<std::int64_t>& extents);

}  // namespace pipec::fusion
