// Images: their values, how they lie in memory, and how two of them differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "runner/pipe_abi.h"

namespace pipec::gpu {

using runner::abi::pipe_type;

/// What memory holds that nobody has written: a NaN for floats.
inline constexpr auto kPattern = std::byte{0xff};

std::size_t element_bytes(pipe_type type);

/// Elements in row-major order without gaps.
struct Values {
    pipe_type type{};
    std::vector<std::int64_t> extents;
    std::vector<std::byte> bytes;

    Values(pipe_type type, std::vector<std::int64_t> extents);
};

enum class Fill {
    Random,   ///< floats in [0, 1), integers over their whole range
    Extreme,  ///< ends of the range and around 0; infinities, NaN, -0 and subnormal numbers
};
void fill(Values& values, Fill how, std::mt19937_64& random);

enum class Layout {
    Dense,     ///< in the declared order; strides are left to the callee
    Offset,    ///< the same, one element behind an aligned address
    Pitched,   ///< rows with an odd number of elements behind them
    Sparse,    ///< inner stride 2
    Reversed,  ///< dense with the first dimension innermost
};
inline constexpr Layout kLayouts[] = {Layout::Dense, Layout::Offset, Layout::Pitched, Layout::Sparse, Layout::Reversed};
const char* name(Layout layout);

/// Where the elements of an image lie in a block of memory that has some bytes before and behind them.
struct Placement {
    std::size_t element;
    std::vector<std::int64_t> extents;
    std::vector<std::int64_t> strides;  ///< in elements
    std::size_t first;                  ///< bytes from the block's beginning to the first element
    std::size_t bytes;                  ///< of the block

    Placement(const runner::abi::pipe_buffer_info& buffer, std::vector<std::int64_t> extents, Layout layout);
    /// The block's bytes; gaps hold the pattern.
    [[nodiscard]] std::vector<std::byte> scattered(const Values& values) const;
    /// Takes the elements out of a block and leaves the pattern in their place.
    void gather(std::vector<std::byte>& block, Values& values) const;
};

struct Difference {
    double greatest = 0;
    std::int64_t count = 0;   ///< elements beyond the tolerance
    std::string where = "-";  ///< of the greatest: "(1, 2): 3 and 4"
};

/// Floats of equal value are equal, and so are two NaN. The tolerance is absolute for integers, and for floats relative
/// to what is greater of 1 and the expected magnitude.
Difference compare(const Values& expected, const Values& actual, double tolerance);

}  // namespace pipec::gpu
