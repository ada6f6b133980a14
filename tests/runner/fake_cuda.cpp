// libcuda.so.1 as pipec-run needs it, on the memory and the streams of the SIMT emulator, which watches the kernels and
// tells device memory from the host's. It wants to be initialised and to have a context, and counts what is not given
// back.
//
// FAKE_CUDA_DEVICES=N    so many GPUs; default 1
// FAKE_CUDA_NAME=NAME    what each is called; default "Fake A", "Fake B", ...
// FAKE_CUDA_MEMORY=N     bytes of memory that are free; default 1000000000
// FAKE_CUDA_MEMORY_CLOCK=0   the driver does not know it
// FAKE_CUDA_FAIL=F=E     the function F answers the error E; F=E@2 from its second call on
// FAKE_CUDA_LOG=FILE     where the end of the process leaves what was not given back
// FAKE_CUDA_CLOCK=WHAT   what takes time: "kernels", 30 ms each; "shared", a microsecond for each byte of shared memory
//                        that is read or written. Otherwise 2.5 ms lie between any two events
#include <cuda_runtime.h>

#include "simt.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <utility>

namespace {

enum : int {
    kSuccess = 0,
    kInvalidValue = 1,
    kOutOfMemory = 2,
    kNotInitialized = 3,
    kInvalidContext = 201,
    kLaunchFailed = 719
};

std::string environment(const char* name, const char* otherwise = "") {
    const char* value = std::getenv(name);
    return value == nullptr ? otherwise : value;
}

/// What is alive. Written to the log when the process ends.
struct State {
    bool initialized = false;
    bool context_is_current = false;
    int contexts = 0, blocks = 0, streams = 0, events = 0;
    std::map<std::string, int> calls;
    double last_event = 0, event_before = 0;  ///< milliseconds

    ~State() {
        const std::string file = environment("FAKE_CUDA_LOG");
        if (file.empty()) return;
        std::ofstream(file) << "contexts " << contexts << ", blocks " << blocks << ", streams " << streams
                            << ", events " << events << "\n";
    }
} state;

/// The error that the environment wants of this call.
int planned(const std::string& function) {
    const int call = ++state.calls[function];
    const std::string wish = environment("FAKE_CUDA_FAIL");
    if (!wish.starts_with(function + "=")) return kSuccess;
    const std::size_t first = wish.find('@');
    if (first != std::string::npos && call < std::stoi(wish.substr(first + 1))) return kSuccess;
    return std::stoi(wish.substr(function.size() + 1));
}

double now() {
    const std::string clock = environment("FAKE_CUDA_CLOCK");
    const simt::Statistics& done = simt::statistics();
    if (clock == "kernels") return 30.0 * static_cast<double>(done.launches);
    if (clock == "shared") return 1e-3 * static_cast<double>(done.shared_read + done.shared_written);
    return state.last_event + 2.5;
}

int devices() {
    return std::stoi(environment("FAKE_CUDA_DEVICES", "1"));
}

int result(cudaError_t error) {
    if (error == cudaErrorMemoryAllocation) return kOutOfMemory;
    if (error == cudaErrorInvalidValue) return kInvalidValue;
    return error == cudaSuccess ? kSuccess : kLaunchFailed;
}

void* pointer(std::uint64_t address) {
    return reinterpret_cast<void*>(address);
}

}  // namespace

/// A function of the API that needs what the real one needs: first the driver, then a context.
#define DRIVER(name)                                   \
    if (const int error = planned(name)) return error; \
    if (!state.initialized) return kNotInitialized
#define CONTEXT(name) \
    DRIVER(name);     \
    if (!state.context_is_current) return kInvalidContext

