// What the time of a scan depends on besides its bytes: how many lines it has, how long they are, and how long a point
// waits for the one before.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/pipeline.h"

namespace pipec::fusion {

struct ScanFacts {
    int dim = 0;  ///< along which its lines run
    double lines = 0;
    std::int64_t length = 0;  ///< points of a line
    double operations = 0;    ///< from a value that a point reads of its own line to its value, each after the other
    bool shared = false;      ///< points are shared out along lines (ir/associative.h); -ffast-math is not considered
};

/// `points` of all lines together, `length` of them in each; none where the stage is no scan.
std::optional<ScanFacts> scan_facts(const ir::Stage& stage, int index, std::int64_t points, std::int64_t length);

}  // namespace pipec::fusion
