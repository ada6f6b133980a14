// The runner's view of a pipeline's tables (runner/pipe_abi.h) against the one in a header that pipec has just written.
#include "abi_example.h"

#include <gtest/gtest.h>

#include <cstring>
#include <type_traits>

#include "runner/pipe_abi.h"

namespace view = pipec::runner::abi;

#define SAME_FIELD(Struct, field)                                             \
    static_assert(offsetof(Struct, field) == offsetof(view::Struct, field) && \
                  sizeof(Struct::field) == sizeof(view::Struct::field) &&     \
                  std::is_pointer_v<decltype(Struct::field)> == std::is_pointer_v<decltype(view::Struct::field)>)

static_assert(sizeof(pipe_buffer_info) == sizeof(view::pipe_buffer_info));
SAME_FIELD(pipe_buffer_info, name);
SAME_FIELD(pipe_buffer_info, type);
SAME_FIELD(pipe_buffer_info, rank);
SAME_FIELD(pipe_buffer_info, is_output);
SAME_FIELD(pipe_buffer_info, order);
SAME_FIELD(pipe_buffer_info, fixed_extent);
SAME_FIELD(pipe_buffer_info, extent_text);
SAME_FIELD(pipe_buffer_info, data_offset);
SAME_FIELD(pipe_buffer_info, extent_offset);
SAME_FIELD(pipe_buffer_info, stride_offset);

static_assert(sizeof(pipe_window_fields) == sizeof(view::pipe_window_fields));
SAME_FIELD(pipe_window_fields, lo_offset);
SAME_FIELD(pipe_window_fields, hi_offset);

static_assert(sizeof(pipe_window_info) == sizeof(view::pipe_window_info));
SAME_FIELD(pipe_window_info, version);
SAME_FIELD(pipe_window_info, window_size);
SAME_FIELD(pipe_window_info, buffers);
SAME_FIELD(pipe_window_info, required);
SAME_FIELD(pipe_window_info, check_window);
SAME_FIELD(pipe_window_info, window_workspace_size);
SAME_FIELD(pipe_window_info, launch_window);

static_assert(sizeof(pipe_scalar_info) == sizeof(view::pipe_scalar_info));
SAME_FIELD(pipe_scalar_info, name);
SAME_FIELD(pipe_scalar_info, type);
SAME_FIELD(pipe_scalar_info, has_default);
SAME_FIELD(pipe_scalar_info, offset);

static_assert(sizeof(pipe_info) == sizeof(view::pipe_info));
SAME_FIELD(pipe_info, version);
SAME_FIELD(pipe_info, name);
SAME_FIELD(pipe_info, buffer_count);
SAME_FIELD(pipe_info, buffers);
SAME_FIELD(pipe_info, parameter_count);
SAME_FIELD(pipe_info, parameters);
SAME_FIELD(pipe_info, size_count);
SAME_FIELD(pipe_info, sizes);
SAME_FIELD(pipe_info, args_size);
SAME_FIELD(pipe_info, target);
SAME_FIELD(pipe_info, defaults);
SAME_FIELD(pipe_info, resolve);
SAME_FIELD(pipe_info, check);
SAME_FIELD(pipe_info, workspace_size);
SAME_FIELD(pipe_info, launch);

static_assert(std::is_same_v<pipe_status, view::pipe_status> && PIPE_OK == view::PIPE_OK &&
              int(PIPE_ERROR_EXTENT) == view::PIPE_ERROR_EXTENT);
static_assert(int(PIPE_BOOL) == int(view::PIPE_BOOL) && int(PIPE_INT8) == int(view::PIPE_INT8) &&
              int(PIPE_INT64) == int(view::PIPE_INT64) && int(PIPE_UINT8) == int(view::PIPE_UINT8) &&
              int(PIPE_UINT64) == int(view::PIPE_UINT64) && int(PIPE_FLOAT16) == int(view::PIPE_FLOAT16) &&
              int(PIPE_FLOAT32) == int(view::PIPE_FLOAT32) && int(PIPE_FLOAT64) == int(view::PIPE_FLOAT64));

// The tables of a real pipeline, read through the runner's types.
TEST(Abi, ATableReadsTheSame) {
    const auto* info = reinterpret_cast<const view::pipe_info*>(abi_example_info());
    EXPECT_STREQ(info->name, "abi_example");
    EXPECT_STREQ(info->target, "host");
    ASSERT_EQ(info->buffer_count, 2);
    EXPECT_STREQ(info->buffers[0].name, "img");
    EXPECT_EQ(info->buffers[0].type, view::PIPE_UINT8);
    ASSERT_EQ(info->buffers[0].rank, 3);
    EXPECT_EQ(info->buffers[0].is_output, 0);
    EXPECT_EQ(info->buffers[0].order[0], 1);
    EXPECT_EQ(info->buffers[0].order[2], 0);
    EXPECT_EQ(info->buffers[0].fixed_extent[0], 3);
    EXPECT_EQ(info->buffers[0].fixed_extent[1], 0);
    EXPECT_STREQ(info->buffers[0].extent_text[1], "R + 2");
    EXPECT_EQ(info->buffers[0].extent_offset, offsetof(abi_example_args, img_extent));
    EXPECT_STREQ(info->buffers[1].name, "out");
    EXPECT_EQ(info->buffers[1].is_output, 1);
    ASSERT_EQ(info->parameter_count, 1);
    EXPECT_STREQ(info->parameters[0].name, "k");
    EXPECT_EQ(info->parameters[0].type, view::PIPE_FLOAT16);
    EXPECT_EQ(info->parameters[0].offset, offsetof(abi_example_args, k));
    EXPECT_EQ(info->args_size, sizeof(abi_example_args));
    const auto* windows = reinterpret_cast<const view::pipe_window_info*>(abi_example_window_info());
    EXPECT_EQ(windows->window_size, sizeof(abi_example_window));
    EXPECT_EQ(windows->buffers[1].hi_offset, offsetof(abi_example_window, out_hi));
}
