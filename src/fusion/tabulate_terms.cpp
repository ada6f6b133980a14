#include "fusion/tabulate_terms.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fusion/conditions.h"
#include "fusion/evaluate.h"
#include "fusion/group_facts.h"
#include "fusion/instructions.h"
#include "fusion/made_stages.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "poly/value_ranges.h"

namespace pipec::fusion {

namespace {

/// Instructions that reading a value of a table takes the place of: a load that all threads share, its index, a wait.
constexpr double kLeastWork = 12;
/// Instructions of one thread that take as long as the launch of another kernel: it waits some clocks for each.
constexpr double kLongWork = 2000;
/// Values of a table: they stay in the caches of a multiprocessor.
constexpr double kMostValues = 1 << 16;

/// Terms of loops that nvcc writes out, where it computes what is constant in a term itself.
constexpr double kWrittenOut = 64;

/// A value that a compiler finds out where the variables are constants.
bool is_folded(const ir::Expr& e) {
    return !ir::any_node(e, [](const ir::Expr& node) {
        const auto* call = ir::as<ir::Call>(node);
        const bool is_library = call != nullptr && call->fn != ir::Builtin::Sqrt && instructions(call->fn) > 1;
        return is_library || ir::as<ir::ParamRef>(node) != nullptr || ir::as<ir::SizeRef>(node) != nullptr;
    });
}

class Tabulating {
public:
    Tabulating(const ir::Pipeline& pipeline, const poly::Model& model)
        : made_({pipeline, model}), ranges_(poly::ranges_within(pipeline, &model)), sizes_(usual_sizes(pipeline)) {}

    Inlined run() {
        return made_.with_changed([&](ir::Stage& stage, const poly::Domain& domain) {
            auto* pure = std::get_if<ir::Pure>(&stage.definition);
            if (pure != nullptr && !stage.scan && ir::has_reduction(pure->value)) look_at(stage, domain, *pure);
        });
    }

private:
    void look_at(const ir::Stage& stage, const poly::Domain& domain, ir::Pure& pure) {
        stage_ = &stage;
        places_.clear();
        loops_.clear();
        lets_.clear();
        plain_.clear();
        known_.clear();
        evaluations_ = turns_ = 1;
        for (std::size_t d = 0; d < stage.dims.size(); ++d) {
            const auto& [lo, hi] = domain.box[d];
            evaluations_ *= enter(stage.dims[d].var, lo, hi);
            // One value for each column or row of an image is no table of a loop's.
            if (!ir::as_int(lo) || !ir::as_int(hi)) places_.erase(stage.dims[d].var);
        }
        const ir::Expr whole = pure.value;  // keeps the nodes that are known by address
        pure.value = walk(whole);
    }

    /// Takes note of a variable, and says how many values it has.
    double enter(ir::VarId var, const ir::Expr& lo, const ir::Expr& hi) {
        if (evaluate(lo, sizes_) && evaluate(hi, sizes_)) {
            places_.insert_or_assign(var, Place{var, lo, hi, true});
            return usual_extent(lo, hi, sizes_);
        }
        // Bounds that parameters decide: all values that these admit.
        const poly::Wide least = ranges_.integer(lo).lo, most = ranges_.integer(hi).hi;
        if (most <= least || static_cast<double>(most - least) > kMostValues) return static_cast<double>(kUsualSize);
        const auto bound = [](poly::Wide at) {
            return ir::int_constant(ir::Type::Int32, static_cast<std::int64_t>(at));
        };
        places_.insert_or_assign(var, Place{var, bound(least), bound(most), true});
        return static_cast<double>(most - least);
    }

    ir::Expr walk(const ir::Expr& e) {
        if (const auto known = known_.find(e.get()); known != known_.end()) return known->second;
        ir::Expr result = with_tables(e);
        known_.emplace(e.get(), result);
        return result;
    }

