#include "program.h"

#include <dlfcn.h>

#include <algorithm>
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
    [[nodiscard]] std::optional<std::size_t> workspace() const override { return call_.workspace_bytes(); }

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

std::vector<gpu::Values> repeated_inputs(const gpu::Case& shape, const runner::abi::pipe_info& info) {
    constexpr std::int64_t kPeriod = std::int64_t{1} << 22;  // elements
    gpu::Case few = shape;
    for (auto& [name, extents] : few.extents) {
        extents.assign(extents.size(), 1);
        extents.back() = kPeriod;
    }
    const std::vector<gpu::Values> periods = gpu::make_inputs(few, info, gpu::Fill::Random);
    std::vector<gpu::Values> inputs;
    for (std::size_t i = 0; i < periods.size(); ++i) {
        gpu::Values& values = inputs.emplace_back(periods[i].type, shape.extents.at(info.buffers[i].name));
        const std::vector<std::byte>& period = periods[i].bytes;
        for (std::size_t at = 0; at < values.bytes.size(); at += period.size()) {
            std::memcpy(&values.bytes[at], period.data(), std::min(period.size(), values.bytes.size() - at));
        }
    }
    return inputs;
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

Problem make_problem(const gpu::Case& shape, const runner::abi::pipe_info& info, bool repeated) {
    Problem problem{shape, {}, {}, 0};
    problem.inputs = repeated ? repeated_inputs(shape, info) : gpu::make_inputs(shape, info, gpu::Fill::Random);
    for (gpu::Values& values : problem.inputs) limit(values);
    gpu::Call call(info, shape, problem.inputs, gpu::Layout::Dense, gpu::Space::Device, false);
    problem.bytes = call.image_bytes();
    if (repeated) return problem;
    std::vector<gpu::Values> all = problem.inputs;
    for (gpu::Values& values : call.results()) all.push_back(std::move(values));
    for (std::size_t i = 0; i < all.size(); ++i) problem.images.push_back({info.buffers[i].name, std::move(all[i])});
    return problem;
}

}  // namespace pipec::bench
