// A scan whose points need values of other lines. No point of a slice needs another one of it, and each needs those of
// slices before, so that a slice is what can be computed at once.
//
// Where slices are short, or lines many, a block has a line: its threads share out a slice, and a barrier stands behind
// it. Values pass through global memory, in which a block sees what it has written before a barrier. Otherwise each
// slice of all lines is a launch of its own, one thread for each point.
#include "codegen/strategies/scan/slice_scan.h"

#include "codegen/expr/rewrite.h"
#include "codegen/expr/strides.h"
#include "codegen/kernel/kernel_build.h"
#include "ir/build.h"
#include "plan/scan_tile.h"

namespace pipec::codegen {

using ir::BinaryOp;
using ir::Type;

namespace {

class SliceScan {
public:
    SliceScan(kernel::Program& program, int stage)
        : program_(program),
          index_(stage),
          stage_(program.pipeline.stages.at(static_cast<std::size_t>(stage))),
          domain_(program.model.domains.at(static_cast<std::size_t>(stage))),
          scan_(static_cast<std::size_t>(stage_.scan->dim)),
          rewriter_(program.pipeline, program.fast_math),
          build_(program.pipeline, rewriter_) {
        for (std::size_t d = 0; d < stage_.dims.size(); ++d) rewriter_.index(stage_.dims[d].var, domain_.box[d]);
        for (const int dim : memory_order(program.pipeline, {ir::Source::Kind::Stage, stage})) {
            const auto d = static_cast<std::size_t>(dim);
            if (d != scan_) (stage_.scan->is_across(d) ? slice_dims_ : line_dims_).push_back(d);
        }
        build_.kernel.layout = kernel::Layout::Dense;
    }

    [[nodiscard]] ir::Expr lines() const { return count(line_dims_); }
    [[nodiscard]] ir::Expr slice() const { return count(slice_dims_); }
    kernel::Kernel of_lines();
    kernel::Kernel of_slices();

private:
    using Dims = std::vector<std::size_t>;

    [[nodiscard]] std::string name(std::size_t dim) const {
        return program_.pipeline.variables.at(static_cast<std::size_t>(stage_.dims[dim].var)).name;
    }
    [[nodiscard]] ir::Expr extent(std::size_t dim) const {
        return tile_count(domain_.box[dim].lo, domain_.box[dim].hi, 1);
    }
    [[nodiscard]] ir::Expr count(const Dims& dims) const;
    void set_places(kernel::Body& body, const Dims& dims, ir::Expr number);
    void set_slice(kernel::Body& body, const ir::Expr& position);
    void point(kernel::Body& body);

