#include "fusion/phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "fusion/partial_accumulates.h"
#include "fusion/phase_cuts.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::fusion {

namespace {

using ir::Expr;
using ir::Type;

Expr number(std::int64_t value) {
    return ir::int_constant(Type::Int32, value);
}

/// It is at least 1 for all sizes that a launch admits, as far as that is seen.
bool is_positive(const Expr& e, const poly::Model& model) {
    const std::function<std::optional<std::int64_t>(const Expr&)> least = [&](const Expr& n) {
        using Least = std::optional<std::int64_t>;
        if (const auto value = ir::as_int(n)) return Least(value);
        if (const auto* size = ir::as<ir::SizeRef>(n)) {
            const auto i = static_cast<std::size_t>(size->index);
            const auto& known = i < model.size_ranges.size() ? model.size_ranges[i] : std::nullopt;
            return known ? Least(known->least) : std::nullopt;
        }
        const auto* op = ir::as<ir::Binary>(n);
        const Least a = op ? least(op->a) : std::nullopt;
        if (!a) return Least();
        const auto b = ir::as_int(op->b);
        if (op->op == ir::BinaryOp::Add) {
            const Least more = least(op->b);
            return more ? Least(*a + *more) : std::nullopt;
        }
        if (op->op == ir::BinaryOp::Sub && b) return Least(*a - *b);
        if (op->op == ir::BinaryOp::Mul && b && *b > 0 && *a >= 0) return Least(*a * *b);
        if (op->op == ir::BinaryOp::Div && b && *b > 0 && *a >= 0) return Least(*a / *b);
        return Least();
    };
    const auto found = least(e);
    return found && *found >= 1;
}

/// An array between phases: a stage as the buffer that holds all its points, from index 0 on.
struct Between {
    ir::Buffer buffer;
    std::vector<Expr> first;  ///< by dimension: the stage's index that is 0 in the buffer
    std::vector<Expr> count;  ///< points of the stage; its extent may be larger, as it is at least 1
};

class Splitter {
public:
    Splitter(const Partial& partial, const std::vector<int>& phase_of)
        : partial_(partial), whole_(partial.program.pipeline), model_(partial.program.model), phase_of_(phase_of) {
        for (const ir::Buffer& input : whole_.inputs) names_.insert(input.name);
        for (const ir::Output& output : whole_.outputs) names_.insert(output.buffer.name);
        for (const ir::ScalarParameter& param : whole_.params) names_.insert(param.name);
        for (const ir::SizeParameter& size : whole_.sizes) names_.insert(size.name);
        for (std::size_t s = 0; s < whole_.stages.size(); ++s) {
            if (phase_of[s] >= 0) between_.emplace(static_cast<int>(s), between(s));
        }
    }

    Phase phase(int number);

private:
    Between between(std::size_t s);
    std::string unused_name(const std::string& wanted);
    std::vector<bool> needed_in(int phase) const;
    void add_sizes(const std::vector<bool>& needed);
    int input_of(int stage);
    ir::Stage stage_of(std::size_t s, bool is_result);
    void shift(ir::Stage& stage, poly::Domain& domain, const Between& place);
    Expr in_phase(const Expr& e);

    const Partial& partial_;
    const ir::Pipeline& whole_;
    const poly::Model& model_;
    const std::vector<int>& phase_of_;
    std::set<std::string> names_;     ///< of everything that a caller writes
    std::map<int, Between> between_;  ///< by stage

