// A block has its points in items: `rows` x `columns` points of a thread. Where a block has the whole table, or one of
// its parts, there are as many blocks as the GPU has room for, and each takes its turn at the items of the image; where
// it has a region of the points, the items of that region, and what the first of them reaches is where its part of the
// table begins. What a point of a region reaches elsewhere is updated in the table itself.
//
// Neighbouring threads have copies of their own of what lies in shared memory, side by side: copy c of cell i is
// element i * copies + c. With 32 copies no two lanes of a warp ever meet in a bank, whatever the data. At the end a
// thread combines the copies of a cell, and brings what was found to the table.
#include "codegen/strategies/reduce/histogram_kernel.h"

#include <algorithm>
#include <utility>

#include "codegen/kernel/shared_memory.h"
#include "codegen/strategies/reduce/histogram_code.h"

namespace pipec::codegen {

using ir::BinaryOp;
using ir::Type;

void HistogramKernel::begin_shared() {
    kernel::SharedArray array{stage_.name + "_of_block", stage_.type, {plan_.cells}};
    if (plan_.copies > 1) array.extents.push_back(plan_.copies);
    if (bytes_of(array) > kStaticSharedBytes) array.offset = 0;  // in the scratch, which a launch asks for
    kernel().shared.push_back(array);
    kernel::Body& body = kernel().body;
    if (plan_.copies > 1) {
        copy_ = plan_.copies == plan_.threads
                    ? thread()
                    : build_.define(body, "copy", ir::binary(BinaryOp::Mod, thread(), constant(plan_.copies)), 0, 1,
                                    plan_.copies);
    }
    ir::Expr element;
    kernel::Body& each =
        build_.loop(body, "element", thread(), constant(plan_.cells * plan_.copies), constant(plan_.threads), element);
    std::vector<ir::Expr> indices{element};
    if (plan_.copies > 1) {
        const ir::Expr copies = constant(plan_.copies);
        indices = {ir::binary(BinaryOp::Div, element, copies), ir::binary(BinaryOp::Mod, element, copies)};
    }
    add(each, kernel::Store{kShared, indices, {identity_}, nullptr});
    add(body, kernel::kBlockBarrier);
}

/// The step before has begun the table, and was launched, since there are cells whatever the sizes are.
bool HistogramKernel::waits_late() const {
    return follows_ && std::all_of(box_.begin(), box_.end(), [](const poly::Interval& interval) {
               return constant_extent(interval.lo, interval.hi).value_or(0) > 0;
           });
}

/// What the block has found goes to the table. The threads of a warp begin with different copies, so that they read
/// from different banks.
void HistogramKernel::bring_to_table() {
    kernel::Body& outer = kernel().body;
    add(outer, kernel::kBlockBarrier);
    if (plan_.table == Table::Whole && waits_late()) add(outer, kernel::Barrier{kernel::Barrier::Scope::Step});
    ir::Expr cell;
    kernel::Body& body = build_.loop(outer, "cell", thread(), constant(plan_.cells), constant(plan_.threads), cell);
    const ir::VarId var = build_.variable("found", stage_.type);
    const ir::Expr found = ir::variable(var, stage_.type);
    if (plan_.copies == 1) {
        add(body, kernel::Define{var, ir::read(kShared, stage_.type, {cell})});
    } else {
        add(body, kernel::Variable{var, identity_});
        const std::int64_t lanes = std::max<std::int64_t>(1, kWarp / plan_.copies);
        ir::Expr k;
        kernel::Body& each = build_.loop(body, "k", constant(0), constant(plan_.copies), constant(1), k, true);
        const ir::Expr turn = ir::binary(BinaryOp::Mod, sum(k, ir::binary(BinaryOp::Div, thread(), constant(lanes))),
                                         constant(plan_.copies));
        add(each,
            kernel::Assign{var, ir::binary(ir::fold_op(op_), found,
                                           ir::read(kShared, stage_.type, {cell, rewriter_.instance(turn, {})}))});
    }
    ir::Expr rest = part_ ? sum(part_, cell) : cell;
    std::vector<ir::Expr> indices(box_.size());
    std::int64_t stride = 1;
    for (std::size_t d = box_.size(); d-- > 0;) {
        ir::Expr place = ir::binary(BinaryOp::Div, rest, constant(stride));
        if (d > 0) place = ir::binary(BinaryOp::Mod, place, constant(plan_.extents[d]));
        indices[d] = rewriter_.instance(sum(place, plan_.dims[d].moves ? begin_[d] : box_[d].lo), {});
        stride *= plan_.extents[d];
    }
    kernel::Body& merge = KernelBuilder::guarded(body, ir::binary(BinaryOp::Ne, found, identity_));
    add(merge, kernel::Atomic{target_, indices, op_, found});
}

kernel::Kernel HistogramKernel::build(kernel::Layout layout) {
    build_.kernel = {};
    copy_ = part_ = nullptr;
    has_packs_ = false;
    kernel().layout = layout;
    kernel().block = {static_cast<int>(plan_.threads), 1, 1};
    if (layout == kernel::Layout::Wide && plan_.has_registers) kernel().least_blocks = plan_.blocks;
    if (in_shared()) begin_shared();
    // What lies outside of a region's part is updated at once.
    if (plan_.table == Table::Region && waits_late()) add(kernel().body, kernel::Barrier{kernel::Barrier::Scope::Step});
    points(items(kernel().body));
    if (in_shared()) bring_to_table();
    return std::move(kernel());
}

std::optional<kernel::Step> histogram_step(kernel::Program& program, int stage, const std::vector<ir::Update>& updates,
                                           const fusion::HistogramShape& asked, bool follows) {
    const auto plan = plan_histogram(program.pipeline, program.model, program.target.gpu(), stage, updates, asked);
    if (!plan) return std::nullopt;
    HistogramKernel builder(program, stage, updates, *plan, follows);
    kernel::Step step;
    kernel::Kernel wide = builder.build(kernel::Layout::Wide);
    if (builder.has_packs()) step.variants.push_back(std::move(wide));
    step.variants.push_back(builder.build(kernel::Layout::Dense));
    step.decided.histogram = plan->shape();
    return step;
}

}  // namespace pipec::codegen
