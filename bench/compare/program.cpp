#include "program.h"

#include <dlfcn.h>

#include <cstring>
#include <filesystem>
#include <stdexcept>

namespace pipec::bench {

namespace {

class PipecProgram : public Program {
public:
    PipecProgram(const runner::abi::pipe_info& info, const Problem& problem)
        : call_(info, problem.shape, problem.inputs, gpu::Layout::Dense, gpu::Space::Device, false) {}
    void launch(gpu::Stream stream) const override { call_.launch(stream); }
    std::vector<gpu::Values> results() override {
        std::vector<gpu::Values> results = call_.results();
        if (!call_.faults().empty()) throw std::runtime_error(call_.faults().front());
        return results;
    }

private:
    gpu::Call call_;
};

/// Ten bits of each 16.
void limit(gpu::Values& values) {
    if (values.type != runner::abi::PIPE_UINT16) return;
    for (std::size_t i = 0; i < values.bytes.size(); i += 2) {
        std::uint16_t value = 0;
        std::memcpy(&value, &values.bytes[i], 2);
        value = static_cast<std::uint16_t>(value & 1023);
        std::memcpy(&values.bytes[i], &value, 2);
    }
}

}  // namespace

Library::Library(const std::string& file, const std::string& benchmark)
    : handle_(dlopen(std::filesystem::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
    if (void* symbol = dlsym(handle_, (benchmark + "_info").c_str())) {
        info_ = reinterpret_cast<runner::abi::InfoFunction>(symbol)();
    } else if (dlsym(handle_, (benchmark + "_argv").c_str()) == nullptr) {
        throw std::runtime_error("`" + file + "` has no pipeline `" + benchmark + "`");
    }
}

std::unique_ptr<Program> Library::program(const Problem& problem) const {
    if (info_ != nullptr) return std::make_unique<PipecProgram>(*info_, problem);
    return halide_program(handle_, problem);
}

Problem make_problem(const gpu::Case& shape, const runner::abi::pipe_info& info) {
    Problem problem{shape, gpu::make_inputs(shape, info, gpu::Fill::Random), {}};
    for (gpu::Values& values : problem.inputs) limit(values);
    gpu::Call call(info, shape, problem.inputs, gpu::Layout::Dense, gpu::Space::Device, false);
    std::vector<gpu::Values> all = problem.inputs;
    for (gpu::Values& values : call.results()) all.push_back(std::move(values));
    for (std::size_t i = 0; i < all.size(); ++i) problem.images.push_back({info.buffers[i].name, std::move(all[i])});
    return problem;
}

}  // namespace pipec::bench
