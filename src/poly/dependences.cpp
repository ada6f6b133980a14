// For each index: candidate slopes from isl's pieces, then the least and greatest value of the difference.
#include "poly/dependences.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "ir/visit.h"
#include "poly/isl_accesses.h"
#include "poly/isl_sizes.h"
#include "poly/memory.h"

namespace pipec::poly {

namespace {

constexpr Name kDifference{Name::Kind::Variable, -1};
/// Slopes with larger numbers are not what tiles are made for.
constexpr std::int64_t kLargestFactor = 64;
/// Nor are larger distances.
constexpr long kLargestDistance = 1 << 20;

using Slope = std::pair<std::int64_t, std::int64_t>;  // numerator, denominator

/// The coefficient of a variable in an affine function, taking floor(e / d) for e / d.
isl::val slope(const isl::aff& aff, Name name) {
    isl::val total = coefficient(aff, name);
    const auto divs = isl_aff_dim(aff.get(), isl_dim_div);
    for (int k = 0; k < divs; ++k) {
        const isl::val factor = isl::manage(isl_aff_get_coefficient_val(aff.get(), isl_dim_div, k));
        if (factor.is_zero()) continue;
        const isl::aff div = isl::manage(isl_aff_get_div(aff.get(), k));
        total = total.add(factor.mul(slope(div, name)));
    }
    return total;
}

/// The positive slopes of the pieces of a function in one variable.
std::set<Slope> slopes(const isl::pw_aff& value, Name name) {
    std::set<Slope> result;
    value.foreach_piece([&](const isl::set&, const isl::multi_aff& piece) {
        const isl::aff aff = piece.at(0);
        const isl::val s = slope(aff, name);
        if (!s.is_pos()) return;
        const isl::val num = isl::manage(isl_val_get_den_val(s.get())).mul(s);
        const isl::val den = isl::manage(isl_val_get_den_val(s.get()));
        if (num.gt(isl::val(s.ctx(), kLargestFactor)) || den.gt(isl::val(s.ctx(), kLargestFactor))) return;
        result.emplace(to_long(num), to_long(den));
    });
    return result;
}

/// What is known of an index: its relation, or else the other facts of a Dependence.
struct Index {
    std::optional<IndexRelation> relation;
    int against = -1;
    bool same = false;
};

/// The points at which something is read, and what is known of indices there: stencils repeat few of them.
struct ReadPoints {
    isl::set where;
    std::optional<bool> is_empty;  ///< once that was asked
    struct Known {
        isl::pw_aff value;
        Index index;
    };
    std::vector<Known> known;
};

class Finder {
public:
    Finder(const ir::Pipeline& pipeline, const Model& model, const Options& options)
        : pipeline_(pipeline), model_(model), isl_(options.max_operations) {}

    /// Those of the stages for which `asked` is true.
    std::vector<Dependence> find(const std::vector<bool>& asked) {
        isl_.begin_question(pipeline_.range, "the sizes");
        std::optional<SizeContext> sizes;
        std::optional<ProgramValues> values;
        try {
            sizes = size_context(isl_, pipeline_);
            if (sizes) values.emplace(isl_, pipeline_, *sizes);
        } catch (const isl::exception& failure) {  // too expensive, or numbers too large
            rethrow_exhaustion(failure);
            values.reset();
        }
        for (std::size_t s = 0; s < pipeline_.stages.size(); ++s) {
            if (!asked.at(s)) continue;
            const auto first = static_cast<std::ptrdiff_t>(result_.size());
            bool related = values.has_value();
            try {
                if (related) stage(s, *sizes, values->ranges, values->affine);
            } catch (const isl::exception& failure) {
                rethrow_exhaustion(failure);
                result_.erase(result_.begin() + first, result_.end());
                related = false;
            }
            if (!related) unrelated(s);
        }
        return std::move(result_);
    }

private:
    void stage(std::size_t index, const SizeContext& sizes, ValueRanges& ranges, AffineTranslator& affine) {
        const ir::Stage& stage = pipeline_.stages[index];
        const Domain& domain = model_.domains.at(index);
        isl_.begin_question(stage.range, stage.name);
        isl::set points = sizes.assumed;
        for (std::size_t d = 0; d < stage.dims.size(); ++d) {
            const isl::pw_aff var = isl_.value({Name::Kind::Variable, stage.dims[d].var});
            points = points.intersect(var.ge_set(affine.integer(domain.box[d].lo).value))
                         .intersect(var.lt_set(affine.integer(domain.box[d].hi).value));
            ranges.bind_index(stage.dims[d].var, domain.box[d].lo, domain.box[d].hi);
        }
        const bool pure = std::holds_alternative<ir::Pure>(stage.definition);
        const std::size_t first = result_.size();
        const StageAccesses found = find_accesses(isl_, pipeline_, static_cast<int>(index), affine, ranges);
        std::map<int, ReadPoints> places;  // by guard
        for (const Access& access : found.accesses) {
            const bool is_self = access.source == ir::Source{ir::Source::Kind::Stage, static_cast<int>(index)};
            if (access.is_write || is_self) continue;  // of a scan; it is in no group with others
            Dependence dependence{static_cast<int>(index), access.source, {}, access.range, !pure};
            auto at = places.find(access.guard);
            if (at == places.end()) {
                const isl::set where = points.intersect(found.guards[static_cast<std::size_t>(access.guard)]);
                at = places.emplace(access.guard, ReadPoints{where, {}, {}}).first;
            }
            for (const isl::pw_aff& value : access.values) {
                isl_.begin_question(access.range, stage.name);
                const Index place = relation(stage, value, at->second, affine);
                dependence.indices.push_back(place.relation);
                dependence.against.push_back(place.against);
                dependence.same.push_back(place.same);
            }
            const auto same = [&](const Dependence& other) { return equal(other, dependence); };
            if (std::none_of(result_.begin() + static_cast<std::ptrdiff_t>(first), result_.end(), same)) {
                result_.push_back(std::move(dependence));
            }
        }
    }

