// Halide on the CUDA context and stream of its caller.
#include "runtime.h"

#include <HalideRuntimeCuda.h>
#include <dlfcn.h>

#include <string>

namespace {

void* context = nullptr;
void* stream = nullptr;
std::string error;

int acquire_context(void*, void** to, bool) {
    *to = context;
    return context == nullptr ? -1 : 0;
}
int release_context(void*) {
    return 0;
}
int get_stream(void*, void*, void** to) {
    *to = stream;
    return 0;
}
void note_error(void*, const char* text) {
    error = text;
}

}  // namespace

int bench_use_stream(void* s) {
    stream = s;
    if (context != nullptr) return 0;
    // Global, so that Halide finds the driver's functions, too, where there is no file libcuda.so.
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    void* symbol = driver == nullptr ? nullptr : dlsym(driver, "cuCtxGetCurrent");
    if (symbol == nullptr || reinterpret_cast<int (*)(void**)>(symbol)(&context) != 0 || context == nullptr) {
        error = "there is no CUDA context";
        return -1;
    }
    halide_set_error_handler(note_error);
    halide_set_cuda_acquire_context(acquire_context);
    halide_set_cuda_release_context(release_context);
    halide_set_cuda_get_stream(get_stream);
    halide_reuse_device_allocations(nullptr, true);  // so that a launch that is captured allocates nothing
    return 0;
}

int bench_attach(halide_buffer_t* buffer, void* memory, int /*is_input*/) {
    return halide_cuda_wrap_device_ptr(nullptr, buffer, reinterpret_cast<std::uintptr_t>(memory));
}

int bench_fetch(halide_buffer_t* /*buffer*/) {
    return 0;
}

const char* bench_error() {
    return error.c_str();
}
