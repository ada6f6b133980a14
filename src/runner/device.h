// Where a pipeline runs: the CPU with its own memory, or a GPU with memory that things are copied into and out of.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runner/array.h"
#include "runner/pipe_abi.h"

namespace pipec::runner {

class Device {
public:
    Device() = default;
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    /// Gives all of its memory back.
    virtual ~Device() = default;

    /// "the CPU", "NVIDIA H200 (GPU 0)".
    [[nodiscard]] virtual std::string name() const = 0;

    // Memory for one run. `host` stays where it is until the device has gone. All throw Error.

    /// The device's own copy of `host`. Where the device works on the host's memory, that is `host` itself.
    virtual void* copy_in(const Memory& host) = 0;
    /// Uninitialised memory whose contents copy_out() brings to `host`.
    virtual void* room_for(const Memory& host) = 0;
    virtual void copy_out(const Memory& host, const void* room) = 0;
    /// Uninitialised memory that only the device sees; null for none.
    virtual void* scratch(std::size_t bytes) = 0;

    struct Launched {
        abi::pipe_status status = abi::PIPE_OK;
        double milliseconds = 0;  ///< of all launches, to the end of the last one
    };
    /// Launches the pipeline, `times` times one after the other, and waits for it. Throws Error where the device
    /// failed; other statuses are the caller's.
    virtual Launched launch(const abi::pipe_info& info, const void* args, void* workspace, std::size_t bytes,
                            int times = 1) = 0;
};

std::unique_ptr<Device> open_cpu();

/// A GPU by its number among those that CUDA sees. Throws Error that says what is missing.
std::unique_ptr<Device> open_gpu(int ordinal);

/// Which device a pipeline runs on that is compiled for its target, as --device asks for it ("auto", "cpu", "gpu" or a
/// number): the number of a GPU, or none for the CPU. Throws Error where the two do not fit.
std::optional<int> choose_device(const std::string& wish, const abi::pipe_info& info);

/// That device. Throws Error where it is not there.
std::unique_ptr<Device> open_device(const std::string& wish, const abi::pipe_info& info);

/// One line for each GPU: its number, its architecture as nvcc names it, its name ("0 sm_90 NVIDIA H200"). Throws
/// Error where there is none.
std::string list_gpus();

/// A description of a GPU by its number, in the form of gpus/*.toml: what CUDA's driver says of it. Throws Error.
std::string describe_gpu(int ordinal);

}  // namespace pipec::runner
