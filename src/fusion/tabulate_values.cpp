#include "fusion/tabulate_values.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "fusion/conditions.h"
#include "fusion/group_facts.h"
#include "fusion/instructions.h"
#include "fusion/made_stages.h"
#include "ir/build.h"
#include "ir/unique_nodes.h"
#include "ir/visit.h"
#include "ir/without_lets.h"
#include "poly/stage_ranges.h"
#include "poly/value_ranges.h"

namespace pipec::fusion {

namespace {

using ir::Type;

/// Values of a table: with 4 bytes each they fill 16 KB of a first-level cache.
constexpr std::int64_t kMostPlaces = 4096;
/// Instructions that reading a value of a table takes the place of. A warp whose lanes ask for 32 of them, at random,
/// takes the load/store unit for 6 to 8 clocks of an H200, in each of which four schedulers issue an instruction.
constexpr double kGatherWork = 60;
/// Instructions that are left outside of a table so that several parts have one.
constexpr double kOutside = 4;
/// Integers that a part may be a function of, at most: of `v >> 4`, also `v` and its operands.
constexpr std::size_t kMostSources = 4;

/// A node that costs something: without one, no part is worth a table.
bool is_long(const ir::Expr& e) {
    return instructions(e) >= 8;
}

/// What the stages of a pipeline give, by number.
std::vector<poly::ValueRange> stage_values(const ir::Pipeline& pipeline, const poly::Model& model) {
    poly::KnownBoxes boxes;
    for (const poly::Domain& domain : model.domains) boxes.emplace_back(domain.box);
    poly::ValueRanges ranges = poly::ranges_within(pipeline, &model);
    ranges.know_stages(std::move(boxes));
    std::vector<poly::ValueRange> result;
    for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
        const ir::Source source{ir::Source::Kind::Stage, static_cast<int>(s)};
        result.push_back(ranges.of(ir::read(source, pipeline.stages[s].type, {})));
    }
    return result;
}

class ValueTables {
public:
    ValueTables(const ir::Pipeline& pipeline, const poly::Model& model)
        : made_({pipeline, model}),
          ranges_(poly::ranges_within(pipeline, &model)),
          values_(stage_values(pipeline, model)),
          sizes_(usual_sizes(pipeline)) {}

    Inlined run() {
        return made_.with_changed([&](ir::Stage& stage, const poly::Domain& domain) {
            know_stages_before();
            if (stage.scan) return;
            stage_ = &stage;
            poly::bind_points(ranges_, stage, domain.box);
            if (auto* pure = std::get_if<ir::Pure>(&stage.definition)) {
                evaluations_ = usual_points(domain.box, sizes_);
                pure->value = with_tables(pure->value);
                return;
            }
            for (ir::Update& update : std::get<ir::Accumulate>(stage.definition).updates) {
                evaluations_ = 1;
                for (const ir::Range& range : update.domain) enter(range);
                update.value = with_tables(update.value);
            }
        });
    }

private:
    /// What an expression without lets depends on.
    struct Depends {
        bool uniform = true;            ///< on constants, sizes and parameters alone
        std::vector<ir::Expr> on = {};  ///< on each of these integers alone; none: on several, or on others
    };

    /// The ranges of all that stages may read from here on: of tables, those of their types.
    void know_stages_before() {
        for (; known_stages_ < made_.count(); ++known_stages_) {
            const bool is_table = known_stages_ + 1 < made_.count();
            const Type type = made_.made(known_stages_).type;
            ranges_.know_stage(is_table ? poly::type_range_of(type) : values_.at(next_++));
        }
    }

    void enter(const ir::Range& range) {
        ranges_.bind_index(range.var, range.lo, range.hi);
        evaluations_ *= usual_extent(range.lo, range.hi, sizes_);
    }

    ir::Expr with_tables(const ir::Expr& value) {
        depends_.clear();
        uses_.clear();
        known_.clear();
        ir::for_each_node(value, [&](const ir::Expr& e) {
            if (const auto* reduce = ir::as<ir::Reduce>(e)) {
                for (const ir::Range& range : reduce->ranges) ranges_.bind_index(range.var, range.lo, range.hi);
            }
        });
        ir::for_each_node(flat(value), [&](const ir::Expr& e) {
            ir::for_each_child(*e, [&](const ir::Expr& child) { ++uses_[child]; });
        });
        return walk(value);
    }

