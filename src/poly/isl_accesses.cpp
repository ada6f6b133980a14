// The walk over a stage's expressions; see isl_accesses.h.
#include "poly/isl_accesses.h"

#include <optional>

#include "ir/visit.h"
#include "ir/without_lets.h"
#include "poly/places.h"

namespace pipec::poly {

namespace {

using ir::BinaryOp;

/// Conditions, one inside of another, that a guard is made of, and its convex parts.
constexpr int kMostConditions = 64, kMostParts = 32;

class AccessWalk {
public:
    AccessWalk(const IslContext& isl, AffineTranslator& affine, ValueRanges& ranges)
        : affine_(affine), ranges_(ranges) {
        result_.guards.push_back(isl.everything());
        isl_ = &isl;
    }

    /// An expression that is evaluated under a condition.
    void visit(const ir::Expr& e, int under) {
        Places places(e);
        Places* const outer_places = std::exchange(places_, &places);
        std::vector<int> outer_conditions = std::exchange(conditions_of_, {under});
        walk(e, 0);
        places_ = outer_places;
        conditions_of_ = std::move(outer_conditions);
    }

    /// That inside of a loop, whose bounds were visited.
    int enter(const ir::Range& r, int under) {
        ranges_.bind(r.var, IntRange{ranges_.integer(r.lo).lo,
                                     std::max(ranges_.integer(r.lo).lo, ranges_.integer(r.hi).hi - 1)});
        note_casts(r.lo);
        note_casts(r.hi);
        const auto lo = affine_.exact_integer(r.lo);
        const auto hi = affine_.exact_integer(r.hi);
        oblige(lo.no_wrap, under);
        oblige(hi.no_wrap, under);
        const isl::pw_aff var = isl_->value({Name::Kind::Variable, r.var});
        const int depth = conditions_[static_cast<std::size_t>(under)].depth;
        return add({under, depth, nullptr, true, var.ge_set(lo.value).intersect(var.lt_set(hi.value)), std::nullopt});
    }

    int enter(const ir::Expr& cond, bool truth, int under) {
        const int depth = conditions_[static_cast<std::size_t>(under)].depth;
        if (depth >= kMostConditions) return under;
        const auto [known, is_new] = entered_.try_emplace(std::pair{std::pair{cond.get(), truth}, under}, 0);
        if (is_new) known->second = add({under, depth + 1, cond, truth, std::nullopt, std::nullopt});
        return known->second;
    }

    void update(int stage, const ir::Update& update) {
        int under = 0;
        for (const ir::Range& loop : update.domain) {
            visit(loop.lo, under);
            visit(loop.hi, under);
            under = enter(loop, under);
        }
        if (update.guard) {
            visit(update.guard, under);
            // Indices have the values of lets in their place; so have the parts of a condition that names some twice.
            under = enter(lets_.of(update.guard), true, under);
        }
        for (const ir::Expr& index : update.indices) visit(index, under);
        visit(update.value, under);
        access({{ir::Source::Kind::Stage, stage}, nullptr, true, update.range, update.indices, {}, {}, guard(under)});
    }

    StageAccesses take() { return std::move(result_); }

private:
    /// Notes the casts from floats in an index or bound, and in the lets that it mentions.
    void note_casts(const ir::Expr& e) {
        ir::for_each_node(e, [&](const ir::Expr& node) {
            if (const auto* var = ir::as<ir::Variable>(node)) {
                const ir::Expr value = affine_.let_value(var->id);
                if (value && noted_lets_.insert(var->id).second) note_casts(value);
                return;
            }
            const auto* cast = ir::as<ir::Cast>(node);
            if (cast == nullptr || !ir::is_float(cast->a->type) || !ir::is_int(node->type)) return;
            const IntRange range = ranges_.integer(node);
            if (range == type_range(node->type) || !fits(range, ir::Type::Int64)) return;
            if (!noted_.insert(node.get()).second) return;
            result_.casts.push_back({node, static_cast<std::int64_t>(range.lo), static_cast<std::int64_t>(range.hi)});
        });
    }

    void access(Access access) {
        isl_->next_part();  // a program has as many accesses as its text, and 4096 terms of each sum
        for (const ir::Expr& index : access.indices) {
            note_casts(index);
            auto value = affine_.index(index);
            access.values.push_back(std::move(value.value));
            access.no_wrap.insert(access.no_wrap.end(), value.no_wrap.begin(), value.no_wrap.end());
        }
        result_.accesses.push_back(std::move(access));
    }

    /// What holds where an expression is evaluated: conditions and loops, one inside of another. 0 is nothing. The
    /// guard is made when an access asks for it: most conditions of a minimum and its place, or of a sum of choices,
    /// decide about constants and about values that are read all the same, and their sets are the most expensive ones.
    struct Condition {
        int outer;
        int depth;
        ir::Expr cond;  ///< null: a loop
        bool truth;
        std::optional<isl::set> loop;
        std::optional<int> guard;
        bool full = false;  ///< a condition inside of it made its guard too complex
    };

    int add(Condition condition) {
        conditions_.push_back(std::move(condition));
        return static_cast<int>(conditions_.size()) - 1;
    }

