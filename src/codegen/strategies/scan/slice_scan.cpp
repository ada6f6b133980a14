// A scan whose points need values of other lines. No point of a slice needs another one of it, and each needs those of
// slices before, so that a slice is what can be computed at once.
//
// Where slices are short, or lines many, a block has a line: its threads share out a slice, and a barrier stands behind
// it. The slices that are read again stay in shared memory, where they fit (shared_slices.h). Long slices whose points
// read near their own place are shared out among blocks, which go through a few slices in each launch
// (slice_strips.cpp, slice_patches.cpp). Otherwise values pass through global memory, in which a block sees what it has
// written before a barrier, or each slice of all lines is a launch of its own, one thread for each point.
#include "codegen/strategies/scan/slice_scan.h"

#include <algorithm>

#include "codegen/strategies/scan/shared_slices.h"
#include "codegen/strategies/scan/slice_code.h"
#include "ir/build.h"
#include "plan/scan_tile.h"

namespace pipec::codegen {

using ir::BinaryOp;

namespace {

/// Through global memory.
class SliceScan : public SliceCode {
public:
    using SliceCode::SliceCode;

    kernel::Kernel of_lines();
    kernel::Kernel of_slices();

private:
    void point(kernel::Body& body);
};

void SliceScan::point(kernel::Body& body) {
    const Rewriter::Bindings place = bindings(at_);
    kernel::Body& there =
        KernelBuilder::guarded(body, domain_.guard ? rewriter_.instance(domain_.guard, place) : nullptr);
    const ir::VarId var = build_.variable(stage_.name, stage_.type);
    add(there, kernel::Define{var, rewriter_.instance(std::get<ir::Pure>(stage_.definition).value, place)});
    add(there, kernel::Store{{ir::Source::Kind::Stage, index_}, at_, {ir::variable(var, stage_.type)}, nullptr});
}

kernel::Kernel SliceScan::of_lines() {
    const std::int64_t threads = plan::slice_threads(ir::as_int(slice()));
    build_.kernel.name = stage_.name;
    build_.kernel.grid[0] = lines();
    const ir::Expr own = thread(threads);
    kernel::Body& body = build_.kernel.body;
    set_places(body, outer_dims_, build_.special(kernel::Special::Id::BlockX));
    ir::Expr position, number;
    kernel::Body& slices =
        build_.loop(body, "position", constant(0), build_.argument("length", extent(scan_), 1), constant(1), position);
    set_slice(slices, position);
    kernel::Body& points =
        build_.loop(slices, "number", own, build_.argument("slice", slice(), 1), constant(threads), number);
    set_places(points, slice_dims_, number);
    point(points);
    add(slices, kernel::kBlockBarrier);
    return std::move(build_.kernel);
}

kernel::Kernel SliceScan::of_slices() {
    build_.kernel.name = stage_.name + "_slice";
    const ir::Expr points = count_product(lines(), slice());
    build_.kernel.grid[0] = ceil_div(points, plan::kLaunchedSliceThreads);
    build_.kernel.repetitions = extent(scan_);
    const ir::Expr own = thread(plan::kLaunchedSliceThreads);
    const ir::Expr begin = product(build_.special(kernel::Special::Id::BlockX), constant(plan::kLaunchedSliceThreads));
    kernel::Body& body = build_.kernel.body;
    const ir::Expr number = build_.define(body, "number", sum(begin, own), 0);
    kernel::Body& there =
        KernelBuilder::guarded(body, ir::binary(BinaryOp::Lt, number, build_.argument("points", points, 1)));
    Dims all = outer_dims_;
    all.insert(all.end(), slice_dims_.begin(), slice_dims_.end());
    set_places(there, all, number);
    set_slice(there, build_.repetition("position"));
    point(there);
    return std::move(build_.kernel);
}

/// The kernels of a scan, of which a launch runs the one for its slices and lines.
class SliceKernels {
public:
    SliceKernels(kernel::Program& program, int stage)
        : program_(program),
          stage_(stage),
          slice_(SliceScan(program, stage).slice()),
          lines_(SliceScan(program, stage).lines()),
          many_(program.target.gpu().sms) {}

    std::vector<kernel::Kernel> all();

private:
    enum class Lines : std::uint8_t { Any, Few, Many };

    /// Slices of more than `above` points, and of at most `most` (0: any).
    template <class Make>
    void add(std::int64_t above, std::int64_t most, Lines lines, const Make& make);
    /// `a` >= `b`, unless that is certain. False where it is certainly not so.
    static bool require(ir::Expr& condition, const ir::Expr& a, const ir::Expr& b);

    kernel::Program& program_;
    const int stage_;
    const ir::Expr slice_, lines_;
    const std::int64_t many_;  ///< lines that keep all of a GPU at work
    std::vector<kernel::Kernel> kernels_;
};

bool SliceKernels::require(ir::Expr& condition, const ir::Expr& a, const ir::Expr& b) {
    const auto known_a = ir::as_int(a), known_b = ir::as_int(b);
    if (known_a && known_b) return *known_a >= *known_b;
    condition = condition ? ir::binary(BinaryOp::Min, condition, at_least(a, b)) : at_least(a, b);
    return true;
}

template <class Make>
void SliceKernels::add(std::int64_t above, std::int64_t most, Lines lines, const Make& make) {
    ir::Expr condition;
    if ((most > 0 && most <= above) || !require(condition, slice_, constant(above + 1))) return;
    if (most > 0 && !require(condition, constant(most), slice_)) return;
    if (lines == Lines::Few && !require(condition, constant(many_ - 1), lines_)) return;
    if (lines == Lines::Many && !require(condition, lines_, constant(many_))) return;
    kernels_.push_back(make());
    kernels_.back().grid[1] = condition;
}

std::vector<kernel::Kernel> SliceKernels::all() {
    const auto tiles = shared_slice_tiles(program_, stage_);
    const auto strip = slice_strip(program_, stage_);
    const std::int64_t shortest_strip = tiles.empty() ? 0 : plan::kShortestStripSlice;
    std::int64_t longest_shared = 0;
    for (const plan::SharedSliceTile& tile : tiles) {
        const bool or_strips = strip && tile.slice > shortest_strip;
        add(longest_shared, tile.slice, or_strips ? Lines::Many : Lines::Any,
            [&] { return shared_slice_kernel(program_, stage_, tile); });
        longest_shared = tile.slice;
    }
    const auto through_memory = [&] { return SliceScan(program_, stage_).of_lines(); };
    if (strip) {
        add(shortest_strip, 0, Lines::Few, [&] { return slice_strip_kernel(program_, stage_, *strip); });
        add(longest_shared, 0, Lines::Many, through_memory);
        return std::move(kernels_);
    }
    // Of few lines, a block takes longer for such a slice than a launch does.
    const std::int64_t longest = std::max(longest_shared, plan::kLargestBlockSlice);
    add(longest_shared, longest, Lines::Few, through_memory);
    add(longest_shared, 0, Lines::Many, through_memory);
    const auto patch = slice_patch(program_, stage_);
    add(longest, 0, Lines::Few,
        [&] { return patch ? slice_patch_kernel(program_, stage_, *patch) : SliceScan(program_, stage_).of_slices(); });
    return std::move(kernels_);
}

}  // namespace

std::vector<kernel::Kernel> slice_scan_kernels(kernel::Program& program, int stage) {
    return SliceKernels(program, stage).all();
}

}  // namespace pipec::codegen
