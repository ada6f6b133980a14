#include "fusion/group_shape.h"

#include <algorithm>
#include <utility>

#include "ir/build.h"

namespace pipec::fusion {

StageShape stage_shape(const ir::Pipeline& pipeline, const poly::Model& model, int stage) {
    const ir::Stage& definition = pipeline.stages.at(static_cast<std::size_t>(stage));
    StageShape shape;
    shape.bytes = ir::bytes(definition.type);
    shape.accumulates = std::holds_alternative<ir::Accumulate>(definition.definition);
    for (const poly::Interval& interval : model.domains.at(static_cast<std::size_t>(stage)).box) {
        const auto lo = ir::as_int(interval.lo), hi = ir::as_int(interval.hi);
        std::optional<StageShape::Range>& range = shape.ranges.emplace_back();
        if (lo && hi) range = StageShape::Range{*lo, *hi};
    }
    shape.innermost = static_cast<int>(definition.dims.size()) - 1;
    if (definition.output >= 0 && shape.innermost >= 0)
        shape.innermost = pipeline.outputs.at(static_cast<std::size_t>(definition.output)).buffer.order.back();
    return shape;
}

GroupShape group_shape(poly::Group group, std::vector<StageShape> shapes) {
    GroupShape shape;
    shape.shapes = std::move(shapes);
    for (const int s : group.stages) {
        shape.live.push_back(std::find(group.live_outs.begin(), group.live_outs.end(), s) != group.live_outs.end());
        shape.kept.push_back(std::any_of(group.edges.begin(), group.edges.end(),
                                         [&](const poly::GroupEdge& edge) { return edge.producer == s; }));
    }
    for (int g = 0; g < group.rank; ++g) shape.units.push_back(poly::tile_unit(group, g));
    shape.group = std::move(group);
    return shape;
}

GroupShape group_shape(const ir::Pipeline& pipeline, const poly::Model& model, const poly::Group& group) {
    std::vector<StageShape> shapes;
    for (const int s : group.stages) shapes.push_back(stage_shape(pipeline, model, s));
    return group_shape(group, std::move(shapes));
}

int read_together(const GroupShape& shape, std::size_t m, const FoundBy& found) {
    const std::vector<poly::Alignment>& alignment = shape.group.alignment[m];
    for (std::size_t d = 0; found.data && !shape.live[m] && d < alignment.size(); ++d) {
        if (alignment[d].dim >= 0 || !found.constant[d]) continue;
        const std::int64_t count = shape.shapes[m].ranges[d]->hi - shape.shapes[m].ranges[d]->lo;
        if (count == 2 || count == 4) return static_cast<int>(d);
    }
    return -1;
}

}  // namespace pipec::fusion