    // Of the phase that is being made:
    Phase result_;
    std::map<int, int> inputs_;  ///< by stage of the pipeline
    std::vector<int> stages_;    ///< by stage of the pipeline
    std::map<int, int> sizes_;
    std::unordered_map<Expr, Expr> known_;
};

std::string Splitter::unused_name(const std::string& wanted) {
    std::string name;
    for (const char c : wanted) {
        const bool word = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
        if (word)
            name += c;
        else if (!name.empty() && name.back() != '_')
            name += '_';
    }
    while (name.size() > 1 && name.back() == '_') name.pop_back();
    for (std::string base = name; !names_.insert(name).second;) {
        name = fmt::format("{}_{}", base, names_.size());
    }
    return name;
}

Between Splitter::between(std::size_t s) {
    const ir::Stage& stage = whole_.stages[s];
    if (stage.output >= 0) {
        Between result{whole_.outputs[static_cast<std::size_t>(stage.output)].buffer, {}, {}};
        for (const ir::Dimension& dim : stage.dims) {
            result.first.push_back(number(0));
            result.count.push_back(dim.hi);
        }
        return result;
    }
    Between result;
    result.buffer.name = unused_name(stage.name);
    result.buffer.type = stage.type;
    result.buffer.range = stage.range;
    for (const poly::Interval& range : model_.domains[s].box) {
        const Expr count = ir::binary(ir::BinaryOp::Sub, range.hi, range.lo);
        result.first.push_back(range.lo);
        result.count.push_back(count);
        // A launch admits no empty array.
        result.buffer.extents.push_back(is_positive(count, model_) ? count
                                                                   : ir::binary(ir::BinaryOp::Max, count, number(1)));
        result.buffer.order.push_back(static_cast<int>(result.buffer.order.size()));
    }
    return result;
}

std::vector<bool> Splitter::needed_in(int phase) const {
    std::vector<bool> needed(whole_.stages.size(), false);
    for (std::size_t s = needed.size(); s-- > 0;) {
        const bool is_result = phase_of_[s] == phase;
        // What an earlier phase gives is read.
        if (is_result) needed[s] = true;
        if (!needed[s]) continue;
        for (const int read : stages_read(whole_.stages[s], static_cast<int>(s))) {
            const auto r = static_cast<std::size_t>(read);
            if (phase_of_[r] < 0 || phase_of_[r] == phase) needed[r] = true;
        }
    }
    return needed;
}

int Splitter::input_of(int stage) {
    const auto [known, is_new] = inputs_.try_emplace(stage, static_cast<int>(result_.program.pipeline.inputs.size()));
    if (!is_new) return known->second;
    ir::Buffer buffer = between_.at(stage).buffer;
    if (const PartialAccumulate* part = partial_.of(stage)) {
        buffer.extents.insert(buffer.extents.begin(), ir::size_ref(part->count));
        buffer.order.insert(buffer.order.begin(), -1);
        for (int& dim : buffer.order) ++dim;
    }
    for (Expr& extent : buffer.extents) extent = in_phase(extent);
    poly::InputFootprint footprint;
    for (const Expr& extent : buffer.extents) footprint.box.push_back({number(0), extent});
    result_.program.pipeline.inputs.push_back(std::move(buffer));
    result_.program.model.footprints.push_back(std::move(footprint));
    return known->second;
}

/// An expression of the pipeline in the phase: what it reads and the sizes have other numbers there.
Expr Splitter::in_phase(const Expr& e) {
    if (!e) return e;
    if (const auto found = known_.find(e); found != known_.end()) return found->second;
    Expr result = ir::map_children(e, [&](const Expr& child) { return in_phase(child); });
    if (const auto* size = ir::as<ir::SizeRef>(result)) {
        if (const auto found = sizes_.find(size->index); found != sizes_.end() && found->second != size->index) {
            result = ir::size_ref(found->second, e->range);
        }
    } else if (const auto* read = ir::as<ir::Read>(result);
               read != nullptr && read->source.kind == ir::Source::Kind::Stage) {
        const int stage = read->source.index;
        const int made = stages_[static_cast<std::size_t>(stage)];
        if (made >= 0) {
            result = ir::read({ir::Source::Kind::Stage, made}, e->type, read->indices, e->range);
        } else {
            std::vector<Expr> indices = read->indices;
            const std::vector<Expr>& first = between_.at(stage).first;
            const std::size_t more = indices.size() - first.size();  // which part it is
            for (std::size_t d = 0; d < first.size(); ++d) {
                indices[more + d] = ir::binary(ir::BinaryOp::Sub, indices[more + d], in_phase(first[d]));
            }
            result = ir::read({ir::Source::Kind::Input, input_of(stage)}, e->type, std::move(indices), e->range);
        }
    }
    return known_.emplace(e, std::move(result)).first->second;
}

/// A stage whose points are those of its array.
void Splitter::shift(ir::Stage& stage, poly::Domain& domain, const Between& place) {
    std::map<ir::VarId, Expr> moved;
    Expr exists;
    for (std::size_t d = 0; d < stage.dims.size(); ++d) {
        const Expr first = in_phase(place.first[d]), count = in_phase(place.count[d]);
        const Expr extent = in_phase(place.buffer.extents[d]);
        const Expr variable = ir::variable(stage.dims[d].var, Type::Int32);
        if (ir::as_int(first) != 0) {
            moved[stage.dims[d].var] = ir::binary(ir::BinaryOp::Add, variable, first);
        }
        if (!ir::structurally_equal(extent, count)) {
            const Expr inside = ir::binary(ir::BinaryOp::Lt, variable, count);
            exists = exists ? ir::binary(ir::BinaryOp::And, exists, inside) : inside;
        }
        stage.dims[d].lo = number(0);
        stage.dims[d].hi = extent;
        domain.box[d] = {number(0), extent};
    }
    auto* pure = std::get_if<ir::Pure>(&stage.definition);
    if (pure == nullptr) return;
    if (!moved.empty()) pure->value = ir::substitute(pure->value, moved);
    if (exists) {
        const Expr nothing = stage.type == Type::Bool ? ir::bool_constant(false) : ir::constant(stage.type, 0);
        pure->value = ir::select(exists, pure->value, nothing);
    }
}

/// Sizes and parameters that only some phases have come behind those that all have.
void Splitter::add_sizes(const std::vector<bool>& needed) {
    ir::Pipeline& pipeline = result_.program.pipeline;
    poly::Model& model = result_.program.model;
    const auto add_size = [&](int size, const poly::SizeSolution& solution) {
        sizes_[size] = static_cast<int>(pipeline.sizes.size());
        pipeline.sizes.push_back(whole_.sizes[static_cast<std::size_t>(size)]);
        model.size_ranges.emplace_back();
        model.sizes.push_back(solution);
        model.sizes.back().size = sizes_[size];
    };
    for (const PartialAccumulate& part : partial_.accumulates) {
        if (needed[static_cast<std::size_t>(part.stage)]) {
            PartOutput& output = result_.parts.emplace_back();
            output.output = part.stage;  // for now: the stage
            for (const ClippedLoop& loop : part.loops) {
                for (const int size : {loop.from, loop.to}) {
                    if (sizes_.count(size) > 0) continue;
                    add_size(size, {poly::SizeSolution::From::Explicit, -1, -1, -1, 1, nullptr});
                    const std::string& name = whole_.sizes[static_cast<std::size_t>(size)].name;
                    pipeline.params.push_back({name, Type::Int32, nullptr, {}});
                    model.param_ranges.emplace_back();
                }
                const auto name = [&](int size) { return whole_.sizes[static_cast<std::size_t>(size)].name; };
                output.loops.push_back({name(loop.from), name(loop.to), loop.input, loop.dim});
            }
        }
        if (needed[static_cast<std::size_t>(part.merged)]) {
            const auto buffer = static_cast<int>(pipeline.inputs.size());
            add_size(part.count, {poly::SizeSolution::From::Input, -1, buffer, 0, 1, nullptr});
            model.size_ranges.back() = poly::KnownRange{1, (std::int64_t{1} << 30) - 1};
            input_of(part.stage);
        }
    }
}

Phase Splitter::phase(int number) {
    inputs_.clear(), sizes_.clear(), known_.clear();
    stages_.assign(whole_.stages.size(), -1);
    result_ = {};
    ir::Pipeline& pipeline = result_.program.pipeline;
    poly::Model& model = result_.program.model;
    pipeline.name = fmt::format("{}_phase{}", whole_.name, number);
    pipeline.range = whole_.range;
    pipeline.doc = fmt::format("Phase {} of {}.", number, whole_.name);
    pipeline.params.assign(whole_.params.begin(), whole_.params.begin() + partial_.params);
    pipeline.sizes.assign(whole_.sizes.begin(), whole_.sizes.begin() + partial_.sizes);
    pipeline.inputs = whole_.inputs;
    pipeline.where = whole_.where;
    pipeline.variables = whole_.variables;
    model.sizes = model_.sizes;
    model.footprints = model_.footprints;
    model.checks = model_.checks;
    model.size_ranges = model_.size_ranges;
    model.param_ranges = model_.param_ranges;
    model.casts = model_.casts;

    const std::vector<bool> needed = needed_in(number);
    add_sizes(needed);
    std::map<int, int> outputs;  // of the pipeline: that of the phase
    for (std::size_t s = 0; s < needed.size(); ++s) {
        if (!needed[s]) continue;
        ir::Stage stage = whole_.stages[s];
        poly::Domain domain = model_.domains[s];
        const bool is_result = phase_of_[s] == number;
        stages_[s] = static_cast<int>(pipeline.stages.size());
        for (ir::Dimension& dim : stage.dims) {
            if (dim.is_explicit()) dim.lo = in_phase(dim.lo), dim.hi = in_phase(dim.hi);
        }
        for (poly::Interval& range : domain.box) range = {in_phase(range.lo), in_phase(range.hi)};
        domain.guard = in_phase(domain.guard);
        if (auto* accumulate = std::get_if<ir::Accumulate>(&stage.definition)) {
            for (ir::Update& update : accumulate->updates) {
                for (ir::Range& loop : update.domain) loop.lo = in_phase(loop.lo), loop.hi = in_phase(loop.hi);
            }
        }
        ir::map_expressions(stage, [&](const Expr& e) { return in_phase(e); });
        if (is_result) {
            const Between& place = between_.at(static_cast<int>(s));
            if (stage.output >= 0) outputs[stage.output] = static_cast<int>(pipeline.outputs.size());
            if (stage.output < 0) shift(stage, domain, place);
            ir::Buffer buffer = place.buffer;
            for (Expr& extent : buffer.extents) extent = in_phase(extent);
            stage.name = buffer.name;
            for (PartOutput& part : result_.parts) {
                if (part.output == static_cast<int>(s)) part.output = static_cast<int>(pipeline.outputs.size());
            }
            stage.output = static_cast<int>(pipeline.outputs.size());
            stage.generated = stage.alone = stage.stored = false;
            pipeline.outputs.push_back({std::move(buffer), stages_[s]});
        } else {
            stage.output = -1;
        }
        pipeline.stages.push_back(std::move(stage));
        model.domains.push_back(std::move(domain));
    }
    // A size that an output's extent told is given where the phase does not have this output.
    for (poly::SizeSolution& solution : model.sizes) {
        if (solution.from != poly::SizeSolution::From::Output) continue;
        if (const auto found = outputs.find(solution.buffer); found != outputs.end()) {
            solution.buffer = found->second;
            continue;
        }
        solution = {poly::SizeSolution::From::Explicit, solution.size, -1, -1, 1, nullptr};
        pipeline.sizes[static_cast<std::size_t>(solution.size)].default_value = nullptr;
    }
    return std::move(result_);
}

}  // namespace

std::vector<Phase> phases(const ir::Pipeline& pipeline, const poly::Model& model) {
    const Partial partial = partial_accumulates(pipeline, model);
    const std::vector<int> phase_of = phase_cuts(partial.program.pipeline, partial.program.model);
    const int last = phase_of.empty() ? 0 : *std::ranges::max_element(phase_of);
    std::vector<Phase> result;
    if (last <= 0) return result;
    Splitter splitter(partial, phase_of);
    for (int number = 0; number <= last; ++number) result.push_back(splitter.phase(number));
    return result;
}

}  // namespace pipec::fusion
