// Compiled pipelines written by hand after docs/generated-code.md: each copies its input `in` to its output `out`, in
// some element type and layout. They hold the runner to the contract, whatever the compiler makes of it.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "runner/pipe_abi.h"

using namespace pipec::runner::abi;

namespace {

constexpr int kMaxRank = 4;

struct Args {
    const unsigned char* in;
    std::int64_t in_extent[kMaxRank], in_stride[kMaxRank];
    unsigned char* out;
    std::int64_t out_extent[kMaxRank], out_stride[kMaxRank];
};

void defaults(void* args) {
    *static_cast<Args*>(args) = {};
}
std::size_t workspace_size(const void*) {
    return 100;
}

constexpr std::size_t width(pipe_type type) {
    switch (type) {
        case PIPE_BOOL:
        case PIPE_INT8:
        case PIPE_UINT8: return 1;
        case PIPE_INT16:
        case PIPE_UINT16:
        case PIPE_FLOAT16: return 2;
        case PIPE_INT32:
        case PIPE_UINT32:
        case PIPE_FLOAT32: return 4;
        default: return 8;
    }
}

/// One pipeline: an element type, a rank, and for each dimension its place in memory and its constant extent or 0.
template <pipe_type Type, int Rank, int... OrderThenFixed>
struct Copy {
    static constexpr int kNumbers[] = {OrderThenFixed...};
    static_assert(sizeof...(OrderThenFixed) == 2 * Rank);
    static constexpr const int* order() { return kNumbers; }
    static constexpr std::int64_t fixed(int dim) { return kNumbers[Rank + dim]; }

    static bool fits(const Args& a) {
        for (int d = 0; d < Rank; ++d) {
            if (a.in_extent[d] < 1 || (fixed(d) != 0 && a.in_extent[d] != fixed(d))) return false;
        }
        return true;
    }
    static pipe_status resolve(void* args) {
        auto& a = *static_cast<Args*>(args);
        if (!fits(a)) return 2;
        std::int64_t step = 1;
        for (int i = Rank; i-- > 0;) {
            const int d = order()[i];
            a.out_extent[d] = a.in_extent[d];
            a.in_stride[d] = a.out_stride[d] = step;
            step *= a.in_extent[d];
        }
        return PIPE_OK;
    }
    static pipe_status check(const void* args, char* message, std::size_t size) {
        const bool good = fits(*static_cast<const Args*>(args));
        std::snprintf(message, size, good ? "" : "`in` has a wrong extent");
        return good ? PIPE_OK : 2;
    }
    static pipe_status launch(const void* args, void* workspace, std::size_t bytes, void* stream) {
        const auto& a = *static_cast<const Args*>(args);
        if (workspace == nullptr || reinterpret_cast<std::uintptr_t>(workspace) % 64 != 0) return 9;
        if (bytes < 100 || stream != nullptr) return 9;
        std::memset(workspace, 0xEE, bytes);
        copy(a, 0, 0, 0);
        return PIPE_OK;
    }
    static void copy(const Args& a, int dim, std::int64_t from, std::int64_t to) {
        constexpr auto kWidth = static_cast<std::int64_t>(width(Type));
        if (dim == Rank) {
            std::memcpy(a.out + to * kWidth, a.in + from * kWidth, static_cast<std::size_t>(kWidth));
            return;
        }
        for (std::int64_t i = 0; i < a.in_extent[dim]; ++i) {
            copy(a, dim + 1, from + i * a.in_stride[dim], to + i * a.out_stride[dim]);
        }
    }
    static const pipe_info* info(const char* name, const char* target = "host", int version = 1) {
        static std::int64_t fixed_extents[Rank];
        static char text[Rank][16];
        static const char* texts[Rank];
        for (int d = 0; d < Rank; ++d) {
            fixed_extents[d] = fixed(d);
            std::snprintf(text[d], sizeof text[d], fixed(d) != 0 ? "%d" : "%c",
                          fixed(d) != 0 ? int(fixed(d)) : 'P' + d);
            texts[d] = text[d];
        }
        static const pipe_buffer_info buffers[] = {
            {"in", Type, Rank, 0, order(), fixed_extents, texts, offsetof(Args, in), offsetof(Args, in_extent),
             offsetof(Args, in_stride)},
            {"out", Type, Rank, 1, order(), fixed_extents, texts, offsetof(Args, out), offsetof(Args, out_extent),
             offsetof(Args, out_stride)}};
        static pipe_info result;
        result = {version,      name,   2,        buffers, 0,     nullptr,        0,     nullptr,
                  sizeof(Args), target, defaults, resolve, check, workspace_size, launch};
        return &result;
    }
};

}  // namespace