    kernel::Program& program_;
    const int index_;
    const ir::Stage stage_;  // copies: adding variables must not move them
    const poly::Domain domain_;
    const std::size_t scan_;
    Rewriter rewriter_;
    KernelBuilder build_;
    Dims line_dims_, slice_dims_;  ///< from outermost to innermost in memory
    std::vector<ir::Expr> at_ = std::vector<ir::Expr>(stage_.dims.size());
};

ir::Expr SliceScan::count(const Dims& dims) const {
    ir::Expr result = constant(1);
    for (const std::size_t dim : dims) result = count_product(result, extent(dim));
    return result;
}

/// The coordinates in these dimensions of the point that has this number among them.
void SliceScan::set_places(kernel::Body& body, const Dims& dims, ir::Expr number) {
    for (std::size_t i = dims.size(); i-- > 0;) {
        ir::Expr place = number;
        if (i > 0) {
            const ir::Expr divisor = build_.divisor(name(dims[i]) + "_extent", extent(dims[i]));
            place = ir::binary(BinaryOp::Mod, number, divisor);
            number = build_.define(body, "rest", ir::binary(BinaryOp::Div, number, divisor), 0);
        }
        const ir::Expr first = build_.argument(name(dims[i]) + "_first", domain_.box[dims[i]].lo);
        at_[dims[i]] = build_.define(body, name(dims[i]), sum(first, place));
    }
}

/// The coordinate along the scan, of the slice with this position.
void SliceScan::set_slice(kernel::Body& body, const ir::Expr& position) {
    const poly::Interval& box = domain_.box[scan_];
    const bool forward = stage_.scan->step > 0;
    const ir::Expr first = build_.argument(name(scan_) + "_first", forward ? box.lo : difference(box.hi, constant(1)));
    at_[scan_] = build_.define(body, name(scan_), forward ? sum(first, position) : difference(first, position));
}

void SliceScan::point(kernel::Body& body) {
    Rewriter::Bindings place;
    for (std::size_t d = 0; d < at_.size(); ++d) place[stage_.dims[d].var] = at_[d];
    kernel::Body& there =
        KernelBuilder::guarded(body, domain_.guard ? rewriter_.instance(domain_.guard, place) : nullptr);
    const ir::VarId var = build_.variable(stage_.name, stage_.type);
    add(there, kernel::Define{var, rewriter_.instance(std::get<ir::Pure>(stage_.definition).value, place)});
    add(there, kernel::Store{{ir::Source::Kind::Stage, index_}, at_, {ir::variable(var, stage_.type)}, nullptr});
}

kernel::Kernel SliceScan::of_lines() {
    const std::int64_t threads = plan::slice_threads(ir::as_int(slice()));
    build_.kernel.name = stage_.name;
    build_.kernel.block = {static_cast<int>(threads), 1, 1};
    build_.kernel.grid[0] = lines();
    const ir::Expr thread = build_.special(kernel::Special::Id::ThreadX);
    rewriter_.index(ir::as<ir::Variable>(thread)->id, 1, 0, threads);
    kernel::Body& body = build_.kernel.body;
    set_places(body, line_dims_, build_.special(kernel::Special::Id::BlockX));
    ir::Expr position, number;
    kernel::Body& slices =
        build_.loop(body, "position", constant(0), build_.argument("length", extent(scan_), 1), constant(1), position);
    set_slice(slices, position);
    kernel::Body& points =
        build_.loop(slices, "number", thread, build_.argument("slice", slice(), 1), constant(threads), number);
    set_places(points, slice_dims_, number);
    point(points);
    add(slices, kernel::Barrier{kernel::Barrier::Scope::Block});
    return std::move(build_.kernel);
}

kernel::Kernel SliceScan::of_slices() {
    build_.kernel.name = stage_.name + "_slice";
    build_.kernel.block = {static_cast<int>(plan::kLaunchedSliceThreads), 1, 1};
    const ir::Expr points = count_product(lines(), slice());
    build_.kernel.grid[0] = ceil_div(points, plan::kLaunchedSliceThreads);
    build_.kernel.repetitions = extent(scan_);
    const ir::Expr thread = build_.special(kernel::Special::Id::ThreadX);
    rewriter_.index(ir::as<ir::Variable>(thread)->id, 1, 0, plan::kLaunchedSliceThreads);
    const ir::Expr first = product(build_.special(kernel::Special::Id::BlockX), constant(plan::kLaunchedSliceThreads));
    kernel::Body& body = build_.kernel.body;
    const ir::Expr number = build_.define(body, "number", sum(first, thread), 0);
    kernel::Body& there =
        KernelBuilder::guarded(body, ir::binary(BinaryOp::Lt, number, build_.argument("points", points, 1)));
    Dims all = line_dims_;
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
    const ir::Expr shortest = constant(plan::kLargestBlockSlice), enough = constant(program.target.gpu().sms);
    const auto known_slice = ir::as_int(slice), known_lines = ir::as_int(lines);
    const bool short_slices = known_slice && *known_slice <= plan::kLargestBlockSlice;
    const bool many_lines = known_lines && *known_lines >= program.target.gpu().sms;
    std::vector<kernel::Kernel> kernels;
    kernels.push_back(SliceScan(program, stage).of_lines());
    if (short_slices || many_lines) return kernels;
    kernels.push_back(SliceScan(program, stage).of_slices());
    kernels[0].grid[1] = ir::binary(BinaryOp::Max, at_least(shortest, slice), at_least(lines, enough));
    kernels[1].grid[1] = ir::binary(BinaryOp::Min, at_least(slice, sum(shortest, constant(1))),
                                    at_least(difference(enough, constant(1)), lines));
    return kernels;
}

}  // namespace pipec::codegen