    /// All that a stage reads, without relations.
    void unrelated(std::size_t index) {
        const ir::Stage& stage = pipeline_.stages[index];
        const bool pure = std::holds_alternative<ir::Pure>(stage.definition);
        std::set<ir::Source> known{{ir::Source::Kind::Stage, static_cast<int>(index)}};
        for (const ir::Expr& e : ir::expressions(stage)) {
            ir::for_each_node(e, [&](const ir::Expr& node) {
                const auto* read = ir::as<ir::Read>(node);
                if (read == nullptr || !known.insert(read->source).second) return;
                const std::vector<std::optional<IndexRelation>> none(read->indices.size());
                result_.push_back({static_cast<int>(index), read->source, none, node->range, !pure});
            });
        }
    }

    Index relation(const ir::Stage& stage, const isl::pw_aff& value, ReadPoints& place,
                   const AffineTranslator& affine) {
        for (const ReadPoints::Known& known : place.known) {
            if (isl_pw_aff_plain_is_equal(value.get(), known.value.get()) == isl_bool_true) return known.index;
        }
        Index result;
        try {
            result.relation = at_once(stage, value, place);
            if (!result.relation) result.relation = relate(stage, value, place.where, affine);
            if (!result.relation) result.against = falls_with(stage, value);
            if (!result.relation || (result.relation->dim < 0 && result.relation->lo < result.relation->hi))
                result.same = std::ranges::all_of(names_in(value), [](Name n) { return n.kind == Name::Kind::Size; });
        } catch (const isl::exception& failure) {  // too expensive, or numbers too large: no relation
            rethrow_exhaustion(failure);
            if (isl_.is_budget(failure)) isl_.give_up();
        }
        place.known.push_back({value, result});
        return result;
    }

    /// What `relate` finds of n * v + c and of c, which most indices are, without a question.
    std::optional<IndexRelation> at_once(const ir::Stage& stage, const isl::pw_aff& value, ReadPoints& place) {
        const std::vector<Name> names = names_in(value);
        if (names.size() > 1 || !value.isa_aff()) return std::nullopt;
        const isl::aff aff = value.as_aff();
        const isl::val constant = aff.constant_val();
        if (isl_aff_dim(aff.get(), isl_dim_div) > 0 || !constant.is_int()) return std::nullopt;
        if (constant.abs().gt(isl::val(isl_.ctx(), kLargestDistance))) return std::nullopt;
        IndexRelation result;
        if (!names.empty()) {
            const isl::val factor = coefficient(aff, names.front());
            const auto dim = std::find_if(stage.dims.begin(), stage.dims.end(), [&](const ir::Dimension& d) {
                return names.front() == Name{Name::Kind::Variable, d.var};
            });
            const bool possible = factor.is_int() && factor.is_pos() && factor.le(isl::val(isl_.ctx(), kLargestFactor));
            if (dim == stage.dims.end() || !possible) return std::nullopt;
            result.dim = static_cast<int>(dim - stage.dims.begin());
            result.num = to_long(factor);
        }
        if (!place.is_empty) place.is_empty = place.where.is_empty();
        result.lo = result.hi = *place.is_empty ? 0 : to_long(constant);
        result.usual_lo = result.usual_hi = result.lo;
        return result;
    }

    /// The dimension of the stage that a function falls along, if it depends on no other one and on no data; -1: none.
    static int falls_with(const ir::Stage& stage, const isl::pw_aff& value) {
        const std::vector<Name> names = names_in(value);
        if (std::any_of(names.begin(), names.end(), [](Name n) { return n.kind == Name::Kind::Opaque; })) return -1;
        int result = -1;
        for (std::size_t d = 0; d < stage.dims.size(); ++d) {
            const Name name{Name::Kind::Variable, stage.dims[d].var};
            if (std::find(names.begin(), names.end(), name) == names.end()) continue;
            bool falls = result < 0;
            value.foreach_piece([&](const isl::set&, const isl::multi_aff& piece) {
                falls = falls && !slope(piece.at(0), name).is_pos();
            });
            if (!falls) return -1;
            result = static_cast<int>(d);
        }
        return result;
    }

