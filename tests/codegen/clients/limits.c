/* A C program that passes sizes and parameters near 2^30, for which the pipeline's condition and extent are wrong or leave
 * 64 bits. Prints what differs; the exit status is the number of failures. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "limits_of_sizes.h"

static int failures = 0;

static void expect(int64_t r, int64_t k, int code, const char *sentence)
{
    static const unsigned char img[25];
    unsigned char out[1] = {7};
    char message[300];
    limits_args args;
    limits_defaults(&args);
    args.img = img;
    args.img_extent[0] = 25;
    args.out = out;
    args.R = r;
    args.k = k;
    if ((limits_check(&args, message, sizeof message) & 0xff) != code || strcmp(message, sentence) != 0) {
        printf("R = %lld, k = %lld: %s\n", (long long)r, (long long)k, message);
        ++failures;
    }
    if ((limits_launch(&args, NULL, 0, NULL) & 0xff) != code || out[0] != (code == PIPE_OK ? 0 : 7)) {
        printf("R = %lld, k = %lld: launched\n", (long long)r, (long long)k);
        ++failures;
    }
}

int main(void)
{
    const int64_t last = (INT64_C(1) << 30) - 1;
    expect(24, 5, PIPE_OK, "");
    expect(25, 5, PIPE_ERROR_WHERE, "the pipeline needs 4 * R < 100, which does not hold (R = 25 from the arguments)");
    /* 4 * R is -4 in 32 bits. */
    expect(last, 5, PIPE_ERROR_WHERE,
           "the pipeline needs 4 * R < 100, which does not hold (R = 1073741823 from the arguments)");
    expect(last + 1, 5, PIPE_ERROR_SIZE, "the size R is 1073741824, but must be less than 1073741824 in magnitude");
    /* k * k is 0 in 64 bits. */
    expect(24, INT64_C(1) << 32, PIPE_ERROR_WHERE,
           "the pipeline needs k * k < int64(100), in which a number does not fit 64 bits (k = 4294967296)");
    expect(24, INT64_MIN, PIPE_ERROR_WHERE,
           "the pipeline needs k * k < int64(100), in which a number does not fit 64 bits (k = -9.22337203685478e+18)");
    return failures;
}
