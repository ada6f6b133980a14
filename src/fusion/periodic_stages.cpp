#include "fusion/periodic_stages.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fusion/conditions.h"
#include "fusion/periodic_index.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "poly/in_bounds.h"

namespace pipec::fusion {

namespace {

using ir::BinaryOp;
using ir::Type;

/// Points beyond an end, at most. A chain of steps that would need more reads at wrapped places once on the way; it has
/// more steps than one tile takes.
constexpr std::int64_t kMostBeyond = 16;
/// The least extent of a dimension whose extent is a constant, in such points.
constexpr std::int64_t kLeastPeriod = 8;

ir::Expr int32(std::int64_t value) {
    return ir::int_constant(Type::Int32, value);
}

/// A dimension of a stage that goes from -before to period + after.
struct Dim {
    ir::Expr period;  ///< null: it is not known to be periodic
    bool may_grow = false;
    bool is_wrapped = false;  ///< read at wrapped places, such as what a step leaves to the next one
    Beyond domain, needed;    ///< as it is, and as readers need it
    /// How many points more on one side the stages of the same step need for this one.
    std::int64_t reach = 0;
    [[nodiscard]] bool grows() const { return needed != domain; }
    [[nodiscard]] bool is_too_much() const { return std::max(needed.before, needed.after) + reach > kMostBeyond; }
};

class Torus {
public:
    Torus(const ir::Pipeline& pipeline, const poly::Model& model)
        : program_{pipeline, model}, indices_(pipeline, model) {}

    /// The program with the stages that grow; none where none does.
    std::optional<Inlined> run() {
        find_periods();
        find_reaches();
        for (std::size_t s = stages().size(); s-- > 0;) ask(s);
        std::vector<std::size_t> changed;
        for (std::size_t s = 0; s < stages().size(); ++s) {
            if (rewrite(s)) changed.push_back(s);
        }
        if (changed.empty()) return std::nullopt;
        for (std::size_t s = 0; s < stages().size(); ++s) grow(s);
        if (!poly::are_in_bounds(program_.pipeline, program_.model, changed)) return std::nullopt;
        return std::move(program_);
    }

private:
    [[nodiscard]] std::vector<ir::Stage>& stages() { return program_.pipeline.stages; }
    [[nodiscard]] const std::vector<poly::Interval>& box(std::size_t s) const {
        return program_.model.domains.at(s).box;
    }
    ir::Pure* pure_of(std::size_t s) {
        ir::Stage& stage = stages()[s];
        return stage.scan || program_.model.domains[s].guard ? nullptr : std::get_if<ir::Pure>(&stage.definition);
    }
    [[nodiscard]] ir::Expr extent(const ir::Source& source, std::size_t d) const {
        const auto index = static_cast<std::size_t>(source.index);
        if (source.kind == ir::Source::Kind::Input) return program_.pipeline.inputs.at(index).extents.at(d);
        return dims_.at(index).at(d).period;
    }

    /// The periods of all dimensions: what the program says they are, or the one of all that is read along them (where
    /// readers ask for more than a period, or less), or else the extent of what readers ask for.
    void find_periods() {
        for (std::size_t s = 0; s < stages().size(); ++s) {
            dims_.emplace_back(stages()[s].dims.size());
            const ir::Pure* pure = pure_of(s);
            indices_.enter(s);
            for (std::size_t d = 0; d < dims_[s].size(); ++d) {
                Dim& dim = dims_[s][d];
                const ir::Dimension& stated = stages()[s].dims[d];
                const bool begins_at_0 = ir::as_int(box(s)[d].lo) == 0;
                bool is_copy = false;
                if (pure != nullptr && !(stated.is_explicit() && begins_at_0))
                    dim.period = period_of_reads(s, d, pure->value);
                if (dim.period) {
                    dim.needed = dim.domain = *indices_.beyond(s, d, dim.period);
                } else if (begins_at_0) {
                    dim.period = box(s)[d].hi;
                    is_copy = pure != nullptr && copies_what_stays(stated.var, pure->value);
                }
                const auto constant = ir::as_int(dim.period);
                dim.may_grow = dim.period && pure != nullptr && !is_copy && stages()[s].output < 0 &&
                               !stages()[s].stored && (!constant || *constant >= kLeastPeriod * kMostBeyond);
            }
            for_each_read_of_stages(s, [](Dim& of, const PeriodicIndex& index) { of.is_wrapped |= index.wraps; });
        }
    }

    /// Whether a value is an element of an array that does not grow along its dimension: then that is read as well.
    [[nodiscard]] bool copies_what_stays(ir::VarId var, const ir::Expr& value) const {
        const auto* cast = ir::as<ir::Cast>(value);
        const auto* read = ir::as<ir::Read>(cast != nullptr ? cast->a : value);
        if (read == nullptr) return false;
        if (read->source.kind == ir::Source::Kind::Input) return true;
        for (std::size_t i = 0; i < read->indices.size(); ++i) {
            if (variables_of(read->indices[i]).count(var) == 0) continue;
            if (dims_.at(static_cast<std::size_t>(read->source.index)).at(i).may_grow) return false;
        }
        return true;
    }

