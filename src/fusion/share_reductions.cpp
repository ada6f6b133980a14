#include "fusion/share_reductions.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "fusion/conditions.h"
#include "fusion/evaluate.h"
#include "fusion/group_facts.h"
#include "fusion/made_stages.h"
#include "fusion/schedule.h"
#include "fusion/uniform_work.h"
#include "ir/build.h"
#include "ir/parameter_sizes.h"
#include "ir/reduction.h"
#include "ir/scan.h"
#include "ir/visit.h"
#include "ir/without_lets.h"
#include "poly/in_bounds.h"
#include "poly/places.h"

namespace pipec::fusion {

using ir::BinaryOp;
using ir::Type;

namespace {

/// Points that keep a GPU's threads busy.
constexpr double kBusyPoints = 1 << 17;
/// Points that do so in images of the usual size, but not in smaller ones: the same code runs on both.
constexpr double kManyPoints = 1 << 20;
/// Terms that one thread may combine while others have nothing to do, where sizes are large_sizes.
/// 256 terms that were shared out took 0.8 to 1.7 times as long on an H100 (ten programs), 512 took a fifth (one).
constexpr double kFewTerms = 384;
/// A term whose own loops have so many turns takes much longer to compute than to store and to load.
constexpr double kLongTerm = 32;
/// Terms that are stored, at most.
constexpr double kMostStored = 1 << 26;
/// A reduction of fewer terms is not worth a stage, though it be the same at many points.
constexpr double kRepeatedTerms = 64;
/// Terms of a block below which its loop takes in the next variable, too.
constexpr double kShortBlock = 16;
/// Terms of whole loops that a thread combines at most, in large images.
constexpr double kWholeTerms = 256;

/// Operations on what is the same everywhere that are worth a kernel of one thread.
constexpr std::int64_t kUniformWork = 64;

ir::Expr constant(std::int64_t value) {
    return ir::int_constant(Type::Int32, value);
}
ir::Expr minus(const ir::Expr& a, const ir::Expr& b) {
    return ir::binary(BinaryOp::Sub, a, b);
}
ir::Expr plus(const ir::Expr& a, const ir::Expr& b) {
    return ir::binary(BinaryOp::Add, a, b);
}

/// Whether there is something in it to be taken out.
bool is_heavy(const ir::Expr& e) {
    return e && (ir::has_reduction(e) || work_of(e) > kUniformWork);
}

/// A reduction with its loops, the outermost one first, and those of the same operator that are its whole body, as far
/// as their bounds are the same everywhere.
struct Nest {
    ir::ReduceOp op;
    Places loops;
    ir::Expr body;
};

bool is_fixed(const ir::Range& range) {
    return ir::is_uniform(range.lo) && ir::is_uniform(range.hi);
}

Nest nest_of(const ir::Expr& e) {
    const auto* reduce = ir::as<ir::Reduce>(e);
    Nest nest{reduce->op, {}, e};
    while (reduce != nullptr && reduce->op == nest.op) {
        std::vector<ir::Range> ranges = reduce->ranges;
        // Integers may go in any order: along rows of memory from loop to loop, as floats do.
        if (std::ranges::all_of(ranges, is_fixed)) std::ranges::reverse(ranges);
        const auto rest = std::ranges::find_if_not(ranges, is_fixed);
        for (auto range = ranges.begin(); range != rest; ++range) {
            nest.loops.push_back({range->var, range->lo, range->hi, false});
        }
        if (rest == ranges.begin()) break;
        if (rest != ranges.end()) {
            nest.body = ir::reduce(nest.op, {rest, ranges.end()}, reduce->body, e->range);
            break;
        }
        nest.body = reduce->body;
        reduce = ir::as<ir::Reduce>(nest.body);
    }
    return nest;
}

class Sharing {
public:
    Sharing(const ir::Pipeline& pipeline, const poly::Model& model)
        : made_({pipeline, model}), usual_(usual_sizes(pipeline)), large_(large_sizes(pipeline, usual_)) {}

