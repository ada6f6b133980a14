// What a point of each stage costs, read off its expression.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "fusion/evaluate.h"
#include "fusion/executed.h"
#include "fusion/group_facts.h"
#include "fusion/instructions.h"
#include "fusion/loop_block.h"
#include "fusion/point_terms.h"
#include "fusion/usual_places.h"
#include "fusion/written_out.h"
#include "ir/build.h"
#include "ir/reduction.h"
#include "ir/visit.h"
#include "poly/gather.h"
#include "poly/value_ranges.h"

namespace pipec::fusion {

namespace {

/// Of an update, beside what it computes: the element's place, to load and store it, and the operation.
constexpr double kUpdate = 4;

/// The dimensions of a stage that a value depends on.
class DimsOfValues {
public:
    explicit DimsOfValues(const ir::Stage& stage) {
        for (std::size_t d = 0; d < stage.dims.size(); ++d) variables_[stage.dims[d].var] = 1U << d;
    }
    unsigned of(const ir::Expr& e) {
        if (!e) return 0;
        if (const auto known = memo_.find(e.get()); known != memo_.end()) return known->second;
        unsigned dims = 0;
        if (const auto* variable = ir::as<ir::Variable>(e)) {
            const auto found = variables_.find(variable->id);
            dims = found != variables_.end() ? found->second : 0;
        }
        for (const ir::Expr& child : ir::children(e)) dims |= of(child);
        memo_.emplace(e.get(), dims);
        return dims;
    }

private:
    std::unordered_map<ir::VarId, unsigned> variables_;
    std::unordered_map<const ir::Node*, unsigned> memo_;
};

/// Registers for evaluating an expression (R. Sethi, J. Ullman, "The Generation of Optimal Code for Arithmetic
/// Expressions", J. ACM 17(4), 1970): the operand that needs the most first, each result held until its operator.
class Pressure {
public:
    int of(const ir::Expr& e) {
        if (!e) return 0;
        if (const auto known = memo_.find(e.get()); known != memo_.end()) return known->second;
        const int result = walk(e);
        memo_.emplace(e.get(), result);
        return result;
    }

private:
    static int width(const ir::Expr& e) { return ir::bits(e->type) == 64 ? 2 : 1; }
    int walk(const ir::Expr& e) {
        if (ir::as<ir::IntConstant>(e) || ir::as<ir::FloatConstant>(e)) return 0;  // part of the instruction
        if (ir::as<ir::ParamRef>(e) || ir::as<ir::SizeRef>(e)) return 0;           // in constant memory
        if (const auto* let = ir::as<ir::Let>(e)) return std::max(of(let->value), width(let->value) + of(let->body));
        if (const auto* reduce = ir::as<ir::Reduce>(e)) {
            return width(e) + static_cast<int>(reduce->ranges.size()) + of(reduce->body);
        }
        std::vector<std::pair<int, int>> operands;  // need, width of the result
        for (const ir::Expr& child : ir::children(e)) operands.emplace_back(of(child), width(child));
        std::sort(operands.begin(), operands.end(), std::greater<>());
        int need = width(e), held = 0;
        for (const auto& [operand, result] : operands) {
            need = std::max(need, held + operand);
            if (operand > 0) held += result;
        }
        return need;
    }
    std::unordered_map<const ir::Node*, int> memo_;
};

/// Registers that every kernel has for its place in the grid, bounds and temporary addresses.
constexpr int kBaseRegisters = 6;
/// nvcc moves loads before what uses them, up to about so many.
constexpr double kLoadsInFlight = 12;

int registers(const ir::Stage& stage, const ir::Expr& value, const StageFacts& facts) {
    std::vector<ir::Source> arrays;  // each has an address, of two registers
    for (const Load& load : facts.loads) {
        if (std::find(arrays.begin(), arrays.end(), load.source) == arrays.end()) arrays.push_back(load.source);
    }
    const int held = std::max(Pressure().of(value), static_cast<int>(std::min(facts.reads, kLoadsInFlight)));
    return kBaseRegisters + static_cast<int>(stage.dims.size() + 2 * arrays.size()) + held;
}

/// The same slope: what such reads touch differs by a constant.
bool walk_alike(const std::optional<poly::IndexRelation>& a, const std::optional<poly::IndexRelation>& b) {
    if (!a || !b) return !a && !b;
    return a->dim == b->dim && a->num == b->num && a->den == b->den;
}

void add_load(StageFacts& facts, Load load) {
    for (Load& other : facts.loads) {
        if (other.source != load.source || other.against != load.against ||
            !std::equal(other.indices.begin(), other.indices.end(), load.indices.begin(), walk_alike)) {
            continue;
        }
        for (std::size_t d = 0; d < load.indices.size(); ++d) {
            if (!load.indices[d]) continue;
            poly::IndexRelation& all = *other.indices[d];
            all.lo = all.usual_lo = std::min(all.lo, load.indices[d]->lo);
            all.hi = all.usual_hi = std::max(all.hi, load.indices[d]->hi);
            other.spread[d] = std::max(other.spread[d], load.spread[d]);
            other.constant[d] = other.constant[d] && load.constant[d];
        }
        return;
    }
    facts.loads.push_back(std::move(load));
}

/// What a dependence reads, with the source's dimensions from the innermost one in memory outward.
Load load_of(const ir::Pipeline& pipeline, const std::vector<StageFacts>& stages, const poly::Dependence& d,
             const std::vector<std::int64_t>& sizes) {
    Load load;
    load.source = d.source;
    const auto index = static_cast<std::size_t>(d.source.index);
    // Of a place that is the same for all points, what is counted does not depend on which one it is. Most tiles lie
    // away from the edges, where a boundary condition moves nothing.
    const auto relation = [&](std::size_t i) {
        auto result = !d.same.empty() && d.same[i] ? std::optional(poly::IndexRelation{}) : d.indices[i];
        if (result) result->lo = result->usual_lo, result->hi = result->usual_hi;
        return result;
    };
    for (std::size_t i = d.indices.size(); i-- > 0;) {
        if (d.source.kind == ir::Source::Kind::Input) {
            const ir::Buffer& buffer = pipeline.inputs.at(index);
            const auto dim = static_cast<std::size_t>(buffer.order.at(i));
            load.bytes = ir::bytes(buffer.type);
            load.indices.push_back(relation(dim));
            load.against.push_back(d.against.empty() ? -1 : d.against[dim]);
            load.extents.push_back(evaluate(buffer.extents[dim], sizes).value_or(kUsualSize));
            load.firsts.push_back(0);
        } else {
            load.bytes = stages.at(index).bytes;
            load.indices.push_back(relation(i));
            load.against.push_back(d.against.empty() ? -1 : d.against[i]);
            load.extents.push_back(stages.at(index).hi[i] - stages.at(index).lo[i]);
            load.firsts.push_back(stages.at(index).lo[i]);
        }
    }
    for (const auto& r : load.indices) {
        load.spread.push_back(r && r->dim < 0 ? r->hi - r->lo : 0);
        load.constant.push_back(r && r->hi - r->lo < r->den);
    }
    return load;
}

/// Notes which indices of a read the loops around it go along, where the innermost has no known number of terms: the
/// compiler writes out others, and reads once what their terms share. Blocks of a tree have their terms one by one.
void note_loops(Load& load, const ir::Pipeline& pipeline, const ir::Read& read, const LoopsAround* loops,
                poly::ValueRanges& ranges) {
    const bool is_input = read.source.kind == ir::Source::Kind::Input;
    const auto source = static_cast<std::size_t>(read.source.index);
    const std::size_t n = read.indices.size();
    const ir::Range& innermost = loops->loop->ranges.back();
    if (ir::as_int(innermost.lo) && ir::as_int(innermost.hi)) return;
    const bool is_tree = ir::depends_on_blocks(loops->loop->op, loops->loop->body->type) &&
                         poly::most_points(ranges, innermost) > ir::kBlockTerms;
    int turn = -1;
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t place = n - 1 - i;
        const auto dim = is_input ? static_cast<std::size_t>(pipeline.inputs.at(source).order.at(place)) : place;
        const ir::Expr& index = read.indices[dim];
        if (!is_tree && ir::uses_variable(index, {innermost})) turn = static_cast<int>(i);
        for (const LoopsAround* around = loops; around != nullptr; around = around->outer) {
            if (ir::uses_variable(index, around->loop->ranges)) load.looped |= 1U << i;
        }
    }
    load.turn = load.in_loops == 0 || load.turn == turn ? turn : -1;
}

/// How often an update of an accumulate is made for one of the stage's points.
double times_of(const ir::Update& update, double points, const std::vector<std::int64_t>& sizes) {
    double rounds = 1;
    for (const ir::Range& range : update.domain) rounds *= rounds_of(range, sizes);
    return rounds / std::max(1.0, points);
}

/// Updates in the same loops are made together: the loops' variables as those of the first update.
std::map<ir::VarId, ir::Expr> loops_of_first(const ir::Accumulate& accumulate, const ir::Update& update) {
    const std::vector<ir::Range>& first = accumulate.updates.front().domain;
    const auto same = [](const ir::Range& a, const ir::Range& b) {
        return ir::structurally_equal(a.lo, b.lo) && ir::structurally_equal(a.hi, b.hi);
    };
    std::map<ir::VarId, ir::Expr> result;
    if (!std::equal(first.begin(), first.end(), update.domain.begin(), update.domain.end(), same)) return result;
    for (std::size_t i = 0; i < first.size(); ++i) {
        result[update.domain[i].var] = ir::variable(first[i].var, ir::Type::Int32);
    }
    return result;
}

/// The expressions of a stage, and how often each is evaluated for one of its points. Of an accumulate: its updates, as
/// often as their loops' points are shared out among the stage's.
std::vector<std::pair<ir::Expr, double>> evaluations(const ir::Stage& stage, double points,
                                                     const std::vector<std::int64_t>& sizes) {
    if (const auto* pure = std::get_if<ir::Pure>(&stage.definition)) return {{pure->value, 1}};
    const auto& accumulate = std::get<ir::Accumulate>(stage.definition);
    std::vector<std::pair<ir::Expr, double>> result{{accumulate.init, 1}};
    for (const ir::Update& update : accumulate.updates) {
        const std::map<ir::VarId, ir::Expr> loops = loops_of_first(accumulate, update);
        const auto add = [&, times = times_of(update, points, sizes)](const ir::Expr& e) {
            if (e) result.emplace_back(loops.empty() ? e : ir::substitute(e, loops), times);
        };
        add(update.guard);
        for (const ir::Expr& target : update.indices) add(target);
        add(update.value);
    }
    return result;
}

}  // namespace

