// Conversion of element types between files and buffers: the one place that says what a pixel value means as a number.
//
//   from \ to   integer                                     float
//   integer     the same value, which must fit              value / greatest value of the type: 0..1 (signed: -1..1)
//   float       clamped to 0..1 (signed: -1..1), times      the value, rounded to nearest even
//               the greatest value, rounded half to even;
//               NaN gives 0
//
// With Scaling::Raw an integer becomes a float of the same value, and a float is rounded half to even and clamped to
// the integer type's range. Bool is an integer type with the greatest value 1, except that an image's integers become
// true where they are not 0, and true becomes the greatest value of an integer type; Raw keeps 0 and 1.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "runner/array.h"

namespace pipec::runner {

enum class Scaling { Normalized, Raw };

/// An integer that the other type cannot hold.
struct Misfit {
    std::size_t index;  ///< of the element, row-major
    std::string value;
};

struct Converted {
    Array array;
    std::optional<Misfit> misfit;  ///< the first one; then `array` is good for nothing
};

/// What a person is told of an array's values. NaN is neither the least nor the greatest.
struct ValueRange {
    std::string least, greatest;                      ///< as text; empty where no value is a number
    long double least_value = 0, greatest_value = 0;  ///< the same as numbers: wide enough for 64-bit integers
    std::size_t nans = 0;
    std::size_t clipped = 0;  ///< floats that become another integer by the limits of the type to be stored
    [[nodiscard]] double span() const { return static_cast<double>(greatest_value - least_value); }
    /// Takes the values of another part of the same array in.
    void add(const ValueRange& other);
};
ValueRange value_range(const Array& array, ir::Type stored, Scaling scaling);

/// The greatest integer of a type less the least; 0 for floats.
double integer_span(ir::Type type);

Converted convert(Array array, ir::Type to, Scaling scaling);

/// One channel from images with three or more: Rec. 709 luma of the stored values of the first three, rounded half to
/// even for integers. From fewer channels: the first.
Array to_gray(const Array& image);

/// Channels by number, in any order and number. The numbers must be in range.
Array select_channels(const Array& image, const std::vector<int>& channels);

}  // namespace pipec::runner
