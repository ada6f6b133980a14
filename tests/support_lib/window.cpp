#include "support_lib/window.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "support_lib/guarded.h"

namespace pipec::testing {

using reference::Array;
using runner::abi::pipe_buffer_info;
using runner::abi::pipe_info;
using runner::abi::pipe_scalar_info;
using runner::abi::pipe_status;

namespace {

/// The argument struct and the window struct, as bytes.
struct Call {
    std::vector<std::byte> args, window;

    template <class T>
    static T* field(std::vector<std::byte>& bytes, std::size_t offset) {
        return reinterpret_cast<T*>(bytes.data() + offset);
    }
};

void set_scalar(Call& call, const pipe_scalar_info& info, const reference::Value& value) {
    Array scalar(static_cast<ir::Type>(info.type), {});
    scalar.set(0, value);
    std::memcpy(call.args.data() + info.offset, scalar.data.data(), scalar.data.size());
}

void set_window(Call& call, const WindowedPipeline& pipeline, int buffer, const WindowBox* box) {
    const pipe_buffer_info& info = pipeline.info->buffers[buffer];
    const auto& fields = pipeline.windows->buffers[buffer];
    if (info.rank == 0) {
        if (info.is_output) *Call::field<std::int32_t>(call.window, fields.lo_offset) = box != nullptr ? 1 : 0;
        return;
    }
    for (int d = 0; d < info.rank; ++d) {
        const auto range =
            box != nullptr ? (*box)[static_cast<std::size_t>(d)] : std::pair<std::int64_t, std::int64_t>();
        Call::field<std::int64_t>(call.window, fields.lo_offset)[d] = range.first;
        Call::field<std::int64_t>(call.window, fields.hi_offset)[d] = range.second;
    }
}

const WindowBox* find(const Windows& windows, const char* name) {
    const auto found = windows.find(name);
    return found == windows.end() ? nullptr : &found->second;
}

/// Extents of the whole images, parameters and sizes; windows of the outputs. No pointers.
Call make_call(const WindowedPipeline& pipeline, const reference::Arguments& arguments, const Windows& outputs) {
    const pipe_info& info = *pipeline.info;
    Call call{std::vector<std::byte>(info.args_size), std::vector<std::byte>(pipeline.windows->window_size)};
    info.defaults(call.args.data());
    for (int i = 0; i < info.parameter_count; ++i) {
        const auto given = arguments.params.find(info.parameters[i].name);
        if (given != arguments.params.end()) set_scalar(call, info.parameters[i], given->second);
    }
    for (int i = 0; i < info.size_count; ++i) {
        *Call::field<std::int64_t>(call.args, info.sizes[i].offset) = arguments.sizes.at(info.sizes[i].name);
    }
    for (int i = 0; i < info.buffer_count; ++i) {
        const pipe_buffer_info& buffer = info.buffers[i];
        if (buffer.is_output) {
            set_window(call, pipeline, i, find(outputs, buffer.name));
        } else {
            const std::vector<std::int64_t>& extents = arguments.inputs.at(buffer.name).extents;
            std::copy(extents.begin(), extents.end(), Call::field<std::int64_t>(call.args, buffer.extent_offset));
        }
    }
    return call;
}

void require(const char* step, const pipe_info& info, pipe_status status) {
    if (status != 0) throw std::runtime_error(fmt::format("{} of `{}` gives status {:#x}", step, info.name, status));
}

std::vector<std::int64_t> extents_of(const WindowBox& box) {
    std::vector<std::int64_t> result;
    for (const auto& [lo, hi] : box) result.push_back(hi - lo);
    return result;
}

bool is_empty(const WindowBox& box) {
    return std::any_of(box.begin(), box.end(), [](const auto& range) { return range.second <= range.first; });
}

/// Calls f(number, offset in elements) for every element in row-major order.
template <class F>
void for_each_element(const std::vector<std::int64_t>& extents, const std::vector<std::int64_t>& strides, const F& f) {
    std::vector<std::int64_t> point(extents.size(), 0);
    for (std::size_t linear = 0;; ++linear) {
        std::int64_t offset = 0;
        for (std::size_t d = 0; d < point.size(); ++d) offset += point[d] * strides[d];
        f(linear, static_cast<std::size_t>(offset));
        std::size_t d = point.size();
        while (d > 0 && ++point[d - 1] == extents[d - 1]) point[--d] = 0;
        if (d == 0) return;
    }
}

std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& extents) {
    std::vector<std::int64_t> strides(extents.size());
    std::int64_t next = 1;
    for (std::size_t d = extents.size(); d-- > 0;) strides[d] = next, next *= extents[d];
    return strides;
}

/// A window in memory of its own.
struct Held {
    const pipe_buffer_info* info;
    std::vector<std::int64_t> extents, strides;
    std::unique_ptr<Guarded> memory;
    void* placed = nullptr;
    std::vector<std::byte> before{};
};

}  // namespace

Array part_of(const Array& whole, const WindowBox& window) {
    Array result(whole.type, extents_of(window));
    const std::vector<std::int64_t> strides = dense_strides(whole.extents);
    std::size_t first = 0;
    for (std::size_t d = 0; d < window.size(); ++d) first += static_cast<std::size_t>(window[d].first * strides[d]);
    if (is_empty(window)) return result;
    for_each_element(result.extents, strides,
                     [&](std::size_t linear, std::size_t offset) { result.set(linear, whole.get(first + offset)); });
    return result;
}

