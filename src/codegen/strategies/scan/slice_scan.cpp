// A scan whose points need values of other lines. No point of a slice needs another one of it, and each needs those of
// slices before, so that a slice is what can be computed at once.
//
// Where slices are short, or lines many, a block has a line: its threads share out a slice, and a barrier stands behind
// it. The slices that are read again stay in shared memory, where they fit (shared_slices.h). Otherwise values pass
// through global memory, in which a block sees what it has written before a barrier, or each slice of all lines is a
// launch of its own, one thread for each point.
#include "codegen/strategies/scan/slice_scan.h"

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

}  // namespace

std::vector<kernel::Kernel> slice_scan_kernels(kernel::Program& program, int stage) {
    const SliceScan scan(program, stage);
    const ir::Expr slice = scan.slice(), lines = scan.lines();
    const auto known_slice = ir::as_int(slice), known_lines = ir::as_int(lines);
    std::vector<kernel::Kernel> kernels;
    std::int64_t longest_shared = 0;
    for (const plan::SharedSliceTile& tile : shared_slice_tiles(program, stage)) {
        kernels.push_back(shared_slice_kernel(program, stage, tile));
        if (known_slice) return kernels;
        kernels.back().grid[1] = ir::binary(BinaryOp::Min, at_least(constant(tile.slice), slice),
                                            at_least(slice, constant(longest_shared + 1)));
        longest_shared = tile.slice;
    }
    const ir::Expr longest = constant(plan::kLargestBlockSlice), enough = constant(program.target.gpu().sms);
    const bool short_slices = known_slice && *known_slice <= plan::kLargestBlockSlice;
    const bool many_lines = known_lines && *known_lines >= program.target.gpu().sms;
    kernels.push_back(SliceScan(program, stage).of_lines());
    ir::Expr in_blocks = constant(1);
    if (!short_slices && !many_lines) {
        in_blocks = ir::binary(BinaryOp::Max, at_least(longest, slice), at_least(lines, enough));
        kernels.push_back(SliceScan(program, stage).of_slices());
        kernels.back().grid[1] = ir::binary(BinaryOp::Min, at_least(slice, sum(longest, constant(1))),
                                            at_least(difference(enough, constant(1)), lines));
    }
    kernel::Kernel& through_memory = short_slices || many_lines ? kernels.back() : kernels[kernels.size() - 2];
    through_memory.grid[1] = longest_shared == 0
                                 ? in_blocks
                                 : ir::binary(BinaryOp::Min, in_blocks, at_least(slice, constant(longest_shared + 1)));
    return kernels;
}

}  // namespace pipec::codegen
