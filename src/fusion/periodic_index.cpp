#include "fusion/periodic_index.h"

#include <algorithm>
#include <set>

#include "fusion/conditions.h"
#include "fusion/evaluate.h"
#include "ir/build.h"
#include "ir/linear_sum.h"
#include "ir/visit.h"
#include "poly/group.h"
#include "poly/in_bounds.h"

namespace pipec::fusion {

using ir::BinaryOp;
using ir::Type;

namespace {

/// Sizes and a point of a large image, for which a guess is tried before it is proved.
constexpr std::int64_t kTrialSize = 4096, kTrialPoint = 1024;

ir::Expr constant(std::int64_t value) {
    return ir::int_constant(Type::Int32, value);
}

}  // namespace

bool same_extent(const ir::Expr& a, const ir::Expr& b) {
    return a && b && ir::constant_difference(a, b) == 0;
}

void PeriodicIndices::enter(std::size_t stage) {
    stage_ = stage;
    loops_.clear();
    lets_.clear();
    found_.clear();
    const auto* pure = std::get_if<ir::Pure>(&program_.pipeline.stages.at(stage).definition);
    if (pure == nullptr) return;
    ir::for_each_node(pure->value, [&](const ir::Expr& e) {
        if (const auto* let = ir::as<ir::Let>(e)) {
            if (let->value->type == Type::Int32) lets_[let->var] = let->value;
        } else if (const auto* reduce = ir::as<ir::Reduce>(e)) {
            for (const ir::Range& range : reduce->ranges) {
                const auto lo = ir::as_int(range.lo), hi = ir::as_int(range.hi);
                if (lo && hi && *lo < *hi) loops_[range.var] = {*lo, *hi - 1};
            }
        }
    });
}

std::optional<Beyond> PeriodicIndices::beyond(std::size_t stage, std::size_t dim, const ir::Expr& period) const {
    const auto& [begin, end] = program_.model.domains.at(stage).box.at(dim);
    const auto lo = ir::as_int(begin), after = ir::constant_difference(end, period);
    if (!lo || !after) return std::nullopt;
    return Beyond{-*lo, *after};
}

std::optional<PeriodicIndex> PeriodicIndices::of(const ir::Expr& index, const ir::Expr& period) {
    std::vector<std::pair<ir::Expr, std::optional<PeriodicIndex>>>& known = found_[index];
    for (const auto& [of, result] : known) {
        if (of == period) return result;
    }
    auto result = find(index, period);
    known.emplace_back(period, result);
    return result;
}

std::optional<PeriodicIndex> PeriodicIndices::find(ir::Expr index, const ir::Expr& period) {
    for (std::set<ir::VarId> free = free_variables(index);
         std::ranges::any_of(free, [&](ir::VarId var) { return lets_.count(var) != 0; });
         free = free_variables(index)) {
        index = ir::substitute(index, lets_);
    }
    if (ir::any_node(index, [](const ir::Expr& e) { return ir::as<ir::Read>(e) || ir::as<ir::ParamRef>(e); })) {
        return std::nullopt;
    }
    std::optional<std::size_t> dim;
    for (const ir::VarId var : free_variables(index)) {
        const auto& dims = program_.pipeline.stages.at(stage_).dims;
        const auto own = std::ranges::find(dims, var, &ir::Dimension::var);
        if (own == dims.end() ? loops_.count(var) == 0 : dim.has_value()) return std::nullopt;
        if (own != dims.end()) dim = static_cast<std::size_t>(own - dims.begin());
    }
    if (!dim || !beyond(stage_, *dim, period)) return std::nullopt;
    if (auto place = place_of(*dim, index, nullptr)) return place;
    if (const auto* mod = ir::as<ir::Binary>(index);
        mod != nullptr && mod->op == BinaryOp::Mod && same_extent(mod->b, period)) {
        return place_of(*dim, mod->a, period);
    }
    std::optional<PeriodicIndex> found;
    ir::for_each_node(index, [&](const ir::Expr& e) {
        if (found || e->type != Type::Int32) return;
        auto place = place_of(*dim, e, nullptr);
        if (place && is_equal_in_trial(index, *place) && is_always(index, *place, period)) found = place;
    });
    if (found) found->wraps = true;
    return found;
}

/// `e` as the dimension's variable plus loops' variables and a constant; with `period`, also plus or minus that.
std::optional<PeriodicIndex> PeriodicIndices::place_of(std::size_t dim, const ir::Expr& e,
                                                       const ir::Expr& period) const {
    const ir::VarId own = program_.pipeline.stages.at(stage_).dims.at(dim).var;
    for (const int turns : {0, 1, -1}) {
        if (turns != 0 && !period) break;
        ir::LinearSum sum;
        sum.add(e, 1);
        if (turns != 0) sum.add(period, -turns);
        PeriodicIndex result{dim, sum.expr(), sum.offset, sum.offset, period != nullptr};
        bool is_place = sum.factor_of(own) == 1;
        for (const auto& [term, factor] : sum.terms) {
            const auto* v = ir::as<ir::Variable>(term);
            if (factor == 0 || (v != nullptr && v->id == own)) continue;
            const auto loop = v == nullptr ? loops_.end() : loops_.find(v->id);
            is_place = is_place && loop != loops_.end();
            if (!is_place) break;
            const auto [a, b] = std::minmax(factor * loop->second.first, factor * loop->second.second);
            result.least += a;
            result.greatest += b;
        }
        if (is_place) return result;
    }
    return std::nullopt;
}

/// Whether an index is a place in the middle of a large image.
bool PeriodicIndices::is_equal_in_trial(const ir::Expr& index, const PeriodicIndex& place) const {
    std::map<ir::VarId, ir::Expr> values;
    for (const ir::VarId var : free_variables(index)) {
        const auto loop = loops_.find(var);
        values[var] = constant(loop == loops_.end() ? kTrialPoint : loop->second.first);
    }
    const std::vector<std::int64_t> sizes(program_.pipeline.sizes.size(), kTrialSize);
    const auto a = evaluate(ir::substitute(index, values), sizes);
    return a && a == evaluate(ir::substitute(place.place, values), sizes);
}

/// Whether an index is a place or that many periods beside it, for all sizes and points: the proof asks whether a
/// stage can be evaluated that has a value only where this is so.
bool PeriodicIndices::is_always(const ir::Expr& index, const PeriodicIndex& place, const ir::Expr& period) {
    const ir::VarId var = program_.pipeline.stages.at(stage_).dims[place.dim].var;
    std::map<ir::VarId, ir::Expr> renamed, numbered;
    ir::Stage probe;
    poly::Domain domain;
    const auto add = [&](ir::VarId own, const ir::Expr& lo, const ir::Expr& hi) {
        const ir::VarId copy = ir::new_variable(program_.pipeline, "i");
        renamed[own] = ir::variable(copy, Type::Int32);
        numbered[own] = ir::variable(static_cast<ir::VarId>(numbered.size()), Type::Int32);
        probe.dims.push_back({copy, lo, hi, {}});
        domain.box.push_back({lo, hi});
    };
    add(var, program_.model.domains.at(stage_).box.at(place.dim).lo,
        program_.model.domains.at(stage_).box.at(place.dim).hi);
    for (const ir::VarId other : free_variables(index)) {
        if (other == var) continue;
        const auto [least, greatest] = loops_.at(other);
        add(other, constant(least), constant(greatest + 1));
    }
    ir::Expr holds;
    for (const int turns : {0, 1, -1, 2, -2}) {
        ir::LinearSum at;
        at.add(place.place, 1);
        at.add(period, turns);
        const ir::Expr equal = ir::binary(BinaryOp::Eq, index, at.expr());
        holds = holds ? ir::binary(BinaryOp::Or, holds, equal) : equal;
    }
    // Every step of a chain asks the same.
    const ir::Expr question = ir::substitute(holds, numbered);
    const auto known = std::ranges::find_if(answers_, [&](const Answer& answer) {
        return ir::structurally_equal(answer.question, question) && poly::same_box(answer.box, domain.box);
    });
    if (known != answers_.end()) return known->holds;
    const std::size_t number = program_.pipeline.stages.size();
    probe.name = program_.pipeline.stages.at(stage_).name;
    probe.range = program_.pipeline.stages.at(stage_).range;
    probe.type = Type::Int32;
    probe.definition = ir::Pure{ir::select(ir::substitute(holds, renamed), constant(1), nullptr)};
    program_.pipeline.stages.push_back(std::move(probe));
    program_.model.domains.push_back(domain);
    const bool result = poly::are_in_bounds(program_.pipeline, program_.model, {number});
    program_.pipeline.stages.pop_back();
    program_.model.domains.pop_back();
    answers_.push_back({question, std::move(domain.box), result});
    return result;
}

}  // namespace pipec::fusion