extern "C" {

int cuInit(unsigned flags) {
    if (const int error = planned("cuInit")) return error;
    state.initialized = flags == 0;
    return flags == 0 ? kSuccess : kInvalidValue;
}
int cuDriverGetVersion(int* version) {
    *version = 12040;
    return planned("cuDriverGetVersion");
}
int cuDeviceGetCount(int* count) {
    DRIVER("cuDeviceGetCount");
    *count = devices();
    return kSuccess;
}
int cuDeviceGet(int* device, int ordinal) {
    DRIVER("cuDeviceGet");
    *device = 10 + ordinal;  // a handle, not the number
    return ordinal < devices() ? kSuccess : kInvalidValue;
}
int cuDeviceGetName(char* name, int size, int device) {
    DRIVER("cuDeviceGetName");
    const std::string usual = std::string("Fake ") + static_cast<char>('A' + device - 10);
    std::snprintf(name, static_cast<std::size_t>(size), "%s", environment("FAKE_CUDA_NAME", usual.c_str()).c_str());
    return kSuccess;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
    DRIVER("cuDeviceGetAttribute");
    // In the order of CUdevice_attribute: an H100 with fewer multiprocessors, and shared memory of a block as an A100.
    static const std::map<int, int> attributes{{13, 1755000},  {16, 24},    {36, 2619000}, {37, 5120},
                                               {38, 52428800}, {39, 2048},  {75, 9},       {76, 0},
                                               {81, 233472},   {82, 65536}, {97, 166912},  {106, 32}};
    const auto found = attributes.find(attribute);
    if (found == attributes.end()) return kInvalidValue;
    if (attribute == 36 && environment("FAKE_CUDA_MEMORY_CLOCK") == "0") return *value = 0;
    *value = found->second;
    return kSuccess;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
    DRIVER("cuDevicePrimaryCtxRetain");
    *context = &state;
    ++state.contexts;
    return device >= 10 ? kSuccess : kInvalidValue;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
    DRIVER("cuDevicePrimaryCtxRelease_v2");
    --state.contexts;
    return device >= 10 ? kSuccess : kInvalidValue;
}
int cuCtxSetCurrent(void* context) {
    DRIVER("cuCtxSetCurrent");
    state.context_is_current = context == &state;
    return context == &state ? kSuccess : kInvalidContext;
}
int cuCtxSynchronize() {
    CONTEXT("cuCtxSynchronize");
    return result(cudaDeviceSynchronize());
}
int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
    CONTEXT("cuMemAlloc_v2");
    void* block = nullptr;
    const int error = bytes == 0 ? kInvalidValue : result(cudaMalloc(&block, bytes));
    if (error != kSuccess) return error;
    *address = reinterpret_cast<std::uintptr_t>(block);
    ++state.blocks;
    return kSuccess;
}
int cuMemFree_v2(std::uint64_t address) {
    CONTEXT("cuMemFree_v2");
    --state.blocks;
    return result(cudaFree(pointer(address)));
}
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
    CONTEXT("cuMemcpyHtoD_v2");
    return result(cudaMemcpy(pointer(to), from, bytes, cudaMemcpyHostToDevice));
}
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
    CONTEXT("cuMemcpyDtoH_v2");
    return result(cudaMemcpy(to, pointer(from), bytes, cudaMemcpyDeviceToHost));
}
int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, cudaStream_t stream) {
    CONTEXT("cuMemcpyHtoDAsync_v2");
    return result(cudaMemcpyAsync(pointer(to), from, bytes, cudaMemcpyHostToDevice, stream));
}
int cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, cudaStream_t stream) {
    CONTEXT("cuMemcpyDtoHAsync_v2");
    return result(cudaMemcpyAsync(to, pointer(from), bytes, cudaMemcpyDeviceToHost, stream));
}
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
    CONTEXT("cuMemGetInfo_v2");
    *free = *total = std::stoul(environment("FAKE_CUDA_MEMORY", "1000000000"));
    return kSuccess;
}
int cuMemAllocHost_v2(void** block, std::size_t bytes) {
    CONTEXT("cuMemAllocHost_v2");
    *block = std::malloc(bytes);
    ++state.blocks;
    return *block == nullptr ? kOutOfMemory : kSuccess;
}
int cuMemFreeHost(void* block) {
    CONTEXT("cuMemFreeHost");
    std::free(block);
    --state.blocks;
    return kSuccess;
}
int cuStreamCreate(cudaStream_t* stream, unsigned) {
    CONTEXT("cuStreamCreate");
    ++state.streams;
    return result(cudaStreamCreate(stream));
}
int cuStreamSynchronize(cudaStream_t stream) {
    CONTEXT("cuStreamSynchronize");
    return result(cudaStreamSynchronize(stream));
}
int cuStreamDestroy_v2(cudaStream_t stream) {
    CONTEXT("cuStreamDestroy_v2");
    --state.streams;
    return result(cudaStreamDestroy(stream));
}
int cuEventCreate(void** event, unsigned) {
    CONTEXT("cuEventCreate");
    ++state.events;
    *event = &state.events;
    return kSuccess;
}
int cuEventRecord(void* event, cudaStream_t stream) {
    CONTEXT("cuEventRecord");
    if (const int error = result(cudaStreamSynchronize(stream)))
        return error;  // the emulator's work is done when asked
    state.event_before = std::exchange(state.last_event, now());
    return event == &state.events && stream != nullptr ? kSuccess : kInvalidValue;
}
int cuEventElapsedTime(float* milliseconds, void*, void*) {
    CONTEXT("cuEventElapsedTime");
    *milliseconds = static_cast<float>(state.last_event - state.event_before);
    return kSuccess;
}
int cuEventDestroy_v2(void*) {
    CONTEXT("cuEventDestroy_v2");
    --state.events;
    return kSuccess;
}
int cuGetErrorName(int error, const char** text) {
    static const std::map<int, const char*> names = {{kInvalidValue, "CUDA_ERROR_INVALID_VALUE"},
                                                     {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                     {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED"},
                                                     {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT"},
                                                     {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED"}};
    const auto found = names.find(error);
    *text = found == names.end() ? nullptr : found->second;
    return found == names.end() ? kInvalidValue : kSuccess;
}
int cuGetErrorString(int error, const char** text) {
    *text = error == kOutOfMemory ? "out of memory" : error == kLaunchFailed ? "unspecified launch failure" : "bad";
    return kSuccess;
}
}
