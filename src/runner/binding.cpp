// Dimensions of images and of buffers, and what to tell a person when they do not go together.
#include "runner/binding.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "runner/error.h"

namespace pipec::runner {

namespace {

constexpr std::array<std::size_t, 3> kPreference = {0, 2, 1};

std::string count(std::int64_t n) {
    return fmt::format("{} channel{}", n, n == 1 ? "" : "s");
}

/// For a transposition from [rows, columns, channels]: the image dimension of each buffer dimension.
std::vector<int> image_dims(std::size_t channel_dim) {
    std::vector<int> dims = {0, 1};
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(channel_dim), 2);
    return dims;
}

bool none_fixed(const Buffer& buffer) {
    for (const std::int64_t extent : buffer.fixed) {
        if (extent != 0) return false;
    }
    return true;
}

std::optional<std::size_t> input_channel_dim(const Buffer& buffer, const Extents& image) {
    std::optional<std::size_t> found;
    for (const std::size_t dim : kPreference) {
        if (buffer.fixed[dim] != image[2]) continue;
        if (!found) found = dim;
        bool others_fit = true;  // decides between several candidates when every extent is a constant
        const std::vector<int> dims = image_dims(dim);
        for (std::size_t i = 0; i < 3; ++i) {
            const std::int64_t extent = image[static_cast<std::size_t>(dims[i])];
            others_fit = others_fit && (buffer.fixed[i] == 0 || buffer.fixed[i] == extent);
        }
        if (others_fit) return dim;
    }
    if (!found && none_fixed(buffer)) return 0;
    return found;
}

std::size_t output_channel_dim(const Buffer& buffer) {
    for (const std::int64_t most : {std::int64_t{4}, INT64_MAX}) {
        for (const std::size_t dim : kPreference) {
            if (buffer.fixed[dim] != 0 && buffer.fixed[dim] <= most) return dim;
        }
    }
    return 0;
}

Error wrong_channels(const Extents& image, const Buffer& buffer, const std::string& path, std::int64_t needed) {
    const std::int64_t have = image[2];
    const std::string& name = buffer.name;
    std::string message =
        fmt::format("{} is {}; `{}` needs {}: {}", path, image_text(image), name, count(needed), shape_text(buffer));
    const auto list = [](std::int64_t n, bool repeat) {
        std::string text;
        for (std::int64_t i = 0; i < n; ++i) text += fmt::format("{}{}", i == 0 ? "" : ",", repeat ? 0 : i);
        return text;
    };
    if (needed == 1) {
        message += fmt::format(
            "\n  note: `--gray {0}` turns the file into one channel, `--channels {0}=0` takes the first", name);
    } else if (have == 1 && needed <= 4) {
        message += fmt::format("\n  note: `--channels {}={}` repeats the one channel", name, list(needed, true));
    } else if (have > needed) {
        message += fmt::format("\n  note: `--channels {}={}` takes the first {}", name, list(needed, false), needed);
    }
    return file_error(message);
}

}  // namespace

std::vector<int> input_dims(const Extents& image, const Buffer& buffer, const std::string& path) {
    const std::int64_t channels = image[2];
    if (buffer.rank() == 1 || buffer.rank() == 2) {
        if (channels != 1) throw wrong_channels(image, buffer, path, 1);
        if (buffer.rank() == 2) return {0, 1};
        if (image[0] == 1) return {1};
        throw file_error(fmt::format("{} is {}; `{}` needs an image of one row: {}", path, image_text(image),
                                     buffer.name, shape_text(buffer)));
    }
    if (buffer.rank() != 3) {
        throw file_error(fmt::format("{} is an image; `{}` has {} dimensions: {}\n  note: a .npy file can hold it",
                                     path, buffer.name, buffer.rank(), shape_text(buffer)));
    }
    const std::optional<std::size_t> dim = input_channel_dim(buffer, image);
    if (!dim) throw wrong_channels(image, buffer, path, buffer.fixed[output_channel_dim(buffer)]);
    return image_dims(*dim);
}

std::array<int, 3> output_dims(const Buffer& buffer, const std::string& path) {
    switch (buffer.rank()) {
        case 1: return {-1, 0, -1};
        case 2: return {0, 1, -1};
        case 3: {
            const std::vector<int> dims = image_dims(output_channel_dim(buffer));
            std::array<int, 3> result{};
            for (std::size_t i = 0; i < dims.size(); ++i)
                result[static_cast<std::size_t>(dims[i])] = static_cast<int>(i);
            return result;
        }
        default:
            throw usage_error(
                fmt::format("{} would be an image; `{}` has {} dimensions: {}\n  note: a .npy file can hold it", path,
                            buffer.name, buffer.rank(), shape_text(buffer)));
    }
}

std::string image_text(const Extents& image) {
    return fmt::format("{} x {} with {}", image[0], image[1], count(image[2]));
}

}  // namespace pipec::runner
