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

void for_each_block(const Box& part, const Extents& block, const std::function<void(const Box&)>& each) {
    if (part.empty()) return;
    Box one{part.lo, part.lo};
    const auto place = [&](std::size_t dim, std::int64_t first) {
        one.lo[dim] = first;
        one.hi[dim] = first + block[dim];
    };
    for (std::size_t dim = 0; dim < block.size(); ++dim) place(dim, part.lo[dim] / block[dim] * block[dim]);
    for (;;) {
        each(one);
        std::size_t dim = block.size();
        for (;;) {
            if (dim == 0) return;
            --dim;
            if (one.hi[dim] < part.hi[dim]) break;
            place(dim, part.lo[dim] / block[dim] * block[dim]);
        }
        place(dim, one.hi[dim]);
    }
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

Extents part_blocks(const std::string& path, const Extents& extents) {
    if (is_npy(path)) return Extents(extents.size(), 1);
    return is_zarr(path) ? zarr_chunks(extents) : image_blocks(extents);
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

BlockWriter::BlockWriter(ir::Type type, Extents extents, Extents block)
    : type_(type), extents_(std::move(extents)), block_(std::move(block)) {}

BlockWriter::~BlockWriter() = default;

void BlockWriter::write(const Array& part, const Extents& lo) {
    Box from{lo, lo};
    for (std::size_t dim = 0; dim < lo.size(); ++dim) from.hi[dim] += part.extents[dim];
    const Box inside = whole_blocks(from);
    if (inside == from) {
        write_blocks(inside, part.data.data());
    } else if (!inside.empty()) {
        const Array blocks(type_, inside.extents());
        copy_common(type_, part.data.data(), from, blocks.data.data(), inside);
        write_blocks(inside, blocks.data.data());
    }
    for_each_block(from, block_, [&](const Box& block) {
        const Box place = intersection(block, whole_box(extents_));
        if (intersection(place, inside) == place) return;
        std::unique_ptr<Block>& waiting = waiting_[place.lo];
        if (!waiting) {
            waiting = std::make_unique<Block>(byte_size(type_, place.extents()));
            waiting->missing = count(place.extents());
        }
        copy_common(type_, part.data.data(), from, waiting->elements.data(), place);
        waiting->missing -= count(intersection(from, place).extents());
        if (waiting->missing > 0) return;
        write_blocks(place, waiting->elements.data());
        waiting_.erase(place.lo);
    });
}

Box BlockWriter::whole_blocks(Box part) const {
    for (std::size_t dim = 0; dim < block_.size(); ++dim) {
        part.lo[dim] = (part.lo[dim] + block_[dim] - 1) / block_[dim] * block_[dim];
        if (part.hi[dim] != extents_[dim]) part.hi[dim] = part.hi[dim] / block_[dim] * block_[dim];
        part.hi[dim] = std::max(part.lo[dim], part.hi[dim]);
    }
    return part;
}

}  // namespace pipec::runner