    /// An expression without lets, in which what is equal is one node.
    ir::Expr flat(const ir::Expr& e) { return unique_.get(without_lets_.of(e)); }

    ir::Expr walk(const ir::Expr& e) {
        if (const auto known = known_.find(e); known != known_.end()) return known->second;
        ir::Expr result = changed(e);
        known_.emplace(e, result);
        return result;
    }

    ir::Expr changed(const ir::Expr& e) {
        if (ir::as<ir::Read>(e) != nullptr) return e;  // what its indices are, proofs and footprints know
        if (const auto* reduce = ir::as<ir::Reduce>(e)) return in_loops(e, *reduce);
        if (ir::as<ir::Variable>(e) != nullptr) return e;  // what a let says is looked at there
        const ir::Expr part = flat(e);
        if (const Depends& depends = depends_of(part); !depends.on.empty()) {
            const ir::Expr source = source_of(part, depends.on);
            // No part of it is worth more than all of it.
            if (!source || work_of(part, source) < kGatherWork) return e;
            if (!has_shared_part(part, source)) {
                const ir::Expr table = table_of(part, source);
                return table ? table : e;
            }
        }
        if (const auto* let = ir::as<ir::Let>(e)) {
            ir::Expr value = walk(let->value), body = walk(let->body);
            if (value == let->value && body == let->body) return e;
            if (!free_variables(body).contains(let->var)) return body;
            return ir::let(let->var, std::move(value), std::move(body), e->range);
        }
        return ir::map_children(e, [&](const ir::Expr& child) { return walk(child); });
    }

    ir::Expr in_loops(const ir::Expr& e, const ir::Reduce& reduce) {
        const double outside = evaluations_;
        for (const ir::Range& range : reduce.ranges) enter(range);
        // How often a part is evaluated, its loops say.
        auto known = std::exchange(known_, {});
        const ir::Expr body = walk(reduce.body);
        known_ = std::move(known);
        evaluations_ = outside;
        return body == reduce.body ? e : ir::reduce_like(reduce, reduce.ranges, body, e->range);
    }

    /// How many values an integer has; none where that is too many.
    std::optional<std::int64_t> count_of(const ir::Expr& e) {
        if (!ir::is_int(e->type)) return std::nullopt;
        const poly::IntRange range = ranges_.integer(e);
        if (range.hi - range.lo >= kMostPlaces) return std::nullopt;
        return static_cast<std::int64_t>(range.hi - range.lo) + 1;
    }

    const Depends& depends_of(const ir::Expr& e) {
        if (const auto known = depends_.find(e); known != depends_.end()) return known->second;
        Depends result = find_depends(e);
        return depends_.emplace(e, std::move(result)).first->second;
    }

    Depends find_depends(const ir::Expr& e) {
        const Depends others{false, {}};
        Depends result;
        if (const auto* select = ir::as<ir::Select>(e); select != nullptr && !select->otherwise) return others;
        if (ir::as<ir::Variable>(e) != nullptr || ir::as<ir::Reduce>(e) != nullptr) return others;
        if (ir::as<ir::Read>(e) != nullptr) {
            result = others;
        } else {
            ir::for_each_child(*e, [&](const ir::Expr& child) {
                const Depends& of = depends_of(child);
                if (of.uniform) return;
                if (std::exchange(result.uniform, false)) {
                    result.on = of.on;
                } else {
                    std::erase_if(result.on,
                                  [&](const ir::Expr& source) { return !std::ranges::count(of.on, source); });
                }
            });
        }
        // (What places tell is known where loops are written out.)
        if (!result.uniform && result.on.size() < kMostSources && count_of(e) && ir::has_reads(e))
            result.on.push_back(e);
        return result;
    }

    /// The integer of the fewest values that `e` is a function of; null where it is but that integer.
    ir::Expr source_of(const ir::Expr& e, const std::vector<ir::Expr>& on) {
        ir::Expr source;
        for (const ir::Expr& one : on) {
            if (one != e && (!source || *count_of(one) < *count_of(source))) source = one;
        }
        return e->type == Type::Bool ? nullptr : source;
    }

