// ---- blur

namespace {
namespace blur_code {
const int order_0[] = {0, 1, 2};
const int64_t fixed_extent_0[] = {3, 0, 0};
const char* const extent_text_0[] = {"3", "R + 2", "C + 2"};
const int order_1[] = {0, 1, 2};
const int64_t fixed_extent_1[] = {3, 0, 0};
const char* const extent_text_1[] = {"3", "R", "C"};
const pipe_buffer_info buffers[] = {
    {"img", PIPE_FLOAT32, 3, 0, order_0, fixed_extent_0, extent_text_0, offsetof(blur_args, img),
        offsetof(blur_args, img_extent), offsetof(blur_args, img_stride)},
    {"out", PIPE_FLOAT32, 3, 1, order_1, fixed_extent_1, extent_text_1, offsetof(blur_args, out),
        offsetof(blur_args, out_extent), offsetof(blur_args, out_stride)},
};

// Everything about one launch that its arguments decide.
struct Plan {
    int32_t R, C;
    Array img, out;
    Space blury;
    size_t regions[1];  // offsets in the workspace
    size_t workspace;  // bytes
};

// Sizes, extents and strides.
[[maybe_unused]] pipe_status resolve_shapes(const blur_args& args, Report& report, Plan& plan) {
    if (const pipe_status status = take_extents(report, buffers, 0, args.img_extent, plan.img)) return status;
    if (const pipe_status status = take_extents(report, buffers, 1, args.out_extent, plan.out)) return status;
    if (const pipe_status status = solve_size(report, buffers, 0, 1, plan.img, 1, 2, "R", 0, {}, plan.R)) return status;
    [[maybe_unused]] const int64_t R = plan.R;
    if (const pipe_status status = solve_size(report, buffers, 0, 2, plan.img, 1, 2, "C", 1, {}, plan.C)) return status;
    [[maybe_unused]] const int64_t C = plan.C;
    if (const pipe_status status = settle_extent(report, buffers, 0, 0, 3, {}, plan.img)) return status;
    if (const pipe_status status = settle_extent(report, buffers, 0, 1, R + 2, {{"R", double(R), "`img`", 10}},
        plan.img)) return status;
    if (const pipe_status status = settle_extent(report, buffers, 0, 2, C + 2, {{"C", double(C), "`img`", 10}},
        plan.img)) return status;
    if (const pipe_status status = settle_extent(report, buffers, 1, 0, 3, {}, plan.out)) return status;
    if (const pipe_status status = settle_extent(report, buffers, 1, 1, R, {{"R", double(R), "`img`", 10}}, plan.out))
        return status;
    if (const pipe_status status = settle_extent(report, buffers, 1, 2, C, {{"C", double(C), "`img`", 10}}, plan.out))
        return status;
    if (const pipe_status status = settle_strides(report, buffers, 0, args.img_stride, plan.img)) return status;
    if (const pipe_status status = settle_strides(report, buffers, 1, args.out_stride, plan.out)) return status;
    return PIPE_OK;
}

// Where each stage is computed, and its part of the workspace. Stages that are never alive together share one.
[[maybe_unused]] pipe_status place_stages([[maybe_unused]] Report& report, Plan& plan) {
    const int64_t R = plan.R;
    const int64_t C = plan.C;
    {
        const int64_t box[][2] = {{0, 3}, {1, R + 1}, {0, C + 2}};
        if (const pipe_status status = place(report, "blury", 3, sizeof(float), box, plan.blury, plan.regions[0]))
            return status;
    }
    return stack_regions(report, plan.regions, 1, plan.workspace);
}

[[maybe_unused]] pipe_status make_plan(const blur_args& args, Report& report, Plan& plan) {
    if (const pipe_status status = resolve_shapes(args, report, plan)) return status;
    return place_stages(report, plan);
}

// No pointer is null or misaligned; outputs share memory with no other buffer.
[[maybe_unused]] pipe_status check_pointers(const blur_args& args, Report& report, const Plan& plan) {
    if (const pipe_status status = check_pointer(report, buffers, 0, args.img)) return status;
    if (const pipe_status status = check_pointer(report, buffers, 1, args.out)) return status;
    const Hull hulls[] = {
        hull_of(buffers[0], args.img, plan.img),
        hull_of(buffers[1], args.out, plan.out),
    };
    for (int output = 1; output < 2; ++output) {
        for (int other = 0; other < output; ++other) {
            if (const pipe_status status = check_overlap(report, buffers, output, hulls[output], other, hulls[other]))
                return status;
        }
    }
    return PIPE_OK;
}

template <bool dense>
using img_view = View<const float, Offset<dense>, 0, 0, dense ? 1 : 0>;
template <bool dense>
using out_view = View<float, Offset<dense>, 0, 0, dense ? 1 : 0>;
template <bool dense>
using blury_view = View<float, Offset<dense>, 0, 0, 1>;

// blur.pipe:2: blury(c, y, x) = (img(c, y - 1, x) + img(c, y, x) + img(c, y + 1, x)) / 3
__global__ void __launch_bounds__(256) blury_wide(img_view<true> img, blury_view<true> blury, int32_t x_tiles,
    int32_t y_tiles, int32_t y_inner_end, int32_t x_inner_end) {
    wait_for_previous_kernel();
    int32_t block_x = int32_t(blockIdx.x);
    __builtin_assume(block_x >= 0);
    int32_t thread_x = int32_t(threadIdx.x);
    __builtin_assume(thread_x >= 0);
    int32_t thread_y = int32_t(threadIdx.y);
    __builtin_assume(thread_y >= 0);
    int32_t x = (block_x % x_tiles * 32 + thread_x) * 4;
    int32_t tile = block_x / x_tiles;
    int32_t y = tile % y_tiles * 8 + thread_y + 1;
    int32_t c = tile / y_tiles;
    if (y < y_inner_end && x + 3 < x_inner_end) {
        auto img_2 = load<4>(img.at(c, y - 1, x));
        auto img_3 = load<4>(img.at(c, y, x));
        auto img_4 = load<4>(img.at(c, y + 1, x));
        store<4>(blury.at(c, y, x), {
            divide_by(img_2[0] + img_3[0] + img_4[0], 3.0f, 0.33333334f),
            divide_by(img_2[1] + img_3[1] + img_4[1], 3.0f, 0.33333334f),
            divide_by(img_2[2] + img_3[2] + img_4[2], 3.0f, 0.33333334f),
            divide_by(img_2[3] + img_3[3] + img_4[3], 3.0f, 0.33333334f),
        });
    } else {
        #pragma unroll 1
        for (int32_t i = 0; i < 4; ++i) {
            int32_t x_i = x + i;
            if (y < y_inner_end && x_i < x_inner_end) {
                blury(c, y, x_i) = divide_by(img(c, y - 1, x_i) + img(c, y, x_i) + img(c, y + 1, x_i), 3.0f,
                    0.33333334f);
            }
        }
    }
}

// blur.pipe:2: blury(c, y, x) = (img(c, y - 1, x) + img(c, y, x) + img(c, y + 1, x)) / 3
template <bool dense>
__global__ void __launch_bounds__(256) blury_kernel(img_view<dense> img, blury_view<dense> blury, int32_t x_tiles,
    int32_t y_tiles, int32_t y_end, int32_t x_end) {
    wait_for_previous_kernel();
    int32_t block_x = int32_t(blockIdx.x);
    __builtin_assume(block_x >= 0);
    int32_t thread_x = int32_t(threadIdx.x);
    __builtin_assume(thread_x >= 0);
    int32_t thread_y = int32_t(threadIdx.y);
    __builtin_assume(thread_y >= 0);
    int32_t x = block_x % x_tiles * 32 + thread_x;
    int32_t tile = block_x / x_tiles;
    int32_t y = tile % y_tiles * 8 + thread_y + 1;
    int32_t c = tile / y_tiles;
    if (y < y_end && x < x_end) {
        blury(c, y, x) = divide_by(img(c, y - 1, x) + img(c, y, x) + img(c, y + 1, x), 3.0f, 0.33333334f);
    }
}

template <bool dense>
pipe_status launch_blury([[maybe_unused]] const Plan& plan, CUstream_st* stream, const img_view<dense>& img,
    const blury_view<dense>& blury) {
    [[maybe_unused]] const int64_t R = plan.R;
    [[maybe_unused]] const int64_t C = plan.C;
    if constexpr (dense) {
        if (img.aligned(16) && blury.aligned(16)) {
            const int64_t x_tiles = (C + 129) >> 7;
            const int64_t y_tiles = (R + 7) >> 3;
            const int64_t launch_grid[] = {x_tiles * y_tiles * 3, 1, 1};
            return launch(stream, blury_wide, launch_grid, dim3(32, 8), img, blury, Argument{x_tiles, 1},
                Argument{y_tiles, 1}, Argument{R + 1}, Argument{C + 2});
        }
    }
    const int64_t x_tiles = (C + 33) >> 5;
    const int64_t y_tiles = (R + 7) >> 3;
    const int64_t launch_grid[] = {x_tiles * y_tiles * 3, 1, 1};
    return launch(stream, blury_kernel<dense>, launch_grid, dim3(32, 8), img, blury, Argument{x_tiles, 1},
        Argument{y_tiles, 1}, Argument{R + 1}, Argument{C + 2});
}

// blur.pipe:4: out(c, y, x)   = blurx(c, y + 1, x + 1)
//   with blur.pipe:3: blurx(c, y, x) = (blury(c, y, x - 1) + blury(c, y, x) + blury(c, y, x + 1)) / 3
__global__ void __launch_bounds__(256) out_wide(ReadOnly<blury_view<true>> blury, out_view<true> out, int32_t R,
    int32_t C, int32_t x_tiles, int32_t y_tiles) {
    wait_for_previous_kernel();
    int32_t block_x = int32_t(blockIdx.x);
    __builtin_assume(block_x >= 0);
    int32_t thread_x = int32_t(threadIdx.x);
    __builtin_assume(thread_x >= 0);
    int32_t thread_y = int32_t(threadIdx.y);
    __builtin_assume(thread_y >= 0);
    int32_t x = (block_x % x_tiles * 32 + thread_x) * 4;
    int32_t tile = block_x / x_tiles;
    int32_t y = tile % y_tiles * 8 + thread_y;
    int32_t c = tile / y_tiles;
    if (y < R && x + 3 < C) {
        auto blury_2 = load<4>(blury.at(c, y + 1, x));
        auto blury_3 = load<2>(blury.at(c, y + 1, x + 4));
        store<4>(out.at(c, y, x), {
            divide_by(blury_2[0] + blury_2[1] + blury_2[2], 3.0f, 0.33333334f),
            divide_by(blury_2[1] + blury_2[2] + blury_2[3], 3.0f, 0.33333334f),
            divide_by(blury_2[2] + blury_2[3] + blury_3[0], 3.0f, 0.33333334f),
            divide_by(blury_2[3] + blury_3[0] + blury_3[1], 3.0f, 0.33333334f),
        });
    } else {
        #pragma unroll 1
        for (int32_t i = 0; i < 4; ++i) {
            int32_t x_i = x + i;
            if (y < R && x_i < C) {
                out(c, y, x_i) = divide_by(blury(c, y + 1, x_i) + blury(c, y + 1, x_i + 1) + blury(c, y + 1, x_i + 2),
                    3.0f, 0.33333334f);
            }
        }
    }
}

// blur.pipe:4: out(c, y, x)   = blurx(c, y + 1, x + 1)
//   with blur.pipe:3: blurx(c, y, x) = (blury(c, y, x - 1) + blury(c, y, x) + blury(c, y, x + 1)) / 3
template <bool dense>
__global__ void __launch_bounds__(256) out_kernel(ReadOnly<blury_view<dense>> blury, out_view<dense> out, int32_t R,
    int32_t C, int32_t x_tiles, int32_t y_tiles) {
    wait_for_previous_kernel();
    int32_t block_x = int32_t(blockIdx.x);
    __builtin_assume(block_x >= 0);
    int32_t thread_x = int32_t(threadIdx.x);
    __builtin_assume(thread_x >= 0);
    int32_t thread_y = int32_t(threadIdx.y);
    __builtin_assume(thread_y >= 0);
    int32_t x = block_x % x_tiles * 32 + thread_x;
    int32_t tile = block_x / x_tiles;
    int32_t y = tile % y_tiles * 8 + thread_y;
    int32_t c = tile / y_tiles;
    if (y < R && x < C) {
        out(c, y, x) = divide_by(blury(c, y + 1, x) + blury(c, y + 1, x + 1) + blury(c, y + 1, x + 2), 3.0f,
            0.33333334f);
    }
}

template <bool dense>
pipe_status launch_out([[maybe_unused]] const Plan& plan, CUstream_st* stream, const blury_view<dense>& blury,
    const out_view<dense>& out) {
    [[maybe_unused]] const int64_t R = plan.R;
    [[maybe_unused]] const int64_t C = plan.C;
    if constexpr (dense) {
        if (blury.aligned(16) && out.aligned(16)) {
            const int64_t x_tiles = (C + 127) >> 7;
            const int64_t y_tiles = (R + 7) >> 3;
            const int64_t launch_grid[] = {x_tiles * y_tiles * 3, 1, 1};
            return launch(stream, out_wide, launch_grid, dim3(32, 8), read_only(blury), out, plan.R, plan.C,
                Argument{x_tiles, 1}, Argument{y_tiles, 1});
        }
    }
    const int64_t x_tiles = (C + 31) >> 5;
    const int64_t y_tiles = (R + 7) >> 3;
    const int64_t launch_grid[] = {x_tiles * y_tiles * 3, 1, 1};
    return launch(stream, out_kernel<dense>, launch_grid, dim3(32, 8), read_only(blury), out, plan.R, plan.C,
        Argument{x_tiles, 1}, Argument{y_tiles, 1});
}

// Launches one kernel after the other. `dense`: arrays are as the views and 32-bit offsets need them.
template <bool dense>
pipe_status run(const blur_args& args, const Plan& plan, [[maybe_unused]] const unsigned char* workspace,
    CUstream_st* stream) {
    [[maybe_unused]] const auto img = view_of<img_view<dense>>(args.img, plan.img);
    [[maybe_unused]] const auto out = view_of<out_view<dense>>(args.out, plan.out);
    [[maybe_unused]] const auto blury = view_of<blury_view<dense>>(workspace + plan.regions[0], plan.blury);
    if (const pipe_status status = launch_blury<dense>(plan, stream, img, blury)) return status;
    if (const pipe_status status = launch_out<dense>(plan, stream, blury, out)) return status;
    return PIPE_OK;
}

}  // namespace blur_code
}  // namespace

