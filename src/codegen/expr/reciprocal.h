// Division by a constant as two multiplications that are rounded once.
#pragma once

#include <optional>

namespace pipec::codegen {

/// 1 / divisor = high + low, all but exactly; both have the divisor's sign.
struct Reciprocal {
    float high, low;
};

/// With it `fmaf(x, high, x * low)` is `x / divisor`, rounded once, for all float32 `x` that are 0, infinite, NaN, or
/// not tiny: |x| >= 2^-80. None for a divisor with which some quotient is too close to the middle between two floats,
/// for one that is no float32, beyond 2^20 or below 2^-20, and for powers of two, which have an exact reciprocal. After
/// Brisebarre, Muller, Raina, "Accelerating correctly rounded floating-point division when the divisor is known in
/// advance" (IEEE Transactions on Computers 53/8, 2004).
std::optional<Reciprocal> exact_reciprocal(double divisor);

}  // namespace pipec::codegen
