#include "fusion/usual_places.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "fusion/evaluate.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::fusion {

namespace {

using poly::IndexRelation;

class UsualPlaces {
public:
    UsualPlaces(const StageFacts& facts, const ir::Stage& stage, const ir::Expr& value,
                const std::vector<std::int64_t>& sizes)
        : sizes_(sizes) {
        for (std::size_t d = 0; d < stage.dims.size(); ++d) {
            dims_[stage.dims[d].var] = d;
            start_[stage.dims[d].var] = constant((facts.lo[d] + facts.hi[d]) / 2);
        }
        ir::for_each_node(value, [&](const ir::Expr& e) {
            const auto* reduce = ir::as<ir::Reduce>(e);
            if (reduce == nullptr) return;
            for (const ir::Range& range : reduce->ranges) add_loop(range);
        });
    }

    /// None where it is anything but such a sum.
    std::optional<IndexRelation> relation(const ir::Expr& index) const {
        std::optional<ir::VarId> along;
        std::set<ir::VarId> loops;
        bool known = true;
        ir::for_each_node(index, [&](const ir::Expr& e) {
            const auto* variable = ir::as<ir::Variable>(e);
            if (variable == nullptr) return;
            if (ends_.count(variable->id) != 0) {
                loops.insert(variable->id);
            } else {
                known = known && dims_.count(variable->id) != 0 && along.value_or(variable->id) == variable->id;
                along = variable->id;
            }
        });
        if (!known || (along && loops.empty())) return std::nullopt;
        const auto at = value(index, start_);
        if (!at) return std::nullopt;
        IndexRelation r;
        r.lo = r.hi = *at;
        if (along) {
            const std::int64_t middle = *ir::as_int(start_.at(*along));
            const auto next = value(index, moved(*along, middle + 1)), third = value(index, moved(*along, middle + 2));
            if (!next || !third || *third - *next != *next - *at || *next <= *at) return std::nullopt;
            r.dim = static_cast<int>(dims_.at(*along));
            r.num = *next - *at;
            r.lo = r.hi = *at - r.num * middle;
        }
        for (const ir::VarId loop : loops) {
            const auto last = value(index, moved(loop, ends_.at(loop) - 1));
            if (!last) return std::nullopt;
            (*last < *at ? r.lo : r.hi) += *last - *at;
        }
        r.usual_lo = r.lo, r.usual_hi = r.hi;
        return r;
    }

private:
    static ir::Expr constant(std::int64_t value) { return ir::constant(ir::Type::Int32, value); }

    void add_loop(const ir::Range& range) {
        const auto lo = value(range.lo, start_), hi = value(range.hi, start_);
        if (!lo || !hi || *hi <= *lo) return;
        start_[range.var] = constant(*lo);
        ends_[range.var] = *hi;
    }

    std::map<ir::VarId, ir::Expr> moved(ir::VarId var, std::int64_t to) const {
        auto result = start_;
        result[var] = constant(to);
        return result;
    }

    std::optional<std::int64_t> value(const ir::Expr& e, const std::map<ir::VarId, ir::Expr>& at) const {
        return evaluate(ir::substitute(e, at), sizes_);
    }

    const std::vector<std::int64_t>& sizes_;
    std::map<ir::VarId, std::size_t> dims_;   ///< of the stage
    std::map<ir::VarId, ir::Expr> start_;     ///< a point in the middle, and the first turn of all loops
    std::map<ir::VarId, std::int64_t> ends_;  ///< of the loops
};

/// The hull of both; none where they walk differently.
std::optional<IndexRelation> together(const IndexRelation& a, const IndexRelation& b) {
    if (a.dim != b.dim || a.num != b.num) return std::nullopt;
    IndexRelation all = a;
    all.lo = all.usual_lo = std::min(a.lo, b.lo);
    all.hi = all.usual_hi = std::max(a.hi, b.hi);
    return all;
}

}  // namespace

void add_usual_places(StageFacts& facts, const ir::Pipeline& pipeline, const ir::Stage& stage, const ir::Expr& value,
                      const std::vector<std::int64_t>& sizes) {
    const auto is_open = [](const Load& load) {
        return !std::ranges::all_of(load.indices, [](const auto& r) { return r.has_value(); });
    };
    if (std::ranges::none_of(facts.loads, is_open)) return;
    const UsualPlaces places(facts, stage, value, sizes);
    for (Load& load : facts.loads) {
        if (!is_open(load)) continue;
        const std::vector<std::optional<IndexRelation>> before = load.indices;
        std::vector<bool> anywhere(before.size());
        ir::for_each_node(value, [&](const ir::Expr& e) {
            const auto* read = ir::as<ir::Read>(e);
            if (read == nullptr || read->source != load.source) return;
            const std::size_t n = read->indices.size();
            for (std::size_t i = 0; i < n; ++i) {
                if (before[i] || anywhere[i]) continue;
                const std::size_t place = n - 1 - i;
                const bool is_input = load.source.kind == ir::Source::Kind::Input;
                const auto source = static_cast<std::size_t>(load.source.index);
                const auto dim =
                    is_input ? static_cast<std::size_t>(pipeline.inputs.at(source).order.at(place)) : place;
                auto r = places.relation(read->indices[dim]);
                if (r && load.indices[i]) r = together(*load.indices[i], *r);
                load.indices[i] = r;
                anywhere[i] = !r;
            }
        });
        for (std::size_t i = 0; i < before.size(); ++i) {
            if (before[i] || !load.indices[i]) continue;
            load.spread[i] = load.indices[i]->dim < 0 ? load.indices[i]->hi - load.indices[i]->lo : 0;
        }
    }
}

}  // namespace pipec::fusion
