// Element conversions, instantiated for every pair of types.
#include "runner/convert.h"

#include <Imath/half.h>

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

namespace pipec::runner {

namespace {

/// A bool in memory.
enum class Bool8 : std::uint8_t {};

template <class T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T> || std::is_same_v<T, half>;

template <class F>
void with_type(ir::Type type, F&& f) {
    switch (type) {
        case ir::Type::Bool: return f(Bool8{});
        case ir::Type::Int8: return f(std::int8_t{});
        case ir::Type::Int16: return f(std::int16_t{});
        case ir::Type::Int32: return f(std::int32_t{});
        case ir::Type::Int64: return f(std::int64_t{});
        case ir::Type::UInt8: return f(std::uint8_t{});
        case ir::Type::UInt16: return f(std::uint16_t{});
        case ir::Type::UInt32: return f(std::uint32_t{});
        case ir::Type::UInt64: return f(std::uint64_t{});
        case ir::Type::Float16: return f(half{});
        case ir::Type::Float32: return f(float{});
        case ir::Type::Float64: return f(double{});
    }
}

template <class T>
constexpr auto greatest() {
    if constexpr (std::is_same_v<T, Bool8>) {
        return 1;
    } else {
        return std::numeric_limits<T>::max();
    }
}

template <class T>
auto number(T value) {
    if constexpr (std::is_same_v<T, half>) {
        return static_cast<float>(value);
    } else if constexpr (std::is_same_v<T, Bool8>) {
        return static_cast<int>(value);
    } else {
        return value;
    }
}

template <class T>
T to_float(double value) {
    if constexpr (std::is_same_v<T, double>) {
        return value;
    } else {
        return static_cast<T>(static_cast<float>(value));
    }
}

template <class T>
T float_to_int(double value, bool raw) {
    constexpr auto kGreatest = greatest<T>();
    constexpr bool kSigned = std::is_signed_v<T>;
    if (std::isnan(value)) return T{};
    if (!raw) value = std::fmax(kSigned ? -1.0 : 0.0, std::fmin(value, 1.0)) * static_cast<double>(kGreatest);
    value = std::nearbyint(value);
    const double least = kSigned ? static_cast<double>(std::numeric_limits<T>::min()) : 0.0;
    if (value <= least) return kSigned ? std::numeric_limits<T>::min() : T{};
    if (value >= static_cast<double>(kGreatest)) return static_cast<T>(kGreatest);
    return static_cast<T>(static_cast<std::conditional_t<std::is_same_v<T, Bool8>, std::uint8_t, T>>(value));
}

/// False where an integer does not fit.
template <class From, class To>
bool convert_one(From from, To& to, bool raw) {
    if constexpr (kIsFloat<From> && kIsFloat<To>) {
        to = to_float<To>(static_cast<double>(number(from)));
    } else if constexpr (kIsFloat<From>) {
        to = float_to_int<To>(static_cast<double>(number(from)), raw);
    } else if constexpr (kIsFloat<To>) {
        const auto value = number(from);
        if (!raw) {
            to = to_float<To>(static_cast<double>(value) / static_cast<double>(greatest<From>()));
        } else if constexpr (std::is_same_v<To, half>) {
            to = half(static_cast<float>(value));
        } else {
            to = static_cast<To>(value);
        }
    } else if constexpr (std::is_same_v<To, Bool8>) {
        const auto value = number(from);
        to = static_cast<Bool8>(value != 0);
        return !raw || value == 0 || value == 1;
    } else if constexpr (std::is_same_v<From, Bool8>) {
        to = from == Bool8{} ? To{0} : raw ? To{1} : greatest<To>();
    } else {
        to = static_cast<To>(from);
        return std::in_range<To>(from);
    }
    return true;
}

/// Whether a limit of the integer type, and not rounding alone, decides what is stored.
template <class To>
bool is_clipped(double value, bool raw) {
    const double most = static_cast<double>(greatest<To>());
    const double limit = std::is_signed_v<To> ? (raw ? static_cast<double>(std::numeric_limits<To>::min()) : -most) : 0;
    const double scaled = raw ? value : value * most;
    return scaled < limit - 0.5 || scaled >= most + 0.5;
}

}  // namespace

double integer_span(ir::Type type) {
    double result = 0;
    with_type(type, [&]<class T>(T) {
        if constexpr (!kIsFloat<T>) {
            result = static_cast<double>(greatest<T>());
            if constexpr (std::is_signed_v<T>) result -= static_cast<double>(std::numeric_limits<T>::min());
        }
    });
    return result;
}

void ValueRange::add(const ValueRange& other) {
    nans += other.nans;
    clipped += other.clipped;
    if (other.least.empty()) return;
    if (least.empty() || other.least_value < least_value) {
        least = other.least;
        least_value = other.least_value;
    }
    if (greatest.empty() || other.greatest_value > greatest_value) {
        greatest = other.greatest;
        greatest_value = other.greatest_value;
    }
}

ValueRange value_range(const Array& array, ir::Type stored, Scaling scaling) {
    ValueRange result;
    const bool raw = scaling == Scaling::Raw;
    with_type(array.type, [&]<class From>(From) {
        with_type(stored, [&]<class To>(To) {
            const std::size_t count = array.data.size() / sizeof(From);
            using Number = decltype(number(From{}));
            std::optional<Number> least, greatest_one;
            for (std::size_t i = 0; i < count; ++i) {
                From element;
                std::memcpy(&element, array.data.data() + i * sizeof element, sizeof element);
                const Number value = number(element);
                if constexpr (kIsFloat<From>) {
                    if (std::isnan(value)) {
                        ++result.nans;
                        continue;
                    }
                    if constexpr (!kIsFloat<To>) result.clipped += is_clipped<To>(value, raw) ? 1 : 0;
                }
                if (!least || value < *least) least = value;
                if (!greatest_one || value > *greatest_one) greatest_one = value;
            }
            if (!least) return;
            result.least_value = static_cast<long double>(*least);
            result.greatest_value = static_cast<long double>(*greatest_one);
            if constexpr (kIsFloat<From>) {
                result.least = fmt::format("{:.6g}", *least);
                result.greatest = fmt::format("{:.6g}", *greatest_one);
            } else {
                result.least = fmt::format("{}", *least);
                result.greatest = fmt::format("{}", *greatest_one);
            }
        });
    });
    return result;
}

Converted convert(Array array, ir::Type to, Scaling scaling) {
    if (array.type == to) return {std::move(array), std::nullopt};
    Converted result{Array(to, array.extents), std::nullopt};
    const std::size_t size = array.size();
    with_type(array.type, [&](auto from_tag) {
        with_type(to, [&](auto to_tag) {
            using From = decltype(from_tag);
            using To = decltype(to_tag);
            const auto* from = reinterpret_cast<const From*>(array.data.data());
            auto* target = reinterpret_cast<To*>(result.array.data.data());
            for (std::size_t i = 0; i < size; ++i) {
                if (!convert_one(from[i], target[i], scaling == Scaling::Raw) && !result.misfit) {
                    result.misfit = Misfit{i, std::to_string(number(from[i]))};
                }
            }
        });
    });
    return result;
}

Array to_gray(const Array& image) {
    const std::int64_t channels = image.extents[2];
    if (channels < 3) return select_channels(image, {0});
    Array result(image.type, {image.extents[0], image.extents[1], 1});
    with_type(image.type, [&](auto tag) {
        using T = decltype(tag);
        const auto* from = reinterpret_cast<const T*>(image.data.data());
        auto* to = reinterpret_cast<T*>(result.data.data());
        for (std::size_t i = 0; i < result.size(); ++i, from += channels) {
            const auto value = [&](int c) { return static_cast<double>(number(from[c])); };
            const double luma = 0.2126 * value(0) + 0.7152 * value(1) + 0.0722 * value(2);
            if constexpr (kIsFloat<T>) {
                to[i] = to_float<T>(luma);
            } else {
                to[i] = float_to_int<T>(luma, true);
            }
        }
    });
    return result;
}

Array select_channels(const Array& image, const std::vector<int>& channels) {
    Array result(image.type, {image.extents[0], image.extents[1], static_cast<std::int64_t>(channels.size())});
    const auto width = static_cast<std::size_t>(ir::bytes(image.type));
    const Extents plane = {image.extents[0], image.extents[1]};
    const auto strides = [](const Array& a) { return Extents{a.extents[1] * a.extents[2], a.extents[2]}; };
    for (std::size_t i = 0; i < channels.size(); ++i) {
        copy_strided(image.type, plane, image.data.data() + static_cast<std::size_t>(channels[i]) * width,
                     strides(image), result.data.data() + i * width, strides(result));
    }
    return result;
}

}  // namespace pipec::runner