    static bool equal(const Dependence& a, const Dependence& b) {
        return a.source == b.source && a.against == b.against && a.same == b.same && a.indices == b.indices;
    }

    /// { [d] : exists v in `where` : d = difference(v) } has constant ends.
    std::optional<std::pair<std::int64_t, std::int64_t>> bounds(const isl::pw_aff& difference, const isl::set& where,
                                                                const AffineTranslator& affine) {
        isl::set set = affine.with_opaque_bounds(difference.eq_set(isl_.value(kDifference))).intersect(where);
        std::vector<Name> others = names_in(set);
        std::erase(others, kDifference);
        set = project_out(isl_, std::move(set), others);
        if (set.is_empty()) return std::pair<std::int64_t, std::int64_t>{0, 0};
        const isl::set tuple = as_tuple(isl_, set, {kDifference});
        const isl::val lo = tuple.dim_min_val(0), hi = tuple.dim_max_val(0);
        if (!lo.is_int() || !hi.is_int()) return std::nullopt;
        if (lo.lt(isl::val(lo.ctx(), -kLargestDistance)) || hi.gt(isl::val(hi.ctx(), kLargestDistance)))
            return std::nullopt;
        return std::pair<std::int64_t, std::int64_t>{to_long(lo), to_long(hi)};
    }

    /// The least and the greatest of the constants that a function is somewhere in `where`.
    static std::optional<std::pair<std::int64_t, std::int64_t>> usual(const isl::pw_aff& difference,
                                                                      const isl::set& where) {
        std::optional<std::pair<std::int64_t, std::int64_t>> result;
        difference.foreach_piece([&](const isl::set& points, const isl::multi_aff& piece) {
            const isl::aff aff = piece.at(0);
            if (isl_aff_is_cst(aff.get()) != isl_bool_true || !aff.constant_val().is_int()) return;
            if (points.intersect(where).is_empty()) return;
            const std::int64_t value = to_long(aff.constant_val());
            if (!result) result.emplace(value, value);
            result = std::pair{std::min(result->first, value), std::max(result->second, value)};
        });
        return result;
    }

    std::optional<IndexRelation> relate(const ir::Stage& stage, const isl::pw_aff& value, const isl::set& where,
                                        const AffineTranslator& affine) {
        std::optional<IndexRelation> best;
        const auto consider = [&](const IndexRelation& candidate, const isl::pw_aff& difference) {
            const auto range = bounds(difference, where, affine);
            if (!range) return;
            if (best && (best->hi - best->lo) * candidate.den <= (range->second - range->first) * best->den) return;
            best = candidate;
            best->lo = range->first;
            best->hi = range->second;
            std::tie(best->usual_lo, best->usual_hi) =
                candidate.dim < 0 ? *range : usual(difference, where).value_or(*range);
        };
        const std::vector<Name> names = names_in(value);
        for (std::size_t d = 0; d < stage.dims.size(); ++d) {
            const Name name{Name::Kind::Variable, stage.dims[d].var};
            if (std::find(names.begin(), names.end(), name) == names.end()) continue;
            for (const auto& [num, den] : slopes(value, name)) {
                const isl::val n(isl_.ctx(), static_cast<long>(num)), m(isl_.ctx(), static_cast<long>(den));
                consider({static_cast<int>(d), num, den, 0, 0}, value.scale(m).sub(isl_.value(name).scale(n)));
            }
        }
        if (!best) consider({-1, 1, 1, 0, 0}, value);
        return best;
    }

    const ir::Pipeline& pipeline_;
    const Model& model_;
    IslContext isl_;
    std::vector<Dependence> result_;
};

}  // namespace

std::vector<Dependence> find_dependences(const ir::Pipeline& pipeline, const Model& model, const Options& options) {
    return Finder(pipeline, model, options).find(std::vector<bool>(pipeline.stages.size(), true));
}

std::vector<Dependence> Dependences::of(const ir::Pipeline& pipeline, const Model& model,
                                        const std::vector<std::set<int>>& inside) {
    std::vector<bool> asked;
    for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
        asked.push_back(known_.try_emplace({pipeline.stages[s].name, inside.at(s)}).second);
    }
    for (const Dependence& d : Finder(pipeline, model, {}).find(asked)) {
        const auto reader = static_cast<std::size_t>(d.reader);
        const bool stage = d.source.kind == ir::Source::Kind::Stage;
        known_.at({pipeline.stages[reader].name, inside[reader]})
            .push_back({d, stage ? pipeline.stages[static_cast<std::size_t>(d.source.index)].name : ""});
    }
    std::map<std::string, int> numbers;
    for (std::size_t s = 0; s < pipeline.stages.size(); ++s) numbers[pipeline.stages[s].name] = static_cast<int>(s);
    std::vector<Dependence> result;
    for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
        for (const Known& known : known_.at({pipeline.stages[s].name, inside[s]})) {
            Dependence& d = result.emplace_back(known.dependence);
            d.reader = static_cast<int>(s);
            if (!known.source.empty()) d.source.index = numbers.at(known.source);
        }
    }
    return result;
}

}  // namespace pipec::poly
