// A walk over the definition, one scope for each place.
#include "poly/reads.h"

#include <map>
#include <set>
#include <utility>

#include "ir/visit.h"
#include "ir/without_lets.h"
#include "poly/places.h"

namespace pipec::poly {

namespace {

using ir::BinaryOp;

class ScopeWalk {
public:
    ScopeWalk() { scopes_.emplace_back(); }

    /// An expression that is evaluated in a scope.
    void visit(const ir::Expr& e, int scope) {
        const ir::Expr root = lets_.of(e);
        Places places(root);
        places_ = &places;
        scope_of_ = {{0, scope}};
        seen_.clear();
        walk(root, 0);
    }

    int enter(const ir::Range& loop, int outer) {
        ReadScope& scope = add(outer);
        scope.loop = ir::Range{loop.var, lets_.of(loop.lo), lets_.of(loop.hi)};
        return last();
    }

    int enter(const ir::Expr& condition, bool truth, int outer) {
        ReadScope& scope = add(outer);
        scope.condition = lets_.of(condition);
        scope.truth = truth;
        return last();
    }

    /// Without scopes in which nothing is read.
    std::vector<ReadScope> take() {
        std::vector<bool> used(scopes_.size(), false);
        for (std::size_t i = scopes_.size(); i-- > 0;) {
            used[i] = used[i] || i == 0 || !scopes_[i].reads.empty();
            if (used[i] && i > 0) used[static_cast<std::size_t>(scopes_[i].outer)] = true;
        }
        std::vector<ReadScope> result;
        std::vector<int> number(scopes_.size(), -1);
        for (std::size_t i = 0; i < scopes_.size(); ++i) {
            if (!used[i]) continue;
            number[i] = static_cast<int>(result.size());
            result.push_back(std::move(scopes_[i]));
            if (i > 0) result.back().outer = number[static_cast<std::size_t>(result.back().outer)];
        }
        return result;
    }

private:
    ReadScope& add(int outer) {
        scopes_.emplace_back().outer = outer;
        return scopes_.back();
    }
    [[nodiscard]] int last() const { return static_cast<int>(scopes_.size()) - 1; }

    /// The scope of a place inside of another one.
    template <class Enter>
    int inside(int place, const Enter& make) {
        const auto [known, is_new] = scope_of_.try_emplace(place, 0);
        if (is_new) known->second = make();
        return place;
    }
    int inside(const ir::Expr& condition, bool truth, int place) {
        return inside(places_->inside(condition, truth, place),
                      [&] { return enter(condition, truth, scope_of_.at(place)); });
    }

    void walk(ir::Expr e, int place) {
        // A sum's left spine is followed without recursion.
        while (e) {
            place = places_->of(e, place);
            if (!seen_.insert({e.get(), place}).second) return;
            const auto* binary = ir::as<ir::Binary>(e);
            if (!binary || ir::is_logical(binary->op)) {
                node(e, place);
                return;
            }
            walk(binary->b, place);
            e = binary->a;
        }
    }

    void node(const ir::Expr& e, int place) {
        if (const auto* binary = ir::as<ir::Binary>(e)) {  // and, or
            walk(binary->a, place);
            walk(binary->b, inside(binary->a, binary->op == BinaryOp::And, place));
        } else if (const auto* select = ir::as<ir::Select>(e)) {
            if (select->otherwise) walk(select->cond, place);
            walk(select->then, inside(select->cond, true, place));
            if (select->otherwise) walk(select->otherwise, inside(select->cond, false, place));
        } else if (const auto* reduce = ir::as<ir::Reduce>(e)) {
            for (const ir::Range& loop : reduce->ranges) {
                walk(loop.lo, place);
                walk(loop.hi, place);
                const int around = scope_of_.at(place);
                place = inside(places_->inside(loop, place), [&] { return enter(loop, around); });
            }
            walk(reduce->body, place);
        } else {
            if (const auto* read = ir::as<ir::Read>(e)) {
                scopes_[static_cast<std::size_t>(scope_of_.at(place))].reads.push_back({read->source, read->indices});
            }
            for (const ir::Expr& child : ir::children(e)) walk(child, place);
        }
    }

    ir::WithoutLets lets_;
    std::vector<ReadScope> scopes_;
    Places* places_ = nullptr;                        ///< of the expression that is walked
    std::map<int, int> scope_of_;                     ///< its places
    std::set<std::pair<const ir::Node*, int>> seen_;  ///< at which place
};

}  // namespace

std::vector<ReadScope> find_reads(const ir::Stage& stage) {
    ScopeWalk walk;
    if (const auto* pure = std::get_if<ir::Pure>(&stage.definition)) {
        walk.visit(pure->value, 0);
        return walk.take();
    }
    const auto& accumulate = std::get<ir::Accumulate>(stage.definition);
    walk.visit(accumulate.init, 0);
    for (const ir::Update& update : accumulate.updates) {
        int scope = 0;
        for (const ir::Range& loop : update.domain) {
            walk.visit(loop.lo, scope);
            walk.visit(loop.hi, scope);
            scope = walk.enter(loop, scope);
        }
        if (update.guard) {
            walk.visit(update.guard, scope);
            scope = walk.enter(update.guard, true, scope);
        }
        for (const ir::Expr& index : update.indices) walk.visit(index, scope);
        walk.visit(update.value, scope);
    }
    return walk.take();
}

}  // namespace pipec::poly
