#include "codegen/strategies/scan/slice_code.h"

#include "ir/build.h"

namespace pipec::codegen {

using ir::BinaryOp;

SliceCode::SliceCode(kernel::Program& program, int stage, const ir::Expr& definition)
    : ScanCode(program, {stage, {}, {stage}}, definition), at_(stage_.dims.size()) {
    for (const std::size_t dim : line_dims_) {
        (stage_.scan->is_across(dim) ? slice_dims_ : outer_dims_).push_back(dim);
    }
    build_.kernel.layout = kernel::Layout::Dense;
    const poly::Interval& box = domain_.box[scan_];
    first_ = build_.argument(name(scan_) + "_first", stage_.scan->step > 0 ? box.lo : difference(box.hi, constant(1)));
}

ir::Expr SliceCode::count(const Dims& dims) const {
    ir::Expr result = constant(1);
    for (const std::size_t dim : dims) result = count_product(result, extent(dim));
    return result;
}

void SliceCode::set_places(kernel::Body& body, const Dims& dims, ir::Expr number) {
    for (std::size_t i = dims.size(); i-- > 0;) {
        ir::Expr place = number;
        if (i > 0) {
            const ir::Expr divisor = build_.divisor(name(dims[i]) + "_extent", extent(dims[i]));
            place = ir::binary(BinaryOp::Mod, number, divisor);
            number = build_.define(body, "rest", ir::binary(BinaryOp::Div, number, divisor), 0);
        }
        at_[dims[i]] = build_.define(body, name(dims[i]), sum(first(dims[i]), place));
    }
}

/// The read's index is the stage's variable, or what stands for it, minus a constant.
std::int64_t SliceCode::slices_back(const ir::Read& read) {
    auto index = rewriter_.linear(read.indices[scan_]);
    for (const ir::Expr& x : {ir::variable(stage_.dims[scan_].var, ir::Type::Int32), at_[scan_]}) {
        auto by = index;
        by->add(*rewriter_.linear(x), -1);
        if (by->terms.empty()) return -stage_.scan->step * by->constant;
    }
    return stage_.scan->distance;  // not reached: ir::find_scan admits no other index
}

ir::Expr SliceCode::thread(std::int64_t threads) {
    build_.kernel.block = {static_cast<int>(threads), 1, 1};
    const ir::Expr result = build_.special(kernel::Special::Id::ThreadX);
    rewriter_.index(ir::as<ir::Variable>(result)->id, 1, 0, threads);
    return result;
}

}  // namespace pipec::codegen
