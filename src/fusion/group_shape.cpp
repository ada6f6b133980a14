#include "fusion/group_shape.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::fusion {

namespace {

/// The variables that expressions depend on, as bits of StageShape::Read::dims; what lets stand for in their places.
class DimsOfIndices {
public:
    DimsOfIndices(const ir::Stage& stage, const ir::Expr& value) {
        for (std::size_t d = 0; d < stage.dims.size(); ++d) dims_[stage.dims[d].var] = 1U << d;
        ir::for_each_node(value, [&](const ir::Expr& e) {
            if (const auto* let = ir::as<ir::Let>(e)) lets_[let->var] = let->value;
        });
    }
    unsigned of(const ir::Expr& e) {
        if (!e) return 0;
        if (const auto known = memo_.find(e.get()); known != memo_.end()) return known->second;
        unsigned result = 0;
        if (const auto* variable = ir::as<ir::Variable>(e)) {
            const auto let = lets_.find(variable->id);
            const auto dim = dims_.find(variable->id);
            result = let != lets_.end() ? of(let->second) : dim != dims_.end() ? dim->second : StageShape::kLoops;
        }
        for (const ir::Expr& child : ir::children(e)) result |= of(child);
        memo_.emplace(e.get(), result);
        return result;
    }
    /// Whether some element of an array decides what `e` is.
    bool is_of_data(const ir::Expr& e) {
        if (!e) return false;
        if (const auto known = of_data_.find(e.get()); known != of_data_.end()) return known->second;
        const auto* variable = ir::as<ir::Variable>(e);
        const auto let = variable == nullptr ? lets_.end() : lets_.find(variable->id);
        bool result = ir::as<ir::Read>(e) != nullptr || (let != lets_.end() && is_of_data(let->second));
        for (const ir::Expr& child : ir::children(e)) result = result || is_of_data(child);
        of_data_.emplace(e.get(), result);
        return result;
    }

private:
    std::unordered_map<ir::VarId, unsigned> dims_;
    std::unordered_map<ir::VarId, ir::Expr> lets_;
    std::unordered_map<const ir::Node*, unsigned> memo_;
    std::unordered_map<const ir::Node*, bool> of_data_;
};

std::vector<StageShape::Read> reads_of(const ir::Stage& stage) {
    const auto* accumulate = std::get_if<ir::Accumulate>(&stage.definition);
    const ir::Expr value = accumulate ? accumulate->init : std::get<ir::Pure>(stage.definition).value;
    DimsOfIndices depends(stage, value);
    std::set<StageShape::Read> reads;
    ir::for_each_node(value, [&](const ir::Expr& e) {
        const auto* read = ir::as<ir::Read>(e);
        if (read == nullptr) return;
        StageShape::Read found{read->source};
        for (std::size_t d = 0; d < read->indices.size(); ++d) {
            found.dims |= depends.of(read->indices[d]);
            if (depends.is_of_data(read->indices[d])) found.data |= 1U << d;
        }
        reads.insert(found);
    });
    return {reads.begin(), reads.end()};
}

bool planes_share(const poly::Group& group, const std::vector<StageShape>& shapes, int g) {
    const std::vector<int>& stages = group.stages;
    for (std::size_t m = 0; m < shapes.size(); ++m) {
        const std::vector<poly::Alignment>& alignment = group.alignment[m];
        const auto plane =
            std::find_if(alignment.begin(), alignment.end(), [&](const poly::Alignment& a) { return a.dim == g; });
        // A member without it is what all planes read, unless it is a table, which lies nowhere.
        if (plane == alignment.end() && std::ranges::all_of(alignment, [](const auto& a) { return a.dim < 0; }))
            continue;
        const unsigned bit = plane == alignment.end() ? 0 : 1U << (plane - alignment.begin());
        for (const StageShape::Read& read : shapes[m].reads) {
            const bool own = read.array.kind == ir::Source::Kind::Stage &&
                             std::binary_search(stages.begin(), stages.end(), read.array.index);
            if (!own && read.dims != 0 && (read.dims & bit) == 0) return true;
        }
    }
    return false;
}

}  // namespace

StageShape stage_shape(const ir::Pipeline& pipeline, const poly::Model& model, int stage) {
    const ir::Stage& definition = pipeline.stages.at(static_cast<std::size_t>(stage));
    StageShape shape;
    shape.bytes = ir::bytes(definition.type);
    shape.accumulates = std::holds_alternative<ir::Accumulate>(definition.definition);
    shape.reads = reads_of(definition);
    for (const poly::Interval& interval : model.domains.at(static_cast<std::size_t>(stage)).box) {
        const auto lo = ir::as_int(interval.lo), hi = ir::as_int(interval.hi);
        std::optional<StageShape::Range>& range = shape.ranges.emplace_back();
        if (lo && hi) range = StageShape::Range{*lo, *hi};
    }
    shape.scans = definition.scan.has_value();
    shape.order = ir::memory_order(pipeline, definition);
    return shape;
}

GroupShape group_shape(poly::Group group, std::vector<StageShape> shapes) {
    GroupShape shape;
    shape.shapes = std::move(shapes);
    const std::size_t members = group.stages.size();
    shape.kept.resize(members);
    shape.producers.resize(members);
    for (std::size_t m = 0; m < members; ++m) {
        const int s = group.stages[m];
        shape.live.push_back(std::find(group.live_outs.begin(), group.live_outs.end(), s) != group.live_outs.end());
        shape.last_reader.push_back(m);
    }
    for (const poly::GroupEdge& edge : group.edges) {
        const std::size_t reader = edge.reader_place, producer = edge.producer_place;
        shape.kept[producer] = true;
        shape.last_reader[producer] = std::max(shape.last_reader[producer], reader);
        std::vector<std::size_t>& known = shape.producers[reader];
        if (std::find(known.begin(), known.end(), producer) == known.end()) known.push_back(producer);
    }
    for (int g = 0; g < group.rank; ++g) {
        shape.units.push_back(poly::tile_unit(group, g));
        shape.planes_share.push_back(planes_share(group, shape.shapes, g));
    }
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