#define COPY(name, ...)                         \
    extern "C" const pipe_info* name##_info() { \
        return Copy<__VA_ARGS__>::info(#name);  \
    }

COPY(bool_gray, PIPE_BOOL, 2, 0, 1, 0, 0)
COPY(int8_gray, PIPE_INT8, 2, 0, 1, 0, 0)
COPY(int16_gray, PIPE_INT16, 2, 0, 1, 0, 0)
COPY(int32_gray, PIPE_INT32, 2, 0, 1, 0, 0)
COPY(int64_gray, PIPE_INT64, 2, 0, 1, 0, 0)
COPY(uint8_gray, PIPE_UINT8, 2, 0, 1, 0, 0)
COPY(uint16_gray, PIPE_UINT16, 2, 0, 1, 0, 0)
COPY(uint32_gray, PIPE_UINT32, 2, 0, 1, 0, 0)
COPY(uint64_gray, PIPE_UINT64, 2, 0, 1, 0, 0)
COPY(float16_gray, PIPE_FLOAT16, 2, 0, 1, 0, 0)
COPY(float32_gray, PIPE_FLOAT32, 2, 0, 1, 0, 0)
COPY(float64_gray, PIPE_FLOAT64, 2, 0, 1, 0, 0)
COPY(column_major, PIPE_UINT8, 2, 1, 0, 0, 0)
COPY(planar, PIPE_UINT8, 3, 0, 1, 2, 3, 0, 0)
COPY(planar_stored_interleaved, PIPE_UINT8, 3, 1, 2, 0, 3, 0, 0)
COPY(interleaved, PIPE_UINT8, 3, 0, 1, 2, 0, 0, 3)
COPY(by_row, PIPE_UINT8, 3, 0, 1, 2, 0, 3, 0)
COPY(rgba, PIPE_UINT8, 3, 0, 1, 2, 4, 0, 0)
COPY(one_channel, PIPE_UINT8, 3, 0, 1, 2, 1, 0, 0)
COPY(any_channels, PIPE_UINT8, 3, 0, 1, 2, 0, 0, 0)
COPY(all_constant, PIPE_UINT8, 3, 0, 1, 2, 3, 4, 3)
COPY(float32_planar, PIPE_FLOAT32, 3, 0, 1, 2, 3, 0, 0)
COPY(row, PIPE_UINT8, 1, 0, 0)
COPY(four, PIPE_INT16, 4, 3, 1, 0, 2, 0, 0, 0, 0)

extern "C" const pipe_info* from_the_future_info() {
    return Copy<PIPE_UINT8, 1, 0, 5>::info("from_the_future", "host", 2);
}
extern "C" const pipe_info* on_cuda_info() {
    return Copy<PIPE_UINT8, 1, 0, 5>::info("on_cuda", "cuda");
}
extern "C" const pipe_info* on_toaster_info() {
    return Copy<PIPE_UINT8, 1, 0, 5>::info("on_toaster", "toaster");
}
/// CUDA refuses its kernel.
extern "C" const pipe_info* refused_by_cuda_info() {
    static pipe_info result = *Copy<PIPE_UINT8, 1, 0, 0>::info("refused_by_cuda", "cuda");
    result.launch = [](const void*, void*, std::size_t, void*) { return PIPE_ERROR_DEVICE; };
    return &result;
}
