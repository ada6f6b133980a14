#include "cost/patch_work.h"

#include <algorithm>
#include <cmath>

#include "cost/tile_cuts.h"

namespace pipec::cost {

using fusion::Load;
using fusion::Operations;
using fusion::StageFacts;

namespace {

constexpr auto kAccessBytes = static_cast<double>(plan::kAccessBytes);
/// Of 32 lanes that each read where data say, how often they ask shared memory for a word each. A wide access asks for
/// more at once, and collides with fewer others.
constexpr double kConflicts = 1.86;

/// The elements of a source that a patch reads, and the accesses that load them.
struct Reads {
    double elements = 0, accesses = 0, access_bytes = 4;
    bool regular = true;
};

/// `at_once`: elements behind each other that one access loads although data say where they are.
Reads reads_of(const Load& load, const PatchAxes& axes, std::int64_t columns, std::int64_t rows, double at_once) {
    Reads result;
    const double each = load.reads * static_cast<double>(columns * rows);
    double across = 1, width = 1, windows = 1, touched_rows = 1, down = 1;
    bool beside = false;  // columns of the patch are adjacent in memory
    for (std::size_t i = 0; i < load.indices.size(); ++i) {
        const auto& r = load.indices[i];
        if (!r && load.against[i] >= 0) {  // backward: an access for each element
            if (load.against[i] == axes.columns) across = static_cast<double>(columns);
            if (load.against[i] == axes.rows) touched_rows *= static_cast<double>(rows);
            continue;
        }
        if (!r || load.spread[i] > 0) {
            result.regular = false;
            continue;
        }
        const double window =
            window_at_once(load, i, static_cast<double>(r->hi - r->lo) / static_cast<double>(r->den) + 1);
        const bool dense = side_by_side(load, *r);
        const double points = r->dim >= 0 && r->dim == axes.columns ? static_cast<double>(columns)
                              : r->dim >= 0 && r->dim == axes.rows  ? static_cast<double>(rows)
                                                                    : 1;
        const double step = static_cast<double>(r->num) / static_cast<double>(r->den);
        const double n = std::floor(step * (points - 1) + (dense ? window : 1) + 1e-9);
        if (dense) windows *= window;
        if (r->dim >= 0 && r->dim == axes.columns) {
            // Where a loop goes along it, nobody knows where it begins.
            across = n, width = dense ? window : 1, beside = i == 0 && (load.looped & 1U) == 0;
        } else {
            const bool is_row = r->dim >= 0 && r->dim == axes.rows;
            touched_rows *= is_row ? n : dense ? window : 1;
            if (is_row && i == 0 && (dense || r->num == r->den)) down = n;
        }
    }
    if (!result.regular) {
        result.elements = each;
        result.accesses = each / at_once;
        result.access_bytes = load.bytes * at_once;
        return result;
    }
    // Stencils with holes read less than their box, sums over tables more.
    const double often = std::max(1.0, load.reads / windows);
    result.elements = std::min(each, across * touched_rows * often);
    if (beside && columns > 1) {
        const double per_row = std::ceil(across * load.bytes / kAccessBytes) + (width > 2 ? 1 : 0);
        result.accesses = std::min(result.elements, result.elements / across * per_row);
        result.access_bytes = std::min(kAccessBytes, static_cast<double>(columns * load.bytes));
    } else if (down > 1 && columns > 1) {  // transposed: rows of the patch are adjacent in memory
        const double per_column = std::ceil(down * load.bytes / kAccessBytes) + (std::fmod(down, rows) > 0 ? 1 : 0);
        result.accesses = std::min(result.elements, result.elements / down * per_column);
        result.access_bytes = std::min(kAccessBytes, static_cast<double>(rows * load.bytes));
    } else {
        result.accesses = result.elements / at_once;
        result.access_bytes = load.bytes * at_once;
    }
    return result;
}

/// Elements that one access of a data-dependent load brings.
double at_once(const GroupFacts& facts, const StageFacts& reader, const Load& load) {
    // The owner of an accumulate's element goes through what is its own, row after row.
    if (!reader.pure) return reader.serial > 1 ? kAccessBytes / load.bytes : 1;
    const int from = facts.member(load);
    if (from < 0) return 1;
    const int d = facts.together[static_cast<std::size_t>(from)];
    const StageFacts& stage = facts.stages[static_cast<std::size_t>(from)];
    return d < 0 ? 1
                 : static_cast<double>(stage.hi[static_cast<std::size_t>(d)] - stage.lo[static_cast<std::size_t>(d)]);
}

}  // namespace

plan::PatchReads patch_reads(const GroupFacts& facts, std::size_t m) {
    const StageFacts& stage = facts.stages[m];
    plan::PatchReads reads;
    reads.narrowest = stage.bytes;
    for (const Load& load : stage.loads) reads.narrowest = std::min(reads.narrowest, load.bytes);
    const auto all = [&stage](const PatchAxes& axes, std::int64_t columns, std::int64_t rows) {
        double sum = 0;
        for (const Load& load : stage.loads) sum += reads_of(load, axes, columns, rows, 1).elements;
        return sum;
    };
    reads.elements = all;
    reads.in_registers = [all](const PatchAxes& axes, std::int64_t columns) {
        return all(axes, columns, 1) + static_cast<double>(columns) <= plan::kPatchElements;
    };
    reads.operations = [&facts, m](const PatchAxes& axes, std::int64_t columns) {
        return patch_work(facts, m, axes, columns, 1).operations;
    };
    return reads;
}

std::vector<std::size_t> found_members(const GroupFacts& facts, std::size_t m) {
    std::vector<std::size_t> found;
    for (const Load& load : facts.stages[m].loads) {
        const int from = facts.member(load);
        if (from >= 0 && load.by_data()) found.push_back(static_cast<std::size_t>(from));
    }
    return found;
}

PatchWork patch_work(const GroupFacts& facts, std::size_t m, const PatchAxes& axes, std::int64_t columns,
                     std::int64_t rows) {
    const StageFacts& stage = facts.stages[m];
    PatchWork work;
    for (const Operations& share : stage.shares) {
        double times = 1;
        if (axes.columns >= 0 && (share.dims >> axes.columns & 1U) != 0) times *= static_cast<double>(columns);
        if (axes.rows >= 0 && (share.dims >> axes.rows & 1U) != 0) times *= static_cast<double>(rows);
        work.operations += share.count * times;
        if (share.as_written) work.as_written += share.count * times;
    }
    work.elements = static_cast<double>(columns * rows);
    work.wavefronts = kUpdateWavefronts * stage.updates * work.elements;
    for (const Load& load : stage.loads) {
        if (load.reads <= 0) continue;
        const bool inner = facts.member(load) >= 0;
        const Reads reads = reads_of(load, axes, columns, rows, at_once(facts, stage, load));
        (inner ? work.inner : work.outer) += reads.accesses;
        work.as_written += (inner ? 1 : 2) * reads.accesses * load.in_loops;
        work.elements += reads.elements;
        const double wide = std::max(1.0, reads.access_bytes / 4);
        const bool found = inner && load.by_data();
        const double lines = inner ? 0 : lines_apart(load, axes.columns, static_cast<double>(columns));
        const double each = found ? kConflicts * std::sqrt(wide) : reads.regular ? wide : kScattered;
        (lines > wide ? work.apart : work.wavefronts) += reads.accesses * std::max(lines, each);
        if (load.bytes < 4) work.narrow += reads.elements;
    }
    return work;
}

}  // namespace pipec::cost
