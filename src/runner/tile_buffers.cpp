#include "runner/tile_buffers.h"

#include <algorithm>
#include <utility>

#include "runner/files.h"

namespace pipec::runner {

namespace {

/// Bands are about this large, so that what their conversion needs is small beside a tile.
constexpr std::size_t kBandBytes = std::size_t{4} << 20;

/// A part becomes other types and orders one after the other; two of them are there at a time.
constexpr std::size_t kCopies = 2;

std::size_t bytes_of(ir::Type type, const Box& box) {
    return box.empty() ? 0 : byte_size(type, box.extents());
}

/// A part grown to whole tiles, strips or chunks of its file.
Box grown(Box part, const Extents& grain, const Extents& extents) {
    for (std::size_t dim = 0; dim < grain.size(); ++dim) {
        part.lo[dim] = part.lo[dim] / grain[dim] * grain[dim];
        part.hi[dim] = std::min((part.hi[dim] + grain[dim] - 1) / grain[dim] * grain[dim], extents[dim]);
    }
    return part;
}

Box slice(Box window, std::size_t dim) {
    window.hi[dim] = std::min(window.hi[dim], window.lo[dim] + 1);
    return window;
}

/// So many indices make a band, if each has so many bytes and the file takes `grain` of them at once.
std::int64_t indices(std::size_t slice_bytes, std::int64_t grain) {
    const auto size = static_cast<std::int64_t>(kBandBytes / std::max<std::size_t>(slice_bytes, 1));
    return std::max(size / grain * grain, grain);
}

/// Calls `each` with the bands of a window, which end where a multiple of their size does.
template <class F>
void for_each_band(const Box& window, std::size_t dim, std::int64_t size, F&& each) {
    if (window.empty()) return;
    if (window.lo.empty()) return each(window);
    Box band = window;
    for (std::int64_t first = window.lo[dim]; first < window.hi[dim]; first = band.hi[dim]) {
        band.lo[dim] = first;
        band.hi[dim] = std::min(first / size * size + size, window.hi[dim]);
        each(band);
    }
}

/// The largest of the bands.
Box first_band(Box window, std::size_t dim, std::int64_t size) {
    if (!window.lo.empty()) window.hi[dim] = std::min(window.hi[dim], window.lo[dim] + size);
    return window;
}

/// Where a part of a window begins in memory that holds the window alone, in the buffer's order.
std::int64_t offset_in(const Buffer& buffer, const Box& window, const Extents& at) {
    const Extents strides = dense_strides(window.extents(), buffer.order);
    std::int64_t offset = 0;
    for (std::size_t dim = 0; dim < at.size(); ++dim) offset += (at[dim] - window.lo[dim]) * strides[dim];
    return offset * ir::bytes(buffer.type);
}

}  // namespace

TiledInput::TiledInput(const Buffer& buffer, const FileBinding& binding)
    : buffer_(buffer),
      reader_(open_parts(binding.path)),
      view_(buffer, binding, reader_->type, reader_->extents, is_array(binding.path)) {}

std::int64_t TiledInput::band_size(const Box& window) const {
    if (window.lo.empty()) return 1;
    const std::size_t dim = view_.band_dim(window.extents());
    Extents grain = reader_->grain;
    const std::int64_t along = std::exchange(grain[view_.file_dim(dim)], 1);
    const Box one = slice(window, dim);
    return indices(std::max(bytes_of(reader_->type, grown(view_.in_file(one), grain, reader_->extents)),
                            bytes_of(buffer_.type, one)),
                   along);
}

void TiledInput::read(const Box& window, std::byte* to) {
    const std::size_t dim = window.lo.empty() ? 0 : view_.band_dim(window.extents());
    for_each_band(window, dim, band_size(window), [&](const Box& band) {
        const Array part = view_.to_buffer(reader_->read(view_.in_file(band)), band.lo);
        copy_strided(buffer_.type, part.extents, part.data.data(), dense_strides(part.extents),
                     to + offset_in(buffer_, window, band.lo), dense_strides(window.extents(), buffer_.order));
    });
}

std::size_t TiledInput::scratch_bytes(const Box& window) const {
    const std::size_t dim = window.lo.empty() ? 0 : view_.band_dim(window.extents());
    const Box band = first_band(window, dim, band_size(window));
    return kCopies * (bytes_read(band) + bytes_of(buffer_.type, band));
}

std::size_t TiledInput::file_bytes() const {
    return reader_ == nullptr || reader_->whole.empty() ? 0 : byte_size(reader_->type, reader_->extents);
}

std::size_t TiledInput::bytes_read(const Box& window) const {
    return bytes_of(reader_->type, grown(view_.in_file(window), reader_->grain, reader_->extents));
}

TiledOutput::TiledOutput(const Buffer& buffer, const FileBinding& binding, const Extents& extents)
    : buffer_(buffer),
      path_(binding.path),
      view_(buffer, binding, extents),
      judgement_(view_.file_type(), binding.scaling) {
    check_parts_writable(path_);
    block_ = part_blocks(path_, view_.file_extents());
}

void TiledOutput::create() {
    pending_.emplace(path_);
    writer_ = create_parts(pending_->path(), path_, view_.file_type(), view_.file_extents());
}

std::int64_t TiledOutput::band_size(const Box& window) const {
    if (window.lo.empty()) return 1;
    const std::size_t dim = view_.band_dim(window.extents());
    const Box one = slice(window, dim);
    return indices(std::max(bytes_of(view_.file_type(), view_.in_file(one)), bytes_of(buffer_.type, one)),
                   block_[view_.file_dim(dim)]);
}

void TiledOutput::write(const Box& window, const std::byte* from) {
    const std::size_t dim = window.lo.empty() ? 0 : view_.band_dim(window.extents());
    for_each_band(window, dim, band_size(window), [&](const Box& band) {
        Array part(buffer_.type, band.extents());
        copy_strided(buffer_.type, part.extents, from + offset_in(buffer_, window, band.lo),
                     dense_strides(window.extents(), buffer_.order), part.data.data(), dense_strides(part.extents));
        const Extents lo = view_.in_file(band).lo;
        if (view_.is_array()) {
            judgement_.add(part, part);
            writer_->write(part, lo);
            return;
        }
        const Array stored = view_.to_file(part, band.lo);
        judgement_.add(part, stored);
        writer_->write(stored, lo);
    });
}

std::size_t TiledOutput::scratch_bytes(const Box& window) const {
    const std::size_t dim = window.lo.empty() ? 0 : view_.band_dim(window.extents());
    const Box band = first_band(window, dim, band_size(window)), in_file = view_.in_file(band);
    std::size_t bytes = kCopies * (bytes_of(buffer_.type, band) + bytes_of(view_.file_type(), in_file));
    const Box part = view_.in_file(window);
    if (part == grown(part, block_, view_.file_extents())) return bytes + byte_size(view_.file_type(), block_);
    // Blocks that a tile cuts wait for the next row of tiles, while those below begin.
    Box waiting = whole_box(view_.file_extents());
    waiting.hi[view_.file_dim(dim)] = block_[view_.file_dim(dim)];
    return bytes + 2 * bytes_of(view_.file_type(), waiting);
}

PendingFile TiledOutput::finish() {
    writer_->finish();
    return *std::move(pending_);
}

}  // namespace pipec::runner
