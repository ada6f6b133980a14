// The functions of the CUDA runtime that are not about streams.
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "cuda_runtime.h"
#include "engine/block.h"
#include "engine/device_memory.h"
#include "engine/report.h"
#include "engine/stream.h"
#include "engine/symbols.h"
#include "simt.h"

using namespace simt;
using Lock = std::lock_guard<std::recursive_mutex>;

namespace {

thread_local cudaError_t last_error = cudaSuccess;

int capability = 90;  // of the device, and what kernels are compiled for

constexpr std::size_t shared_limit = 48 * 1024;         // of a block, without being asked for
constexpr std::size_t shared_optin_limit = 227 * 1024;  // and with

std::map<const void*, std::size_t> dynamic_limits;  // of kernels, as set by cudaFuncSetAttribute

// Bytes of a kernel's own __shared__ variables.
std::size_t static_shared(const void* kernel) {
    std::size_t bytes = 0;
    for (const SharedVariable& variable : shared_variables(kernel)) bytes += variable.bytes;
    return bytes;
}

DeviceMemory& device() {
    return DeviceMemory::get();
}

void copy(void* to, const void* from, std::size_t bytes) {
    const bool to_device = device().contains(to);
    const bool from_device = device().contains(from);
    std::memmove(to, from, bytes);
    if (to_device && from_device) device().copy_written(to, from, bytes);
    if (to_device && !from_device) device().set_written(to, bytes);
}

cudaError_t check_copy(const void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    const bool to_device = device().contains(to);
    const bool from_device = device().contains(from);
    if (kind != cudaMemcpyDefault) {
        if (to_device != (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice) ||
            from_device != (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice)) {
            return result(cudaErrorInvalidValue);
        }
    }
    if ((to_device && !device().allocated(to, bytes)) || (from_device && !device().allocated(from, bytes))) {
        return result(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}

}  // namespace

namespace simt {

cudaError_t result(cudaError_t error) {
    if (error != cudaSuccess) last_error = error;
    return error;
}

cudaError_t launch(const cudaLaunchConfig_t& config, const void* kernel, Call* call) {
    const Lock lock(runtime_lock());
    std::shared_ptr<const Call> owned(call);
    const dim3 g = config.gridDim, b = config.blockDim;
    const std::uint64_t threads = std::uint64_t(b.x) * b.y * b.z;
    if (g.x == 0 || g.y == 0 || g.z == 0 || g.x > std::numeric_limits<int>::max() || g.y > 65535 || g.z > 65535 ||
        b.x > 1024 || b.y > 1024 || b.z > 64 || threads == 0 || threads > 1024) {
        return result(cudaErrorInvalidConfiguration);
    }
    const std::size_t own = static_shared(kernel);
    if (own > shared_limit) return result(cudaErrorInvalidDeviceFunction);  // nvcc would not have compiled it
    const auto raised = dynamic_limits.find(kernel);
    const std::size_t limit = raised == dynamic_limits.end() ? shared_limit - own : raised->second;
    if (config.dynamicSmemBytes > limit) return result(cudaErrorInvalidValue);
    bool overlaps = false;
    for (unsigned i = 0; i < config.numAttrs; ++i) {
        overlaps = overlaps || (config.attrs[i].id == cudaLaunchAttributeProgrammaticStreamSerialization &&
                                config.attrs[i].val.programmaticStreamSerializationAllowed != 0);
    }
    if (overlaps && capability < 90) return result(cudaErrorNotSupported);
    Grid grid;
    grid.call = call;
    grid.kernel = kernel;
    grid.blocks = {g.x, g.y, g.z};
    grid.threads = {b.x, b.y, b.z};
    grid.dynamic_bytes = config.dynamicSmemBytes;
    grid.call_begin = reinterpret_cast<std::uintptr_t>(call);
    grid.call_end = grid.call_begin + call->size();
    return enqueue(config.stream, [owned, grid, overlaps](LastKernel& last) {
        Grid now = grid;
        return run_grid(now, overlaps, last);
    });
}

void set_capability(int number) {
    capability = number;
}

std::size_t first_unwritten(const void* device_pointer, std::size_t bytes) {
    return device().first_unwritten(device_pointer, bytes);
}

}  // namespace simt

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
    const Lock lock(runtime_lock());
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    if (value < 0 || static_cast<std::size_t>(value) + static_shared(kernel) > shared_optin_limit)
        return result(cudaErrorInvalidValue);
    dynamic_limits[kernel] = static_cast<std::size_t>(value);
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
    *attributes = {capability, capability};
    return cudaSuccess;
}

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
    const Lock lock(runtime_lock());
    if (capturing()) return result(cudaErrorStreamCaptureUnsupported);
    *pointer = bytes == 0 ? nullptr : device().allocate(bytes);
    return bytes != 0 && *pointer == nullptr ? result(cudaErrorMemoryAllocation) : cudaSuccess;
}

