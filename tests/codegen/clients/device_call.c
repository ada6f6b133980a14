/* The calls of a client in C99: no CUDA header is needed for them. */
#include "device_call.h"

#include <string.h>

pipe_status prepare(blur_args *args, int r, int c, const int64_t img_stride[3], const int64_t out_stride[3])
{
    blur_defaults(args);
    args->img_extent[0] = 3;
    args->img_extent[1] = r + 2;
    args->img_extent[2] = c + 2;
    memcpy(args->img_stride, img_stride, sizeof args->img_stride);
    memcpy(args->out_stride, out_stride, sizeof args->out_stride);
    return blur_resolve(args);
}

pipe_status start(const blur_args *args, const float *img, float *out, void *workspace, size_t bytes,
                  struct CUstream_st *stream)
{
    blur_args copy = *args;
    pipe_status status;
    copy.img = img;
    copy.out = out;
    status = blur_launch(&copy, workspace, bytes, stream);
    memset(&copy, 0xff, sizeof copy); /* launch has taken what it needs */
    return status;
}
