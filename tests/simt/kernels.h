// The kernels of the emulator's own tests, as their host code sees them. All pointers but strings are device pointers;
// what is returned is a cudaError_t.
#pragma once

struct CUstream_st;

// planted_faults.cu

/// Launches a kernel with 64 threads; `in` and `out` have 64 elements. -1: no such kernel.
int launch_planted(const char* name, bool bad, const int* in, int* out, CUstream_st* stream);

/// A kernel with 40 KB of shared memory of its own.
int launch_large_shared(int dynamic_bytes, const int* in, int* out, CUstream_st* stream);

// filters.cu

/// img is [rows + 2, columns + 2], out is [rows, columns].
int blur_by_warps(const float* img, float* out, int rows, int columns, CUstream_st* stream);
int blur_by_blocks(const float* img, float* out, int rows, int columns, CUstream_st* stream);
/// 256 bins.
int histogram(const unsigned char* img, unsigned* bins, int count, CUstream_st* stream);
/// `count` is a multiple of 4, `threads` a power of two from 32 on; `values` is aligned to 16 bytes.
int sum(const float* values, float* result, int count, int threads, CUstream_st* stream);
/// values[64 * times + i] = values[i] + times, by launches that may start early, the first where `first_early` says so;
/// `wait` says which wait.
int increment_often(int* values, int times, const bool* wait, bool first_early, CUstream_st* stream);
/// A launch with so much dynamic shared memory, which does nothing else (it faults if it runs).
int ask_for_shared(int bytes, bool allow, int* attribute_error, CUstream_st* stream);
/// ticket[i]: how many of the 3 x 64 lanes have come before.
int tickets(int* counter, int* ticket, CUstream_st* stream);
/// Of 8 kinds of shuffles, for 32 lanes each: where the value came from.
int shuffles(int* sources, CUstream_st* stream);
/// 20 lanes, out[i] = 0x55556; `source` is a lane that a shuffle asks.
int partial_warp(int* out, int source, CUstream_st* stream);
/// What no host code may do.
float first_on_the_host(const float* device);
