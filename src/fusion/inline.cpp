#include "fusion/inline.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/build.h"
#include "ir/reduction.h"
#include "ir/unique_nodes.h"
#include "ir/visit.h"

namespace pipec::fusion {

namespace {

/// Operations that may be done again: about what a GPU does in the time that writing and reading a float takes.
constexpr std::int64_t kRepeatedWork = 64;
/// Operations that a stage may grow to by what is computed inside of it.
constexpr std::int64_t kLargestStage = 600;

}  // namespace

std::int64_t operations(const ir::Expr& node) {
    return std::visit(
        ir::overloaded{
            [&](const ir::Binary& n) -> std::int64_t {
                const bool division = n.op == ir::BinaryOp::Div || n.op == ir::BinaryOp::Mod;
                return division && !ir::as_int(n.b) ? 8 : 1;
            },
            [](const ir::Unary&) -> std::int64_t { return 1; }, [](const ir::Cast&) -> std::int64_t { return 1; },
            [](const ir::Select&) -> std::int64_t { return 2; }, [](const ir::Read&) -> std::int64_t { return 4; },
            [](const ir::Call& n) -> std::int64_t { return n.fn == ir::Builtin::Abs ? 1 : 16; },
            [](const auto&) -> std::int64_t { return 0; }},
        node->value);
}

namespace {

using PointNodes = std::vector<const ir::Node*>;

/// The same nodes for equal index tuples.
PointNodes point_nodes(ir::UniqueExpressions& nodes, const std::vector<ir::Expr>& indices) {
    PointNodes result;
    for (const ir::Expr& index : indices) result.push_back(nodes.get(index).get());
    return result;
}

struct Facts {
    std::int64_t cost = 0;
    bool loops = false;
    int inputs_read = 0;  ///< reads of anything
};

Facts facts_of(const ir::Expr& value) {
    Facts facts;
    ir::for_each_node(value, [&](const ir::Expr& e) {
        facts.cost += operations(e);
        facts.loops = facts.loops || ir::as<ir::Reduce>(e) != nullptr;
        facts.inputs_read += ir::as<ir::Read>(e) != nullptr ? 1 : 0;
    });
    return facts;
}

/// A read inside of a reduction's loops.
struct LoopRead {
    const ir::Read* read;
    std::vector<ir::Range> loops;
};

/// How the stages that come later read one stage.
struct Readers {
    std::set<int> stages;
    std::vector<const ir::Read*> points;  ///< distinct index tuples of all readers
    std::set<PointNodes> known;           ///< the same
    std::vector<LoopRead> in_loops;       ///< of `points`, those inside of reductions
    bool in_update = false;
};

/// Adds the reads of an expression of `reader`; `update`: one that is evaluated for each update of an accumulate.
class Reads {
public:
    Reads(int reader, bool update, ir::UniqueExpressions& nodes, std::vector<Readers>& readers)
        : reader_(reader), update_(update), nodes_(nodes), readers_(readers) {}