    Inlined run() {
        return made_.with_changed([&](ir::Stage& stage, const poly::Domain& domain) {
            stage_ = std::move(stage);
            if (auto* pure = std::get_if<ir::Pure>(&stage_.definition); pure != nullptr && is_heavy(pure->value)) {
                share(*pure, domain);
            } else if (auto* accumulate = std::get_if<ir::Accumulate>(&stage_.definition)) {
                for (ir::Update& update : accumulate->updates) share(update);
            }
            stage = std::move(stage_);
        });
    }

private:
    void share(ir::Pure& pure, const poly::Domain& domain) {
        Places around;
        for (std::size_t d = 0; d < stage_.dims.size(); ++d) {
            const auto& [lo, hi] = domain.box[d];
            const auto first = ir::as_int(lo), end = ir::as_int(hi);
            // Extents of outputs are at least 1.
            const bool never_empty = stage_.output >= 0 || (first && end && *first < *end);
            around.push_back({stage_.dims[d].var, lo, hi, never_empty});
        }
        replace(pure.value, {std::move(around), domain.guard});
    }

    /// What an update asks for at the points of its loops: its guard at all of them, the rest where that holds.
    void share(ir::Update& update) {
        Places around;
        for (const ir::Range& range : update.domain) {
            if (!is_fixed(range)) return;
            const auto first = ir::as_int(range.lo), end = ir::as_int(range.hi);
            around.push_back({range.var, range.lo, range.hi, first && end && *first < *end});
        }
        if (update.guard) replace(update.guard, {around, nullptr});
        replace(update.value, {around, update.guard});
        for (ir::Expr& index : update.indices) replace(index, {around, update.guard});
    }

    /// Where the whole of an expression is evaluated.
    struct Base {
        Places around;
        ir::Expr condition;  ///< may be null
    };
    void replace(ir::Expr& e, Base base) {
        if (!is_heavy(e)) return;
        base_ = std::move(base);
        root_ = ir::WithoutLets().of(e);
        tree_.emplace(root_);
        inside_.assign(1, {});
        known_.clear();
        const ir::Expr shared = walk(root_, 0);
        if (shared != root_) e = shared;
    }

    /// What a place of the tree adds to the one around it: a loop, or a condition.
    struct Inside {
        int outer = -1;
        std::optional<Place> loop{};
        ir::Expr condition{};  ///< as it is written
        bool truth = true;
    };
    int note(int place, Inside inside) {
        if (inside_.size() <= static_cast<std::size_t>(place)) inside_.resize(static_cast<std::size_t>(place) + 1);
        inside_[static_cast<std::size_t>(place)] = std::move(inside);
        return place;
    }
    int enter(const ir::Expr& condition, bool truth, int place) {
        return note(tree_->inside(condition, truth, place), {place, std::nullopt, condition, truth});
    }
    int enter(const ir::Range& range, int place) {
        return note(tree_->inside(range, place), {place, Place{range.var, range.lo, range.hi, false}});
    }
    /// From a place to the outermost one.
    template <class F>
    void for_each_around(int place, F&& f) const {
        for (; place > 0; place = inside_.at(static_cast<std::size_t>(place)).outer) {
            f(inside_.at(static_cast<std::size_t>(place)));
        }
    }
    [[nodiscard]] Places around(int place) const {
        Places loops, result = base_.around;
        for_each_around(place, [&](const Inside& inside) {
            if (inside.loop) loops.push_back(*inside.loop);
        });
        result.insert(result.end(), loops.rbegin(), loops.rend());
        return result;
    }
    /// What holds at a place, the outermost condition first.
    std::vector<ir::Expr> conditions(int place) {
        std::vector<std::vector<ir::Expr>> found;
        for_each_around(place, [&](const Inside& inside) {
            if (inside.condition) found.push_back(conjuncts(walk(inside.condition, inside.outer), inside.truth));
        });
        std::vector<ir::Expr> result;
        if (base_.condition) result = conjuncts(base_.condition, true);
        for (std::size_t i = found.size(); i-- > 0;) result.insert(result.end(), found[i].begin(), found[i].end());
        return result;
    }

