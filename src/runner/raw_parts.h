// Files whose elements lie in them as in an array.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runner/parts.h"

namespace pipec::runner {

struct RawLayout {
    ir::Type type = ir::Type::UInt8;
    Extents extents;
    std::int64_t offset = 0;     ///< of the first element, in bytes
    bool first_inmost = false;   ///< Fortran's order of dimensions
    bool rows_reversed = false;  ///< the last row, of dimension 0, comes first
    bool swap = false;           ///< big endian
};

/// Elements as they lie in a file, brought into memory form.
void tidy_elements(Array& array, bool big_endian);

/// Reads parts of a file with this layout. Throws Error where the file is shorter than that.
std::unique_ptr<PartReader> open_raw(const std::string& path, const RawLayout& layout);

/// Makes a file that begins with `header`, before elements in C's order.
std::unique_ptr<PartWriter> create_raw(const std::string& path, const std::string& shown, const std::string& header,
                                       ir::Type type, const Extents& extents);

// NumPy's names of element types, as .npy and Zarr have them: "<f4", "|u1".

struct ElementType {
    ir::Type type = ir::Type::UInt8;
    bool big_endian = false;
};
/// None where it is not a number of 8 to 64 bits.
std::optional<ElementType> parse_element_type(std::string_view name);
std::string element_type_name(ir::Type type);

}  // namespace pipec::runner