    ir::Expr with_tables(const ir::Expr& e) {
        if (const auto* reduce = ir::as<ir::Reduce>(e)) return in_loops(e, *reduce);
        if (!loops_.empty()) {
            if (ir::as<ir::Read>(e) != nullptr) return e;  // what its indices are, proofs and footprints know
            if (const ir::Expr table = table_of(e)) return table;
        }
        if (const auto* let = ir::as<ir::Let>(e)) {
            if (is_plain(let->value)) lets_.insert_or_assign(let->var, ir::substitute(let->value, lets_));
            ir::Expr value = walk(let->value), body = walk(let->body);
            if (!free_variables(body).contains(let->var)) return body;
            return ir::let(let->var, std::move(value), std::move(body));
        }
        return ir::map_children(e, [&](const ir::Expr& child) { return walk(child); });
    }

    ir::Expr in_loops(const ir::Expr& e, const ir::Reduce& reduce) {
        const double evaluations = evaluations_, turns = turns_;
        for (const ir::Range& range : reduce.ranges) {
            const double count = enter(range.var, range.lo, range.hi);
            loops_.insert(range.var);
            evaluations_ *= count, turns_ *= count;
        }
        // How often a part is evaluated, its loops say.
        auto outside = std::exchange(known_, {});
        ir::Expr result = ir::reduce_like(reduce, reduce.ranges, walk(reduce.body), e->range);
        known_ = std::move(outside);
        for (const ir::Range& range : reduce.ranges) loops_.erase(range.var), places_.erase(range.var);
        evaluations_ = evaluations, turns_ = turns;
        return result;
    }

    /// It reads nothing and has no loop.
    bool is_plain(const ir::Expr& e) {
        if (const auto known = plain_.find(e.get()); known != plain_.end()) return known->second;
        bool result = ir::as<ir::Read>(e) == nullptr && ir::as<ir::Reduce>(e) == nullptr;
        if (result) ir::for_each_child(*e, [&](const ir::Expr& child) { result = result && is_plain(child); });
        plain_.emplace(e.get(), result);
        return result;
    }

    /// A read of a table in the place of `part`; null where there should be none.
    ir::Expr table_of(const ir::Expr& part) {
        if (!ir::is_float(part->type) || !is_plain(part)) return nullptr;
        const ir::Expr e = ir::substitute(part, lets_);
        double work = 0;
        ir::for_each_node(e, [&](const ir::Expr& node) { work += instructions(node); });
        if (work < kLeastWork || (turns_ <= kWrittenOut && is_folded(e))) return nullptr;
        Places places;
        double values = 1;
        bool in_loop = false;
        for (const ir::VarId var : free_variables(e)) {
            const auto place = places_.find(var);
            if (place == places_.end()) return nullptr;
            places.push_back(place->second);
            values *= usual_extent(place->second.lo, place->second.hi, sizes_);
            in_loop = in_loop || loops_.contains(var);
        }
        const bool often = evaluations_ >= kTableUses * values && evaluations_ * work >= kLaunchWork;
        const bool long_loop = turns_ * work >= kLongWork;
        if (!in_loop || values < 1 || values > kMostValues || (!often && !long_loop)) return nullptr;
        const ir::Expr table = made_.make_in_order(*stage_, "table", e, places, nullptr, part->range);
        made_.made(ir::as<ir::Read>(table)->source.index).stored = true;
        return table;
    }

    MadeStages made_;
    poly::ValueRanges ranges_;
    std::vector<std::int64_t> sizes_;
    // Of the stage that is being looked at:
    const ir::Stage* stage_ = nullptr;
    std::map<ir::VarId, Place> places_;   ///< of dimensions with few points, and of the loops around
    std::set<ir::VarId> loops_;           ///< the variables of those around
    std::map<ir::VarId, ir::Expr> lets_;  ///< what is plain, without lets
    std::unordered_map<const ir::Node*, bool> plain_;
    std::unordered_map<const ir::Node*, ir::Expr> known_;  ///< with tables, in the loops around
    double evaluations_ = 1;                               ///< of what stands here, by all points
    double turns_ = 1;                                     ///< of them by one point
};

}  // namespace

Inlined tabulate_terms(const ir::Pipeline& pipeline, const poly::Model& model) {
    return ir::has_reduction(pipeline) ? Tabulating(pipeline, model).run() : Inlined{pipeline, model};
}

}  // namespace pipec::fusion