    /// `e`, which is met at a place of the tree, with reads of new stages.
    ir::Expr walk(const ir::Expr& e, int place) {
        place = tree_->of(e, place);
        const auto key = std::pair{e.get(), place};
        if (const auto found = known_.find(key); found != known_.end()) return found->second;
        ir::Expr result = walk_node(e, place);
        known_.emplace(key, result);
        return result;
    }

    ir::Expr walk_node(const ir::Expr& e, int place) {
        if (same_.of(e)) return is_worth_once(e, place) ? once(e, place) : e;
        if (const auto* n = ir::as<ir::Select>(e)) {
            const ir::Expr cond = walk(n->cond, place);
            int inner = enter(n->cond, true, place);
            // That the only case holds is proved: nobody need ask.
            if (!n->otherwise) inner = note(inner, {place});
            const ir::Expr then = walk(n->then, inner);
            const ir::Expr otherwise = n->otherwise ? walk(n->otherwise, enter(n->cond, false, place)) : nullptr;
            const bool same = cond == n->cond && then == n->then && otherwise == n->otherwise;
            return same ? e : ir::select(cond, then, otherwise, e->range);
        }
        if (const auto* n = ir::as<ir::Binary>(e); n != nullptr && ir::is_logical(n->op)) {
            const ir::Expr a = walk(n->a, place);
            const ir::Expr b = walk(n->b, enter(n->a, n->op == BinaryOp::And, place));
            return a == n->a && b == n->b ? e : ir::binary(n->op, a, b, e->range);
        }
        if (ir::as<ir::Reduce>(e) != nullptr) return reduction(e, place);
        return ir::map_children(e, [&](const ir::Expr& child) { return walk(child, place); });
    }

    /// Only where it is evaluated for certain: one thread's time may be more than that of those that need it.
    [[nodiscard]] bool is_worth_once(const ir::Expr& e, int place) {
        if (work_of(e) <= kUniformWork || points(around(place), usual_) < kFewTerms) return false;
        return conditions(place).empty() && is_of_sizes_alone(site_of_one(place));
    }
    ir::Expr once(const ir::Expr& e, int place) { return stage_of("let", e, site_of_one(place), e->range); }

    /// Where stages for the terms of a reduction are computed.
    struct Site {
        Places depends{};    ///< what the terms follow, outside of their reduction
        Places others{};     ///< what they do not follow
        ir::Expr reached{};  ///< over the sizes: whether a point of it is needed; null: certainly
        /// They decide at each point of `depends`; those that stand outside come first.
        std::vector<ir::Expr> conditions{};
        bool open = false;                      ///< there are others, over what the terms do not follow
        std::map<ir::VarId, ir::Expr> fixed{};  ///< the only value that such a variable has
    };

    /// With `all`, the terms follow what conditions follow.
    Site split(const Nest& nest, int place, bool all) {
        Site site;
        Places places = around(place);
        std::vector<ir::Expr> conditions;
        for (const ir::Expr& condition : this->conditions(place)) {
            if (narrow(places, site.fixed, condition)) continue;
            if (is_of_sizes(condition))
                site.reached = both(site.reached, condition);
            else
                conditions.push_back(condition);
        }
        std::set<ir::VarId> used = variables_of(nest.body);
        for (ir::Expr& condition : conditions) {
            condition = ir::substitute(condition, site.fixed);
            if (all) used.merge(variables_of(condition));
        }
        for (const auto& [var, value] : site.fixed) used.erase(var);
        for (const Place& p : places) (used.count(p.var) > 0 ? site.depends : site.others).push_back(p);
        for (const ir::Expr& condition : conditions) {
            const std::set<ir::VarId> variables = variables_of(condition);
            const bool follows =
                std::ranges::none_of(site.others, [&](const Place& p) { return variables.count(p.var) > 0; });
            if (follows && !reads_self(condition))
                site.conditions.push_back(condition);
            else
                site.open = true;
        }
        site.reached = both(site.reached, some_point(site.others));
        return site;
    }

