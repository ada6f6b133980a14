// Bounds of coordinates that depend on sizes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "codegen/expr/rewrite.h"

namespace pipec::codegen {

/// floor(sum / divisor) of sizes; the divisor is positive.
struct Bound {
    Linear sum;
    std::int64_t divisor = 1;
};

/// Adds a bound; of two that differ by a constant only the tighter one stays.
inline void tighten(std::vector<Bound>& bounds, const Bound& bound, bool greatest) {
    for (Bound& other : bounds) {
        if (other.divisor != bound.divisor || other.sum.terms != bound.sum.terms) continue;
        const std::int64_t a = other.sum.constant, b = bound.sum.constant;
        other.sum.constant = greatest ? std::max(a, b) : std::min(a, b);
        return;
    }
    bounds.push_back(bound);
}

}  // namespace pipec::codegen
