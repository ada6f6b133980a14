#include "call.h"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <stdexcept>

namespace pipec::gpu {

namespace abi = runner::abi;

namespace {

constexpr std::size_t kGuard = 4096;  // bytes behind the workspace

template <class T>
T parse(const std::string& text, const std::string& what) {
    std::istringstream in(text);
    T value{};
    if (!(in >> value) || in.peek() != std::istringstream::traits_type::eof()) {
        throw std::runtime_error("`" + text + "` is not a value of `" + what + "`");
    }
    return value;
}

/// Writes a number as the type that a parameter has.
void store(const abi::pipe_scalar_info& scalar, const std::string& text, std::byte* to) {
    const auto put = [&](auto value) { std::memcpy(to, &value, sizeof value); };
    switch (scalar.type) {
        case abi::PIPE_FLOAT64: return put(parse<double>(text, scalar.name));
        case abi::PIPE_FLOAT32: return put(parse<float>(text, scalar.name));
        case abi::PIPE_FLOAT16: throw std::runtime_error("float16 parameters cannot be given here");
        case abi::PIPE_UINT64: return put(parse<std::uint64_t>(text, scalar.name));
        default: break;
    }
    const auto value = parse<std::int64_t>(text, scalar.name);  // little endian: its first bytes are the value
    std::memcpy(to, &value, element_bytes(scalar.type));
}

}  // namespace

std::vector<Values> make_inputs(const Case& c, const abi::pipe_info& info, Fill how) {
    std::mt19937_64 random(20240607);
    std::vector<Values> inputs;
    for (int i = 0; i < info.buffer_count && info.buffers[i].is_output == 0; ++i) {
        const abi::pipe_buffer_info& buffer = info.buffers[i];
        const auto given = c.extents.find(buffer.name);
        const std::vector<std::int64_t> extents =
            given == c.extents.end() ? std::vector<std::int64_t>{} : given->second;
        if (static_cast<int>(extents.size()) != buffer.rank) {
            throw std::runtime_error(std::string("`") + buffer.name + "` needs " + std::to_string(buffer.rank) +
                                     " extents");
        }
        fill(inputs.emplace_back(buffer.type, extents), how, random);
    }
    for (const auto& [name, extents] : c.extents) {
        const auto* end = info.buffers + info.buffer_count;
        if (std::none_of(info.buffers, end, [&](const auto& buffer) { return name == buffer.name; }))
            throw std::runtime_error("extents of `" + name + "`, which is neither input nor output");
    }
    return inputs;
}

Call::Call(const abi::pipe_info& info, const Case& c, const std::vector<Values>& inputs, Layout layout, Space space,
           bool fresh_workspace)
    : info_(info), layout_(layout), space_(space), args_(info.args_size) {
    info.defaults(args_.data());
    set_scalars(c);
    for (std::size_t i = 0; i < inputs.size(); ++i) add_image(info.buffers[i], inputs[i].extents, &inputs[i]);
    for (int i = static_cast<int>(inputs.size()); i < info.buffer_count; ++i) {
        const abi::pipe_buffer_info& buffer = info.buffers[i];
        const auto given = c.extents.find(buffer.name);
        if (given == c.extents.end()) continue;
        if (static_cast<int>(given->second.size()) != buffer.rank) {
            throw std::runtime_error(std::string("`") + buffer.name + "` needs " + std::to_string(buffer.rank) +
                                     " extents");
        }
        std::memcpy(args_.data() + buffer.extent_offset, given->second.data(),
                    static_cast<std::size_t>(buffer.rank) * sizeof(std::int64_t));
    }
    std::vector<std::byte> resolved = args_;
    if (const abi::pipe_status status = info.resolve(resolved.data())) {
        char text[512] = "";
        info.check(args_.data(), text, sizeof text);
        throw std::runtime_error("resolve gives status " + std::to_string(status) + ": " + text);
    }
    for (int i = static_cast<int>(inputs.size()); i < info.buffer_count; ++i) {
        const abi::pipe_buffer_info& buffer = info.buffers[i];
        std::vector<std::int64_t> extents(static_cast<std::size_t>(buffer.rank));
        std::memcpy(extents.data(), resolved.data() + buffer.extent_offset, extents.size() * sizeof(std::int64_t));
        add_image(buffer, extents, nullptr);
    }
    char text[512] = "";
    if (info.check(args_.data(), text, sizeof text) != abi::PIPE_OK) throw std::runtime_error(text);
    add_workspace(fresh_workspace);
}

void Call::set_scalars(const Case& c) {
    std::size_t used = 0;
    const auto set = [&](const abi::pipe_scalar_info& scalar) {
        const auto given = c.values.find(scalar.name);
        if (given == c.values.end()) {
            if (scalar.has_default == 0) throw std::runtime_error(std::string("no value for `") + scalar.name + "`");
            return;
        }
        ++used;
        store(scalar, given->second, args_.data() + scalar.offset);
    };
    std::for_each(info_.parameters, info_.parameters + info_.parameter_count, set);
    std::for_each(info_.sizes, info_.sizes + info_.size_count, set);
    if (used < c.values.size()) throw std::runtime_error("a value for what is neither parameter nor size");
}

void Call::add_image(const abi::pipe_buffer_info& buffer, const std::vector<std::int64_t>& extents,
                     const Values* values) {
    Image image{&buffer, Placement(buffer, extents, layout_), {}, nullptr, nullptr, nullptr, {}};
    const Placement& placement = image.placement;
    image.before = values ? placement.scattered(*values) : std::vector<std::byte>(placement.bytes, kPattern);
    std::byte* data = nullptr;
    if (space_ == Space::Device) {
        image.block = std::make_unique<Block>(placement.bytes);
        image.block->upload(image.before.data());
        data = image.block->data();
        if (values != nullptr) {
            image.right = std::make_unique<Block>(placement.bytes);
            image.right->upload(image.before.data());
            image.wrong = std::make_unique<Block>(placement.bytes);
            image.wrong->fill(0, placement.bytes, kPattern);
        }
    } else {
        image.host = image.before;
        data = image.host.data();
    }
    data += placement.first;
    std::memcpy(args_.data() + buffer.data_offset, &data, sizeof data);
    std::memcpy(args_.data() + buffer.extent_offset, extents.data(), extents.size() * sizeof(std::int64_t));
    if (layout_ != Layout::Dense && layout_ != Layout::Offset) {
        std::memcpy(args_.data() + buffer.stride_offset, placement.strides.data(),
                    extents.size() * sizeof(std::int64_t));
    }
    images_.push_back(std::move(image));
}

void Call::add_workspace(bool fresh) {
    constexpr std::size_t kAlignment = 64;
    workspace_bytes_ = info_.workspace_size(args_.data());
    if (workspace_bytes_ == SIZE_MAX) throw std::runtime_error("no workspace size");
    if (space_ == Space::Host) {
        host_workspace_.resize(workspace_bytes_ + kAlignment);
        const auto address = reinterpret_cast<std::uintptr_t>(host_workspace_.data());
        workspace_data_ = host_workspace_.data() + (kAlignment - address % kAlignment) % kAlignment;
        return;
    }
    workspace_ = std::make_unique<Block>(workspace_bytes_ + kGuard);
    workspace_->fill(workspace_bytes_, kGuard, kPattern);
    if (!fresh && workspace_bytes_ > 0) workspace_->fill(0, workspace_bytes_, kPattern);
    workspace_data_ = workspace_->data();
}

void Call::launch(Stream stream) const {
    if (const abi::pipe_status status = info_.launch(args_.data(), workspace_data_, workspace_bytes_, stream)) {
        throw std::runtime_error("launch gives status " + std::to_string(status));
    }
}

void Call::clear_outputs() {
    for (Image& image : images_) {
        if (image.info->is_output != 0 && image.block) image.block->upload(image.before.data());
    }
}

void Call::renew_inputs(Stream stream) const {
    constexpr int kTimes = 20;
    for (const Image& image : images_) {
        if (!image.right) continue;
        for (int i = 0; i < kTimes; ++i) copy(*image.block, *image.wrong, image.wrong->bytes(), stream);
    }
    for (const Image& image : images_) {
        if (image.right) copy(*image.block, *image.right, image.right->bytes(), stream);
    }
}

std::vector<std::byte> Call::content(const Image& image) const {
    if (!image.block) return image.host;
    std::vector<std::byte> bytes(image.placement.bytes);
    image.block->download(bytes.data());
    return bytes;
}

std::vector<Values> Call::results() {
    faults_.clear();
    std::vector<Values> results;
    for (const Image& image : images_) {
        std::vector<std::byte> bytes = content(image);
        const bool is_output = image.info->is_output != 0;
        if (is_output) {
            image.placement.gather(bytes, results.emplace_back(image.info->type, image.placement.extents));
        }
        if (bytes == image.before) continue;
        faults_.push_back(std::string(is_output ? "memory around the elements of output `" : "input `") +
                          image.info->name + "` was written");
    }
    if (workspace_) {
        // The guard alone: not all of the workspace needs to be written.
        std::vector<std::byte> guard(workspace_->bytes() - workspace_bytes_);
        workspace_->download(guard.data(), workspace_bytes_);
        if (std::any_of(guard.begin(), guard.end(), [](std::byte b) { return b != kPattern; })) {
            faults_.emplace_back("memory behind the workspace was written");
        }
    }
    return results;
}

std::size_t Call::image_bytes() const {
    std::size_t sum = 0;
    for (const Image& image : images_) sum += bytes_of(image);
    return sum;
}

std::size_t Call::bytes_of(const Image& image) {
    std::size_t bytes = element_bytes(image.info->type);
    for (const std::int64_t extent : image.placement.extents) bytes *= static_cast<std::size_t>(extent);
    return bytes;
}

}  // namespace pipec::gpu