    /// None where there is none that is worth it. Conditions over what the terms do not follow may be left out where
    /// every read is in bounds without them.
    std::optional<Site> site_of(const Nest& nest, int place, bool always) {
        if (reads_self(nest.body)) return std::nullopt;
        const auto is_worth = [&](const Site& site) {
            return always || is_repeated(nest, site) || is_long(nest.loops, site.depends) ||
                   is_busy(nest.loops, site.depends, nest.body);
        };
        Site site = split(nest, place, false);
        if (!is_of_sizes_alone(site)) return std::nullopt;
        if (site.open && is_worth(site) && is_in_bounds(nest, site)) return site;
        if (site.open) site = split(nest, place, true);
        if (site.open || !is_worth(site) || !is_of_sizes_alone(site)) return std::nullopt;
        return site;
    }
    /// Whether a launch can compute from the sizes how many points a stage there has. It cannot where a bound is a
    /// rounded float of parameters, as in 0..int32(ceil(3.0 * s)).
    [[nodiscard]] bool is_of_sizes_alone(const Site& site) const {
        const auto is_known = [&](const ir::Expr& bound) {
            return ir::any_node(bound, [](const ir::Expr& e) { return ir::as<ir::Variable>(e) != nullptr; }) ||
                   evaluate(bound, usual_);
        };
        return (!site.reached || evaluate(site.reached, usual_)) &&
               std::ranges::all_of(site.depends, [&](const Place& p) { return is_known(p.lo) && is_known(p.hi); });
    }
    /// Of a single value.
    [[nodiscard]] Site site_of_one(int place) const {
        Site site;
        site.reached = some_point(around(place));
        return site;
    }
    [[nodiscard]] bool is_repeated(const Nest& nest, const Site& site) const {
        return points(site.others, usual_) > 1 && points(nest.loops, usual_) >= kRepeatedTerms;
    }
    bool is_in_bounds(const Nest& nest, const Site& site) {
        const int before = made_.count();
        stage_of("trial", ir::substitute(looped(nest, {}), site.fixed), site, {});
        const Inlined& all = made_.all();
        std::vector<std::size_t> trial;
        for (int s = before; s < made_.count(); ++s) trial.push_back(static_cast<std::size_t>(s));
        const bool result = poly::are_in_bounds(all.pipeline, all.model, trial);
        made_.forget(before);
        return result;
    }
    [[nodiscard]] bool reads_self(const ir::Expr& e) const {
        return stage_.scan && ir::reads(e, {ir::Source::Kind::Stage, kSelf});
    }

    /// Both of two conditions, null being one that always holds.
    static ir::Expr both(const ir::Expr& a, const ir::Expr& b) {
        return a && b ? ir::binary(BinaryOp::And, a, b) : a ? a : b;
    }
    /// That there is a point along these; null where that is certain.
    static ir::Expr some_point(const Places& places) {
        ir::Expr result;
        for (const Place& place : places) {
            if (!place.never_empty) result = both(result, ir::binary(BinaryOp::Lt, place.lo, place.hi));
        }
        return result;
    }

