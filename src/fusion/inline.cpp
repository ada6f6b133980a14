#include "fusion/inline.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "fusion/point_nodes.h"
#include "ir/build.h"
#include "ir/unique_nodes.h"
#include "ir/visit.h"

namespace pipec::fusion {

std::vector<StageSources> stage_sources(const ir::Pipeline& pipeline, const std::vector<int>& inside) {
    std::vector<StageSources> result;
    for (const ir::Stage& stage : pipeline.stages) {
        StageSources of;
        const ir::Source own{ir::Source::Kind::Stage, static_cast<int>(result.size())};  // scans read themselves
        for (const ir::Expr& root : ir::expressions(stage)) {
            ir::for_each_node(root, [&](const ir::Expr& e) {
                const auto* read = ir::as<ir::Read>(e);
                if (read == nullptr) return;
                const int source = read->source.index;
                if (read->source == own) return;
                if (read->source.kind != ir::Source::Kind::Stage ||
                    !std::binary_search(inside.begin(), inside.end(), source)) {
                    of.read.insert(read->source);
                    return;
                }
                const StageSources& deeper = result.at(static_cast<std::size_t>(source));
                of.inside.insert(source);
                of.read.insert(deeper.read.begin(), deeper.read.end());
                of.inside.insert(deeper.inside.begin(), deeper.inside.end());
            });
        }
        result.push_back(std::move(of));
    }
    return result;
}

namespace {

/// Puts definitions in the place of reads, and gives the stages that are left their new numbers.
class Inliner {
public:
    Inliner(ir::Pipeline& pipeline, const std::vector<int>& stages) : pipeline_(pipeline) {
        const std::set<int> gone(stages.begin(), stages.end());
        for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
            const bool stays = gone.count(static_cast<int>(i)) == 0;
            number_.push_back(stays ? kept_++ : -1);
        }
    }

    /// An expression of a stage in which nothing that goes is read. Reads of one point become one node, so that a chain
    /// of stages gives a graph as long as the chain; a definition at another point gets binders of its own.
    ir::Expr resolved(const ir::Expr& e) {
        Memo memo;
        std::map<ir::VarId, ir::Expr> bound;
        return walk(e, bound, false, memo);
    }

    /// The definitions that were put in since the last call. Ends a stage: the next one shares no node with it.
    std::vector<SourceRange> finish_stage() {
        points_.clear();
        return std::exchange(included_, {});
    }

    [[nodiscard]] int number(std::size_t stage) const { return number_[stage]; }

private:
    using Memo = std::unordered_map<const ir::Node*, ir::Expr>;

    ir::VarId fresh(ir::VarId var) {
        const ir::VariableInfo info = pipeline_.variables.at(static_cast<std::size_t>(var));
        return ir::new_variable(pipeline_, info.name, info.type, info.range);
    }

    ir::Expr walk(const ir::Expr& e, std::map<ir::VarId, ir::Expr>& bound, bool copy, Memo& memo) {
        if (const auto known = memo.find(e.get()); known != memo.end()) return known->second;
        ir::Expr result = walk_node(e, bound, copy, memo);
        memo.emplace(e.get(), result);
        return result;
    }

