// Arithmetic as the language defines it: what C++ leaves undefined or does otherwise.
#include "codegen/emit/c/helper_texts.h"

namespace pipec::codegen {

namespace {

const Helper kNumberHelpers[] = {
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
    {"min_halves",
     {},
     R"(// The smaller of each 16-bit half.
inline std::uint32_t min_halves(std::uint32_t a, std::uint32_t b) {
#ifdef __CUDA_ARCH__
    return __vminu2(a, b);
#else
    const std::uint32_t low = (a & 65535u) < (b & 65535u) ? a : b, high = a >> 16 < b >> 16 ? a : b;
    return (low & 65535u) | (high & 4294901760u);
#endif
}
)"},
    {"max_halves",
     {},
     R"(// The larger of each 16-bit half.
inline std::uint32_t max_halves(std::uint32_t a, std::uint32_t b) {
#ifdef __CUDA_ARCH__
    return __vmaxu2(a, b);
#else
    const std::uint32_t low = (a & 65535u) > (b & 65535u) ? a : b, high = a >> 16 > b >> 16 ? a : b;
    return (low & 65535u) | (high & 4294901760u);
#endif
}
)"},
    {"opaque_neg",
     {},
     R"(#ifdef __CUDA_ARCH__
// -a of at most 32 bits, and ptxas does not know it: that of CUDA 13.0 forgets the sign of -a where it makes one
// instruction of min(min(-a, b), c), for devices of capability 9.0.
template <class T>
inline T opaque_neg(T a) {
    std::int32_t negative;
    asm("{ .reg .b32 inverse; not.b32 inverse, %1; add.s32 %0, inverse, 1; }" : "=r"(negative) : "r"(std::int32_t{a}));
    return static_cast<T>(negative);
}
#endif
)"},
    {"positive_part",
     {},
     R"(// max(a, 0) of at most 32 bits, where `a` is a minimum or maximum, and ptxas does not know it: that of CUDA 13.0 makes
// one instruction of max(min(a, b), 0), and of max(max(a, b), 0), for devices of capability 9.0, and takes its second
// result for whether it equals b, which it is not.
template <class T>
inline T positive_part(T a) {
#ifdef __CUDA_ARCH__
    std::int32_t positive;
    asm("{ .reg .b32 sign; shr.s32 sign, %1, 31; not.b32 sign, sign; and.b32 %0, %1, sign; }"
        : "=r"(positive)
        : "r"(std::int32_t{a}));
    return static_cast<T>(positive);
#else
    return a < 0 ? 0 : a;
#endif
}
)"},
    {"wrap_neg",
     {"Bits", "opaque_neg"},
     R"(template <class T>
constexpr T wrap_neg(T a) {
#ifdef __CUDA_ARCH__
    if constexpr (std::is_signed_v<T> && sizeof(T) <= 4)
        return opaque_neg(a);
    else
#endif
    return static_cast<T>(Bits<T>{0} - static_cast<Bits<T>>(a));
}
)"},
    {"divide_by",
     {},
     R"(// x / divisor, rounded once like the division but without its branch, for odd integers below 2^22: x is no odd
// multiple of half a unit in the last place of the quotient, and stays further from those than what the second step
// is off. A rest of 0 (an exact quotient, also of 0) or NaN (of infinity and NaN) leaves the first step's result.
inline float divide_by(float x, float divisor, float reciprocal) {
    const float quotient = x * reciprocal;
    const float rest = fmaf(-quotient, divisor, x);
    return fabsf(rest) > 0.0f ? fmaf(rest, reciprocal, quotient) : quotient;
}
)"},
    {"Rare",
     {},
     R"(// What was seen of the operands of `quotient` and `root`.
struct Rare {
    std::uint32_t least = UINT32_MAX;  // of the bits of 2 |x| - 1, so that 0 is not small
    float most = 0.0f;
};
)"},
    {"is_rare",
     {"Rare"},
     R"(// Some operand was tiny, huge or infinite: results may be off by a unit in the last place, or more.
inline bool is_rare(const Rare& rare) {
    constexpr std::uint32_t tiny = 2u * (127u - 60u) << 23;  // 2^-60
    return rare.least < tiny || rare.most > 0x1p60f;
}
)"},
    {"note_small",
     {"Rare"},
     R"(inline void note_small(float x, Rare& rare) {
    std::uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    bits = 2u * bits - 1u;
    rare.least = bits < rare.least ? bits : rare.least;
}
)"},
    {"quotient_by",
     {},
     R"(// x / divisor, rounded once like the division but without its branch: high + low is the reciprocal, and pipec has
// found that no x / divisor is so close to the middle between two floats that its error matters.
inline float quotient_by(float x, float high, float low) {
    return fmaf(x, high, x * low);
}
)"},
    {"noted_quotient_by",
     {"quotient_by", "note_small"},
     R"(// The same, unless `is_rare`.
inline float noted_quotient_by(float x, float high, float low, Rare& rare) {
    note_small(x, rare);
    return quotient_by(x, high, low);
}
)"},
    {"quotient",
     {"note_small"},
     R"(// a / b, rounded once like the division but without its branch, unless `is_rare`.
inline float quotient(float a, float b, Rare& rare) {
#ifdef __CUDA_ARCH__
    float reciprocal;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(b));
#else
    float reciprocal = 1.0f / b;
#endif
    note_small(a, rare);
    rare.most = fmaxf(rare.most, fmaxf(fabsf(a), fmaxf(fabsf(b), fabsf(reciprocal))));
    reciprocal = fmaf(fmaf(-b, reciprocal, 1.0f), reciprocal, reciprocal);
    const float first = a * reciprocal;
    const float second = fmaf(fmaf(-b, first, a), reciprocal, first);
    return copysignf(fmaf(fmaf(-b, second, a), reciprocal, second), first);  // -0 + 0 is 0
}
)"},
    {"root",
     {"note_small"},
     R"(// The square root, rounded once, without a branch, unless `is_rare`.
inline float root(float x, Rare& rare) {
    const float positive = fmaxf(x, 0x1p-120f);
#ifdef __CUDA_ARCH__
    float reciprocal;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(positive));
#else
    const float reciprocal = 1.0f / sqrtf(positive);
#endif
    note_small(x, rare);
    rare.most = fmaxf(rare.most, fmaxf(x, -0x1p127f * x));  // a negative x is huge
    const float first = x * reciprocal;
    return fmaf(fmaf(-first, first, x), 0.5f * reciprocal, first);
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
    {"floor_div_by_positive",
     {},
     R"(// Rounds toward minus infinity, by a divisor above 0.
template <class T>
constexpr T floor_div_by_positive(T a, T b) {
    return static_cast<T>(a / b - (a % b < 0 ? 1 : 0));
}
)"},
    {"floor_mod_by_positive",
     {},
     R"(// Of a divisor above 0: 0 <= rest < b.
template <class T>
constexpr T floor_mod_by_positive(T a, T b) {
    const T rest = static_cast<T>(a % b);
    return static_cast<T>(rest < 0 ? rest + b : rest);
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
    {"in_batches",
     {},
     R"(// add_term(first), ... of all below `end`: sixteen (or fewer, `most`) at a time, so that their loads are made together;
// then of those that are left four, two and one.
template <int batch, class AddTerm>
__device__ __forceinline__ void add_batches(std::int32_t& first, std::uint32_t& left, AddTerm& add_term) {
#pragma unroll 1
    for (; left >= std::uint32_t{batch}; left -= std::uint32_t{batch}, first += batch) {
#pragma unroll
        for (int i = 0; i < batch; ++i) add_term(first + i);
    }
}
template <int most, class AddTerm>
__device__ __forceinline__ void in_batches(std::int32_t first, std::int32_t end, AddTerm add_term) {
    if (first >= end) return;
    std::uint32_t left = static_cast<std::uint32_t>(end) - static_cast<std::uint32_t>(first);
    if constexpr (most >= 16) add_batches<16>(first, left, add_term);
    if constexpr (most >= 4) add_batches<4>(first, left, add_term);
    if ((left & 2) != 0) add_term(first), add_term(first + 1), first += 2;
    if ((left & 1) != 0) add_term(first);
}
)"},
    {"of_lane",
     {},
     R"(// The value that another lane of the warp has; all lanes are here.
template <class T>
__device__ __forceinline__ T of_lane(T value, int lane) {
    return static_cast<T>(__shfl_sync(0xffffffffu, value, lane));
}
)"},
    {"lanes_total",
     {},
     R"(// What the lanes of a warp have, combined in any order: each lane gets it.
template <class T, class Combine>
__device__ __forceinline__ T lanes_total(T value, Combine combine) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        value = combine(value, static_cast<T>(__shfl_xor_sync(0xffffffffu, value, apart)));
    }
    return value;
}
)"},
    {"BlockTree",
     {},
     R"(// What the blocks of a reduction gave, combined in blocks of 64 again, and these likewise: the shape of the tree
// depends on the number of blocks alone, so the result is the same wherever parts of it are computed. A loop over many
// points has a tree for each: what changes once in 64 blocks takes no register, and is not set before the first time.
template <class T>
struct BlockTree {
    T last;      // combines up to 64 blocks
    T upper[3];  // each combines up to 64 results of the level before; the last one has no end
    T identity;
};
template <class T>
inline BlockTree<T> block_tree(T identity) {
    BlockTree<T> tree;
    tree.last = tree.identity = identity;
    return tree;
}
template <class T, class Combine>
inline void add_block(BlockTree<T>& tree, T block, Combine combine) {
    tree.last = combine(tree.last, block);
}
// After each 64 blocks. `blocks`: that were added so far.
template <class T, class Combine>
inline void carry_blocks(BlockTree<T>& tree, unsigned blocks, Combine combine) {
    T result = tree.last;
    tree.last = tree.identity;
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
    for (int up = 0; up < 3; ++up) {
        blocks /= 64;  // results that this level has been given
        const bool is_first = up < 2 ? blocks % 64 == 1 : blocks == 1;
        result = tree.upper[up] = combine(is_first ? tree.identity : tree.upper[up], result);
        if (blocks % 64 != 0) return;
    }
}
template <class T, class Combine>
inline T tree_total(const BlockTree<T>& tree, unsigned blocks, Combine combine) {
    T total = tree.last;
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
    for (int up = 0; up < 3; ++up) {
        blocks /= 64;
        if (blocks == 0) break;
        if (up == 2 || blocks % 64 != 0) total = combine(tree.upper[up], total);
    }
    return total;
}
)"},
    {"add_lane_blocks",
     {"BlockTree", "of_lane"},
     R"(// A block of each lane of a warp, one after the other; a level of the tree has place for those of two warps.
template <class T, class Combine>
__device__ __forceinline__ void add_lane_blocks(BlockTree<T>& tree, T block, Combine combine) {
#pragma unroll
    for (int lane = 0; lane < 32; ++lane) add_block(tree, of_lane(block, lane), combine);
}
)"},
    {"StripTree",
     {},
     R"(// What the blocks of a reduction gave, combined in blocks of 64 again, and these likewise, of points beside each other, which all have as many blocks.
template <class T, int points>
struct StripTree {
    T level[4][points];
    T identity;
    unsigned blocks = 0;
    explicit StripTree(T start) : identity(start) {
        for (T(&one)[points] : level) std::fill(one, one + points, start);
    }
    template <class Combine>
    void add(const T (&block)[points], Combine combine) {
        ++blocks;
        for (int i = 0; i < points; ++i) level[0][i] = combine(level[0][i], block[i]);
        unsigned full = 64;
        for (int up = 1; up < 4 && blocks % full == 0; ++up, full *= 64) {
            for (int i = 0; i < points; ++i) {
                level[up][i] = combine(level[up][i], level[up - 1][i]);
                level[up - 1][i] = identity;
            }
        }
    }
    template <class Combine>
    void total(T (&result)[points], Combine combine) const {
        for (int i = 0; i < points; ++i)
            result[i] = combine(level[3][i], combine(level[2][i], combine(level[1][i], level[0][i])));
    }
};
)"},
    {"exact_add",
     {"wrap_add"},
     R"(// a + b; what leaves the type clears `exact`.
template <class T>
constexpr T exact_add(T a, T b, bool& exact) {
    const T sum = wrap_add(a, b);
    if ((b > 0) != (sum > a)) exact = false;
    return sum;
}
)"},
    {"exact_sub",
     {"wrap_sub"},
     R"(// a - b; what leaves the type clears `exact`.
template <class T>
constexpr T exact_sub(T a, T b, bool& exact) {
    const T difference = wrap_sub(a, b);
    if ((b > 0) != (difference < a)) exact = false;
    return difference;
}
)"},
    {"exact_neg",
     {"wrap_neg"},
     R"(// -a; what leaves the type clears `exact`.
template <class T>
constexpr T exact_neg(T a, bool& exact) {
    const T negative = wrap_neg(a);
    if (a != 0 && (std::is_unsigned_v<T> || negative == a)) exact = false;
    return negative;
}
)"},
    {"exact_mul",
     {"wrap_mul", "exact_neg"},
     R"(// a * b; what leaves the type clears `exact`.
template <class T>
constexpr T exact_mul(T a, T b, bool& exact) {
    if constexpr (std::is_signed_v<T>) {
        if (a == -1) return exact_neg(b, exact);  // the least number / -1 traps
    }
    const T product = wrap_mul(a, b);
    if (a != 0 && product / a != b) exact = false;
    return product;
}
)"},
    {"exact_abs",
     {"wrap_abs"},
     R"(// |a|; what leaves the type clears `exact`.
template <class T>
constexpr T exact_abs(T a, bool& exact) {
    const T magnitude = wrap_abs(a);
    if (magnitude < 0) exact = false;
    return magnitude;
}
)"},
    {"exact_div",
     {"floor_div", "exact_neg"},
     R"(// Floor division; what leaves the type clears `exact`.
template <class T>
constexpr T exact_div(T a, T b, bool& exact) {
    if constexpr (std::is_signed_v<T>) {
        if (b == -1) return exact_neg(a, exact);
    }
    return floor_div(a, b);
}
)"},
    {"exact_shift_left",
     {"shift_left", "shift_right"},
     R"(// a << count; what leaves the type clears `exact`.
template <class T>
constexpr T exact_shift_left(T a, T count, bool& exact) {
    const T shifted = shift_left(a, count);
    if (shift_right(shifted, count) != a) exact = false;
    return shifted;
}
)"},
    {"min_integer",
     {},
     R"(// By value: around the references of std::min g++ makes no vectors.
template <class T>
constexpr T min_integer(T a, T b) {
    return a < b ? a : b;
}
)"},
    {"max_integer",
     {},
     R"(template <class T>
constexpr T max_integer(T a, T b) {
    return a > b ? a : b;
}
)"},
    {"if_number",
     {},
     R"(// `then`, unless `a` is NaN. Both are computed before: g++ makes no vectors of choices within choices.
template <class T>
constexpr T if_number(T a, T then, T otherwise) {
    return a == a ? then : otherwise;
}
)"},
    {"min_number",
     {"if_number"},
     R"(// The smaller one; of a number and a NaN the number.
template <class T>
constexpr T min_number(T a, T b) {
#ifdef __CUDA_ARCH__
    if constexpr (std::is_same_v<T, float>)
        return fminf(a, b);
    else
#endif
    return if_number(a, b < a ? b : a, b);
}
)"},
    {"max_number",
     {"if_number"},
     R"(// The greater one; of a number and a NaN the number.
template <class T>
constexpr T max_number(T a, T b) {
#ifdef __CUDA_ARCH__
    if constexpr (std::is_same_v<T, float>)
        return fmaxf(a, b);
    else
#endif
    return if_number(a, b > a ? b : a, b);
}
)"},
    {"min_of_many",
     {},
     R"(// min_number, for many of them one after the other: g++ takes long for choices within choices.
template <class T>
constexpr T min_of_many(T so_far, T next) {
    const T number = so_far == so_far ? so_far : next;
    return next < number ? next : number;
}
)"},
    {"max_of_many",
     {},
     R"(// max_number, for many of them one after the other.
template <class T>
constexpr T max_of_many(T so_far, T next) {
    const T number = so_far == so_far ? so_far : next;
    return next > number ? next : number;
}
)"},
    {"is_nan",
     {},
     R"(template <class T>
constexpr bool is_nan(T a) {
    return a != a;
}
)"},
    {"Limits",
     {},
     R"(// The ends of an integer type, as constants that need no function.
template <class T>
struct Limits {
    static constexpr T least = std::numeric_limits<T>::min();
    static constexpr T greatest = std::numeric_limits<T>::max();
};
)"},
    {"saturate",
     {"Limits"},
     R"(// An integer cut to the range of another integer type.
template <class To, class From>
constexpr To saturate(From a) {
    constexpr To least = Limits<To>::least, greatest = Limits<To>::greatest;
#ifdef __CUDA_ARCH__
    // Not the other way round: see `positive_part`.
    if constexpr (std::is_signed_v<From> && sizeof(From) <= 4 && std::is_unsigned_v<To> && sizeof(To) < 4)
        return static_cast<To>(min(max(std::int32_t{a}, 0), std::int32_t{greatest}));
#endif
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
     {"Limits"},
     R"(// Truncates; beyond the integer's range its nearest end, 0 for NaN.
template <class To, class From>
constexpr To to_integer(From a) {
    constexpr To least = Limits<To>::least, greatest = Limits<To>::greatest;
#ifdef __CUDA_ARCH__
    // The instruction for 32 bits does just this; smaller types are cut from int32.
    if constexpr (std::is_same_v<From, float> && std::is_same_v<To, std::uint32_t>) {
        return __float2uint_rz(a);
    } else if constexpr (std::is_same_v<From, float> && sizeof(To) <= 4) {
        const int wide = __float2int_rz(a);
        return static_cast<To>(wide < least ? least : wide > greatest ? greatest : wide);
    } else
#endif
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
#ifdef __CUDA_ARCH__
    return __half2float(__ushort_as_half(bits));
#else
    const std::uint32_t magnitude = bits & 0x7fffu;
    // The exponent's bias is 112 more, and once again for infinity and NaN.
    const std::uint32_t normal = (magnitude << 13) + (magnitude >= 0x7c00u ? 0x70000000u : 0x38000000u);
    const float small = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f;  // zero and subnormals
    std::uint32_t single;
    std::memcpy(&single, &small, sizeof single);
    single = (magnitude < 0x0400u ? single : normal) | static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    float value;
    std::memcpy(&value, &single, sizeof value);
    return value;
#endif
}
)"},
    {"float_to_half",
     {},
     R"(// The bits of the nearest float16, ties to even.
inline std::uint16_t float_to_half(float value) {
#ifdef __CUDA_ARCH__
    return __half_as_ushort(__float2half_rn(value));
#else
    std::uint32_t single;
    std::memcpy(&single, &value, sizeof single);
    const std::uint32_t sign = (single >> 16) & 0x8000u;
    const std::uint32_t magnitude = single & 0x7fffffffu;
    const std::uint32_t normal = (magnitude - 0x38000000u + 0x0fffu + ((magnitude >> 13) & 1u)) >> 13;
    // Below 2^-14 the unit is 2^-24, which is the last place of numbers from 0.5 to 1: the sum rounds to it.
    const float shifted = std::fabs(value) + 0.5f;
    std::uint32_t small;
    std::memcpy(&small, &shifted, sizeof small);
    std::uint32_t half = magnitude < 0x38800000u ? small - 0x3f000000u : normal;
    half = magnitude >= 0x477ff000u ? 0x7c00u : half;  // 65520 and more round to infinity
    half = magnitude > 0x7f800000u ? 0x7e00u : half;   // NaN
    return static_cast<std::uint16_t>(sign | half);
#endif
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
#ifdef __CUDA_ARCH__
    return __half2float(__double2half(value));
#else
    float single = static_cast<float>(value);
    if (value == value && std::fabs(value) < 65536.0 && static_cast<double>(single) != value) {
        std::uint32_t bits;
        std::memcpy(&bits, &single, sizeof bits);
        if (std::fabs(static_cast<double>(single)) > std::fabs(value)) bits -= 1;  // toward zero
        bits |= 1u;
        std::memcpy(&single, &bits, sizeof bits);
    }
    return round_half(single);
#endif
}
)"},
};

}  // namespace

std::span<const Helper> number_helpers() {
    return kNumberHelpers;
}

}  // namespace pipec::codegen
