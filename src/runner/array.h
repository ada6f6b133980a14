// Arrays of any element type and rank: what files are read into, what pipelines work on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/type.h"

namespace pipec::runner {

using Extents = std::vector<std::int64_t>;

/// Uninitialised memory, aligned to 64 bytes. Pages are only touched when they are used.
class Memory {
public:
    Memory() = default;
    explicit Memory(std::size_t size);
    [[nodiscard]] std::byte* data() const { return bytes_.get(); }
    [[nodiscard]] std::size_t size() const { return size_; }

private:
    struct Free {
        void operator()(std::byte* p) const;
    };
    std::unique_ptr<std::byte, Free> bytes_;
    std::size_t size_ = 0;
};

/// A dense row-major array (the last dimension is innermost). Elements are in memory form: bool as a byte that is 0 or
/// 1, float16 as its 16 bits. An image is an array of [rows, columns, channels].
struct Array {
    ir::Type type = ir::Type::UInt8;
    Extents extents;
    Memory data;

    Array() = default;
    /// Uninitialised. Throws std::bad_alloc.
    Array(ir::Type type, Extents extents);
    [[nodiscard]] std::size_t size() const;  ///< elements
};

/// The product of the extents times the element's size; throws std::bad_alloc where that is no size_t.
std::size_t byte_size(ir::Type type, const Extents& extents);

/// Element strides of a dense array whose dimensions stand in memory as `order` says, outermost first.
Extents dense_strides(const Extents& extents, const std::vector<int>& order);
/// Row-major.
Extents dense_strides(const Extents& extents);

/// The bytes that an array with these strides (in elements, positive) covers.
std::size_t span_bytes(ir::Type type, const Extents& extents, const Extents& strides);

/// Copies every element from one strided array to another of the same extents and element type.
void copy_strided(ir::Type type, const Extents& extents, const std::byte* from, const Extents& from_strides,
                  std::byte* to, const Extents& to_strides);

/// The array with its dimensions in another order: result dimension i is dimension `dims[i]`.
Array transpose(const Array& array, const std::vector<int>& dims);

/// "512 x 512 x 3".
std::string shape_text(const Extents& extents);

}  // namespace pipec::runner