    void add(const ir::Expr& e, const std::vector<ir::Range>& loops = {}) {
        if (!seen_.insert(e.get()).second) return;
        if (const auto* reduce = ir::as<ir::Reduce>(e)) {
            std::vector<ir::Range> inner = loops;
            for (const ir::Range& range : reduce->ranges) {
                add(range.lo, inner), add(range.hi, inner);
                inner.push_back(range);
            }
            return add(reduce->body, inner);
        }
        if (const auto* read = ir::as<ir::Read>(e); read != nullptr && read->source.kind == ir::Source::Kind::Stage) {
            Readers& of = readers_[static_cast<std::size_t>(read->source.index)];
            const bool first = of.stages.insert(reader_).second;
            const bool known = !of.known.insert(point_nodes(nodes_, read->indices)).second;
            of.in_update = of.in_update || update_;
            if (!loops.empty()) of.in_loops.push_back({read, loops});
            if (first || !known) of.points.push_back(read);
        }
        ir::for_each_child(*e, [&](const ir::Expr& child) { add(child, loops); });
    }

private:
    int reader_;
    bool update_;
    ir::UniqueExpressions& nodes_;
    std::vector<Readers>& readers_;
    std::unordered_set<const ir::Node*> seen_;
};

/// What the variables of an index are multiplied with; false where it is no sum of them.
bool add_factors(const ir::Expr& e, std::int64_t times, std::map<ir::VarId, std::int64_t>& factors) {
    if (ir::is_uniform(e)) return true;
    if (const auto* variable = ir::as<ir::Variable>(e)) {
        factors[variable->id] += times;
        return true;
    }
    const auto* n = ir::as<ir::Binary>(e);
    if (n == nullptr) return false;
    if (n->op == ir::BinaryOp::Add || n->op == ir::BinaryOp::Sub) {
        return add_factors(n->a, times, factors) &&
               add_factors(n->b, n->op == ir::BinaryOp::Add ? times : -times, factors);
    }
    const auto by = n->op == ir::BinaryOp::Mul ? ir::as_int(n->b) : std::nullopt;
    return by && std::abs(*by) <= ir::kBlockTerms && add_factors(n->a, times * *by, factors);
}

/// Values that a loop's variable takes at most, where its range says so.
std::optional<std::int64_t> most_values(const ir::Range& range) {
    if (ir::as_int(range.lo) != 0) return std::nullopt;
    if (const auto end = ir::as_int(range.hi)) return *end;
    const auto* n = ir::as<ir::Binary>(range.hi);
    if (n == nullptr || n->op != ir::BinaryOp::Min) return std::nullopt;
    return ir::as_int(n->a) ? ir::as_int(n->a) : ir::as_int(n->b);
}

/// Every iteration of the loops at every point of the reader asks for another point: each variable is part of one
/// index, and of two in one index, one steps over all values of the other (64 * block + term).
bool is_one_to_one(const LoopRead& of, const ir::Stage& reader) {
    std::map<ir::VarId, std::optional<std::int64_t>> values;  // of the variables that are still to be found
    for (const ir::Dimension& dim : reader.dims) values[dim.var] = std::nullopt;
    for (const ir::Range& range : of.loops) values[range.var] = most_values(range);
    for (const ir::Expr& index : of.read->indices) {
        std::map<ir::VarId, std::int64_t> factors;
        if (!add_factors(index, 1, factors)) return false;
        std::vector<std::pair<std::int64_t, ir::VarId>> by_step;
        for (const auto& [var, factor] : factors) {
            if (factor != 0) by_step.emplace_back(std::abs(factor), var);
        }
        std::ranges::sort(by_step);
        std::int64_t covered = 0;
        for (std::size_t i = 0; i < by_step.size(); ++i) {
            const auto [step, var] = by_step[i];
            const auto found = values.find(var);
            if (found == values.end() || step <= covered) return false;
            if (i + 1 < by_step.size()) {
                if (!found->second) return false;
                covered += step * (*found->second - 1);
            }
            values.erase(found);
        }
    }
    return values.empty();
}

/// Each index is a distinct dimension of the reader, plus a constant, or a constant: each point of the reader asks for
/// another point. Empty where that is not so; otherwise one number for each index: of the dimension, or -1.
std::vector<ir::VarId> translation(const ir::Read& read, const ir::Stage& reader) {
    std::vector<ir::VarId> result;
    std::set<ir::VarId> seen;
    for (const ir::Expr& index : read.indices) {
        ir::Expr e = index;
        if (ir::as_int(e)) {
            result.push_back(-1);
            continue;
        }
        if (const auto* sum = ir::as<ir::Binary>(e)) {
            const bool shift = (sum->op == ir::BinaryOp::Add || sum->op == ir::BinaryOp::Sub) && ir::as_int(sum->b);
            if (!shift) return {};
            e = sum->a;
        }
        const auto* variable = ir::as<ir::Variable>(e);
        if (variable == nullptr || !seen.insert(variable->id).second) return {};
        result.push_back(variable->id);
    }
    return seen.size() == reader.dims.size() ? result : std::vector<ir::VarId>{};
}

/// No point of the stage is asked for twice: its only reader asks for one point, or for several that differ in indices
/// that are constants (the channels of an image).
bool reads_once(const Readers& by, const ir::Pipeline& pipeline) {
    if (by.stages.size() != 1) return false;
    const ir::Stage& reader = pipeline.stages[static_cast<std::size_t>(*by.stages.begin())];
    if (!by.in_loops.empty()) return by.points.size() == 1 && is_one_to_one(by.in_loops.front(), reader);
    const std::vector<ir::VarId> first = translation(*by.points.front(), reader);
    if (first.empty()) return false;
    return std::all_of(by.points.begin(), by.points.end(), [&](const ir::Read* read) {
        if (translation(*read, reader) != first) return false;
        for (std::size_t d = 0; d < first.size(); ++d) {
            const bool same = ir::structurally_equal(read->indices[d], by.points.front()->indices[d]);
            if (first[d] >= 0 && !same) return false;
        }
        return true;
    });
}

}  // namespace

namespace {

/// `most_reads`: of a stage that is computed several times.
std::vector<int> inlinable_stages(const ir::Pipeline& pipeline, int most_reads) {
    const auto count = pipeline.stages.size();
    std::vector<Readers> readers(count);
    std::vector<Facts> facts(count);
    ir::UniqueExpressions nodes;
    for (std::size_t i = 0; i < count; ++i) {
        const ir::Stage& stage = pipeline.stages[i];
        const bool pure = std::holds_alternative<ir::Pure>(stage.definition);
        Reads reads(static_cast<int>(i), !pure, nodes, readers);
        for (const ir::Expr& e : ir::expressions(stage)) reads.add(e);
        if (pure) facts[i] = facts_of(std::get<ir::Pure>(stage.definition).value);
    }
    std::vector<int> chosen;
    for (std::size_t i = 0; i < count; ++i) {
        const ir::Stage& stage = pipeline.stages[i];
        const Readers& by = readers[i];
        if (stage.output >= 0 || by.points.empty() || by.in_update || facts[i].loops) continue;
        if (!std::holds_alternative<ir::Pure>(stage.definition) || stage.scan) continue;
        const auto times = static_cast<std::int64_t>(by.points.size());
        const bool once = reads_once(by, pipeline);
        if (!by.in_loops.empty() && !once) continue;
        // Reading the stage's own sources at every point must not take more loads than reading the stage.
        const bool cheap = facts[i].cost * (once ? 0 : std::max<std::int64_t>(1, times - 1)) <= kRepeatedWork &&
                           facts[i].inputs_read <= most_reads;
        const auto grows_too_large = [&](int reader) {
            return facts[static_cast<std::size_t>(reader)].cost + facts[i].cost * times > kLargestStage;
        };
        if (!once && !cheap) continue;
        if (std::any_of(by.stages.begin(), by.stages.end(), grows_too_large)) continue;
        for (const int reader : by.stages) {
            Facts& grown = facts[static_cast<std::size_t>(reader)];
            grown.cost += facts[i].cost * times;
            grown.inputs_read += static_cast<int>(times) * (facts[i].inputs_read - 1);
        }
        chosen.push_back(static_cast<int>(i));
    }
    return chosen;
}

/// Distinct reads that a stage which is worth repeating may have.
constexpr int kRepeatedReads = 3;

}  // namespace

std::vector<int> cheap_stages(const ir::Pipeline& pipeline) {
    return inlinable_stages(pipeline, 1);
}

std::vector<int> repeatable_stages(const ir::Pipeline& pipeline) {
    return inlinable_stages(pipeline, kRepeatedReads);
}

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

Inlined inline_stages(const ir::Pipeline& pipeline, const poly::Model& model, const std::vector<int>& stages) {
    Inlined result{pipeline, model};
    Inliner inliner(result.pipeline, stages);
    std::vector<ir::Stage> kept;
    std::vector<poly::Domain> domains;
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
        domains.push_back(model.domains.at(i));
    }
    for (ir::Output& output : result.pipeline.outputs) {
        output.stage = inliner.number(static_cast<std::size_t>(output.stage));
    }
    result.pipeline.stages = std::move(kept);
    result.model.domains = std::move(domains);
    return result;
}

}  // namespace pipec::fusion