    double work_of(const ir::Expr& e, const ir::Expr& source) {
        // (What is the same at all points is computed once.)
        std::unordered_set<ir::Expr> seen{source};
        double work = 0;
        const std::function<void(const ir::Expr&)> walk = [&](const ir::Expr& node) {
            if (!seen.insert(node).second || depends_of(node).uniform) return;
            work += instructions(node);
            ir::for_each_child(*node, walk);
        };
        walk(e);
        return work;
    }

    /// Whether almost all of the work is in an operand that others have, too.
    bool has_shared_part(const ir::Expr& e, const ir::Expr& source) {
        const double enough = std::max(kGatherWork, work_of(e, source) - kOutside);
        ir::Expr part = e;
        while (true) {
            ir::Expr next;
            const auto look_at = [&](const ir::Expr& child) {
                if (!next && child != source && std::ranges::count(depends_of(child).on, source) != 0 &&
                    work_of(child, source) >= enough) {
                    next = child;
                }
            };
            ir::for_each_child(*part, look_at);
            if (!next) return false;
            if (uses_[next] > 1) return true;
            part = next;
        }
    }

    /// A read of a table in the place of `e`, a function of the source; null where there should be none.
    ir::Expr table_of(const ir::Expr& e, const ir::Expr& source) {
        const auto values = static_cast<double>(*count_of(source));
        if (evaluations_ < kTableUses * values || evaluations_ * work_of(e, source) < kLaunchWork) return nullptr;
        const ir::VarId var = made_.variable_like(stage_->dims.front().var, "");
        std::unordered_map<ir::Expr, ir::Expr> known{
            {source, ir::exact_cast(source->type, ir::variable(var, Type::Int32))}};
        const poly::IntRange range = ranges_.integer(source);
        const auto bound = [](poly::Wide at) { return ir::int_constant(Type::Int32, static_cast<std::int64_t>(at)); };
        const Places places{{var, bound(range.lo), bound(range.hi + 1), true}};
        const ir::Expr at_var = made_.make_in_order(*stage_, "table", of_source(e, known), places, nullptr, e->range);
        const ir::Source table = ir::as<ir::Read>(at_var)->source;
        made_.made(table.index).alone = false;
        made_.made(table.index).stored = true;
        return ir::read(table, e->type, {ir::exact_cast(Type::Int32, source)}, e->range);
    }

    /// `e` as a function of its source.
    static ir::Expr of_source(const ir::Expr& e, std::unordered_map<ir::Expr, ir::Expr>& known) {
        if (const auto found = known.find(e); found != known.end()) return found->second;
        ir::Expr result = ir::map_children(e, [&](const ir::Expr& child) { return of_source(child, known); });
        known.emplace(e, result);
        return result;
    }

    MadeStages made_;
    poly::ValueRanges ranges_;
    std::vector<poly::ValueRange> values_;  ///< of the stages as the pipeline has them
    std::vector<std::int64_t> sizes_;
    int known_stages_ = 0;  ///< whose ranges are known
    std::size_t next_ = 0;  ///< the first of `values_` that is not among these
    ir::WithoutLets without_lets_;
    ir::UniqueExpressions unique_;
    // Of the stage that is being looked at:
    const ir::Stage* stage_ = nullptr;
    std::unordered_map<ir::Expr, int> uses_;  ///< as an operand
    std::unordered_map<ir::Expr, Depends> depends_;
    std::unordered_map<ir::Expr, ir::Expr> known_;  ///< with tables, in the loops around
    double evaluations_ = 1;                        ///< of what stands here, by all points
};

}  // namespace

Inlined tabulate_values(const ir::Pipeline& pipeline, const poly::Model& model) {
    const bool is_worth_it = std::ranges::any_of(pipeline.stages, [](const ir::Stage& stage) {
        return std::ranges::any_of(ir::expressions(stage), [](const ir::Expr& e) { return ir::any_node(e, is_long); });
    });
    return is_worth_it ? ValueTables(pipeline, model).run() : Inlined{pipeline, model};
}

}  // namespace pipec::fusion