    /// A step ends with the stages that are read at wrapped places. Its other stages grow together with them: this
    /// finds how many points more they need.
    void find_reaches() {
        for (std::size_t s = 0; s < stages().size(); ++s) {
            indices_.enter(s);
            for_each_read_of_stages(s, [&](const Dim& of, const PeriodicIndex& index) {
                if (of.is_wrapped) return;
                std::int64_t& reach = dims_[s][index.dim].reach;
                reach = std::max(reach, std::max(-index.least, index.greatest) + of.reach);
            });
        }
    }

    std::optional<PeriodicIndex> index_of(const ir::Read& read, std::size_t i, const ir::Expr& period) {
        auto index = indices_.of(read.indices[i], period);
        // An input has no points beyond its ends, so only a wrapped place in it tells a period.
        if (index && !index->wraps && read.source.kind == ir::Source::Kind::Input) index.reset();
        return index;
    }

    /// The period of all reads that the dimension's variable is in, which is nowhere else; null where there is none.
    ir::Expr period_of_reads(std::size_t s, std::size_t d, const ir::Expr& value) {
        const ir::VarId var = stages()[s].dims[d].var;
        ir::Expr period;
        bool is_only = true;
        std::set<const ir::Node*> seen;
        const std::function<void(const ir::Expr&)> walk = [&](const ir::Expr& e) {
            if (!is_only || !seen.insert(e.get()).second) return;
            if (const auto* v = ir::as<ir::Variable>(e)) {
                is_only = v->id != var;
            } else if (const auto* read = ir::as<ir::Read>(e)) {
                for (std::size_t i = 0; i < read->indices.size(); ++i) {
                    const ir::Expr other = extent(read->source, i);
                    const auto index = other ? index_of(*read, i, other) : std::nullopt;
                    if (!index || index->dim != d) {
                        walk(read->indices[i]);
                    } else {
                        if (!period) period = other;
                        is_only = is_only && same_extent(period, other);
                    }
                }
            } else {
                ir::for_each_child(*e, walk);
            }
        };
        walk(value);
        return is_only && period && indices_.beyond(s, d, period) ? period : nullptr;
    }

    /// The points that a read takes of a dimension of what it reads, along `index`.
    [[nodiscard]] std::optional<Beyond> taken(std::size_t s, const PeriodicIndex& index, const ir::Expr& period) const {
        const Dim& dim = dims_[s][index.dim];
        std::optional<Beyond> from = indices_.beyond(s, index.dim, period);
        if (from && dim.grows()) from = same_extent(dim.period, period) ? std::optional{dim.needed} : std::nullopt;
        if (!from) return std::nullopt;
        return Beyond{from->before - index.least, from->after + index.greatest};
    }

    /// Calls `f` on each periodic dimension of a stage that stage s reads, with its index.
    template <class F>
    void for_each_read_of_stages(std::size_t s, F f) {
        const ir::Pure* pure = pure_of(s);
        if (pure == nullptr) return;
        ir::for_each_node(pure->value, [&](const ir::Expr& e) {
            const auto* read = ir::as<ir::Read>(e);
            if (read == nullptr || read->source.kind != ir::Source::Kind::Stage) return;
            for (std::size_t i = 0; i < read->indices.size(); ++i) {
                Dim& of = dims_.at(static_cast<std::size_t>(read->source.index)).at(i);
                if (!of.period) continue;
                if (const auto index = indices_.of(read->indices[i], of.period)) f(of, *index);
            }
        });
    }

    /// Grows the stages that stage s reads. All its readers have asked before: where they asked for too much, it stays
    /// as it is.
    void ask(std::size_t s) {
        for (Dim& dim : dims_[s]) {
            if (dim.is_too_much()) dim.needed = dim.domain;
        }
        indices_.enter(s);
        for_each_read_of_stages(s, [&](Dim& of, const PeriodicIndex& index) {
            if (!of.may_grow || (!index.wraps && !dims_[s][index.dim].grows())) return;
            if (const auto points = taken(s, index, of.period)) {
                of.needed = {std::max(of.needed.before, points->before), std::max(of.needed.after, points->after)};
            }
        });
    }

