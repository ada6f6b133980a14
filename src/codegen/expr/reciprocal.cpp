#include "codegen/expr/reciprocal.h"

#include <cmath>
#include <cstdint>

namespace pipec::codegen {

namespace {

constexpr int kDigits = 24;  // of a float32's significand
constexpr std::uint64_t kLeastSignificand = 1ULL << (kDigits - 1), kSignificandEnd = 1ULL << kDigits;
constexpr int kMostExponent = 20;

/// 2^-exponent modulo an odd number.
std::uint64_t power_of_half(int exponent, std::uint64_t modulus) {
    std::uint64_t result = 1 % modulus;
    for (int i = 0; i < exponent; ++i) result = (result % 2 == 0 ? result : result + modulus) / 2;
    return result;
}

/// The error of the two steps stays below 2^-23 units in the last place of the quotient. A quotient of significands,
/// X * 2^s / odd, is (2M + 1) / 2 + rest / (2 * odd) of such units for a whole M, with an odd rest: only those
/// X with a rest of 1 or 3 can be too close to the middle, and for odd <= 2^22 none is.
bool rounds_like_division(std::uint64_t odd, float divisor, const Reciprocal& by) {
    constexpr std::uint64_t kSafe = 1ULL << 22;
    if (odd <= kSafe) return true;
    for (int shift = kDigits - 2; shift <= kDigits; ++shift) {
        const std::uint64_t half = power_of_half(shift + 1, odd);
        for (const std::uint64_t rest : {std::uint64_t{1}, std::uint64_t{3}, odd - 1, odd - 3}) {
            const std::uint64_t first = half * rest % odd;
            for (std::uint64_t significand = first; significand < kSignificandEnd; significand += odd) {
                if (significand < kLeastSignificand) continue;
                const auto x = static_cast<float>(significand);
                if (std::fmaf(x, by.high, x * by.low) != x / divisor) return false;
            }
        }
    }
    return true;
}

}  // namespace

std::optional<Reciprocal> exact_reciprocal(double divisor) {
    const auto number = static_cast<float>(divisor);
    int exponent = 0;
    const double fraction = std::frexp(std::abs(divisor), &exponent);
    if (number != divisor || number == 0 || !std::isfinite(number) || fraction == 0.5 ||
        !(std::abs(exponent) <= kMostExponent))
        return std::nullopt;
    auto odd = static_cast<std::uint64_t>(std::ldexp(fraction, kDigits));
    while (odd % 2 == 0) odd /= 2;

    Reciprocal result{};
    result.high = static_cast<float>(1 / divisor);
    // 1 - high * divisor is exact in double: a product of 48 bits beside 1.
    if (std::fma(-static_cast<double>(result.high), divisor, 1) < 0) result.high = std::nextafterf(result.high, 0);
    result.low = static_cast<float>((1 - static_cast<double>(result.high) * divisor) / divisor);
    if (!rounds_like_division(odd, number, result)) return std::nullopt;
    return result;
}

}  // namespace pipec::codegen
