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
    Space blury, blurx;
    size_t regions[2];  // offsets in the workspace
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
    {
        const int64_t box[][2] = {{0, 3}, {1, R + 1}, {1, C + 1}};
        if (const pipe_status status = place(report, "blurx", 3, sizeof(float), box, plan.blurx, plan.regions[1]))
            return status;
    }
    return stack_regions(report, plan.regions, 2, plan.workspace);
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
using img_view = View<const float, 0, 0, dense ? 1 : 0>;
template <bool dense>
using out_view = View<float, 0, 0, dense ? 1 : 0>;
using blury_view = View<float, 0, 0, 1>;
using blurx_view = View<float, 0, 0, 1>;

// blur.pipe:2: blury(c, y, x) = (img(c, y - 1, x) + img(c, y, x) + img(c, y + 1, x)) / 3
template <bool dense>
PIPE_VERSIONS void compute_blury([[maybe_unused]] const Plan& plan, const Box<3>& box,
    [[maybe_unused]] img_view<dense> img, [[maybe_unused]] blury_view blury) {
    const int32_t c_begin = box.lo[0], c_end = box.hi[0];
    const int32_t y_begin = box.lo[1], y_end = box.hi[1];
    const int32_t x_begin = box.lo[2], x_end = box.hi[2];
    for (int32_t c = c_begin; c < c_end; ++c) {
        for (int32_t y = y_begin; y < y_end; ++y) {
            PIPE_SIMD
            for (int32_t x = x_begin; x < x_end; ++x) {
                blury(c, y, x) = (img(c, y - 1, x) + img(c, y, x) + img(c, y + 1, x)) / 3.0f;
            }
        }
    }
}

// blur.pipe:3: blurx(c, y, x) = (blury(c, y, x - 1) + blury(c, y, x) + blury(c, y, x + 1)) / 3
PIPE_VERSIONS void compute_blurx([[maybe_unused]] const Plan& plan, const Box<3>& box,
    [[maybe_unused]] blury_view blury, [[maybe_unused]] blurx_view blurx) {
    const int32_t c_begin = box.lo[0], c_end = box.hi[0];
    const int32_t y_begin = box.lo[1], y_end = box.hi[1];
    const int32_t x_begin = box.lo[2], x_end = box.hi[2];
    for (int32_t c = c_begin; c < c_end; ++c) {
        for (int32_t y = y_begin; y < y_end; ++y) {
            PIPE_SIMD
            for (int32_t x = x_begin; x < x_end; ++x) {
                blurx(c, y, x) = (blury(c, y, x - 1) + blury(c, y, x) + blury(c, y, x + 1)) / 3.0f;
            }
        }
    }
}

// blur.pipe:4: out(c, y, x)   = blurx(c, y + 1, x + 1)
template <bool dense>
PIPE_VERSIONS void compute_out([[maybe_unused]] const Plan& plan, const Box<3>& box, [[maybe_unused]] blurx_view blurx,
    [[maybe_unused]] out_view<dense> out) {
    const int32_t c_begin = box.lo[0], c_end = box.hi[0];
    const int32_t y_begin = box.lo[1], y_end = box.hi[1];
    const int32_t x_begin = box.lo[2], x_end = box.hi[2];
    for (int32_t c = c_begin; c < c_end; ++c) {
        for (int32_t y = y_begin; y < y_end; ++y) {
            PIPE_SIMD
            for (int32_t x = x_begin; x < x_end; ++x) {
                out(c, y, x) = blurx(c, y + 1, x + 1);
            }
        }
    }
}

// Runs the stages one after the other. `dense`: the strides are those that the views take for known.
template <bool dense>
void run(const blur_args& args, const Plan& plan, [[maybe_unused]] unsigned char* workspace, int threads) {
    Crew crew(threads);
    [[maybe_unused]] const auto img = view_of<img_view<dense>>(args.img, plan.img);
    [[maybe_unused]] const auto out = view_of<out_view<dense>>(args.out, plan.out);
    const auto blury = view_of<blury_view>(workspace + plan.regions[0], plan.blury);
    {
        const auto box = domain_of_stage<3>(plan.blury);
        const int order[] = {0, 1, 2};
        for_pieces(crew, box, piece_size(box, order, 10000), [&](const auto& piece) {
            compute_blury<dense>(plan, piece, img, blury);
        });
    }
    const auto blurx = view_of<blurx_view>(workspace + plan.regions[1], plan.blurx);
    {
        const auto box = domain_of_stage<3>(plan.blurx);
        const int order[] = {0, 1, 2};
        for_pieces(crew, box, piece_size(box, order, 10000), [&](const auto& piece) {
            compute_blurx(plan, piece, blury, blurx);
        });
    }
    {
        const auto box = domain_of_output<3>(plan.out);
        const int order[] = {0, 1, 2};
        for_pieces(crew, box, piece_size(box, order, 25000), [&](const auto& piece) {
            compute_out<dense>(plan, piece, blurx, out);
        });
    }
    crew.end();
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
        sizeof(blur_args), "host",
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
    if (const pipe_status status = check_workspace(report, workspace, bytes, plan.workspace, 64)) return status;
    if (stream != nullptr) return report.fail(PIPE_ERROR_DEVICE, -1, -1);
    const bool dense = blur_code::img_view<true>::fits(plan.img) && blur_code::out_view<true>::fits(plan.out);
    unsigned char* const region = static_cast<unsigned char*>(workspace);
    const int threads = max_threads();
    const auto run = dense ? blur_code::run<true> : blur_code::run<false>;
    run(*args, plan, region, threads);
    return PIPE_OK;
}

}  // extern "C"

