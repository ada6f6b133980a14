// Texts of the helper functions.
#include "codegen/helpers.h"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace pipec::codegen {

namespace {

struct Helper {
    std::string_view name;
    std::array<std::string_view, 2> needs;  ///< all stand before it in the table
    std::string_view text;
};

const Helper kHelpers[] = {
    {"Bits",
     {},
     R"(// The unsigned type in which arithmetic on T wraps: no narrower than unsigned, so that nothing promotes to int.
template <class T>
using Bits = std::common_type_t<unsigned, std::make_unsigned_t<T>>;
)"},
    {"wrap_add",
     {"Bits"},
     R"(template <class T>
constexpr T wrap_add(T a, T b) {
    return static_cast<T>(static_cast<Bits<T>>(a) + static_cast<Bits<T>>(b));
}
)"},
    {"wrap_sub",
     {"Bits"},
     R"(template <class T>
constexpr T wrap_sub(T a, T b) {
    return static_cast<T>(static_cast<Bits<T>>(a) - static_cast<Bits<T>>(b));
}
)"},
    {"wrap_mul",
     {"Bits"},
     R"(template <class T>
constexpr T wrap_mul(T a, T b) {
    return static_cast<T>(static_cast<Bits<T>>(a) * static_cast<Bits<T>>(b));
}
)"},
    {"wrap_neg",
     {"Bits"},
     R"(template <class T>
constexpr T wrap_neg(T a) {
    return static_cast<T>(Bits<T>{0} - static_cast<Bits<T>>(a));
}
)"},
    {"wrap_abs",
     {"wrap_neg"},
     R"(template <class T>
constexpr T wrap_abs(T a) {
    return a < 0 ? wrap_neg(a) : a;
}
)"},
    {"floor_div",
     {"wrap_neg"},
     R"(// Rounds toward minus infinity; 0 where the divisor is 0.
template <class T>
constexpr T floor_div(T a, T b) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
        if (b == -1) return wrap_neg(a);
        return static_cast<T>(a / b - (a % b != 0 && (a % b < 0) != (b < 0)));
    } else {
        return static_cast<T>(a / b);
    }
}
)"},
    {"floor_mod",
     {},
     R"(// Of the divisor's sign; 0 where the divisor is 0.
template <class T>
constexpr T floor_mod(T a, T b) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
        if (b == -1) return 0;
        const T rest = static_cast<T>(a % b);
        return static_cast<T>(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
    } else {
        return static_cast<T>(a % b);
    }
}
)"},
    {"shift_left",
     {"Bits"},
     R"(// Counts modulo the width.
template <class T>
constexpr T shift_left(T a, T count) {
    return static_cast<T>(static_cast<Bits<T>>(a) << (static_cast<std::make_unsigned_t<T>>(count) % (sizeof(T) * 8)));
}
)"},
    {"shift_right",
     {},
     R"(// Counts modulo the width; copies of the sign come in from the left.
template <class T>
constexpr T shift_right(T a, T count) {
    return static_cast<T>(a >> (static_cast<std::make_unsigned_t<T>>(count) % (sizeof(T) * 8)));
}
)"},
    {"min_number",
     {},
     R"(// The smaller one; of a number and a NaN the number.
template <class T>
constexpr T min_number(T a, T b) {
    return b == b ? (a <= b ? a : b) : a;
}
)"},
    {"max_number",
     {},
     R"(// The greater one; of a number and a NaN the number.
template <class T>
constexpr T max_number(T a, T b) {
    return b == b ? (a >= b ? a : b) : a;
}
)"},
    {"saturate",
     {},
     R"(// An integer cut to the range of another integer type.
template <class To, class From>
constexpr To saturate(From a) {
    constexpr To least = std::numeric_limits<To>::min(), greatest = std::numeric_limits<To>::max();
    if constexpr (std::is_signed_v<From>) {
        if (a < 0 && (std::is_unsigned_v<To> || static_cast<std::int64_t>(a) < static_cast<std::int64_t>(least))) {
            return least;
        }
        if (a < 0) return static_cast<To>(a);
    }
    return static_cast<std::uint64_t>(a) > static_cast<std::uint64_t>(greatest) ? greatest : static_cast<To>(a);
}
)"},
    {"to_integer",
     {},
     R"(// Truncates; beyond the integer's range its nearest end, 0 for NaN.
template <class To, class From>
constexpr To to_integer(From a) {
    constexpr To least = std::numeric_limits<To>::min(), greatest = std::numeric_limits<To>::max();
    if constexpr (std::numeric_limits<To>::digits <= 16) {  // both ends are exact floats
        const From number = a == a ? a : From{0};
        const From above = number > From{least} ? number : From{least};
        return static_cast<To>(static_cast<std::int32_t>(above < From{greatest} ? above : From{greatest}));
    } else {
        constexpr From end = From{2} * static_cast<From>(To{1} << (std::numeric_limits<To>::digits - 1));
        constexpr From begin = static_cast<From>(least);
        return a >= end ? greatest : a > begin ? static_cast<To>(a) : a == a ? least : To{0};
    }
}
)"},
    {"half_to_float",
     {},
     R"(// The value of a float16's bits.
inline float half_to_float(std::uint16_t bits) {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    const std::uint32_t magnitude = bits & 0x7fffu;
    std::uint32_t single = sign | ((magnitude << 13) + 0x38000000u);         // the exponent's bias is 112 more
    if (magnitude >= 0x7c00u) single = sign | 0x7f800000u | (magnitude << 13);  // infinity and NaN
    float value;
    std::memcpy(&value, &single, sizeof value);
    if (magnitude < 0x0400u) {  // zero and subnormals: multiples of 2^-24
        value = static_cast<float>(magnitude) * 0x1p-24f;
        return sign != 0 ? -value : value;
    }
    return value;
}
)"},
    {"float_to_half",
     {},
     R"(// The bits of the nearest float16, ties to even.
inline std::uint16_t float_to_half(float value) {
    std::uint32_t single;
    std::memcpy(&single, &value, sizeof single);
    const std::uint32_t sign = (single >> 16) & 0x8000u;
    const std::uint32_t magnitude = single & 0x7fffffffu;
    std::uint32_t half;
    if (magnitude > 0x7f800000u) {
        half = 0x7e00u;  // NaN
    } else if (magnitude >= 0x477ff000u) {
        half = 0x7c00u;  // 65520 and more round to infinity
    } else if (magnitude >= 0x38800000u) {
        half = (magnitude - 0x38000000u + 0x0fffu + ((magnitude >> 13) & 1u)) >> 13;
    } else {
        // Below 2^-14 the unit is 2^-24, which is the last place of numbers from 0.5 to 1: the sum rounds to it.
        float shifted;
        std::memcpy(&shifted, &magnitude, sizeof shifted);
        shifted += 0.5f;
        std::memcpy(&half, &shifted, sizeof half);
        half -= 0x3f000000u;
    }
    return static_cast<std::uint16_t>(sign | half);
}
)"},
    {"round_half",
     {"half_to_float", "float_to_half"},
     R"(// The nearest value that float16 has.
inline float round_half(float value) {
    return half_to_float(float_to_half(value));
}
)"},
    {"double_to_half",
     {"round_half"},
     R"(// The nearest value that float16 has, rounded once: on the way to float the last bit records what was lost.
inline float double_to_half(double value) {
    float single = static_cast<float>(value);
    if (value == value && std::fabs(value) < 65536.0 && static_cast<double>(single) != value) {
        std::uint32_t bits;
        std::memcpy(&bits, &single, sizeof bits);
        if (std::fabs(static_cast<double>(single)) > std::fabs(value)) bits -= 1;  // toward zero
        bits |= 1u;
        std::memcpy(&single, &bits, sizeof bits);
    }
    return round_half(single);
}
)"},
};

const Helper& find(std::string_view name) {
    for (const Helper& helper : kHelpers) {
        if (helper.name == name) return helper;
    }
    throw std::logic_error("no helper " + std::string(name));
}

}  // namespace

std::string_view Helpers::use(std::string_view name) {
    const Helper& helper = find(name);
    if (used_.emplace(name).second) {
        for (const std::string_view needed : helper.needs) {
            if (!needed.empty()) use(needed);
        }
    }
    return helper.name;
}

std::string Helpers::definitions() const {
    std::string out;
    for (const Helper& helper : kHelpers) {
        if (used_.count(helper.name) > 0) out.append(helper.text).append("\n");
    }
    return out;
}

std::vector<std::string_view> helper_names() {
    std::vector<std::string_view> names;
    for (const Helper& helper : kHelpers) names.push_back(helper.name);
    return names;
}

}  // namespace pipec::codegen
