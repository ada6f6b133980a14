// Loading of shared objects, and the translation of their tables into C++ terms.
#include "runner/library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>

#include "runner/error.h"

namespace pipec::runner {

namespace {

Buffer buffer(const abi::pipe_buffer_info& info) {
    const auto rank = static_cast<std::size_t>(info.rank);
    Buffer result{info.name, static_cast<ir::Type>(info.type), info.is_output != 0, {}, {}, {}, &info};
    result.order.assign(info.order, info.order + rank);
    result.fixed.assign(info.fixed_extent, info.fixed_extent + rank);
    result.extent_text.assign(info.extent_text, info.extent_text + rank);
    return result;
}

std::vector<Scalar> scalars(const abi::pipe_scalar_info* infos, int count) {
    std::vector<Scalar> result;
    for (const abi::pipe_scalar_info& info : std::span(infos, static_cast<std::size_t>(count))) {
        result.push_back({info.name, static_cast<ir::Type>(info.type), info.has_default != 0, info.offset});
    }
    return result;
}

}  // namespace

void Library::Close::operator()(void* handle) const {
    dlclose(handle);
}

Library::Library(const std::string& path, const std::string& pipeline) {
    // Without a slash dlopen would search the system's library path.
    const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
    // OpenMP's threads may still wait inside of its runtime when the handle is closed, so that nothing is unloaded.
    handle_.reset(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE));
    if (!handle_) throw file_error(fmt::format("cannot load the compiled pipeline: {}", dlerror()));
    const std::string symbol = pipeline + "_info";
    // POSIX promises that a function's address survives the way through void*.
    const auto function = reinterpret_cast<abi::InfoFunction>(dlsym(handle_.get(), symbol.c_str()));
    if (function == nullptr) throw usage_error(fmt::format("{} has no pipeline `{}`", path, pipeline));
    info_ = function();
    if (info_->version != abi::kVersion) {
        throw usage_error(
            fmt::format("`{}` was generated for version {} of the interface; this program knows version {}: "
                        "generate it again",
                        pipeline, info_->version, abi::kVersion));
    }
    const auto windows =
        reinterpret_cast<abi::WindowInfoFunction>(dlsym(handle_.get(), (pipeline + "_window_info").c_str()));
    if (windows != nullptr && windows()->version == abi::kVersion) window_info_ = windows();
    for (const abi::pipe_buffer_info& info : std::span(info_->buffers, static_cast<std::size_t>(info_->buffer_count))) {
        buffers_.push_back(buffer(info));
    }
    parameters_ = scalars(info_->parameters, info_->parameter_count);
    sizes_ = scalars(info_->sizes, info_->size_count);
}

std::string shape_text(const Buffer& buffer) {
    return fmt::format("{}[{}]", ir::name(buffer.type), fmt::join(buffer.extent_text, ", "));
}

}  // namespace pipec::runner
