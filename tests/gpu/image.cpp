#include "image.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <sstream>
#include <stdexcept>

namespace pipec::gpu {

namespace {

using runner::abi::pipe_buffer_info;
namespace abi = runner::abi;

/// What float16 is stored as.
struct Half {
    std::uint16_t bits;
};
struct Bool {
    std::uint8_t byte;
};

/// Calls f with a value of the C++ type of the elements.
template <class F>
auto with_type(pipe_type type, const F& f) {
    switch (type) {
        case abi::PIPE_BOOL: return f(Bool{});
        case abi::PIPE_INT8: return f(std::int8_t{});
        case abi::PIPE_INT16: return f(std::int16_t{});
        case abi::PIPE_INT32: return f(std::int32_t{});
        case abi::PIPE_INT64: return f(std::int64_t{});
        case abi::PIPE_UINT8: return f(std::uint8_t{});
        case abi::PIPE_UINT16: return f(std::uint16_t{});
        case abi::PIPE_UINT32: return f(std::uint32_t{});
        case abi::PIPE_UINT64: return f(std::uint64_t{});
        case abi::PIPE_FLOAT16: return f(Half{});
        case abi::PIPE_FLOAT32: return f(float{});
        case abi::PIPE_FLOAT64: return f(double{});
    }
    throw std::runtime_error("an element type that is not known");
}

// Every value of every type is a long double exactly (of x86, with 64 bits of mantissa).
template <class T>
long double wide(T value) {
    if constexpr (std::is_same_v<T, Bool>) {
        return value.byte;
    } else if constexpr (std::is_same_v<T, Half>) {
        const int exponent = value.bits >> 10 & 31, mantissa = value.bits & 1023;
        long double magnitude = std::ldexp(static_cast<long double>(mantissa), -24);
        if (exponent == 31) magnitude = mantissa == 0 ? INFINITY : NAN;
        if (exponent > 0 && exponent < 31) {
            magnitude = std::ldexp(static_cast<long double>(mantissa + 1024), exponent - 25);
        }
        return value.bits & 0x8000 ? -magnitude : magnitude;
    } else {
        return value;
    }
}

template <class T>
T random_value(std::mt19937_64& random) {
    if constexpr (std::is_floating_point_v<T>) {
        constexpr int kBits = std::numeric_limits<T>::digits;
        return std::ldexp(static_cast<T>(random() >> (64 - kBits)), -kBits);
    } else if constexpr (std::is_same_v<T, Half>) {
        return {static_cast<std::uint16_t>(random() % 0x3c00)};  // 0x3c00 is 1
    } else if constexpr (std::is_same_v<T, Bool>) {
        return {static_cast<std::uint8_t>(random() & 1)};
    } else {
        return static_cast<T>(random());
    }
}

template <class T>
T extreme_value(std::mt19937_64& random) {
    using Limits = std::numeric_limits<T>;
    const auto choice = random() % 8;
    if constexpr (std::is_floating_point_v<T>) {
        const T values[] = {0,
                            -T(0),
                            Limits::infinity(),
                            -Limits::infinity(),
                            Limits::quiet_NaN(),
                            Limits::max(),
                            Limits::denorm_min()};
        return choice < std::size(values) ? values[choice] : random_value<T>(random);
    } else if constexpr (std::is_same_v<T, Half>) {
        const std::uint16_t values[] = {0, 0x8000, 0x7c00, 0xfc00, 0x7e00, 0x7bff, 1};
        return choice < std::size(values) ? Half{values[choice]} : random_value<T>(random);
    } else if constexpr (std::is_same_v<T, Bool>) {
        return random_value<T>(random);
    } else {
        const T values[] = {Limits::min(), Limits::max(), 0, 1, static_cast<T>(-1), static_cast<T>(Limits::max() - 1)};
        return choice < std::size(values) ? values[choice] : random_value<T>(random);
    }
}

/// Calls f(element number in row-major order, offset of the element) at the first element of each row of the last
/// dimension.
template <class F>
void for_each_row(const std::vector<std::int64_t>& extents, const std::vector<std::int64_t>& strides, const F& f) {
    std::vector<std::int64_t> point(extents.size(), 0);
    const std::int64_t length = extents.empty() ? 1 : extents.back();
    for (std::int64_t number = 0;; number += length) {
        f(number, std::inner_product(point.begin(), point.end(), strides.begin(), std::int64_t{0}));
        std::size_t d = extents.empty() ? 0 : extents.size() - 1;
        while (d > 0 && ++point[d - 1] == extents[d - 1]) point[--d] = 0;
        if (d == 0) return;
    }
}

std::string place_text(const std::vector<std::int64_t>& extents, std::int64_t number) {
    std::string text;
    for (std::size_t d = extents.size(); d-- > 0; number /= extents[d]) {
        text.insert(0, std::to_string(number % extents[d]) + (text.empty() ? "" : ", "));
    }
    return "(" + text + ")";
}

}  // namespace

std::size_t element_bytes(pipe_type type) {
    return with_type(type, [](auto value) { return sizeof value; });
}

Values::Values(pipe_type type_, std::vector<std::int64_t> extents_) : type(type_), extents(std::move(extents_)) {
    std::size_t count = 1;
    for (const std::int64_t extent : extents) count *= static_cast<std::size_t>(extent);
    bytes.resize(count * element_bytes(type));
}

void fill(Values& values, Fill how, std::mt19937_64& random) {
    with_type(values.type, [&](auto kind) {
        using T = decltype(kind);
        for (std::size_t at = 0; at < values.bytes.size(); at += sizeof(T)) {
            const T value = how == Fill::Random ? random_value<T>(random) : extreme_value<T>(random);
            std::memcpy(values.bytes.data() + at, &value, sizeof(T));
        }
    });
}

const char* name(Layout layout) {
    constexpr const char* kNames[] = {"dense", "offset", "pitched", "sparse", "reversed"};
    return kNames[static_cast<std::size_t>(layout)];
}

Placement::Placement(const pipe_buffer_info& buffer, std::vector<std::int64_t> extents_, Layout layout)
    : element(element_bytes(buffer.type)), extents(std::move(extents_)), strides(extents.size()) {
    constexpr std::size_t kMargin = 512;  // a multiple of what the widest access needs
    std::vector<int> order(buffer.order, buffer.order + buffer.rank);
    if (layout == Layout::Reversed) {
        std::iota(order.begin(), order.end(), 0);
        std::reverse(order.begin(), order.end());
    }
    std::int64_t next = layout == Layout::Sparse ? 2 : 1;
    std::int64_t last = 0;
    for (std::size_t i = order.size(); i-- > 0;) {
        const auto d = static_cast<std::size_t>(order[i]);
        strides[d] = next;
        last += next * (extents[d] - 1);
        next *= extents[d];
        if (layout == Layout::Pitched && i + 1 == order.size()) next += 3;
    }
    first = kMargin + (layout == Layout::Offset ? element : 0);
    bytes = first + (static_cast<std::size_t>(last) + 1) * element + kMargin;
}

std::vector<std::byte> Placement::scattered(const Values& values) const {
    std::vector<std::byte> block(bytes, kPattern);
    const std::int64_t length = extents.empty() ? 1 : extents.back(), step = extents.empty() ? 1 : strides.back();
    for_each_row(extents, strides, [&](std::int64_t number, std::int64_t offset) {
        const std::byte* from = values.bytes.data() + static_cast<std::size_t>(number) * element;
        std::byte* to = block.data() + first + static_cast<std::size_t>(offset) * element;
        if (step == 1) {
            std::memcpy(to, from, static_cast<std::size_t>(length) * element);
            return;
        }
        for (std::int64_t i = 0; i < length; ++i, from += element, to += static_cast<std::size_t>(step) * element) {
            std::memcpy(to, from, element);
        }
    });
    return block;
}

void Placement::gather(std::vector<std::byte>& block, Values& values) const {
    const std::int64_t length = extents.empty() ? 1 : extents.back(), step = extents.empty() ? 1 : strides.back();
    for_each_row(extents, strides, [&](std::int64_t number, std::int64_t offset) {
        std::byte* to = values.bytes.data() + static_cast<std::size_t>(number) * element;
        std::byte* from = block.data() + first + static_cast<std::size_t>(offset) * element;
        if (step == 1) {
            const std::size_t size = static_cast<std::size_t>(length) * element;
            std::memcpy(to, from, size);
            std::fill_n(from, size, kPattern);
            return;
        }
        for (std::int64_t i = 0; i < length; ++i, to += element, from += static_cast<std::size_t>(step) * element) {
            std::memcpy(to, from, element);
            std::fill_n(from, element, kPattern);
        }
    });
}

Difference compare(const Values& expected, const Values& actual, double tolerance) {
    Difference result;
    with_type(expected.type, [&](auto kind) {
        using T = decltype(kind);
        for (std::size_t at = 0; at < expected.bytes.size(); at += sizeof(T)) {
            const std::byte *a = expected.bytes.data() + at, *b = actual.bytes.data() + at;
            if (std::memcmp(a, b, sizeof(T)) == 0) continue;
            T left, right;
            std::memcpy(&left, a, sizeof(T));
            std::memcpy(&right, b, sizeof(T));
            const long double x = wide(left), y = wide(right);
            if (x == y || (std::isnan(x) && std::isnan(y))) continue;
            long double difference = std::abs(x - y);
            if (std::isnan(difference)) difference = INFINITY;
            const bool is_float = std::is_floating_point_v<T> || std::is_same_v<T, Half>;
            const long double unit = is_float && std::isfinite(x) ? std::max(1.0L, std::abs(x)) : 1.0L;
            if (difference > tolerance * unit) ++result.count;
            if (static_cast<double>(difference) <= result.greatest) continue;
            result.greatest = static_cast<double>(difference);
            std::ostringstream where;
            where.precision(std::numeric_limits<double>::max_digits10);
            where << place_text(expected.extents, static_cast<std::int64_t>(at / sizeof(T))) << ": " << x << " and "
                  << y;
            result.where = where.str();
        }
    });
    return result;
}

}  // namespace pipec::gpu
