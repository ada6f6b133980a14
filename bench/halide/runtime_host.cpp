// Halide on memory of the host: for CPUs, and for devices that copy from and to it.
#include "runtime.h"

#include <HalideRuntime.h>

#include <string>

namespace {

std::string error;

void note_error(void*, const char* text) {
    error = text;
}

}  // namespace

int bench_use_stream(void* /*stream*/) {
    halide_set_error_handler(note_error);
    return 0;
}

int bench_attach(halide_buffer_t* buffer, void* memory, int is_input) {
    buffer->host = static_cast<std::uint8_t*>(memory);
    buffer->set_host_dirty(is_input != 0);
    return 0;
}

int bench_fetch(halide_buffer_t* buffer) {
    return buffer->device_dirty() ? halide_copy_to_host(nullptr, buffer) : 0;
}

const char* bench_error() {
    return error.c_str();
}
