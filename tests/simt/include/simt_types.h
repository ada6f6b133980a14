// CUDA's vector types, with CUDA's alignments: a misaligned access to one is a fault.
#pragma once

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) {
    return {x, y, z};
}

#define SIMT_VECTORS_124(name, T, align2, align4)       \
    struct name##1 {                                    \
        T x;                                            \
    };                                                  \
    struct alignas(align2) name##2 {                    \
        T x, y;                                         \
    };                                                  \
    struct alignas(align4) name##4 {                    \
        T x, y, z, w;                                   \
    };                                                  \
    inline name##1 make_##name##1(T x) {                \
        return {x};                                     \
    }                                                   \
    inline name##2 make_##name##2(T x, T y) {           \
        return {x, y};                                  \
    }                                                   \
    inline name##4 make_##name##4(T x, T y, T z, T w) { \
        return {x, y, z, w};                            \
    }
#define SIMT_VECTORS(name, T, align2, align4)      \
    SIMT_VECTORS_124(name, T, align2, align4)      \
    struct name##3 {                               \
        T x, y, z;                                 \
    };                                             \
    inline name##3 make_##name##3(T x, T y, T z) { \
        return {x, y, z};                          \
    }

SIMT_VECTORS(char, signed char, 2, 4)
SIMT_VECTORS(uchar, unsigned char, 2, 4)
SIMT_VECTORS(short, short, 4, 8)
SIMT_VECTORS(ushort, unsigned short, 4, 8)
SIMT_VECTORS(int, int, 8, 16)
SIMT_VECTORS_124(uint, unsigned, 8, 16)
SIMT_VECTORS(longlong, long long, 16, 16)
SIMT_VECTORS(ulonglong, unsigned long long, 16, 16)
SIMT_VECTORS(float, float, 8, 16)
SIMT_VECTORS(double, double, 16, 16)

#undef SIMT_VECTORS
#undef SIMT_VECTORS_124