Windows required_windows(const WindowedPipeline& pipeline, const reference::Arguments& arguments,
                         const Windows& outputs) {
    Call call = make_call(pipeline, arguments, outputs);
    require("required", *pipeline.info, pipeline.windows->required(call.args.data(), call.window.data()));
    Windows result;
    for (int i = 0; i < pipeline.info->buffer_count; ++i) {
        const pipe_buffer_info& buffer = pipeline.info->buffers[i];
        if (buffer.is_output) continue;
        WindowBox& box = result[buffer.name];
        for (int d = 0; d < buffer.rank; ++d) {
            box.emplace_back(Call::field<std::int64_t>(call.window, pipeline.windows->buffers[i].lo_offset)[d],
                             Call::field<std::int64_t>(call.window, pipeline.windows->buffers[i].hi_offset)[d]);
        }
    }
    return result;
}

std::map<std::string, Array> launch_windows(const WindowedPipeline& pipeline, const reference::Arguments& arguments,
                                            const Windows& outputs, const Windows& held, Layout layout,
                                            Memory& memory) {
    const pipe_info& info = *pipeline.info;
    Call call = make_call(pipeline, arguments, outputs);
    std::vector<Held> buffers;
    for (int i = 0; i < info.buffer_count; ++i) {
        const pipe_buffer_info& buffer = info.buffers[i];
        const WindowBox* const box = find(buffer.is_output ? outputs : held, buffer.name);
        if (!buffer.is_output) set_window(call, pipeline, i, box);
        if (box == nullptr || is_empty(*box)) continue;  // the pointer is null
        Held next{&buffer, extents_of(*box), strides_of(buffer, extents_of(*box), layout), nullptr};
        std::int64_t last = 0;
        for (std::size_t d = 0; d < next.extents.size(); ++d) last += (next.extents[d] - 1) * next.strides[d];
        const auto bytes = static_cast<std::size_t>(ir::bytes(static_cast<ir::Type>(buffer.type)));
        next.memory = std::make_unique<Guarded>((static_cast<std::size_t>(last) + 1) * bytes, bytes);
        if (!buffer.is_output) {
            const Array part = part_of(arguments.inputs.at(buffer.name), *box);
            for_each_element(next.extents, next.strides, [&](std::size_t linear, std::size_t offset) {
                std::memcpy(next.memory->data() + offset * bytes, part.data.data() + linear * bytes, bytes);
            });
        }
        const auto everything = next.memory->everything();
        next.before.assign(everything.begin(), everything.end());
        if (layout != Layout::Dense) {
            std::copy(next.strides.begin(), next.strides.end(),
                      Call::field<std::int64_t>(call.args, buffer.stride_offset));
        }
        next.placed = memory.place(next.memory->data(), next.memory->bytes());
        *Call::field<void*>(call.args, buffer.data_offset) = next.placed;
        buffers.push_back(std::move(next));
    }
    char message[512] = "";
    if (pipeline.windows->check_window(call.args.data(), call.window.data(), message, sizeof message) != 0) {
        throw std::runtime_error(fmt::format("check_window of `{}`: {}", info.name, message));
    }
    const std::size_t bytes = pipeline.windows->window_workspace_size(call.args.data(), call.window.data());
    if (bytes == SIZE_MAX) throw std::runtime_error("no workspace size");
    void* const workspace = memory.scratch(bytes);
    require("launch_window", info,
            pipeline.windows->launch_window(call.args.data(), call.window.data(), workspace, bytes, memory.stream()));
    memory.finish();
    std::map<std::string, Array> results;
    for (Held& buffer : buffers) {
        memory.fetch(buffer.memory->data(), buffer.placed, buffer.memory->bytes());
        const auto type = static_cast<ir::Type>(buffer.info->type);
        const auto size = static_cast<std::size_t>(ir::bytes(type));
        if (buffer.info->is_output) {
            Array array(type, buffer.extents);
            for_each_element(buffer.extents, buffer.strides, [&](std::size_t linear, std::size_t offset) {
                std::byte* element = buffer.memory->data() + offset * size;
                std::memcpy(array.data.data() + linear * size, element, size);
                std::fill_n(element, size, kGuard);  // what remains must be as it was
            });
            results.emplace(buffer.info->name, std::move(array));
        }
        if (!std::ranges::equal(buffer.memory->everything(), buffer.before)) {
            throw std::runtime_error(fmt::format("launch_window wrote where it must not: `{}`", buffer.info->name));
        }
    }
    return results;
}

std::string window_problem(const WindowedPipeline& pipeline, const reference::Arguments& arguments,
                           const Windows& outputs, const Windows& held) {
    const pipe_info& info = *pipeline.info;
    Call call = make_call(pipeline, arguments, outputs);
    std::vector<std::unique_ptr<std::vector<std::byte>>> memory;
    for (int i = 0; i < info.buffer_count; ++i) {
        const pipe_buffer_info& buffer = info.buffers[i];
        if (!buffer.is_output) set_window(call, pipeline, i, find(held, buffer.name));
        memory.push_back(std::make_unique<std::vector<std::byte>>(1 << 16));
        *Call::field<void*>(call.args, buffer.data_offset) = memory.back()->data();
    }
    char message[512] = "";
    const pipe_status status =
        pipeline.windows->check_window(call.args.data(), call.window.data(), message, sizeof message);
    return status == 0 ? "" : message;
}

}  // namespace pipec::testing
