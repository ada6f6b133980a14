// Texts of the helper functions that generated code may need.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace pipec::codegen {

struct Helper {
    std::string_view name;
    std::array<std::string_view, 2> needs;  ///< all stand before it, or in the table before
    /// Functions begin with `constexpr` or `inline` at the start of a line; what the device does better stands under
    /// `#ifdef __CUDA_ARCH__`.
    std::string_view text;
};

/// Arithmetic: of integers that wrap or are exact, choices, conversions.
std::span<const Helper> number_helpers();

/// Atomic updates, for devices only. They need none of the other helpers.
std::span<const Helper> atomic_helpers();

}  // namespace pipec::codegen