    /// A place that is no further beyond the ends, modulo the period. (A division takes ten times as long as a choice,
    /// and only images that are smaller than a window need one.)
    [[nodiscard]] static ir::Expr wrapped(const ir::Expr& place, const Beyond& beyond, const ir::Expr& period) {
        const auto apply = [](BinaryOp op, const ir::Expr& a, const ir::Expr& b) { return ir::binary(op, a, b); };
        const ir::Expr once = ir::select(apply(BinaryOp::Lt, place, int32(0)), apply(BinaryOp::Add, place, period),
                                         apply(BinaryOp::Sub, place, period));
        const ir::Expr goes_once =
            apply(BinaryOp::Ge, period, int32(std::max<std::int64_t>({beyond.before, beyond.after, 1})));
        const ir::Expr inside =
            apply(BinaryOp::And, apply(BinaryOp::Le, int32(0), place), apply(BinaryOp::Lt, place, period));
        return ir::select(inside, place, ir::select(goes_once, once, apply(BinaryOp::Mod, place, period)));
    }

    bool rewrite(std::size_t s) {
        ir::Pure* pure = pure_of(s);
        if (pure == nullptr) return false;
        indices_.enter(s);
        std::map<ir::VarId, ir::Expr> elsewhere;  // variables of dimensions that grow
        for (std::size_t d = 0; d < dims_[s].size(); ++d) {
            if (!dims_[s][d].grows()) continue;
            const ir::VarId var = stages()[s].dims[d].var;
            elsewhere[var] = wrapped(ir::variable(var, Type::Int32), dims_[s][d].needed, dims_[s][d].period);
        }
        std::unordered_map<ir::Expr, ir::Expr> known;
        const std::function<ir::Expr(const ir::Expr&)> walk = [&](const ir::Expr& e) -> ir::Expr {
            if (const auto found = known.find(e); found != known.end()) return found->second;
            ir::Expr result;
            if (const auto* variable = ir::as<ir::Variable>(e)) {
                const auto found = elsewhere.find(variable->id);
                result = found == elsewhere.end() ? e : found->second;
            } else if (const auto* read = ir::as<ir::Read>(e)) {
                std::vector<ir::Expr> indices;
                for (std::size_t i = 0; i < read->indices.size(); ++i) {
                    const ir::Expr place = place_in(s, *read, i);
                    indices.push_back(place ? place : walk(read->indices[i]));
                }
                result = indices == read->indices ? e : ir::read(read->source, e->type, std::move(indices), e->range);
            } else {
                result = ir::map_children(e, walk);
            }
            known.emplace(e, result);
            return result;
        };
        const ir::Expr old = std::exchange(pure->value, walk(pure->value));
        return old != pure->value;
    }

    void grow(std::size_t s) {
        poly::Domain& domain = program_.model.domains[s];
        for (std::size_t d = 0; d < dims_[s].size(); ++d) {
            const Dim& dim = dims_[s][d];
            if (!dim.grows()) continue;
            domain.box[d] = {int32(-dim.needed.before), ir::binary(BinaryOp::Add, dim.period, int32(dim.needed.after))};
            domain.may_be_too_large = true;
            ir::Dimension& stated = stages()[s].dims[d];
            if (stated.is_explicit()) std::tie(stated.lo, stated.hi) = std::tie(domain.box[d].lo, domain.box[d].hi);
        }
    }

    /// The index of a read in what the source, the reader or both became; null where the reader's variables stand in it
    /// as they did.
    ir::Expr place_in(std::size_t s, const ir::Read& read, std::size_t i) {
        const ir::Expr period = extent(read.source, i);
        const auto index = period ? index_of(read, i, period) : std::nullopt;
        if (!index || (!index->wraps && !dims_[s][index->dim].grows())) return nullptr;
        const Dim& own = dims_[s][index->dim];
        const auto points = taken(s, *index, period);
        if (!points) return nullptr;
        if (read.source.kind == ir::Source::Kind::Stage) {
            const Dim& of = dims_[static_cast<std::size_t>(read.source.index)][i];
            if (of.needed.has(*points)) return index->place;
        }
        return own.grows() && index->wraps ? wrapped(index->place, *points, period) : nullptr;
    }

    Inlined program_;
    PeriodicIndices indices_;
    std::vector<std::vector<Dim>> dims_;  ///< by stage
};

}  // namespace

Inlined periodic_stages(const ir::Pipeline& pipeline, const poly::Model& model) {
    // A wrapped index is a choice or a remainder.
    const auto may_wrap = [](const ir::Expr& e) {
        const auto* n = ir::as<ir::Binary>(e);
        return e->type == Type::Int32 && (ir::as<ir::Select>(e) != nullptr || (n != nullptr && n->op == BinaryOp::Mod));
    };
    const auto has_one = [&](const ir::Stage& stage) {
        const auto* pure = std::get_if<ir::Pure>(&stage.definition);
        return pure != nullptr && ir::any_node(pure->value, may_wrap);
    };
    if (std::ranges::any_of(pipeline.stages, has_one)) {
        if (auto grown = Torus(pipeline, model).run()) return std::move(*grown);
    }
    return {pipeline, model};
}

}  // namespace pipec::fusion
