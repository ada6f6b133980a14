// What bench/compare calls in halide_runtime.so: Halide's runtime, and how it is to use memory and streams that are not
// its own. runtime_cuda.cpp and runtime_host.cpp implement it.
#pragma once

#include <cstdint>

struct halide_buffer_t;

extern "C" {
/// All kernels go into this stream of the current context from now on; nothing else is launched there. 0 is success.
int bench_use_stream(void* stream);
/// The buffer's elements are in this memory, which stays the caller's. 0 is success.
int bench_attach(halide_buffer_t* buffer, void* memory, int is_input);
/// What a pipeline wrote is in the memory that was attached. 0 is success.
int bench_fetch(halide_buffer_t* buffer);
/// The last error's text.
const char* bench_error();
}