    ir::Expr walk_node(const ir::Expr& e, std::map<ir::VarId, ir::Expr>& bound, bool copy, Memo& memo) {
        const auto next = [&](const ir::Expr& operand) { return walk(operand, bound, copy, memo); };
        if (const auto* n = ir::as<ir::Variable>(e)) {
            const auto found = bound.find(n->id);
            return found == bound.end() ? e : found->second;
        }
        if (const auto* n = ir::as<ir::Let>(e); n != nullptr && copy) {
            const ir::Expr value = next(n->value);
            const ir::VarId var = fresh(n->var);
            bound[n->var] = ir::variable(var, value->type);
            return ir::let(var, value, next(n->body), e->range);
        }
        if (const auto* n = ir::as<ir::Reduce>(e); n != nullptr && copy) {
            std::vector<ir::Range> ranges;
            for (const ir::Range& range : n->ranges) {
                const ir::Expr lo = next(range.lo), hi = next(range.hi);
                const ir::VarId var = fresh(range.var);
                bound[range.var] = ir::variable(var, ir::Type::Int32);
                ranges.push_back({var, lo, hi});
            }
            return ir::reduce_like(*n, std::move(ranges), next(n->body), e->range);
        }
        const ir::Expr same = ir::map_children(e, next);
        if (const auto* cast = ir::as<ir::Cast>(same); cast != nullptr && cast->exact) {
            return ir::exact_cast(e->type, cast->a, e->range);  // what is computed in its reader needs no narrow type
        }
        const auto* read = ir::as<ir::Read>(same);
        if (read == nullptr || read->source.kind != ir::Source::Kind::Stage) return same;
        const auto index = static_cast<std::size_t>(read->source.index);
        if (number_[index] >= 0) {
            return ir::read({ir::Source::Kind::Stage, number_[index]}, e->type, read->indices, e->range);
        }
        const auto [point, is_new] = points_.try_emplace({read->source.index, point_nodes(nodes_, read->indices)});
        if (!is_new) return point->second;
        const ir::Stage& stage = pipeline_.stages[index];
        std::map<ir::VarId, ir::Expr> arguments;
        for (std::size_t d = 0; d < stage.dims.size(); ++d) arguments[stage.dims[d].var] = read->indices[d];
        if (std::find(included_.begin(), included_.end(), stage.range) == included_.end()) {
            included_.push_back(stage.range);
        }
        const ir::Expr value = std::get<ir::Pure>(stage.definition).value;  // the walk may add variables, not stages
        Memo inner;
        return point->second = walk(value, arguments, true, inner);
    }

    ir::Pipeline& pipeline_;
    std::vector<int> number_;  ///< of what is left; -1 for what goes
    int kept_ = 0;
    ir::UniqueExpressions nodes_;
    std::map<std::pair<int, PointNodes>, ir::Expr> points_;  ///< of the stages that go, in the current stage
    std::vector<SourceRange> included_;
};

}  // namespace

ir::Pipeline with_inlined(const ir::Pipeline& pipeline, const std::vector<int>& stages) {
    ir::Pipeline result = pipeline;
    Inliner inliner(result, stages);
    std::vector<ir::Stage> kept;
    for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
        if (inliner.number(i) < 0) continue;
        ir::Stage stage = pipeline.stages[i];
        const auto resolve = [&](ir::Expr& e) {
            if (e) e = inliner.resolved(e);
        };
        if (auto* pure = std::get_if<ir::Pure>(&stage.definition)) {
            resolve(pure->value);
        } else {
            auto& accumulate = std::get<ir::Accumulate>(stage.definition);
            resolve(accumulate.init);
            for (ir::Update& update : accumulate.updates) {
                for (ir::Range& range : update.domain) resolve(range.lo), resolve(range.hi);
                resolve(update.guard);
                for (ir::Expr& index : update.indices) resolve(index);
                resolve(update.value);
            }
        }
        stage.includes = inliner.finish_stage();
        kept.push_back(std::move(stage));
    }
    for (ir::Output& output : result.outputs) output.stage = inliner.number(static_cast<std::size_t>(output.stage));
    result.stages = std::move(kept);
    return result;
}

Inlined inline_stages(const ir::Pipeline& pipeline, const poly::Model& model, const std::vector<int>& stages) {
    Inlined result{with_inlined(pipeline, stages), model};
    const std::set<int> gone(stages.begin(), stages.end());
    result.model.domains.clear();
    for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
        if (gone.count(static_cast<int>(i)) == 0) result.model.domains.push_back(model.domains.at(i));
    }
    return result;
}

}  // namespace pipec::fusion