cudaError_t cudaFree(void* pointer) {
    const Lock lock(runtime_lock());
    if (pointer == nullptr) return cudaSuccess;
    const cudaError_t error = run_all();
    if (error == cudaErrorStreamCaptureUnsupported) return error;
    return device().free(pointer) ? error : result(cudaErrorInvalidValue);
}

cudaError_t cudaMemsetAsync(void* pointer, int value, std::size_t bytes, cudaStream_t stream) {
    const Lock lock(runtime_lock());
    if (!device().allocated(pointer, bytes)) return result(cudaErrorInvalidValue);
    return enqueue(stream, [=](LastKernel& last) {
        last = {};
        std::memset(pointer, value, bytes);
        device().set_written(pointer, bytes);
        return true;
    });
}

cudaError_t cudaMemset(void* pointer, int value, std::size_t bytes) {
    const Lock lock(runtime_lock());
    const cudaError_t error = cudaMemsetAsync(pointer, value, bytes, nullptr);
    return error != cudaSuccess ? error : run_stream(nullptr);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    const Lock lock(runtime_lock());
    if (const cudaError_t error = check_copy(to, from, bytes, kind); error != cudaSuccess) return error;
    return enqueue(stream, [=](LastKernel& last) {
        last = {};
        copy(to, from, bytes);
        return true;
    });
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    const Lock lock(runtime_lock());
    const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
    return error != cudaSuccess ? error : run_stream(nullptr);
}

cudaError_t cudaGetLastError() {
    return std::exchange(last_error, cudaSuccess);
}
cudaError_t cudaPeekAtLastError() {
    return last_error;
}

cudaError_t cudaGetDeviceCount(int* count) {
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
    return device == 0 ? cudaSuccess : result(cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    if (device != 0) return result(cudaErrorInvalidDevice);
    switch (attribute) {
        case cudaDevAttrMaxThreadsPerBlock: *value = 1024; return cudaSuccess;
        case cudaDevAttrMaxSharedMemoryPerBlock: *value = static_cast<int>(shared_limit); return cudaSuccess;
        case cudaDevAttrWarpSize: *value = 32; return cudaSuccess;
        case cudaDevAttrMaxRegistersPerBlock: *value = 65536; return cudaSuccess;
        case cudaDevAttrMultiProcessorCount: *value = 132; return cudaSuccess;
        case cudaDevAttrL2CacheSize: *value = 50 << 20; return cudaSuccess;
        case cudaDevAttrMaxThreadsPerMultiProcessor: *value = 2048; return cudaSuccess;
        case cudaDevAttrComputeCapabilityMajor: *value = capability / 10; return cudaSuccess;
        case cudaDevAttrComputeCapabilityMinor: *value = capability % 10; return cudaSuccess;
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = 228 * 1024; return cudaSuccess;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = static_cast<int>(shared_optin_limit); return cudaSuccess;
    }
    return result(cudaErrorInvalidValue);
}

#define SIMT_ERRORS(X)                                                                              \
    X(cudaSuccess, "no error")                                                                      \
    X(cudaErrorInvalidValue, "invalid argument")                                                    \
    X(cudaErrorMemoryAllocation, "out of memory")                                                   \
    X(cudaErrorInvalidConfiguration, "invalid configuration argument")                              \
    X(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy")                         \
    X(cudaErrorInvalidDeviceFunction, "invalid device function")                                    \
    X(cudaErrorInvalidDevice, "invalid device ordinal")                                             \
    X(cudaErrorInvalidResourceHandle, "invalid resource handle")                                    \
    X(cudaErrorLaunchFailure, "unspecified launch failure")                                         \
    X(cudaErrorNotSupported, "operation not supported")                                             \
    X(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing")        \
    X(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture") \
    X(cudaErrorStreamCaptureImplicit, "operation would make the legacy stream depend on a capturing blocking stream")

const char* cudaGetErrorString(cudaError_t error) {
    switch (error) {
#define SIMT_CASE(name, text) \
    case name: return text;
        SIMT_ERRORS(SIMT_CASE)
#undef SIMT_CASE
    }
    return "unrecognized error code";
}

const char* cudaGetErrorName(cudaError_t error) {
    switch (error) {
#define SIMT_CASE(name, text) \
    case name: return #name;
        SIMT_ERRORS(SIMT_CASE)
#undef SIMT_CASE
    }
    return "unrecognized error code";
}