    int guard(int under) {
        Condition& condition = conditions_[static_cast<std::size_t>(under)];
        if (condition.guard) return *condition.guard;
        const int outer = guard(condition.outer);
        if (condition.loop) {
            condition.guard = add_guard(outer, *condition.loop);
            return *condition.guard;
        }
        condition.guard = outer;
        // A condition that would make a guard too complex is left out, and so are those beside and inside of it: more
        // points are looked at then.
        bool& full = conditions_[static_cast<std::size_t>(condition.outer)].full;
        condition.full = full;
        if (full) return outer;
        // So is one that is too expensive to look into, like a count of pairs of neighbours that hold.
        constexpr unsigned kShare = 8;
        isl_->next_part(kShare);
        const auto known = static_cast<std::ptrdiff_t>(result_.no_wrap.size());
        const std::optional<int> inner = isl_->attempt([&] {
            const auto set = affine_.condition(condition.cond, condition.truth);
            for (const int o : set.no_wrap) result_.no_wrap.push_back({o, outer});
            return add_guard(outer, set.value);
        });
        if (inner && result_.guards.back().n_basic_set() <= kMostParts) {
            condition.guard = inner;
        } else {
            if (inner) result_.guards.pop_back();
            result_.no_wrap.erase(result_.no_wrap.begin() + known, result_.no_wrap.end());
            full = condition.full = true;
        }
        isl_->next_part();
        return *condition.guard;
    }

    int add_guard(int outer, const isl::set& inner) {
        const isl::set& set = result_.guards[static_cast<std::size_t>(outer)];
        result_.guards.push_back(affine_.with_opaque_bounds(set.intersect(inner)).coalesce());
        return static_cast<int>(result_.guards.size()) - 1;
    }

    void oblige(const std::vector<int>& obligations, int under) {
        for (const int o : obligations) result_.no_wrap.push_back({o, guard(under)});
    }

    void walk(ir::Expr e, int place) {
        // A shared node under one condition is looked at once; a sum's left spine is followed without recursion.
        while (e) {
            place = places_->of(e, place);
            if (!seen_.insert({e.get(), condition_of(place)}).second) return;
            const auto* binary = ir::as<ir::Binary>(e);
            if (!binary || ir::is_logical(binary->op)) {
                std::visit([&](const auto& n) { node(e, n, place); }, e->value);
                return;
            }
            walk(binary->b, place);
            e = binary->a;
        }
    }

    [[nodiscard]] int condition_of(int place) const { return conditions_of_[static_cast<std::size_t>(place)]; }
    int guard_at(int place) { return guard(condition_of(place)); }

    /// A place inside of another one, and its condition.
    int at(int place, int condition) {
        if (conditions_of_.size() <= static_cast<std::size_t>(place)) {
            conditions_of_.resize(static_cast<std::size_t>(place) + 1, -1);
        }
        conditions_of_[static_cast<std::size_t>(place)] = condition;
        return place;
    }
    int inside(const ir::Expr& cond, bool truth, int place) {
        return at(places_->inside(cond, truth, place), enter(cond, truth, condition_of(place)));
    }

    void node(const ir::Expr& e, const ir::Read& n, int place) {
        for (const ir::Expr& index : n.indices) walk(index, place);
        const int under = guard_at(place);
        if (read_.insert({e.get(), under}).second) access({n.source, e, false, e->range, n.indices, {}, {}, under});
    }
    void node(const ir::Expr&, const ir::Binary& n, int place) {  // and, or
        walk(n.a, place);
        walk(n.b, inside(n.a, n.op == BinaryOp::And, place));
    }
    void node(const ir::Expr& e, const ir::Select& n, int place) {
        walk(n.cond, place);
        walk(n.then, inside(n.cond, true, place));
        if (n.otherwise) {
            walk(n.otherwise, inside(n.cond, false, place));
            return;
        }
        const int under = guard_at(place);
        const auto uncovered = affine_.condition(n.cond, false);
        result_.cases.push_back({e, affine_.with_opaque_bounds(uncovered.value), under});
    }
    void node(const ir::Expr&, const ir::Let& n, int place) {
        walk(n.value, place);
        affine_.bind(n.var, n.value);
        walk(n.body, place);
    }
    void node(const ir::Expr&, const ir::Reduce& n, int place) {
        for (const ir::Range& loop : n.ranges) {
            walk(loop.lo, place);
            walk(loop.hi, place);
            place = at(places_->inside(loop, place), enter(loop, condition_of(place)));
        }
        walk(n.body, place);
    }
    template <class Other>
    void node(const ir::Expr& e, const Other&, int place) {
        for (const ir::Expr& child : ir::children(e)) walk(child, place);
    }

    const IslContext* isl_;
    AffineTranslator& affine_;
    ValueRanges& ranges_;
    std::set<const ir::Node*> noted_;  ///< casts
    std::set<ir::VarId> noted_lets_;
    StageAccesses result_;
    std::vector<Condition> conditions_{{0, 0, nullptr, true, std::nullopt, 0}};
    Places* places_ = nullptr;                        ///< of the expression that is walked
    std::vector<int> conditions_of_;                  ///< of its places
    std::set<std::pair<const ir::Node*, int>> seen_;  ///< under which condition
    std::set<std::pair<const ir::Node*, int>> read_;  ///< under which guard
    ir::WithoutLets lets_;
    std::map<std::pair<std::pair<const ir::Node*, bool>, int>, int> entered_;
};

}  // namespace

StageAccesses find_accesses(const IslContext& isl, const ir::Pipeline& pipeline, int index, AffineTranslator& affine,
                            ValueRanges& ranges) {
    const ir::Stage& stage = pipeline.stages.at(static_cast<std::size_t>(index));
    AccessWalk walk(isl, affine, ranges);
    if (const auto* pure = std::get_if<ir::Pure>(&stage.definition)) {
        walk.visit(pure->value, 0);
    } else {
        const auto& accumulate = std::get<ir::Accumulate>(stage.definition);
        walk.visit(accumulate.init, 0);
        for (const ir::Update& update : accumulate.updates) walk.update(index, update);
    }
    return walk.take();
}

}  // namespace pipec::poly
