// Arithmetic of integers that C++ rounds to zero.
#pragma once

#include <cstdint>

namespace pipec {

/// a / b, rounded down.
constexpr std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
    return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
}

/// a / b, rounded up.
constexpr std::int64_t ceil_quotient(std::int64_t a, std::int64_t b) {
    return -floor_quotient(-a, b);
}

}  // namespace pipec
