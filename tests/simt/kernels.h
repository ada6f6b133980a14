// The kernels of the emulator's own tests, as their host code sees them. All pointers but strings are device pointers.
#pragma once

struct CUstream_st;

/// Launches a kernel of planted_faults.cu with 64 threads; `in` and `out` have 64 elements. cudaError_t, or -1.
int launch_planted(const char* name, bool bad, const int* in, int* out, CUstream_st* stream);