extern "C" {
void blur_defaults(blur_args* args) {
    if (args == nullptr) return;
    *args = blur_args{};
}

pipe_status blur_resolve(blur_args* args) {
    if (args == nullptr) return PIPE_ERROR_NULL;
    Report report(nullptr, 0);
    blur_code::Plan plan{};
    if (const pipe_status status = blur_code::resolve_shapes(*args, report, plan)) return status;
    std::copy(plan.img.stride, plan.img.stride + 3, args->img_stride);
    std::copy(plan.out.extent, plan.out.extent + 3, args->out_extent);
    std::copy(plan.out.stride, plan.out.stride + 3, args->out_stride);
    return PIPE_OK;
}

pipe_status blur_check(const blur_args* args, char* message, size_t size) {
    Report report(message, size);
    if (args == nullptr) return report.fail(PIPE_ERROR_NULL, -1, -1, "the arguments are null");
    blur_code::Plan plan{};
    if (const pipe_status status = blur_code::make_plan(*args, report, plan)) return status;
    return blur_code::check_pointers(*args, report, plan);
}

size_t blur_workspace_size(const blur_args* args) {
    if (args == nullptr) return SIZE_MAX;
    Report report(nullptr, 0);
    blur_code::Plan plan{};
    return blur_code::make_plan(*args, report, plan) == PIPE_OK ? plan.workspace : SIZE_MAX;
}

const pipe_info* blur_info(void) {
    static const pipe_info info = {
        1, "blur", 2, blur_code::buffers,
        0, nullptr,
        0, nullptr,
        sizeof(blur_args), "cuda",
        [](void* args) { blur_defaults(static_cast<blur_args*>(args)); },
        [](void* args) { return blur_resolve(static_cast<blur_args*>(args)); },
        [](const void* args, char* message, size_t size) { return
            blur_check(static_cast<const blur_args*>(args), message, size); },
        [](const void* args) { return blur_workspace_size(static_cast<const blur_args*>(args)); },
        [](const void* args, void* workspace, size_t bytes, void* stream) { return
            blur_launch(static_cast<const blur_args*>(args), workspace, bytes, static_cast<CUstream_st*>(stream)); },
    };
    return &info;
}

pipe_status blur_launch(const blur_args* args, void* workspace, size_t bytes, CUstream_st* stream) {
    Report report(nullptr, 0);
    if (args == nullptr) return report.fail(PIPE_ERROR_NULL, -1, -1);
    blur_code::Plan plan{};
    if (const pipe_status status = blur_code::make_plan(*args, report, plan)) return status;
    if (const pipe_status status = blur_code::check_pointers(*args, report, plan)) return status;
    if (const pipe_status status = check_workspace(report, workspace, bytes, plan.workspace, 256)) return status;
    const bool dense = is_dense<blur_code::img_view<true>>(plan.img) && is_dense<blur_code::out_view<true>>(plan.out) &&
        is_dense(plan.blury, 3);
    const unsigned char* const region = static_cast<const unsigned char*>(workspace);
    return dense ? blur_code::run<true>(*args, plan, region, stream) :
        blur_code::run<false>(*args, plan, region, stream);
}

}  // extern "C"

