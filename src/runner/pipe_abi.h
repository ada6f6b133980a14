// What a compiled pipeline tells about itself: the runtime part of the generated headers (docs/generated-code.md), as
// the runner sees it. A test compiles this next to a generated header and compares the two field by field.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pipec::runner::abi {

using pipe_status = std::int32_t;
inline constexpr pipe_status PIPE_OK = 0;
// In the low 8 bits:
inline constexpr pipe_status PIPE_ERROR_EXTENT = 2;
inline constexpr pipe_status PIPE_ERROR_DEVICE = 10;

/// The order is that of ir::Type.
enum pipe_type : unsigned {
    PIPE_BOOL,
    PIPE_INT8,
    PIPE_INT16,
    PIPE_INT32,
    PIPE_INT64,
    PIPE_UINT8,
    PIPE_UINT16,
    PIPE_UINT32,
    PIPE_UINT64,
    PIPE_FLOAT16,
    PIPE_FLOAT32,
    PIPE_FLOAT64
};

struct pipe_buffer_info {
    const char* name;
    pipe_type type;
    int rank;
    int is_output;
    const int* order;                                       ///< dimensions, outermost first
    const std::int64_t* fixed_extent;                       ///< per dimension: the extent if it is a constant, else 0
    const char* const* extent_text;                         ///< per dimension: "R + 2"
    std::size_t data_offset, extent_offset, stride_offset;  ///< of the fields in the argument struct
};

/// A scalar parameter, or a size that the caller must pass (an int64).
struct pipe_scalar_info {
    const char* name;
    pipe_type type;
    int has_default;
    std::size_t offset;
};

/// The version of the tables that this header describes.
constexpr int kVersion = 1;

struct pipe_info {
    int version;
    const char* name;
    int buffer_count;
    const pipe_buffer_info* buffers;  ///< inputs, then outputs
    int parameter_count;
    const pipe_scalar_info* parameters;
    int size_count;
    const pipe_scalar_info* sizes;
    std::size_t args_size;
    const char* target;  ///< "host" or "cuda"
    void (*defaults)(void* args);
    pipe_status (*resolve)(void* args);
    pipe_status (*check)(const void* args, char* message, std::size_t size);
    std::size_t (*workspace_size)(const void* args);
    pipe_status (*launch)(const void* args, void* workspace, std::size_t bytes, void* stream);
};

using InfoFunction = const pipe_info* (*)();

struct pipe_window_fields {
    std::size_t lo_offset, hi_offset;
};

struct pipe_window_info {
    int version;
    std::size_t window_size;
    const pipe_window_fields* buffers;  ///< inputs, then outputs
    pipe_status (*required)(const void* args, void* window);
    pipe_status (*check_window)(const void* args, const void* window, char* message, std::size_t size);
    std::size_t (*window_workspace_size)(const void* args, const void* window);
    pipe_status (*launch_window)(const void* args, const void* window, void* workspace, std::size_t bytes,
                                 void* stream);
};

using WindowInfoFunction = const pipe_window_info* (*)();

}  // namespace pipec::runner::abi
