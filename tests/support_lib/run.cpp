#include "support_lib/run.h"

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

namespace {

/// One image in memory: where each element is.
struct Image {
    const pipe_buffer_info* info;
    std::vector<std::int64_t> extents;
    std::vector<std::int64_t> strides;
    std::unique_ptr<Guarded> memory;
    void* placed = nullptr;  ///< where the pipeline finds it

    [[nodiscard]] std::size_t element_bytes() const {
        return static_cast<std::size_t>(ir::bytes(static_cast<ir::Type>(info->type)));
    }
    /// Calls f(linear row-major index, byte offset).
    template <class F>
    void for_each_element(const F& f) const {
        std::vector<std::int64_t> point(extents.size(), 0);
        for (std::size_t linear = 0;; ++linear) {
            std::int64_t offset = 0;
            for (std::size_t d = 0; d < point.size(); ++d) offset += point[d] * strides[d];
            f(linear, static_cast<std::size_t>(offset) * element_bytes());
            std::size_t d = point.size();
            while (d > 0 && ++point[d - 1] == extents[d - 1]) point[--d] = 0;
            if (d == 0) return;
        }
    }
};

}  // namespace

std::vector<std::int64_t> strides_of(const pipe_buffer_info& info, const std::vector<std::int64_t>& extents,
                                     Layout layout) {
    std::vector<int> order(info.order, info.order + info.rank);
    if (layout == Layout::Reversed) {
        for (std::size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int>(order.size() - 1 - d);
    }
    if (layout == Layout::Rotated && !order.empty()) std::rotate(order.begin(), order.end() - 1, order.end());
    std::vector<std::int64_t> strides(extents.size());
    std::int64_t next = layout == Layout::Sparse ? 3 : 1;
    for (std::size_t i = order.size(); i-- > 0;) {
        const auto d = static_cast<std::size_t>(order[i]);
        strides[d] = next;
        next *= extents[d];
        if (layout == Layout::Pitched || layout == Layout::Rotated) next += 5;
    }
    return strides;
}

namespace {

template <class T>
T* field(std::vector<std::byte>& args, std::size_t offset) {
    return reinterpret_cast<T*>(args.data() + offset);
}

Image make_image(const pipe_buffer_info& info, const std::vector<std::int64_t>& extents, Layout layout) {
    Image image{&info, extents, strides_of(info, extents, layout), nullptr};
    std::int64_t last = 0;
    for (std::size_t d = 0; d < extents.size(); ++d) last += (extents[d] - 1) * image.strides[d];
    image.memory =
        std::make_unique<Guarded>((static_cast<std::size_t>(last) + 1) * image.element_bytes(), image.element_bytes());
    return image;
}

void require(const pipe_info& info, const char* step, runner::abi::pipe_status status,
             const std::vector<std::byte>& args) {
    if (status == runner::abi::PIPE_OK) return;
    char message[512] = "";
    info.check(args.data(), message, sizeof message);
    throw std::runtime_error(fmt::format("{} of `{}` gives status {:#x}: {}", step, info.name, status, message));
}

void set_scalar(std::vector<std::byte>& args, const pipe_scalar_info& info, const reference::Value& value) {
    Array scalar(static_cast<ir::Type>(info.type), {});
    scalar.set(0, value);
    std::memcpy(args.data() + info.offset, scalar.data.data(), scalar.data.size());
}

}  // namespace

const char* name(Layout layout) {
    constexpr const char* kNames[] = {"dense", "pitched", "sparse", "reversed", "rotated"};
    return kNames[static_cast<std::size_t>(layout)];
}

std::map<std::string, Array> run_library(const pipe_info& info, const reference::Arguments& arguments, Layout layout,
                                         Memory& memory) {
    std::vector<std::byte> args(info.args_size);
    info.defaults(args.data());
    for (int i = 0; i < info.parameter_count; ++i) {
        const auto given = arguments.params.find(info.parameters[i].name);
        if (given != arguments.params.end()) set_scalar(args, info.parameters[i], given->second);
    }
    for (int i = 0; i < info.size_count; ++i) {
        *field<std::int64_t>(args, info.sizes[i].offset) = arguments.sizes.at(info.sizes[i].name);
    }

    std::vector<Image> images;
    images.reserve(static_cast<std::size_t>(info.buffer_count));
    std::vector<std::vector<std::byte>> inputs_before;
    const auto attach = [&](const pipe_buffer_info& buffer, const std::vector<std::int64_t>& extents) -> Image& {
        Image& image = images.emplace_back(make_image(buffer, extents, layout));
        std::copy(extents.begin(), extents.end(), field<std::int64_t>(args, buffer.extent_offset));
        if (layout != Layout::Dense) {
            std::copy(image.strides.begin(), image.strides.end(), field<std::int64_t>(args, buffer.stride_offset));
        }
        return image;
    };
    const auto put = [&](Image& image) {
        image.placed = memory.place(image.memory->data(), image.memory->bytes());
        *field<void*>(args, image.info->data_offset) = image.placed;
    };
    for (int i = 0; i < info.buffer_count; ++i) {
        const pipe_buffer_info& buffer = info.buffers[i];
        if (buffer.is_output) continue;
        const Array& array = arguments.inputs.at(buffer.name);
        Image& image = attach(buffer, array.extents);
        image.for_each_element([&](std::size_t linear, std::size_t offset) {
            std::memcpy(image.memory->data() + offset, array.data.data() + linear * image.element_bytes(),
                        image.element_bytes());
        });
        put(image);
        const auto everything = image.memory->everything();
        inputs_before.emplace_back(everything.begin(), everything.end());
    }
    const std::size_t input_count = images.size();

    std::vector<std::byte> resolved = args;
    require(info, "resolve", info.resolve(resolved.data()), resolved);
    for (int i = 0; i < info.buffer_count; ++i) {
        const pipe_buffer_info& buffer = info.buffers[i];
        if (!buffer.is_output) continue;
        const auto* extent = field<std::int64_t>(resolved, buffer.extent_offset);
        put(attach(buffer, std::vector<std::int64_t>(extent, extent + buffer.rank)));
        if (layout == Layout::Dense) {  // "all-zero extents mean: as computed"
            std::fill_n(field<std::int64_t>(args, buffer.extent_offset), buffer.rank, 0);
        }
    }

    require(info, "check", info.check(args.data(), nullptr, 0), args);
    const std::size_t bytes = info.workspace_size(args.data());
    if (bytes == SIZE_MAX) throw std::runtime_error("no workspace size");
    void* const workspace = memory.scratch(bytes);
    const std::vector<std::byte> args_before = args;
    require(info, "launch", info.launch(args.data(), workspace, bytes, memory.stream()), args);
    if (args != args_before) throw std::runtime_error("launch changed its arguments");
    std::fill(args.begin(), args.end(), std::byte{0xff});  // nobody needs them any longer
    memory.finish();
    std::map<std::string, Array> results;
    for (std::size_t i = 0; i < images.size(); ++i) {
        Image& image = images[i];
        memory.fetch(image.memory->data(), image.placed, image.memory->bytes());
        if (i < input_count) {
            if (!std::ranges::equal(image.memory->everything(), inputs_before[i])) {
                throw std::runtime_error(fmt::format("launch changed input `{}`", image.info->name));
            }
            continue;
        }
        Array array(static_cast<ir::Type>(image.info->type), image.extents);
        image.for_each_element([&](std::size_t linear, std::size_t offset) {
            std::byte* element = image.memory->data() + offset;
            std::memcpy(array.data.data() + linear * image.element_bytes(), element, image.element_bytes());
            std::fill_n(element, image.element_bytes(), kGuard);  // what remains must be as it was
        });
        const auto all = image.memory->everything();
        if (!std::all_of(all.begin(), all.end(), [](std::byte b) { return b == kGuard; })) {
            throw std::runtime_error(
                fmt::format("launch wrote between or around the elements of `{}`", image.info->name));
        }
        results.emplace(image.info->name, std::move(array));
    }
    return results;
}

}  // namespace pipec::testing
