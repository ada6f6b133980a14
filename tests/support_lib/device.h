// CUDA-target code in the SIMT emulator: the generated text as it is, compiled by the system's C++ compiler.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "codegen/emit/cuda/cuda.h"
#include "support_lib/run.h"
#include "support_lib/window.h"

namespace pipec::testing {

/// A loaded shared object; its files live in a temporary directory of its own and go with it.
class DeviceLibrary {
public:
    /// Generates, compiles and loads the code for these pipelines. Throws std::runtime_error with the compiler's
    /// messages where it refuses.
    DeviceLibrary(const std::vector<codegen::Unit>& units, const SourceManager& sources,
                  const codegen::CudaOptions& options = {}, bool windows = false);
    /// Of a text that is generated already.
    DeviceLibrary(const std::string& header, const std::string& header_name, const std::string& source);
    ~DeviceLibrary();
    DeviceLibrary(const DeviceLibrary&) = delete;
    DeviceLibrary& operator=(const DeviceLibrary&) = delete;

    /// Throws std::runtime_error where there is no such pipeline.
    [[nodiscard]] const runner::abi::pipe_info& info(const std::string& pipeline) const;
    /// The same with the functions for windows, where the code has them.
    [[nodiscard]] WindowedPipeline windowed(const std::string& pipeline) const;

private:
    std::string directory_;
    void* handle_ = nullptr;
};

/// run_library on the emulator's memory, in a stream of its own. `order` is that of lanes and blocks (simt::set_order).
/// Throws std::runtime_error with the emulator's report on any fault.
std::map<std::string, reference::Array> run_device(const runner::abi::pipe_info& info,
                                                   const reference::Arguments& arguments, Layout layout = Layout::Dense,
                                                   std::uint64_t order = 0);

/// launch_windows on the emulated device's memory. Throws as run_device does.
std::map<std::string, reference::Array> run_device_windows(const WindowedPipeline& pipeline,
                                                           const reference::Arguments& arguments,
                                                           const Windows& outputs, const Windows& held, Layout layout,
                                                           std::uint64_t order);

}  // namespace pipec::testing
