// The few functions of CUDA's driver API that a run needs, found at run time: pipec-run is built without the CUDA
// toolkit and starts on machines without a GPU. The declarations follow the API's stable binary interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "runner/error.h"

namespace pipec::runner::cuda {

using Result = int;  ///< CUresult; 0 is success
using DeviceNumber = int;
using Context = struct ContextHandle*;
using Stream = struct StreamHandle*;
using Event = struct EventHandle*;
using Address = std::uint64_t;

constexpr int kComputeCapabilityMajor = 75;  ///< CUdevice_attribute
constexpr int kComputeCapabilityMinor = 76;

/// Name in this table, symbol in the library, arguments.
#define PIPEC_CUDA_FUNCTIONS(X)                                                                    \
    X(init, cuInit, unsigned flags)                                                                \
    X(driver_version, cuDriverGetVersion, int* version)                                            \
    X(device_count, cuDeviceGetCount, int* count)                                                  \
    X(device, cuDeviceGet, DeviceNumber* device, int ordinal)                                      \
    X(device_name, cuDeviceGetName, char* name, int size, DeviceNumber)                            \
    X(device_attribute, cuDeviceGetAttribute, int* value, int attribute, DeviceNumber)             \
    X(retain_context, cuDevicePrimaryCtxRetain, Context*, DeviceNumber)                            \
    X(release_context, cuDevicePrimaryCtxRelease_v2, DeviceNumber)                                 \
    X(set_context, cuCtxSetCurrent, Context)                                                       \
    X(synchronize_context, cuCtxSynchronize)                                                       \
    X(allocate, cuMemAlloc_v2, Address*, std::size_t bytes)                                        \
    X(free, cuMemFree_v2, Address)                                                                 \
    X(memory_info, cuMemGetInfo_v2, std::size_t* free, std::size_t* total)                         \
    X(allocate_host, cuMemAllocHost_v2, void**, std::size_t bytes)                                 \
    X(free_host, cuMemFreeHost, void*)                                                             \
    X(copy_to_device, cuMemcpyHtoD_v2, Address, const void*, std::size_t bytes)                    \
    X(copy_to_host, cuMemcpyDtoH_v2, void*, Address, std::size_t bytes)                            \
    X(copy_to_device_later, cuMemcpyHtoDAsync_v2, Address, const void*, std::size_t bytes, Stream) \
    X(copy_to_host_later, cuMemcpyDtoHAsync_v2, void*, Address, std::size_t bytes, Stream)         \
    X(create_stream, cuStreamCreate, Stream*, unsigned flags)                                      \
    X(synchronize_stream, cuStreamSynchronize, Stream)                                             \
    X(destroy_stream, cuStreamDestroy_v2, Stream)                                                  \
    X(create_event, cuEventCreate, Event*, unsigned flags)                                         \
    X(record_event, cuEventRecord, Event, Stream)                                                  \
    X(elapsed_time, cuEventElapsedTime, float* milliseconds, Event start, Event end)               \
    X(destroy_event, cuEventDestroy_v2, Event)                                                     \
    X(error_name, cuGetErrorName, Result, const char** text)                                       \
    X(error_string, cuGetErrorString, Result, const char** text)

struct Driver {
#define PIPEC_CUDA_DECLARE(name, symbol, ...) Result (*name)(__VA_ARGS__) = nullptr;
    PIPEC_CUDA_FUNCTIONS(PIPEC_CUDA_DECLARE)
#undef PIPEC_CUDA_DECLARE

    /// "out of memory (CUDA_ERROR_OUT_OF_MEMORY)".
    [[nodiscard]] std::string text(Result error) const;
    /// Throws Error where a call failed; `call` says which, and on what: "cuMemAlloc of 8 bytes".
    void check(Result result, const std::string& call) const;
};

/// Loads libcuda.so.1, which comes with NVIDIA's driver, and initialises it. It stays loaded to the end of the process.
/// Throws Error that says what is missing.
Driver load_driver();

/// How many GPUs there are, which is not 0; one of them by its number, and its name. They throw Error that says what is
/// missing.
int count_gpus(const Driver& driver);
DeviceNumber find_gpu(const Driver& driver, int ordinal);
std::string gpu_name(const Driver& driver, DeviceNumber device);

}  // namespace pipec::runner::cuda
