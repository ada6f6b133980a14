/* A C program that uses the generated functions as the page on generated code tells: results, layouts, every refusal.
 * Prints what differs; the exit status is the number of failures. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blur.h"

enum { R = 5, C = 21 };

static int failures = 0;

#define EXPECT(condition)                                                  \
    do {                                                                   \
        if (!(condition)) {                                                \
            printf("line %d: %s does not hold\n", __LINE__, #condition);   \
            ++failures;                                                    \
        }                                                                  \
    } while (0)

static float pixel(int c, int y, int x) { return (float)((c * 7 + y * 3 + x * 5) % 11) * 0.5f; }

static float blury(int c, int y, int x) { return (pixel(c, y - 1, x) + pixel(c, y, x) + pixel(c, y + 1, x)) / 3; }

static float blurred(int c, int y, int x)
{
    return (blury(c, y + 1, x) + blury(c, y + 1, x + 1) + blury(c, y + 1, x + 2)) / 3;
}

static void *aligned_block(size_t bytes, void **block)
{
    *block = malloc(bytes + 64);
    return (void *)(((uintptr_t)*block + 63) / 64 * 64);
}

/* Fills the input through its strides, runs, and compares the output through its strides. */
static void run_and_compare(const int64_t img_stride[3], const int64_t out_stride[3])
{
    static float img[20000], out[20000];
    blur_args args;
    void *block;
    void *workspace;
    size_t bytes;
    int c, y, x, i;
    for (i = 0; i < 20000; ++i) img[i] = out[i] = -1;
    for (c = 0; c < 3; ++c)
        for (y = 0; y < R + 2; ++y)
            for (x = 0; x < C + 2; ++x)
                img[c * img_stride[0] + y * img_stride[1] + x * img_stride[2]] = pixel(c, y, x);

    blur_defaults(&args);
    args.img = img;
    args.out = out;
    args.img_extent[0] = 3;
    args.img_extent[1] = R + 2;
    args.img_extent[2] = C + 2;
    memcpy(args.img_stride, img_stride, sizeof args.img_stride);
    memcpy(args.out_stride, out_stride, sizeof args.out_stride);
    EXPECT(blur_resolve(&args) == PIPE_OK);
    EXPECT(args.out_extent[0] == 3 && args.out_extent[1] == R && args.out_extent[2] == C);
    bytes = blur_workspace_size(&args);
    EXPECT(bytes > 0 && bytes < 100000);
    workspace = aligned_block(bytes, &block);
    EXPECT(blur_launch(&args, workspace, bytes, NULL) == PIPE_OK);
    for (c = 0; c < 3; ++c)
        for (y = 0; y < R; ++y)
            for (x = 0; x < C; ++x) {
                float *at = &out[c * out_stride[0] + y * out_stride[1] + x * out_stride[2]];
                EXPECT(*at == blurred(c, y, x));
                *at = -1;
            }
    for (i = 0; i < 20000; ++i) EXPECT(out[i] == -1); /* nothing else was written */
    free(block);
}

static blur_args good_arguments(const float *img, float *out)
{
    blur_args args;
    blur_defaults(&args);
    args.img = img;
    args.out = out;
    args.img_extent[0] = 3;
    args.img_extent[1] = R + 2;
    args.img_extent[2] = C + 2;
    return args;
}

/* The status of check and launch, and the sentence; and the output stays as it was. */
static void expect_refusal(const blur_args *args, pipe_status expected, const char *sentence, const float *out)
{
    char message[200];
    int i;
    EXPECT(blur_check(args, message, sizeof message) == expected);
    EXPECT(blur_check(args, NULL, 0) == expected);
    EXPECT(blur_launch(args, NULL, 0, NULL) == expected);
    if (strcmp(message, sentence) != 0) {
        printf("expected: %s\n but got: %s\n", sentence, message);
        ++failures;
    }
    for (i = 0; i < 3 * R * C; ++i) EXPECT(out[i] == -1);
}

static pipe_status status(int code, int argument, int dimension)
{
    return code | (argument + 1) << 8 | (dimension + 1) << 16;
}