    /// Where the least or greatest of many terms is: its value first, then the least number of a term that is equal.
    ir::Expr place_of(const ir::Expr& e, int place) {
        const auto& n = *ir::as<ir::Reduce>(e);
        if (!std::ranges::all_of(n.ranges, is_fixed)) return e;
        Nest nest{n.op, {}, nullptr};
        int inner = place;
        for (const ir::Range& range : n.ranges) {
            nest.loops.push_back({range.var, range.lo, range.hi, false});
            inner = enter(range, inner);
        }
        const ir::Expr body = nest.body = walk(n.body, inner);
        const std::optional<Site> site = site_of(nest, place, false);
        if (!site || (!is_repeated(nest, *site) && !is_long(nest.loops, site->depends))) {
            const ir::Expr each = site ? each_term(nest, *site, e->range) : body;
            return each == n.body ? e : ir::reduce_like(n, n.ranges, each, e->range);
        }
        const auto wide = [](const ir::Expr& i) { return ir::cast(Type::Int64, i); };
        const auto length = [&](const ir::Range& r) { return wide(minus(r.hi, r.lo)); };
        const ir::ReduceOp op = n.op == ir::ReduceOp::ArgMin ? ir::ReduceOp::Min : ir::ReduceOp::Max;
        const ir::Expr best = shared(ir::reduce_nest(op, n.ranges, body, e->range), place);
        ir::Expr number = ir::int_constant(Type::Int64, 0);
        for (const ir::Range& r : n.ranges) {
            number =
                plus(ir::binary(BinaryOp::Mul, number, length(r)), wide(minus(ir::variable(r.var, Type::Int32), r.lo)));
        }
        const ir::Expr far = ir::int_constant(Type::Int64, std::numeric_limits<std::int64_t>::max());
        const ir::Expr counts = ir::binary(ir::better_op(n.op), best, ir::identity(op, body->type));
        const ir::Expr is_best = ir::binary(BinaryOp::And, counts, ir::binary(BinaryOp::Eq, body, best));
        const ir::Expr first =
            shared(ir::reduce(ir::ReduceOp::Min, n.ranges, ir::select(is_best, number, far), e->range), place);
        ir::Expr rest = first;
        for (std::size_t i = n.ranges.size() - 1; i > static_cast<std::size_t>(n.place); --i) {
            rest = ir::binary(BinaryOp::Div, rest, length(n.ranges[i]));
        }
        const ir::Range& r = n.ranges[static_cast<std::size_t>(n.place)];
        if (n.place > 0) rest = ir::binary(BinaryOp::Mod, rest, length(r));
        return ir::select(ir::binary(BinaryOp::Eq, first, far), r.lo, plus(r.lo, ir::cast(Type::Int32, rest)),
                          e->range);
    }
    /// A stage for each level of a reduction whose terms were looked at, and for its result.
    ir::Expr shared(const ir::Expr& e, int place) {
        Nest nest = nest_of(e);
        const std::optional<Site> site = site_of(nest, place, true);
        return site ? as_stages(std::move(nest), *site, true, e->range) : e;
    }

    ir::Expr reduction(const ir::Expr& e, int place) {
        if (ir::gives_place(ir::as<ir::Reduce>(e)->op)) return place_of(e, place);
        Nest nest = nest_of(e);
        if (nest.loops.empty()) return e;
        const ir::Expr body = nest.body;
        if (const auto inner = inside_of(nest, e, place)) nest.body = walk(body, *inner);
        const std::optional<Site> site = site_of(nest, place, false);
        if (!site) return nest.body == body ? e : looped(nest, e->range);
        if (is_repeated(nest, *site)) return as_stages(std::move(nest), *site, true, e->range);
        if (is_long(nest.loops, site->depends)) {
            stage_.alone = !stage_.scan;
            return as_stages(std::move(nest), *site, false, e->range);
        }
        nest.body = each_term(nest, *site, e->range);
        return looped(nest, e->range);
    }

    /// The place inside of the loops of a nest that was made of `e`; none where its body has some of a node's loops.
    std::optional<int> inside_of(const Nest& nest, const ir::Expr& e, int place) {
        const auto* reduce = ir::as<ir::Reduce>(e);
        for (std::size_t left = nest.loops.size(); left > 0; reduce = ir::as<ir::Reduce>(reduce->body)) {
            if (left < reduce->ranges.size()) return std::nullopt;
            left -= reduce->ranges.size();
            for (const ir::Range& range : reduce->ranges) place = enter(range, place);
        }
        return place;
    }

