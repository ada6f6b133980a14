#include "fusion/patch_work.h"

#include <algorithm>
#include <cmath>

#include "fusion/tile_cuts.h"

namespace pipec::fusion {

namespace {

constexpr double kAccessBytes = 16;
/// Of 32 lanes that each read where data say, the lines that they touch.
constexpr double kScattered = 4;

/// The elements of a source that a patch reads, and the accesses that load them.
struct Reads {
    double elements = 0, accesses = 0, access_bytes = 4;
    bool regular = true;
};

Reads reads_of(const Load& load, const PatchAxes& axes, std::int64_t columns, std::int64_t rows) {
    Reads result;
    const double each = load.reads * static_cast<double>(columns * rows);
    double across = 1, width = 1, windows = 1, touched_rows = 1;
    bool beside = false;  // columns of the patch are adjacent in memory
    for (std::size_t i = 0; i < load.indices.size(); ++i) {
        const auto& r = load.indices[i];
        if (!r) {
            result.regular = false;
            continue;
        }
        const double window = static_cast<double>(r->hi - r->lo) / static_cast<double>(r->den) + 1;
        const bool dense = side_by_side(load, *r);
        const double points = r->dim >= 0 && r->dim == axes.columns ? static_cast<double>(columns)
                              : r->dim >= 0 && r->dim == axes.rows  ? static_cast<double>(rows)
                                                                    : 1;
        const double step = static_cast<double>(r->num) / static_cast<double>(r->den);
        const double n = std::floor(step * (points - 1) + (dense ? window : 1) + 1e-9);
        if (dense) windows *= window;
        if (r->dim >= 0 && r->dim == axes.columns) {
            across = n, width = dense ? window : 1, beside = i == 0;
        } else {
            touched_rows *= r->dim >= 0 && r->dim == axes.rows ? n : dense ? window : 1;
        }
    }
    if (!result.regular) {
        result.elements = result.accesses = each;
        result.access_bytes = load.bytes;
        return result;
    }
    // Stencils with holes read less than their box, sums over tables more.
    const double often = std::max(1.0, load.reads / windows);
    result.elements = std::min(each, across * touched_rows * often);
    if (beside && columns > 1) {
        const double per_row = std::ceil(across * load.bytes / kAccessBytes) + (width > 2 ? 1 : 0);
        result.accesses = std::min(result.elements, result.elements / across * per_row);
        result.access_bytes = std::min(kAccessBytes, static_cast<double>(columns * load.bytes));
    } else {
        result.accesses = result.elements;
        result.access_bytes = load.bytes;
    }
    return result;
}

}  // namespace

PatchWork patch_work(const GroupFacts& facts, std::size_t m, const PatchAxes& axes, std::int64_t columns,
                     std::int64_t rows) {
    const StageFacts& stage = facts.stages[m];
    PatchWork work;
    for (const Operations& share : stage.shares) {
        double times = 1;
        if (axes.columns >= 0 && (share.dims >> axes.columns & 1U) != 0) times *= static_cast<double>(columns);
        if (axes.rows >= 0 && (share.dims >> axes.rows & 1U) != 0) times *= static_cast<double>(rows);
        work.operations += share.count * times;
    }
    work.elements = static_cast<double>(columns * rows);
    for (const Load& load : stage.loads) {
        if (load.reads <= 0) continue;
        const bool inner = load.source.kind == ir::Source::Kind::Stage &&
                           std::binary_search(facts.group.stages.begin(), facts.group.stages.end(), load.source.index);
        const Reads reads = reads_of(load, axes, columns, rows);
        (inner ? work.inner : work.outer) += reads.accesses;
        work.elements += reads.elements;
        work.wavefronts += reads.accesses * (reads.regular ? std::max(1.0, reads.access_bytes / 4) : kScattered);
        if (load.bytes < 4) work.narrow += reads.elements;
    }
    return work;
}

}  // namespace pipec::fusion
