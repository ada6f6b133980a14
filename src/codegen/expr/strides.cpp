// Known strides: from the innermost dimension outward, as long as extents are constants.
#include "codegen/expr/strides.h"

#include <algorithm>
#include <numeric>

#include "codegen/emit/c/code_names.h"
#include "ir/build.h"

namespace pipec::codegen {

const ir::Buffer* buffer_of(const ir::Pipeline& pipeline, ir::Source source) {
    const auto index = static_cast<std::size_t>(source.index);
    if (source.kind == ir::Source::Kind::Input) return &pipeline.inputs.at(index);
    const int output = pipeline.stages.at(index).output;
    return output >= 0 ? &pipeline.outputs.at(static_cast<std::size_t>(output)).buffer : nullptr;
}

std::vector<std::int64_t> known_strides(const ir::Buffer& buffer) {
    std::vector<std::int64_t> strides(buffer.rank(), 0);
    std::int64_t stride = 1;
    for (auto dim = buffer.order.rbegin(); dim != buffer.order.rend(); ++dim) {
        strides[static_cast<std::size_t>(*dim)] = stride;
        const auto extent = ir::as_int(buffer.extents[static_cast<std::size_t>(*dim)]);
        if (!extent) break;
        stride *= *extent;
    }
    return strides;
}

std::vector<std::int64_t> known_strides(const ir::Pipeline& pipeline, const poly::Model& model, ir::Source source) {
    if (const ir::Buffer* buffer = buffer_of(pipeline, source)) return known_strides(*buffer);
    const auto index = static_cast<std::size_t>(source.index);
    const ir::Stage& stage = pipeline.stages.at(index);
    const std::vector<poly::Interval>& box = model.domains.at(index).box;
    std::vector<std::int64_t> strides(box.size(), 0);
    std::int64_t stride = 1;
    for (std::size_t d = box.size(); d-- > 0;) {
        strides[d] = stride;
        const auto lo = ir::as_int(box[d].lo), hi = ir::as_int(box[d].hi);
        if (!lo || !hi) break;
        stride *= std::max<std::int64_t>(0, *hi - *lo);
        // What is outside of a long row depends on the row's padding; an empty stage has no strides.
        if (stride == 0 || stride * ir::bytes(stage.type) >= kPaddedRow) break;
    }
    return strides;
}

std::vector<int> memory_order(const ir::Pipeline& pipeline, ir::Source source) {
    if (const ir::Buffer* buffer = buffer_of(pipeline, source)) return buffer->order;
    std::vector<int> order(pipeline.stages.at(static_cast<std::size_t>(source.index)).dims.size());
    std::iota(order.begin(), order.end(), 0);
    return order;
}

}  // namespace pipec::codegen
