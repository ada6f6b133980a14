#include "runner/tiling.h"

#include <algorithm>

#include "runner/binding.h"

namespace pipec::runner {

namespace {

std::int64_t divide_up(std::int64_t n, std::int64_t by) {
    return (n + by - 1) / by;
}

/// The part [lo, hi) of an extent that a tile has, which is from `first` on in one of `whole`.
void cut(Box& box, int dim, std::int64_t first, std::int64_t size, std::int64_t whole) {
    if (dim < 0) return;
    const auto d = static_cast<std::size_t>(dim);
    const std::int64_t extent = box.hi[d], last = std::min(first + size, whole);
    box.lo[d] = first * extent / whole;  // extents are below 2^31
    box.hi[d] = last * extent / whole;
}

}  // namespace

Tiling::Tiling(const std::vector<Output>& outputs) {
    for (const auto& [buffer, extents] : outputs) {
        Cut result{extents};
        std::vector<int> dims;  // candidates, the last ones are taken
        const int channels = buffer.rank() == 3 ? output_dims(buffer, buffer.name)[2] : -1;
        for (int dim = 0; dim < static_cast<int>(buffer.rank()); ++dim) {
            if (buffer.fixed[static_cast<std::size_t>(dim)] == 0 && dim != channels) dims.push_back(dim);
        }
        const int last = static_cast<int>(buffer.rank()) - 1;
        if (dims.size() >= 2) {
            result.rows = dims[dims.size() - 2];
            result.columns = dims.back();
        } else if (!dims.empty()) {  // rows of a table, or a line
            (dims.back() == last && (buffer.rank() != 3 || channels != 2) ? result.columns : result.rows) = dims.back();
        }
        const auto extent = [&](int dim) { return dim < 0 ? 1 : extents[static_cast<std::size_t>(dim)]; };
        whole_.rows = std::max(whole_.rows, extent(result.rows));
        whole_.columns = std::max(whole_.columns, extent(result.columns));
        cuts_.push_back(result);
    }
}

TileShape Tiling::counts(TileShape tile) const {
    return {divide_up(whole_.rows, tile.rows), divide_up(whole_.columns, tile.columns)};
}

std::optional<Box> Tiling::window(std::size_t output, TileShape tile, TileShape at) const {
    const Cut& of = cuts_[output];
    // What is not cut in a dimension belongs to the first tile there.
    if ((of.rows < 0 && at.rows > 0) || (of.columns < 0 && at.columns > 0)) return std::nullopt;
    Box box = whole_box(of.extents);
    cut(box, of.rows, at.rows * tile.rows, tile.rows, whole_.rows);
    cut(box, of.columns, at.columns * tile.columns, tile.columns, whole_.columns);
    return box.empty() ? std::nullopt : std::optional(box);
}

}  // namespace pipec::runner
