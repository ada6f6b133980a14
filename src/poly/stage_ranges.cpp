#include "poly/stage_ranges.h"

#include "ir/visit.h"

namespace pipec::poly {

namespace {

void note_casts(const ir::Expr& definition, const ValueRange& values, ValueRanges& ranges,
                std::vector<CastRange>& casts) {
    bool any = false;
    const auto note = [&](const ir::Expr& node, const IntRange& range) {
        if (range == type_range(node->type) || !fits(range, ir::Type::Int64)) return;
        casts.push_back({node, static_cast<std::int64_t>(range.lo), static_cast<std::int64_t>(range.hi)});
    };
    ir::for_each_node(definition, [&](const ir::Expr& node) {
        const auto* cast = ir::as<ir::Cast>(node);
        if (cast == nullptr || !ir::is_float(cast->a->type) || !ir::is_int(node->type)) return;
        any = true;
        note(node, ranges.integer(node));
    });
    // A condition on floats may be what keeps the value in its range.
    if (any && ir::as<ir::Cast>(definition) == nullptr && ir::is_int(definition->type)) {
        note(definition, std::get<IntRange>(values));
    }
}

}  // namespace

StageRanges stage_ranges(const ir::Pipeline& pipeline, const std::vector<IntRange>& sizes,
                         const std::vector<ValueRange>& params, const KnownBoxes& boxes, bool with_floats) {
    StageRanges result;
    ValueRanges ranges(pipeline, sizes, params);
    if (with_floats) ranges.believe_float_conditions();
    for (const ir::Stage& stage : pipeline.stages) {
        ValueRange values = type_range_of(stage.type);
        if (const auto* pure = std::get_if<ir::Pure>(&stage.definition)) {
            const std::size_t index = result.values.size();
            for (std::size_t d = 0; d < stage.dims.size(); ++d) {
                const ir::Dimension& dim = stage.dims[d];
                if (dim.is_explicit())
                    ranges.bind_index(dim.var, dim.lo, dim.hi);
                else if (index < boxes.size() && boxes[index])
                    ranges.bind_index(dim.var, (*boxes[index])[d].lo, (*boxes[index])[d].hi);
                else
                    ranges.bind(dim.var, IntRange{1 - kIndexLimit, kIndexLimit - 1});
            }
            if (stage.scan) {
                ranges.know_stage(values);
                values = scan_range(ranges, stage, static_cast<int>(index));
                ranges.know_last_stage_as(values);
            } else {
                values = ranges.of(pure->value);
                ranges.know_stage(values);
            }
            const bool narrower = !ir::is_float(stage.type) && values != type_range_of(stage.type);
            if (narrower) note_casts(pure->value, values, ranges, result.casts);
        } else {
            ranges.know_stage(values);
        }
        result.values.push_back(values);
    }
    return result;
}

void bind_points(ValueRanges& ranges, const ir::Stage& stage, const std::vector<Interval>& box) {
    for (std::size_t d = 0; d < stage.dims.size(); ++d)
        ranges.bind_index(stage.dims[d].var, box.at(d).lo, box.at(d).hi);
}

}  // namespace pipec::poly