namespace {

/// Of the inputs that are read, and of the outputs.
double pipeline_bytes(const ir::Pipeline& pipeline, const std::vector<StageFacts>& stages) {
    std::map<int, double> inputs;
    double bytes = 0;
    for (std::size_t s = 0; s < stages.size(); ++s) {
        if (pipeline.stages[s].output >= 0) bytes += static_cast<double>(stages[s].points) * stages[s].bytes;
        for (const Load& load : stages[s].loads) {
            if (load.source.kind != ir::Source::Kind::Input) continue;
            double all = load.bytes;
            for (const std::int64_t n : load.extents) all *= static_cast<double>(n);
            inputs[load.source.index] = all;
        }
    }
    for (const auto& [input, all] : inputs) bytes += all;
    return bytes;
}

/// Dimensions that run faster in memory than the columns of tiles, which are the last dimension but for channels.
std::vector<int> inside_of_columns(const StageShape& shape) {
    int columns = static_cast<int>(shape.ranges.size()) - 1;
    const auto is_short = [&](const std::optional<StageShape::Range>& range) {
        return range && range->hi - range->lo <= poly::kChannels;
    };
    while (columns >= 2 && is_short(shape.ranges[static_cast<std::size_t>(columns)])) --columns;
    const auto at = std::find(shape.order.begin(), shape.order.end(), columns);
    return at == shape.order.end() ? std::vector<int>{} : std::vector<int>(at + 1, shape.order.end());
}

/// Stages that follow each other, have the same points and do not read each other. The components of one definition do,
/// and they have most of their operations in common.
class Neighbours {
public:
    Neighbours(const ir::Pipeline& pipeline, const poly::Model& model, const std::vector<std::int64_t>& sizes)
        : pipeline_(pipeline), model_(model), sizes_(sizes) {}

