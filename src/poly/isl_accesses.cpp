// The walk over a stage's expressions; see isl_accesses.h.
#include "poly/isl_accesses.h"

#include "ir/visit.h"
#include "poly/places.h"

namespace pipec::poly {

namespace {

using ir::BinaryOp;

/// Conditions, one inside of another, that a guard is made of, and its convex parts.
constexpr int kMostConditions = 64, kMostParts = 32;

class Walk {
public:
    Walk(const IslContext& isl, AffineTranslator& affine, ValueRanges& ranges) : affine_(affine), ranges_(ranges) {
        result_.guards.push_back(isl.everything());
        isl_ = &isl;
    }

    /// An expression that is evaluated under a guard.
    void visit(const ir::Expr& e, int guard) {
        Places places(e);
        Places* const outer_places = std::exchange(places_, &places);
        std::vector<int> outer_guards = std::exchange(guards_, {guard});
        walk(e, 0);
        places_ = outer_places;
        guards_ = std::move(outer_guards);
    }

    /// The guard inside of a loop under `guard`, whose bounds were visited.
    int enter(const ir::Range& r, int guard) {
        ranges_.bind(r.var, IntRange{ranges_.integer(r.lo).lo,
                                     std::max(ranges_.integer(r.lo).lo, ranges_.integer(r.hi).hi - 1)});
        note_casts(r.lo);
        note_casts(r.hi);
        const auto lo = affine_.exact_integer(r.lo);
        const auto hi = affine_.exact_integer(r.hi);
        oblige(lo.no_wrap, guard);
        oblige(hi.no_wrap, guard);
        const isl::pw_aff var = isl_->value({Name::Kind::Variable, r.var});
        return add_guard(guard, var.ge_set(lo.value).intersect(var.lt_set(hi.value)));
    }

    int enter(const ir::Expr& cond, bool truth, int guard) {
        // A condition that would make a guard too complex is left out: more points are looked at then.
        const int conditions = conditions_[static_cast<std::size_t>(guard)];
        if (conditions >= kMostConditions) return guard;
        const std::pair key{std::pair{cond.get(), truth}, guard};
        if (const auto found = entered_.find(key); found != entered_.end()) return found->second;
        isl_->next_part();
        const auto set = affine_.condition(cond, truth);
        oblige(set.no_wrap, guard);
        int inner = add_guard(guard, set.value);
        conditions_.back() = conditions + 1;
        if (result_.guards.back().n_basic_set() > kMostParts) {
            result_.guards.pop_back();
            conditions_.pop_back();
            conditions_[static_cast<std::size_t>(guard)] = kMostConditions;  // nor is another one tried
            inner = guard;
        }
        entered_.emplace(key, inner);
        return inner;
    }

    void update(int stage, const ir::Update& update) {
        int guard = 0;
        for (const ir::Range& loop : update.domain) {
            visit(loop.lo, guard);
            visit(loop.hi, guard);
            guard = enter(loop, guard);
        }
        if (update.guard) {
            visit(update.guard, guard);
            guard = enter(update.guard, true, guard);
        }
        for (const ir::Expr& index : update.indices) visit(index, guard);
        visit(update.value, guard);
        access({{ir::Source::Kind::Stage, stage}, nullptr, true, update.range, update.indices, {}, {}, guard});
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
        for (const ir::Expr& index : access.indices) {
            note_casts(index);
            auto value = affine_.index(index);
            access.values.push_back(std::move(value.value));
            access.no_wrap.insert(access.no_wrap.end(), value.no_wrap.begin(), value.no_wrap.end());
        }
        result_.accesses.push_back(std::move(access));
    }

    int add_guard(int outer, const isl::set& inner) {
        const isl::set& set = result_.guards[static_cast<std::size_t>(outer)];
        result_.guards.push_back(affine_.with_opaque_bounds(set.intersect(inner)).coalesce());
        conditions_.push_back(conditions_[static_cast<std::size_t>(outer)]);
        return static_cast<int>(result_.guards.size()) - 1;
    }

    void oblige(const std::vector<int>& obligations, int guard) {
        for (const int o : obligations) result_.no_wrap.push_back({o, guard});
    }

    void walk(ir::Expr e, int place) {
        // A shared node under one guard is looked at once; a sum's left spine is followed without recursion.
        while (e) {
            place = places_->of(e, place);
            if (!seen_.insert({e.get(), guard(place)}).second) return;
            const auto* binary = ir::as<ir::Binary>(e);
            if (!binary || ir::is_logical(binary->op)) {
                std::visit([&](const auto& n) { node(e, n, place); }, e->value);
                return;
            }
            walk(binary->b, place);
            e = binary->a;
        }
    }

    [[nodiscard]] int guard(int place) const { return guards_[static_cast<std::size_t>(place)]; }

    /// A place inside of another one, and its guard.
    int at(int place, int guard) {
        if (guards_.size() <= static_cast<std::size_t>(place)) guards_.resize(static_cast<std::size_t>(place) + 1, -1);
        guards_[static_cast<std::size_t>(place)] = guard;
        return place;
    }
    int inside(const ir::Expr& cond, bool truth, int place) {
        return at(places_->inside(cond, truth, place), enter(cond, truth, guard(place)));
    }

    void node(const ir::Expr& e, const ir::Read& n, int place) {
        for (const ir::Expr& index : n.indices) walk(index, place);
        access({n.source, e, false, e->range, n.indices, {}, {}, guard(place)});
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
        const auto uncovered = affine_.condition(n.cond, false);
        result_.cases.push_back({e, affine_.with_opaque_bounds(uncovered.value), guard(place)});
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
            place = at(places_->inside(loop, place), enter(loop, guard(place)));
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
    std::vector<int> conditions_{0};  ///< that each guard is made of
    Places* places_ = nullptr;        ///< of the expression that is walked
    std::vector<int> guards_;         ///< of its places
    std::set<std::pair<const ir::Node*, int>> seen_;
    std::map<std::pair<std::pair<const ir::Node*, bool>, int>, int> entered_;
};

}  // namespace

StageAccesses find_accesses(const IslContext& isl, const ir::Pipeline& pipeline, int index, AffineTranslator& affine,
                            ValueRanges& ranges) {
    const ir::Stage& stage = pipeline.stages.at(static_cast<std::size_t>(index));
    Walk walk(isl, affine, ranges);
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
