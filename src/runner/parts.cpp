// Parts of arrays, which format a path means, and blocks that parts are put together to.
#include "runner/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "runner/error.h"
#include "runner/files.h"

namespace pipec::runner {

namespace {

std::int64_t count(const Extents& extents) {
    return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

/// The byte of a dense array of `part` where the element `at` of the whole stands.
std::int64_t offset_of(ir::Type type, const Box& part, const Extents& at) {
    const Extents strides = dense_strides(part.extents());
    std::int64_t offset = 0;
    for (std::size_t dim = 0; dim < at.size(); ++dim) offset += (at[dim] - part.lo[dim]) * strides[dim];
    return offset * ir::bytes(type);
}

}  // namespace

Extents Box::extents() const {
    Extents result(lo.size());
    std::transform(hi.begin(), hi.end(), lo.begin(), result.begin(), std::minus<>());
    return result;
}

bool Box::empty() const {
    const Extents size = extents();
    return std::any_of(size.begin(), size.end(), [](std::int64_t n) { return n <= 0; });
}

Box whole_box(const Extents& extents) {
    return {Extents(extents.size(), 0), extents};
}

Box intersection(const Box& a, const Box& b) {
    Box result = a;
    for (std::size_t dim = 0; dim < a.lo.size(); ++dim) {
        result.lo[dim] = std::max(a.lo[dim], b.lo[dim]);
        result.hi[dim] = std::max(result.lo[dim], std::min(a.hi[dim], b.hi[dim]));
    }
    return result;
}

void copy_common(ir::Type type, const std::byte* from, const Box& from_part, std::byte* to, const Box& to_part) {
    const Box common = intersection(from_part, to_part);
    if (common.empty()) return;
    copy_strided(type, common.extents(), from + offset_of(type, from_part, common.lo),
                 dense_strides(from_part.extents()), to + offset_of(type, to_part, common.lo),
                 dense_strides(to_part.extents()));
}

std::unique_ptr<PartReader> open_parts(const std::string& path) {
    check_readable(path);
    if (is_npy(path)) return open_npy(path);
    if (is_zarr(path)) return open_zarr(path);
    if (std::unique_ptr<PartReader> map = open_pnm(path)) return map;
    return open_image(path);
}

void check_parts_writable(const std::string& path) {
    if (is_array(path) || image_writer(path) == "tiff") return;
    throw usage_error(
        fmt::format("cannot write {} tile by tile\n  note: .tif, .npy and .zarr can be written so", path));
}

std::unique_ptr<PartWriter> create_parts(const std::string& path, const std::string& shown, ir::Type type,
                                         const Extents& extents) {
    if (is_npy(path)) return create_npy(path, shown, type, extents);
    if (is_zarr(path)) return create_zarr(path, shown, type, extents);
    return create_image(path, shown, type, extents);
}

struct BlockWriter::Block {
    explicit Block(std::size_t bytes) : elements(bytes) {}
    Memory elements;
    std::int64_t missing = 0;
};

BlockWriter::BlockWriter(ir::Type type, Extents extents, Extents block) : type_(type), extents_(std::move(extents)) {
    grain = std::move(block);
}

BlockWriter::~BlockWriter() = default;

void BlockWriter::write(const Array& part, const Extents& lo) {
    Box from{lo, lo}, blocks{lo, lo};  // the part, and the numbers of the blocks that it touches
    for (std::size_t dim = 0; dim < lo.size(); ++dim) {
        from.hi[dim] += part.extents[dim];
        blocks.lo[dim] = from.lo[dim] / grain[dim];
        blocks.hi[dim] = (from.hi[dim] + grain[dim] - 1) / grain[dim];
    }
    if (from.empty()) return;
    Extents number = blocks.lo;
    for (;;) {
        Box place{number, number};
        for (std::size_t dim = 0; dim < number.size(); ++dim) {
            place.lo[dim] *= grain[dim];
            place.hi[dim] = std::min(place.lo[dim] + grain[dim], extents_[dim]);
        }
        std::unique_ptr<Block>& block = waiting_[number];
        if (!block) {
            block = std::make_unique<Block>(byte_size(type_, place.extents()));
            block->missing = count(place.extents());
        }
        copy_common(type_, part.data.data(), from, block->elements.data(), place);
        block->missing -= count(intersection(from, place).extents());
        if (block->missing == 0) {
            write_block(place, block->elements.data());
            waiting_.erase(number);
        }
        std::size_t dim = number.size();
        for (;;) {
            if (dim == 0) return;
            --dim;
            if (++number[dim] < blocks.hi[dim]) break;
            number[dim] = blocks.lo[dim];
        }
    }
}

}  // namespace pipec::runner
