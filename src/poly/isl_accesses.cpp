// The walk over a stage's expressions; see isl_accesses.h.
#include "poly/isl_accesses.h"

#include "ir/visit.h"

namespace pipec::poly {

namespace {

using ir::BinaryOp;

class Walk {
public:
    Walk(const IslContext& isl, AffineTranslator& affine, ValueRanges& ranges) : affine_(affine), ranges_(ranges) {
        result_.guards.push_back(isl.everything());
        isl_ = &isl;
    }

    void visit(ir::Expr e, int guard) {
        // A shared node under one guard is looked at once; a sum's left spine is followed without recursion.
        while (e && seen_.insert({e.get(), guard}).second) {
            const auto* binary = ir::as<ir::Binary>(e);
            if (!binary || ir::is_logical(binary->op)) {
                std::visit([&](const auto& n) { node(e, n, guard); }, e->value);
                return;
            }
            visit(binary->b, guard);
            e = binary->a;
        }
    }

    /// The guard inside loops over `ranges`, whose bounds are visited.
    int enter(const std::vector<ir::Range>& ranges, int guard) {
        for (const ir::Range& r : ranges) {
            visit(r.lo, guard);
            visit(r.hi, guard);
            ranges_.bind(r.var, IntRange{ranges_.integer(r.lo).lo,
                                         std::max(ranges_.integer(r.lo).lo, ranges_.integer(r.hi).hi - 1)});
            const auto lo = affine_.exact_integer(r.lo);
            const auto hi = affine_.exact_integer(r.hi);
            oblige(lo.no_wrap, guard);
            oblige(hi.no_wrap, guard);
            const isl::pw_aff var = isl_->value({Name::Kind::Variable, r.var});
            guard = add_guard(guard, var.ge_set(lo.value).intersect(var.lt_set(hi.value)));
        }
        return guard;
    }

    int enter(const ir::Expr& cond, bool truth, int guard) {
        const std::pair key{std::pair{cond.get(), truth}, guard};
        if (const auto found = entered_.find(key); found != entered_.end()) return found->second;
        const auto set = affine_.condition(cond, truth);
        oblige(set.no_wrap, guard);
        const int inner = add_guard(guard, set.value);
        entered_.emplace(key, inner);
        return inner;
    }

    void update(int stage, const ir::Update& update) {
        int guard = enter(update.domain, 0);
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
    void access(Access access) {
        for (const ir::Expr& index : access.indices) {
            auto value = affine_.integer(index);
            access.values.push_back(std::move(value.value));
            access.no_wrap.insert(access.no_wrap.end(), value.no_wrap.begin(), value.no_wrap.end());
        }
        result_.accesses.push_back(std::move(access));
    }

    int add_guard(int outer, const isl::set& inner) {
        const isl::set& set = result_.guards[static_cast<std::size_t>(outer)];
        result_.guards.push_back(affine_.with_opaque_bounds(set.intersect(inner)).coalesce());
        return static_cast<int>(result_.guards.size()) - 1;
    }

    void oblige(const std::vector<int>& obligations, int guard) {
        for (const int o : obligations) result_.no_wrap.push_back({o, guard});
    }

    void node(const ir::Expr& e, const ir::Read& n, int guard) {
        for (const ir::Expr& index : n.indices) visit(index, guard);
        access({n.source, e, false, e->range, n.indices, {}, {}, guard});
    }
    void node(const ir::Expr&, const ir::Binary& n, int guard) {  // and, or
        visit(n.a, guard);
        visit(n.b, enter(n.a, n.op == BinaryOp::And, guard));
    }
    void node(const ir::Expr& e, const ir::Select& n, int guard) {
        visit(n.cond, guard);
        visit(n.then, enter(n.cond, true, guard));
        if (n.otherwise) {
            visit(n.otherwise, enter(n.cond, false, guard));
            return;
        }
        const auto uncovered = affine_.condition(n.cond, false);
        result_.cases.push_back({e, affine_.with_opaque_bounds(uncovered.value), guard});
    }
    void node(const ir::Expr&, const ir::Let& n, int guard) {
        visit(n.value, guard);
        affine_.bind(n.var, n.value);
        visit(n.body, guard);
    }
    void node(const ir::Expr&, const ir::Reduce& n, int guard) { visit(n.body, enter(n.ranges, guard)); }
    template <class Other>
    void node(const ir::Expr& e, const Other&, int guard) {
        for (const ir::Expr& child : ir::children(e)) visit(child, guard);
    }

    const IslContext* isl_;
    AffineTranslator& affine_;
    ValueRanges& ranges_;
    StageAccesses result_;
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