    [[nodiscard]] static double extent(const Place& place, const std::vector<std::int64_t>& sizes) {
        return usual_extent(place.lo, place.hi, sizes);
    }
    [[nodiscard]] static double points(const Places& places, const std::vector<std::int64_t>& sizes) {
        double result = 1;
        for (const Place& place : places) result *= extent(place, sizes);
        return result;
    }
    /// Few threads have work, and each of them much of it. Loops count as short if their length does not follow from
    /// the sizes: nobody could tell after how many levels of blocks few terms are left.
    [[nodiscard]] bool is_long(const Places& loops, const Places& depends) const {
        const auto is_known = [&](const Place& loop) { return evaluate(loop.lo, large_) && evaluate(loop.hi, large_); };
        return std::ranges::all_of(loops, is_known) && points(loops, large_) > kFewTerms &&
               points(depends, usual_) < kBusyPoints;
    }

    /// Few threads have work, and each of them much of it, because each term is a loop itself: in a search for a block,
    /// a term is the sum of the block's differences.
    [[nodiscard]] bool is_busy(const Places& loops, const Places& depends, const ir::Expr& body) const {
        std::unordered_map<const ir::Node*, double> memo;
        const double rounds = iterations(body, memo), threads = points(depends, usual_);
        if (rounds <= 1 || points(loops, large_) * rounds <= kFewTerms) return false;
        if (threads * points(loops, usual_) > kMostStored) return false;
        return threads < (rounds < kLongTerm ? kBusyPoints : kManyPoints);
    }
    /// Turns of the longest loops of an expression, those inside of others multiplied.
    double iterations(const ir::Expr& e, std::unordered_map<const ir::Node*, double>& memo) const {
        if (const auto known = memo.find(e.get()); known != memo.end()) return known->second;
        double most = 1;
        ir::for_each_child(*e, [&](const ir::Expr& child) { most = std::max(most, iterations(child, memo)); });
        if (const auto* reduce = ir::as<ir::Reduce>(e)) {
            for (const ir::Range& range : reduce->ranges) {
                most *= std::max(1.0, usual_extent(range.lo, range.hi, large_));
            }
        }
        memo.emplace(e.get(), most);
        return most;
    }

    /// Every term of the loops at a point of its own: a read of the stage of them.
    ir::Expr each_term(const Nest& nest, const Site& site, SourceRange range) {
        return stage_of("term", ir::substitute(nest.body, site.fixed), with_dims(site, nest.loops), range);
    }
    /// The site of stages that have more dimensions.
    static Site with_dims(const Site& site, const Places& more) {
        Site result = site;
        result.depends.insert(result.depends.end(), more.begin(), more.end());
        return result;
    }

    /// Stages of blocks, and with `result` one of what is left of them.
    ir::Expr as_stages(Nest nest, Site site, bool result, SourceRange range) {
        const ir::ReduceOp op = nest.op;
        nest.body = ir::substitute(nest.body, site.fixed);
        const ir::Expr rest = in_blocks(std::move(nest), site, range);
        return result ? stage_of(ir::name(op), rest, site, range) : rest;
    }