    /// The part of the operations of the next stage, `s`, that those before it do not have.
    double own_part(std::size_t s) {
        const ir::Stage& stage = pipeline_.stages[s];
        const auto* pure = std::get_if<ir::Pure>(&stage.definition);
        const bool apart = pure == nullptr || stage.scan || model_.domains[s].guard;
        if (apart || !goes_on(s)) {
            begin_ = apart ? s + 1 : s;
            shared_ = {}, executed_ = {};
            counted_ = begin_;
            return 1;
        }
        for (; counted_ < s; ++counted_) count(counted_);
        const double own = count(s);
        ++counted_;
        ExecutedLoops alone;
        const double all = operations_of(alone, renamed(s));
        return all > 0 ? own / all : 1;
    }

private:
    /// Whether a stage has the points of the first one, and reads none from that one on.
    [[nodiscard]] bool goes_on(std::size_t s) const {
        if (s <= begin_) return false;
        if (!poly::have_same_domain(model_, static_cast<int>(s), static_cast<int>(begin_))) return false;
        bool reads = false;
        ir::for_each_node(std::get<ir::Pure>(pipeline_.stages[s].definition).value, [&](const ir::Expr& e) {
            const auto* read = ir::as<ir::Read>(e);
            reads = reads || (read != nullptr && read->source.kind == ir::Source::Kind::Stage &&
                              static_cast<std::size_t>(read->source.index) >= begin_);
        });
        return !reads;
    }
    /// The value of a stage at the place that the first one's dimensions say.
    [[nodiscard]] ir::Expr renamed(std::size_t s) {
        const ir::Stage &stage = pipeline_.stages[s], &first = pipeline_.stages[begin_];
        std::map<ir::VarId, ir::Expr> dims;
        for (std::size_t d = 0; d < stage.dims.size() && s != begin_; ++d) {
            dims[stage.dims[d].var] = ir::variable(first.dims[d].var, ir::Type::Int32);
        }
        const ir::Expr& value = std::get<ir::Pure>(stage.definition).value;
        return shared_.of(dims.empty() ? value : ir::substitute(value, dims));
    }
    double operations_of(ExecutedLoops& before, const ir::Expr& value) const {
        double result = 0;
        for_executed(before, value, sizes_, {},
                     [&](const ir::Expr& e, const Execution& how) { result += how.times * instructions(e, how); });
        return result;
    }
    double count(std::size_t s) { return operations_of(executed_, renamed(s)); }

