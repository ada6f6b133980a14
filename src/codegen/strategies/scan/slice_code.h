// What the kernels of scans that go slice after slice have in common: which dimensions lines and slices have, and where
// the point of a number is among them.
#pragma once

#include <vector>

#include "codegen/strategies/scan/scan_code.h"
#include "ir/build.h"

namespace pipec::codegen {

/// Terms of a thread whose loads are under way at once.
inline constexpr std::int64_t kTermsAtOnce = 16;

class SliceCode : protected ScanCode {
public:
    SliceCode(kernel::Program& program, int stage, const ir::Expr& definition = nullptr);

    /// Expressions of the host.
    [[nodiscard]] ir::Expr lines() const { return count(outer_dims_); }
    [[nodiscard]] ir::Expr slice() const { return count(slice_dims_); }

protected:
    using Dims = std::vector<std::size_t>;

    [[nodiscard]] ir::Expr extent(std::size_t dim) const {
        return tile_count(domain_.box[dim].lo, domain_.box[dim].hi, 1);
    }
    [[nodiscard]] ir::Expr count(const Dims& dims) const;
    /// The first coordinate of the stage's points in a dimension.
    ir::Expr first(std::size_t dim) { return build_.argument(name(dim) + "_first", domain_.box[dim].lo); }
    /// Sets, in these dimensions, the coordinates of the point that has this number among them.
    void set_places(kernel::Body& body, const Dims& dims, ir::Expr number);
    /// Sets the coordinate along the scan, of the slice with this position.
    void set_slice(kernel::Body& body, const ir::Expr& position) { at_[scan_] = coordinate(body, position); }
    /// Of an array in shared memory.
    static ir::Expr element(std::size_t array, ir::Type type, const ir::Expr& row, const ir::Expr& column) {
        return ir::read({ir::Source::Kind::Local, static_cast<int>(array)}, type, {row, column});
    }
    /// How many slices before the point's own one of the scan's reads of itself is.
    std::int64_t slices_back(const ir::Read& read);
    /// The thread's number in a block of so many.
    ir::Expr thread(std::int64_t threads);

    Dims outer_dims_, slice_dims_;  ///< from outermost to innermost in memory; the first are those of lines
    std::vector<ir::Expr> at_;      ///< the point's coordinates
};

}  // namespace pipec::codegen