    /// What is left of a nest when blocks of its terms have become stages. It asks for no conditions then: blocks have
    /// values at all points of the site.
    ir::Expr in_blocks(Nest nest, Site& site, SourceRange range) {
        while (is_long(nest.loops, site.depends)) {
            // Whole loops inside of a thread, then blocks of the next one, or each of its points.
            std::size_t inner = nest.loops.size();
            // A term that is a loop itself: each by another thread, unless there are so many that blocks will do.
            const double in_all = points(nest.loops, usual_) * points(site.depends, usual_) / ir::kBlockTerms;
            double terms = ir::has_reduction(nest.body) && in_all < kBusyPoints ? kWholeTerms : 1;
            while (inner > 0 && terms * extent(nest.loops[inner - 1], large_) <= kWholeTerms) {
                terms *= extent(nest.loops[--inner], large_);
            }
            if (inner == 0) break;
            ir::Expr value = nest.body;
            for (std::size_t i = nest.loops.size(); i-- > inner;) value = loop(nest.op, nest.loops[i], value, range);
            nest.loops.resize(inner);
            if (terms < kShortBlock) {
                const Place whole = nest.loops.back();
                const ir::Expr count = minus(whole.hi, whole.lo);
                const ir::VarId block = made_.variable_like(whole.var, "_block"),
                                term = made_.variable_like(whole.var, "");
                const ir::Expr first =
                    ir::binary(BinaryOp::Mul, ir::variable(block, Type::Int32), constant(ir::kBlockTerms));
                const ir::Expr most = ir::binary(BinaryOp::Min, constant(ir::kBlockTerms), minus(count, first));
                value =
                    ir::substitute(value, {{whole.var, plus(plus(whole.lo, first), ir::variable(term, Type::Int32))}});
                value = loop(nest.op, {term, constant(0), most, true}, value, range);
                const ir::Expr blocks =
                    ir::binary(BinaryOp::Div, plus(count, constant(ir::kBlockTerms - 1)), constant(ir::kBlockTerms));
                nest.loops.back() = {block, constant(0), blocks, false};
            }
            const Places blocks(nest.loops.rbegin(), nest.loops.rend());
            nest.body = stage_of(ir::name(nest.op), value, with_dims(site, blocks), range);
            site.conditions.clear();
        }
        return looped(nest, range);
    }

    static ir::Expr looped(const Nest& nest, SourceRange range) {
        ir::Expr result = nest.body;
        for (std::size_t i = nest.loops.size(); i-- > 0;) result = loop(nest.op, nest.loops[i], result, range);
        return result;
    }
    static ir::Expr loop(ir::ReduceOp op, const Place& place, const ir::Expr& body, SourceRange range) {
        return ir::reduce(op, {{place.var, place.lo, place.hi}}, body, range);
    }

    /// The conditions of a site. What takes long in them is a stage itself, at points where those before it hold.
    std::vector<ir::Expr> asked(const Site& site, SourceRange range) {
        std::vector<ir::Expr> result;
        for (const ir::Expr& condition : site.conditions) {
            if (!is_heavy(condition)) {
                result.push_back(condition);
                continue;
            }
            Site own{{}, {}, site.reached, result};
            std::set<ir::VarId> used = variables_of(condition);
            for (const ir::Expr& before : result) used.merge(variables_of(before));
            for (const Place& p : site.depends) (used.count(p.var) > 0 ? own.depends : own.others).push_back(p);
            own.reached = both(own.reached, some_point(own.others));
            result.push_back(stage_of("condition", condition, own, range));
        }
        return result;
    }

    /// A stage, named for `what` it is, with `value` at the points of a site, and anything where its conditions do not
    /// hold; a read of it there.
    ir::Expr stage_of(std::string_view what, ir::Expr value, const Site& site, SourceRange range) {
        const ir::Expr anything = value->type == Type::Bool ? ir::bool_constant(false) : ir::constant(value->type, 0);
        const std::vector<ir::Expr> conditions = asked(site, range);
        // One in another: of an `and` of data, code may compute both sides.
        for (auto c = conditions.rbegin(); c != conditions.rend(); ++c) value = ir::select(*c, value, anything);
        return made_.make(stage_, what, value, site.depends, site.reached, range);
    }

    MadeStages made_;
    std::vector<std::int64_t> usual_, large_;
    Sameness same_;
    ir::Stage stage_;  ///< that is being looked at
    // Of the expression that is being looked at:
    Base base_;
    ir::Expr root_;                     ///< without lets
    std::optional<poly::Places> tree_;  ///< where its nodes are evaluated
    std::vector<Inside> inside_;        ///< by place
    std::map<std::pair<const ir::Node*, int>, ir::Expr> known_;
};

}  // namespace

Inlined share_reductions(const ir::Pipeline& pipeline, const poly::Model& model) {
    const bool any = std::ranges::any_of(
        pipeline.stages, [](const ir::Stage& stage) { return std::ranges::any_of(ir::expressions(stage), is_heavy); });
    return any ? Sharing(pipeline, model).run() : Inlined{pipeline, model};
}

}  // namespace pipec::fusion