    const ir::Pipeline& pipeline_;
    const poly::Model& model_;
    const std::vector<std::int64_t>& sizes_;
    std::size_t begin_ = 0, counted_ = 0;  ///< the first of the stages, and the first whose operations are unknown
    SharedNodes shared_;
    ExecutedLoops executed_;
};

/// The terms of all reductions that are in no other one.
std::set<const ir::Node*> outermost_terms(const ir::Expr& value) {
    std::set<const ir::Node*> result;
    std::unordered_set<const ir::Node*> seen;
    std::vector<ir::Expr> stack{value};
    while (!stack.empty()) {
        const ir::Expr e = std::move(stack.back());
        stack.pop_back();
        if (!seen.insert(e.get()).second) continue;
        if (const auto* reduce = ir::as<ir::Reduce>(e)) {
            result.insert(reduce->body.get());
            continue;
        }
        for (ir::Expr& child : ir::children(e)) stack.push_back(std::move(child));
    }
    return result;
}

}  // namespace

std::vector<StageFacts> stage_facts(const ir::Pipeline& pipeline, const poly::Model& model,
                                    const std::vector<poly::Dependence>& dependences,
                                    const std::vector<std::int64_t>& sizes) {
    std::vector<StageFacts> result;
    Neighbours neighbours(pipeline, model, sizes);
    poly::ValueRanges ranges = poly::ranges_within(pipeline, &model);
    for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
        const ir::Stage& stage = pipeline.stages[s];
        StageFacts& facts = result.emplace_back();
        facts.own_part = neighbours.own_part(s);
        facts.shape = stage_shape(pipeline, model, static_cast<int>(s));
        facts.bytes = facts.shape.bytes;
        facts.points = 1;
        for (const poly::Interval& interval : model.domains.at(s).box) {
            const std::int64_t lo = evaluate(interval.lo, sizes).value_or(0);
            const std::int64_t hi = evaluate(interval.hi, sizes).value_or(lo + kUsualSize);
            facts.lo.push_back(lo);
            facts.hi.push_back(std::max(lo, hi));
            facts.points *= facts.hi.back() - lo;
        }
        for (const poly::Dependence& d : dependences) {
            if (d.reader == static_cast<int>(s)) add_load(facts, load_of(pipeline, result, d, sizes));
        }
        facts.is_output = stage.output >= 0;
        facts.inside = inside_of_columns(facts.shape);
        facts.alone = stage.alone;
        if (stage.scan) {
            std::vector<std::int64_t> extents;
            for (std::size_t d = 0; d < facts.hi.size(); ++d) extents.push_back(facts.hi[d] - facts.lo[d]);
            facts.scan = scan_facts(pipeline, static_cast<int>(s), extents);
        }
        facts.pure = std::holds_alternative<ir::Pure>(stage.definition);
        if (facts.pure && !stage.scan) {
            add_usual_places(facts, pipeline, stage, std::get<ir::Pure>(stage.definition).value, sizes);
            const int inner = facts.shape.innermost();
            facts.lane_terms = lane_terms(pipeline, std::get<ir::Pure>(stage.definition).value,
                                          inner < 0 ? -1 : stage.dims[static_cast<std::size_t>(inner)].var);
        }
        // Updates of an accumulate have loops of their own, all of them for each point.
        DimsOfValues depends(stage);
        const unsigned all_dims = (1U << stage.dims.size()) - 1;
        std::map<std::pair<unsigned, bool>, double> shares;  // by dimensions, and Operations::as_written
        SharedNodes shared;
        ExecutedLoops executed;
        for (const auto& [written, evaluated] : evaluations(stage, static_cast<double>(facts.points), sizes)) {
            const ir::Expr value = shared.of(written);
            depends.of(value);
            const std::set<const ir::Node*> terms = outermost_terms(value);
            for_executed(executed, value, sizes, {evaluated, false}, [&](const ir::Expr& e, const Execution& how) {
                const double times = how.times, each = instructions(e, how), count = times * each;
                const bool as_written = how.in_loop || (each > 2 && ir::is_float(e->type));
                if (count > 0) shares[{facts.pure ? depends.of(e) : all_dims, as_written}] += count;
                facts.operations += count;
                facts.half_rate += count * half_rate_part(e);
                if (how.in_loop && terms.count(e.get()) > 0) facts.loop_terms += times;
                const auto* read = ir::as<ir::Read>(e);
                if (read == nullptr) return;
                facts.reads += times;
                for (Load& load : facts.loads) {
                    if (load.source != read->source) continue;
                    load.reads += times;
                    if (how.loops != nullptr) note_loops(load, pipeline, *read, how.loops, ranges);
                    if (how.in_loop) load.in_loops += times;
                }
            });
            facts.registers = std::max(facts.registers, registers(stage, written, facts));
        }
        for (Load& load : facts.loads) {  // those of one array that walk differently
            if (load.reads > 0) load.in_loops /= load.reads;
            load.reads /=
                static_cast<double>(std::count_if(facts.loads.begin(), facts.loads.end(),
                                                  [&](const Load& other) { return other.source == load.source; }));
        }
        if (const auto* accumulate = std::get_if<ir::Accumulate>(&stage.definition)) {
            for (const ir::Update& update : accumulate->updates)
                facts.updates += times_of(update, static_cast<double>(facts.points), sizes);
            facts.operations += kUpdate * facts.updates;
            shares[{all_dims, false}] += kUpdate * facts.updates;
            const poly::Gather gather = poly::find_gather(*accumulate);
            const auto owned = poly::points_of_owner(*accumulate, gather);
            const auto points = static_cast<double>(facts.points);
            double owners = 1;
            for (std::size_t d = 0; d < gather.owned.size(); ++d)
                owners *= gather.owned[d] ? static_cast<double>(facts.hi[d] - facts.lo[d]) : 1;
            facts.serial = owned          ? static_cast<double>(*owned)
                           : gather.any() ? std::max(1.0, facts.updates * points / std::max(1.0, owners))
                                          : 1;
            if (gather.any())
                facts.serial_loads = facts.serial / static_cast<double>(poly::unrolled_points(*accumulate, gather));
            if (!gather.any() || owned.value_or(kGatheredPoints + 1) > kGatheredPoints)
                facts.histogram = histogram_facts(stage, points, sizes);
        }
        if (facts.operations > 0) facts.half_rate /= facts.operations;
        for (const auto& [share, count] : shares) facts.shares.push_back({share.first, count, share.second});
        facts.block_operations = facts.operations;
        if (facts.pure && !stage.scan && !stage.dims.empty() &&
            facts.shape.innermost() == static_cast<int>(stage.dims.size()) - 1) {
            std::vector<std::optional<std::int64_t>> extents;
            for (const poly::Interval& interval : model.domains.at(s).box) {
                const auto lo = ir::as_int(interval.lo), hi = ir::as_int(interval.hi);
                extents.push_back(lo && hi ? std::optional(*hi - *lo) : std::nullopt);
            }
            const ir::Expr& value = std::get<ir::Pure>(stage.definition).value;
            const LoopBlock block = loop_block(stage, value, stage.dims.size() - 1, extents,
                                               parameter_extents(pipeline, model.domains.at(s)));
            facts.block_reads = block.loads;
            facts.block_operations = 0;
            for (const Operations& share : facts.shares) {
                double points = 1;  // that have the same result
                for (std::size_t d = 0; d < block.points.size(); ++d) {
                    if ((share.dims >> d & 1U) == 0) points *= static_cast<double>(block.points[d]);
                }
                facts.block_operations += share.count / points;
            }
        }
    }
    const double bytes = pipeline_bytes(pipeline, result);
    for (StageFacts& facts : result) facts.pipeline_bytes = bytes;
    return result;
}

}  // namespace pipec::fusion
