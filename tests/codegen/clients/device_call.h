/* What device.cpp asks of device_call.c. */
#ifndef DEVICE_CALL_H
#define DEVICE_CALL_H

#include "blur.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills in everything but pointers. */
pipe_status prepare(blur_args* args, int r, int c, const int64_t img_stride[3], const int64_t out_stride[3]);
/* Launches with these pointers. */
pipe_status start(const blur_args* args, const float* img, float* out, void* workspace, size_t bytes,
                  struct CUstream_st* stream);

#ifdef __cplusplus
}
#endif
#endif