static void refusals(void)
{
    static float img[3 * (R + 2) * (C + 2)], out[3 * R * C];
    static float space[10000];
    blur_args args;
    void *block;
    char *workspace;
    size_t bytes;
    int i;
    for (i = 0; i < 3 * R * C; ++i) out[i] = -1;

    args = good_arguments(NULL, out);
    expect_refusal(&args, status(PIPE_ERROR_NULL, 0, -1), "`img`: the pointer is null", out);
    args = good_arguments(img, NULL);
    expect_refusal(&args, status(PIPE_ERROR_NULL, 1, -1), "`out`: the pointer is null", out);
    args = good_arguments((const float *)((const char *)img + 2), out);
    expect_refusal(&args, status(PIPE_ERROR_ALIGNMENT, 0, -1),
                   "`img`: the pointer must be a multiple of 4, the size of an element", out);

    args = good_arguments(img, out);
    args.img_extent[0] = 4;
    expect_refusal(&args, status(PIPE_ERROR_EXTENT, 0, 0), "`img`: extent 0 is 4, but must be 3", out);
    EXPECT(blur_workspace_size(&args) == SIZE_MAX);
    EXPECT(blur_resolve(&args) == status(PIPE_ERROR_EXTENT, 0, 0));
    args = good_arguments(img, out);
    args.img_extent[1] = 0;
    expect_refusal(&args, status(PIPE_ERROR_EXTENT, 0, 1),
                   "`img`: extent 1 is 0, but must be from 1 to 1073741823", out);
    args = good_arguments(img, out);
    args.img_extent[1] = 2;
    expect_refusal(&args, status(PIPE_ERROR_EXTENT, 1, 1),
                   "`out`: extent 1 would be R = 0 (R = 0 from `img`), but must be from 1 to 1073741823", out);
    args = good_arguments(img, out);
    args.out_extent[0] = 3;
    args.out_extent[1] = R + 1;
    args.out_extent[2] = C;
    expect_refusal(&args, status(PIPE_ERROR_EXTENT, 1, 1),
                   "`out`: extent 1 is 6, but must be R = 5 (R = 5 from `img`)", out);

    args = good_arguments(img, out);
    args.img_stride[0] = (R + 2) * (C + 2);
    args.img_stride[1] = C + 2;
    args.img_stride[2] = 0;
    expect_refusal(&args, status(PIPE_ERROR_STRIDE, 0, 2),
                   "`img`: stride 2 is 0, but must be at least 1 (or all of them 0, for dense)", out);
    args = good_arguments(img, out);
    args.out_stride[0] = R * C;
    args.out_stride[1] = C - 1;
    args.out_stride[2] = 1;
    expect_refusal(&args, status(PIPE_ERROR_STRIDE, 1, 1),
                   "`out`: stride 1 is 20, but must be at least 21, or elements of the output overlap", out);
    args = good_arguments(img, out);
    args.img_extent[1] = args.img_extent[2] = 1000000000;
    args.img_stride[0] = args.img_stride[1] = args.img_stride[2] = INT64_MAX / 2;
    EXPECT((blur_check(&args, NULL, 0) & 0xff) == PIPE_ERROR_SIZE);

    args = good_arguments(space, space + 10);
    EXPECT(blur_check(&args, NULL, 0) == status(PIPE_ERROR_OVERLAP, 1, -1));
    args = good_arguments(space, space);
    EXPECT(blur_check(&args, NULL, 0) == status(PIPE_ERROR_OVERLAP, 1, -1));

    EXPECT(blur_check(NULL, NULL, 0) == PIPE_ERROR_NULL);
    EXPECT(blur_launch(NULL, NULL, 0, NULL) == PIPE_ERROR_NULL);
    EXPECT(blur_resolve(NULL) == PIPE_ERROR_NULL);
    EXPECT(blur_workspace_size(NULL) == SIZE_MAX);

    args = good_arguments(img, out);
    bytes = blur_workspace_size(&args);
    workspace = (char *)aligned_block(bytes, &block);
    EXPECT(blur_launch(&args, NULL, 0, NULL) == PIPE_ERROR_NULL);
    EXPECT(blur_launch(&args, workspace, bytes - 1, NULL) == PIPE_ERROR_WORKSPACE);
    EXPECT(blur_launch(&args, workspace + 4, bytes, NULL) == PIPE_ERROR_ALIGNMENT);
    EXPECT(blur_launch(&args, workspace, bytes, (struct CUstream_st *)workspace) == PIPE_ERROR_DEVICE);
    for (i = 0; i < 3 * R * C; ++i) EXPECT(out[i] == -1);
    EXPECT(blur_launch(&args, workspace, bytes, NULL) == PIPE_OK);
    free(block);

    /* A message cut short ends with a zero. */
    {
        char message[8] = "xxxxxxx";
        args.img = NULL;
        EXPECT(blur_check(&args, message, 5) != PIPE_OK);
        EXPECT(strcmp(message, "`img") == 0 && message[5] == 'x');
    }
}

static void information(void)
{
    const pipe_info *info = blur_info();
    EXPECT(info->version == 1);
    EXPECT(strcmp(info->name, "blur") == 0 && strcmp(info->target, "host") == 0);
    EXPECT(info->buffer_count == 2 && info->parameter_count == 0 && info->size_count == 0);
    EXPECT(info->args_size == sizeof(blur_args));
    EXPECT(strcmp(info->buffers[0].name, "img") == 0 && !info->buffers[0].is_output && info->buffers[1].is_output);
    EXPECT(info->buffers[0].rank == 3 && info->buffers[0].type == PIPE_FLOAT32);
    EXPECT(info->buffers[0].fixed_extent[0] == 3 && info->buffers[0].fixed_extent[1] == 0);
    EXPECT(strcmp(info->buffers[0].extent_text[1], "R + 2") == 0);
    EXPECT(info->buffers[1].stride_offset == offsetof(blur_args, out_stride));
    EXPECT(strcmp(pipe_status_string(status(PIPE_ERROR_EXTENT, 0, 1)), "an extent does not fit the shape") == 0);
}

int main(void)
{
    const int64_t dense_img[3] = {(R + 2) * (C + 2), C + 2, 1}, dense_out[3] = {R * C, C, 1};
    const int64_t pitched_img[3] = {1000, 64, 1}, pitched_out[3] = {900, 48, 1};
    const int64_t interleaved_img[3] = {1, 3 * (C + 2), 3}, interleaved_out[3] = {1, 3 * C, 3};
    const int64_t rgba_img[3] = {1, 4 * (C + 2), 4}, column_out[3] = {R * C, 1, R};
    run_and_compare(dense_img, dense_out);
    run_and_compare(pitched_img, pitched_out);
    run_and_compare(interleaved_img, interleaved_out);
    run_and_compare(rgba_img, column_out);
    run_and_compare(dense_img, interleaved_out);
    refusals();
    information();
    return failures;
}
