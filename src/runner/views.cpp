// Conversions between the contents of files and of buffers.
#include "runner/views.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runner/binding.h"
#include "runner/files.h"

namespace pipec::runner {

namespace {

/// The place of an element, by its number in a dense part that begins at `lo`.
Extents place_of(const Extents& extents, std::size_t index, const Extents& lo) {
    Extents at = lo;
    for (std::size_t dim = extents.size(); dim-- > 0;) {
        const auto n = static_cast<std::size_t>(extents[dim]);
        at[dim] += static_cast<std::int64_t>(index % n);
        index /= n;
    }
    return at;
}

/// The longest dimension but the last one, which is the innermost of a file.
std::size_t longest(const Extents& extents) {
    if (extents.size() < 2) return 0;
    return static_cast<std::size_t>(std::max_element(extents.begin(), extents.end() - 1) - extents.begin());
}

}  // namespace

std::string position_text(const Extents& at) {
    return fmt::format("[{}]", fmt::join(at, ", "));
}

InputView::InputView(Buffer buffer, FileBinding binding, ir::Type type, Extents extents, bool is_array)
    : buffer_(std::move(buffer)), binding_(std::move(binding)), file_extents_(std::move(extents)), is_array_(is_array) {
    const std::string& path = binding_.path;
    if (is_array_) {
        if (binding_.gray || binding_.channels) {
            throw usage_error(fmt::format("--gray and --channels are for images; {} is an array", path));
        }
        description_ = fmt::format("{} is {} {}", path, shape_text(file_extents_), ir::name(type));
        if (file_extents_.size() != buffer_.rank()) {
            throw file_error(fmt::format("{}; `{}` needs {} dimension{}: {}", description_, buffer_.name,
                                         buffer_.rank(), buffer_.rank() == 1 ? "" : "s", shape_text(buffer_)));
        }
        if (ir::is_float(type) && !ir::is_float(buffer_.type) && binding_.scaling != Scaling::Raw) {
            throw file_error(fmt::format("{}; `{}` is {}\n  note: `--raw {}` rounds the values", description_,
                                         buffer_.name, shape_text(buffer_), buffer_.name));
        }
        binding_.scaling = Scaling::Raw;  // its numbers are numbers
        extents_ = file_extents_;
        return;
    }
    description_ = fmt::format("{} is {}", path, image_text(file_extents_));
    Extents seen = file_extents_;
    if (binding_.gray) seen[2] = 1;
    if (binding_.channels) {
        for (const int channel : *binding_.channels) {
            if (channel < seen[2]) continue;
            throw usage_error(fmt::format("--channels {}: there is no channel {} in {}, which is {}", buffer_.name,
                                          channel, path, image_text(seen)));
        }
        seen[2] = static_cast<std::int64_t>(binding_.channels->size());
    }
    dims_ = input_dims(seen, buffer_, path);
    for (const int dim : dims_) extents_.push_back(seen[static_cast<std::size_t>(dim)]);
}

Box InputView::of_whole_pixels(Box part) const {
    for (std::size_t i = 0; i < dims_.size(); ++i) {
        if (dims_[i] != 2) continue;
        part.lo[i] = 0;
        part.hi[i] = extents_[i];
    }
    return part;
}

Box InputView::in_file(const Box& part) const {
    if (is_array_) return part;
    Box result = whole_box(file_extents_);
    for (std::size_t i = 0; i < dims_.size(); ++i) {
        if (dims_[i] == 2) continue;
        result.lo[static_cast<std::size_t>(dims_[i])] = part.lo[i];
        result.hi[static_cast<std::size_t>(dims_[i])] = part.hi[i];
    }
    return result;
}

std::size_t InputView::band_dim(const Extents& window) const {
    const auto rows = std::find(dims_.begin(), dims_.end(), 0);
    if (is_array_) return longest(window);
    return rows == dims_.end() ? 0 : static_cast<std::size_t>(rows - dims_.begin());
}

std::size_t InputView::file_dim(std::size_t dim) const {
    return is_array_ ? dim : static_cast<std::size_t>(dims_[dim]);
}

Array InputView::to_buffer(Array from_file, const Extents& lo) const {
    if (!is_array_) {
        if (binding_.gray) from_file = to_gray(from_file);
        if (binding_.channels) from_file = select_channels(from_file, *binding_.channels);
        from_file = transpose(from_file, dims_);
    }
    Converted converted = convert(std::move(from_file), buffer_.type, binding_.scaling);
    if (!converted.misfit) return std::move(converted.array);
    throw file_error(fmt::format("{}: the value {} at {} does not fit `{}`, which is {}", binding_.path,
                                 converted.misfit->value,
                                 position_text(place_of(converted.array.extents, converted.misfit->index, lo)),
                                 buffer_.name, ir::name(buffer_.type)));
}

OutputView::OutputView(Buffer buffer, FileBinding binding, const Extents& extents)
    : buffer_(std::move(buffer)),
      binding_(std::move(binding)),
      is_array_(runner::is_array(binding_.path)),
      file_type_(buffer_.type),
      file_extents_(extents) {
    if (is_array_) return;
    dims_ = output_dims(buffer_, binding_.path);
    file_extents_.clear();
    for (const int dim : dims_) file_extents_.push_back(dim < 0 ? 1 : extents[static_cast<std::size_t>(dim)]);
    if (binding_.channels) {
        for (const int channel : *binding_.channels) {
            if (channel < file_extents_[2]) continue;
            throw usage_error(fmt::format("--channels {}: there is no channel {} in the output, which is {}",
                                          buffer_.name, channel, image_text(file_extents_)));
        }
        file_extents_[2] = static_cast<std::int64_t>(binding_.channels->size());
    }
    const std::vector<ir::Type> storable = storable_types(binding_.path, file_extents_[2], buffer_.name);
    file_type_ = binding_.depth.value_or(default_storage(buffer_.type, storable));
}

Box OutputView::in_file(const Box& part) const {
    if (is_array_) return part;
    Box result = whole_box(file_extents_);
    for (std::size_t i = 0; i < 2; ++i) {
        if (dims_[i] < 0) continue;
        result.lo[i] = part.lo[static_cast<std::size_t>(dims_[i])];
        result.hi[i] = part.hi[static_cast<std::size_t>(dims_[i])];
    }
    return result;
}

std::size_t OutputView::band_dim(const Extents& window) const {
    if (is_array_) return longest(window);
    return static_cast<std::size_t>(std::max(dims_[0], 0));
}

std::size_t OutputView::file_dim(std::size_t dim) const {
    if (is_array_) return dim;
    return static_cast<std::size_t>(std::find(dims_.begin(), dims_.end(), static_cast<int>(dim)) - dims_.begin());
}

Array OutputView::to_file(const Array& contents, const Extents& lo) const {
    std::vector<int> order;  // an image has no more dimensions than these, and others have one element
    for (const int dim : dims_) {
        if (dim >= 0) order.push_back(dim);
    }
    Array image = transpose(contents, order);
    for (std::size_t i = 0; i < dims_.size(); ++i) {
        if (dims_[i] < 0) image.extents.insert(image.extents.begin() + static_cast<std::ptrdiff_t>(i), 1);
    }
    if (binding_.channels) image = select_channels(image, *binding_.channels);
    Converted converted = convert(std::move(image), file_type_, binding_.scaling);
    if (!converted.misfit) return std::move(converted.array);
    const Box part = in_file({lo, lo});
    throw file_error(fmt::format(
        "cannot write {}: the value {} at {} (row, column, channel) of `{}` does not fit {}\n  note: .tif files hold "
        "integers of 8 to 32 bits, .npy files all",
        binding_.path, converted.misfit->value,
        position_text(place_of(converted.array.extents, converted.misfit->index, part.lo)), buffer_.name,
        ir::name(file_type_)));
}

}  // namespace pipec::runner
