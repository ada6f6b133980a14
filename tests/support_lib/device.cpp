#include "support_lib/device.h"

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "codegen/emit/cuda/cuda_window.h"
#include "codegen/lower.h"
#include "simt.h"
#include "support_lib/compile.h"

namespace pipec::testing {

using reference::Array;
using runner::abi::pipe_info;

namespace {

void write(const std::string& path, const std::string& text) {
    std::ofstream out(path, std::ios::binary);
    out << text;
    if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

void run_command(const std::string& command, const std::string& log) {
    if (std::system((command + " 2> " + log).c_str()) != 0) throw std::runtime_error(command + "\n" + read_file(log));
}

void require(cudaError_t error, const char* what) {
    if (error != cudaSuccess) throw std::runtime_error(fmt::format("{}: {}", what, cudaGetErrorString(error)));
}

/// Device memory of exactly the bytes asked for; the emulator watches what is around it.
class DeviceMemory : public Memory {
public:
    DeviceMemory() { require(cudaStreamCreate(&stream_), "cudaStreamCreate"); }
    ~DeviceMemory() override {
        for (void* block : blocks_) cudaFree(block);
        cudaStreamDestroy(stream_);
    }
    void* place(std::byte* mirror, std::size_t bytes) override {
        void* const block = scratch(bytes);
        require(cudaMemcpy(block, mirror, bytes, cudaMemcpyHostToDevice), "cudaMemcpy to the device");
        return block;
    }
    void* scratch(std::size_t bytes) override {
        if (bytes == 0) return nullptr;
        void* block = nullptr;
        require(cudaMalloc(&block, bytes), "cudaMalloc");
        blocks_.push_back(block);
        return block;
    }
    CUstream_st* stream() override { return stream_; }
    void finish() override { require(cudaStreamSynchronize(stream_), "the kernels"); }
    void fetch(std::byte* mirror, const void* placed, std::size_t bytes) override {
        require(cudaMemcpy(mirror, placed, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy from the device");
    }

private:
    cudaStream_t stream_ = nullptr;
    std::vector<void*> blocks_;
};

}  // namespace

namespace {

std::string source_text(const std::vector<codegen::Unit>& units, const SourceManager& sources,
                        const codegen::CudaOptions& options, bool windows) {
    std::vector<codegen::kernel::Program> programs;
    std::vector<codegen::WindowProgram> of_windows;
    for (const codegen::Unit& unit : units) {
        programs.push_back(codegen::lower(unit, sources, options));
        if (windows) of_windows.push_back(codegen::window_program(unit, sources, options));
    }
    return codegen::cuda_source("generated.pipe", "generated.h", programs, options.origin, of_windows);
}

}  // namespace

DeviceLibrary::DeviceLibrary(const std::vector<codegen::Unit>& units, const SourceManager& sources,
                             const codegen::CudaOptions& options, bool windows)
    : DeviceLibrary(codegen::header("generated.pipe", "generated", units, {}, windows), "generated.h",
                    source_text(units, sources, options, windows)) {}

DeviceLibrary::DeviceLibrary(const std::string& header, const std::string& header_name, const std::string& source) {
    std::string pattern = (std::filesystem::temp_directory_path() / "pipec-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a temporary directory");
    directory_ = pattern;
    const std::string base = directory_ + "/generated";
    write(directory_ + "/" + header_name, header);
    write(base + ".cu", source);
    run_command(fmt::format("{} {}.cu -o {}.o", PIPEC_SIMT_COMPILE, base, base), base + ".log");
    run_command(fmt::format("{} {}.o -o {}.so", PIPEC_SIMT_LINK, base, base), base + ".log");
    handle_ = dlopen((base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
}

DeviceLibrary::~DeviceLibrary() {
    if (handle_ != nullptr) dlclose(handle_);
    std::error_code ignored;
    if (std::getenv("PIPEC_KEEP_GENERATED") == nullptr) std::filesystem::remove_all(directory_, ignored);
}

const pipe_info& DeviceLibrary::info(const std::string& pipeline) const {
    const auto function = reinterpret_cast<runner::abi::InfoFunction>(dlsym(handle_, (pipeline + "_info").c_str()));
    if (function == nullptr) throw std::runtime_error("no pipeline `" + pipeline + "` in the generated code");
    return *function();
}

WindowedPipeline DeviceLibrary::windowed(const std::string& pipeline) const {
    const auto function =
        reinterpret_cast<runner::abi::WindowInfoFunction>(dlsym(handle_, (pipeline + "_window_info").c_str()));
    if (function == nullptr) throw std::runtime_error("no windows of `" + pipeline + "` in the generated code");
    return {&info(pipeline), function()};
}

namespace {

/// Runs on a device whose faults are caught.
template <class Run>
std::map<std::string, Array> with_device(std::uint64_t order, const Run& run) {
    const simt::CatchFaults faults;
    simt::set_order(order);
    try {
        DeviceMemory memory;
        auto results = run(memory);
        if (faults.faults().empty()) return results;
    } catch (const std::runtime_error& error) {
        if (faults.faults().empty()) throw;
    }
    throw std::runtime_error(faults.text());
}

}  // namespace

std::map<std::string, Array> run_device_windows(const WindowedPipeline& pipeline, const reference::Arguments& arguments,
                                                const Windows& outputs, const Windows& held, Layout layout,
                                                std::uint64_t order) {
    return with_device(
        order, [&](Memory& memory) { return launch_windows(pipeline, arguments, outputs, held, layout, memory); });
}

std::map<std::string, Array> run_device(const pipe_info& info, const reference::Arguments& arguments, Layout layout,
                                        std::uint64_t order) {
    return with_device(order, [&](Memory& memory) { return run_library(info, arguments, layout, memory); });
}

}  // namespace pipec::testing
