#include "support_lib/host.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "compiler/host_schedule.h"
#include "support_lib/compile.h"
#include "support_lib/guarded.h"

namespace pipec::testing {

using reference::Array;
using runner::abi::pipe_info;

namespace {

void write(const std::string& path, const std::string& text) {
    std::ofstream out(path, std::ios::binary);
    out << text;
    if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

fusion::Schedules schedules(const std::vector<codegen::Unit>& units, HostTiling tiling) {
    if (tiling == HostTiling::None) return {};
    std::vector<fusion::Inlined> pipelines;
    for (const codegen::Unit& unit : units) pipelines.push_back({*unit.pipeline, *unit.model});
    fusion::Schedules result = compiler::host_schedules(pipelines, fusion::default_cpu());
    for (auto& [name, schedule] : result) {
        for (fusion::GroupSchedule& group : schedule.groups) {
            if (tiling == HostTiling::Small) group.tile = {7, 3, 2};
        }
    }
    return result;
}

/// What is placed is the mirror itself, between its guards.
class HostMemory : public Memory {
public:
    void* place(std::byte* mirror, std::size_t) override { return mirror; }
    void* scratch(std::size_t bytes) override {
        workspace_ = std::make_unique<Guarded>(bytes);
        return bytes == 0 ? nullptr : workspace_->data();
    }
    void finish() override {
        if (!workspace_->intact()) throw std::runtime_error("launch wrote outside of the workspace");
    }
    void fetch(std::byte*, const void*, std::size_t) override {}

private:
    std::unique_ptr<Guarded> workspace_;
};

}  // namespace

HostLibrary::HostLibrary(const std::vector<codegen::Unit>& units, const SourceManager& sources,
                         const std::string& flags, HostTiling tiling, bool windows)
    : HostLibrary(
          codegen::header("generated.pipe", "generated", units, {}, windows),
          codegen::host_source("generated.pipe", "generated.h", units, sources, {}, schedules(units, tiling), windows),
          flags) {}

HostLibrary::HostLibrary(const std::string& header, const std::string& source, const std::string& flags) {
    std::string pattern = (std::filesystem::temp_directory_path() / "pipec-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a temporary directory");
    directory_ = pattern;
    const std::string base = directory_ + "/generated";
    write(base + ".h", header);
    write(base + ".cpp", source);
    const std::string command =
        fmt::format("{} -std=c++17 -O2 -fopenmp -ffp-contract=off -shared -fPIC {} {}.cpp -o {}.so 2> {}.log",
                    PIPEC_HOST_COMPILER, flags, base, base, base);
    if (std::system(command.c_str()) != 0) {
        throw std::runtime_error(command + "\n" + read_file(base + ".log"));
    }
    handle_ = dlopen((base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
}

HostLibrary::~HostLibrary() {
    // The OpenMP runtime's threads may still wait inside of it, so that it stays loaded; only its files go.
    std::error_code ignored;
    if (std::getenv("PIPEC_KEEP_GENERATED") == nullptr) std::filesystem::remove_all(directory_, ignored);
}

const pipe_info& HostLibrary::info(const std::string& pipeline) const {
    const auto function = reinterpret_cast<runner::abi::InfoFunction>(dlsym(handle_, (pipeline + "_info").c_str()));
    if (function == nullptr) throw std::runtime_error("no pipeline `" + pipeline + "` in the generated code");
    return *function();
}

WindowedPipeline HostLibrary::windowed(const std::string& pipeline) const {
    const auto function =
        reinterpret_cast<runner::abi::WindowInfoFunction>(dlsym(handle_, (pipeline + "_window_info").c_str()));
    if (function == nullptr) throw std::runtime_error("no windows of `" + pipeline + "` in the generated code");
    return {&info(pipeline), function()};
}

std::map<std::string, Array> run_host_windows(const WindowedPipeline& pipeline, const reference::Arguments& arguments,
                                              const Windows& outputs, const Windows& held, Layout layout) {
    HostMemory memory;
    return launch_windows(pipeline, arguments, outputs, held, layout, memory);
}

std::map<std::string, Array> run_host(const pipe_info& info, const reference::Arguments& arguments, Layout layout) {
    HostMemory memory;
    return run_library(info, arguments, layout, memory);
}

}  // namespace pipec::testing
