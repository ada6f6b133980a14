// Calls what Halide compiled ahead of time through its table of arguments.
#include <HalideRuntime.h>
#include <dlfcn.h>

#include <algorithm>
#include <deque>
#include <stdexcept>

#include "../halide/runtime.h"
#include "program.h"

namespace pipec::bench {

namespace {

template <class F>
F* function(void* library, const std::string& name) {
    void* symbol = dlsym(library, name.c_str());
    if (symbol == nullptr) throw std::runtime_error(dlerror());
    return reinterpret_cast<F*>(symbol);
}

/// The runtime that all of Halide's pipelines share.
struct Runtime {
    decltype(bench_use_stream)* use_stream;
    decltype(bench_attach)* attach;
    decltype(bench_fetch)* fetch;
    decltype(bench_error)* error;

    /// The library that all of them are linked to.
    explicit Runtime(void* library) {
        use_stream = function<decltype(bench_use_stream)>(library, "bench_use_stream");
        attach = function<decltype(bench_attach)>(library, "bench_attach");
        fetch = function<decltype(bench_fetch)>(library, "bench_fetch");
        error = function<decltype(bench_error)>(library, "bench_error");
    }
    void require(int status) const {
        if (status != 0) throw std::runtime_error(std::string("Halide: ") + error());
    }
};

class HalideProgram : public Program {
public:
    HalideProgram(void* library, const Problem& problem) : runtime_(library), problem_(problem) {
        const std::string& name = problem.shape.example;
        argv_ = function<int(void**)>(library, name + "_argv");
        runtime_.require(runtime_.use_stream(nullptr));
        const auto& metadata = *function<const halide_filter_metadata_t*()>(library, name + "_metadata")();
        for (int i = 0; i < metadata.num_arguments; ++i) {
            const halide_filter_argument_t& argument = metadata.arguments[i];
            if (argument.kind != halide_argument_kind_input_scalar) {
                add_buffer(argument);
            } else if (argument.scalar_def != nullptr) {
                arguments_.push_back(const_cast<halide_scalar_value_t*>(argument.scalar_def));
            } else {
                throw std::runtime_error(std::string("no value for `") + argument.name + "`");
            }
        }
    }

    void launch(gpu::Stream stream) const override {
        runtime_.require(runtime_.use_stream(stream));
        runtime_.require(argv_(arguments_.data()));
    }

    std::vector<gpu::Values> results() override {
        std::vector<gpu::Values> results;
        for (std::size_t i = problem_.inputs.size(); i < problem_.images.size(); ++i) {
            const auto buffer = std::find_if(buffers_.begin(), buffers_.end(),
                                             [&](const Buffer& b) { return b.image == &problem_.images[i]; });
            if (buffer == buffers_.end()) throw std::runtime_error("no output `" + problem_.images[i].name + "`");
            runtime_.require(runtime_.fetch(&buffer->buffer));
            results.push_back(problem_.images[i].values);
            buffer->memory.download(results.back().bytes.data());
        }
        return results;
    }

private:
    struct Buffer {
        const Image* image;
        gpu::Block memory;
        std::vector<halide_dimension_t> dimensions;
        halide_buffer_t buffer{};

        explicit Buffer(const Image& i) : image(&i), memory(i.values.bytes.size()) {}
    };

    void add_buffer(const halide_filter_argument_t& argument) {
        const auto image = std::find_if(problem_.images.begin(), problem_.images.end(),
                                        [&](const Image& i) { return i.name == argument.name; });
        if (image == problem_.images.end()) throw std::runtime_error(std::string("no image `") + argument.name + "`");
        const std::vector<std::int64_t>& extents = image->values.extents;
        if (static_cast<int>(extents.size()) != argument.dimensions ||
            gpu::element_bytes(image->values.type) != static_cast<std::size_t>(argument.type.bytes())) {
            throw std::runtime_error(std::string("`") + argument.name + "` is of another type");
        }
        Buffer& b = buffers_.emplace_back(*image);
        b.memory.upload(image->values.bytes.data());
        int stride = 1;  // Halide's dimensions begin with the innermost one
        for (auto extent = extents.rbegin(); extent != extents.rend(); ++extent) {
            b.dimensions.emplace_back(0, static_cast<int>(*extent), stride);
            stride *= static_cast<int>(*extent);
        }
        b.buffer.type = argument.type;
        b.buffer.dimensions = argument.dimensions;
        b.buffer.dim = b.dimensions.data();
        const bool is_input = argument.kind == halide_argument_kind_input_buffer;
        runtime_.require(runtime_.attach(&b.buffer, b.memory.data(), is_input ? 1 : 0));
        arguments_.push_back(&b.buffer);
    }

    Runtime runtime_;
    const Problem& problem_;
    int (*argv_)(void**) = nullptr;
    std::deque<Buffer> buffers_;  // at fixed addresses
    mutable std::vector<void*> arguments_;
};

}  // namespace

std::unique_ptr<Program> halide_program(void* library, const Problem& problem) {
    return std::make_unique<HalideProgram>(library, problem);
}

}  // namespace pipec::bench
