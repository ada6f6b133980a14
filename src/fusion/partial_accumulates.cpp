#include "fusion/partial_accumulates.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "fusion/made_stages.h"
#include "fusion/phase_cuts.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::fusion {

namespace {

using ir::BinaryOp;
using ir::Expr;
using ir::Type;
using InputDim = std::pair<int, int>;

std::set<int> sizes_in(const Expr& e) {
    std::set<int> result;
    ir::for_each_node(e, [&](const Expr& node) {
        if (const auto* size = ir::as<ir::SizeRef>(node)) result.insert(size->index);
    });
    return result;
}

class Parts {
public:
    Parts(const ir::Pipeline& pipeline, const poly::Model& model) : growth_(pipeline), whole_(pipeline), model_(model) {
        result_.params = static_cast<int>(pipeline.params.size());
        result_.sizes = static_cast<int>(pipeline.sizes.size());
        result_.program = {pipeline, model};
        made().stages.clear();
        result_.program.model.domains.clear();
        for (const ir::SizeParameter& size : pipeline.sizes) names_.insert(size.name);
        for (const ir::ScalarParameter& param : pipeline.params) names_.insert(param.name);
        for (const ir::Buffer& input : pipeline.inputs) names_.insert(input.name);
        for (const ir::Output& output : pipeline.outputs) names_.insert(output.buffer.name);
        for (const ir::Stage& stage : pipeline.stages) names_.insert(stage.name);
    }

    Partial run() {
        std::vector<int> numbers(whole_.stages.size(), -1);
        for (std::size_t s = 0; s < whole_.stages.size(); ++s) {
            numbers[s] = kSelf;
            ir::Stage stage =
                renumbered(whole_.stages[s], [&](int n) { return numbers.at(static_cast<std::size_t>(n)); });
            if (const auto keys = loops_of(whole_.stages[s], s)) divide(stage, model_.domains[s], *keys);
            const int number = numbers[s] = count();
            if (stage.scan) stage = renumbered(std::move(stage), [&](int n) { return n == kSelf ? number : n; });
            add(std::move(stage), model_.domains[s]);
        }
        for (ir::Output& output : made().outputs) output.stage = numbers.at(static_cast<std::size_t>(output.stage));
        return std::move(result_);
    }

private:
    ir::Pipeline& made() { return result_.program.pipeline; }
    [[nodiscard]] int count() const { return static_cast<int>(result_.program.pipeline.stages.size()); }
    void add(ir::Stage stage, poly::Domain domain) {
        made().stages.push_back(std::move(stage));
        result_.program.model.domains.push_back(std::move(domain));
    }
    std::string unused_name(const std::string& wanted) {
        std::string name = wanted;
        for (int i = 2; !names_.insert(name).second; ++i) name = fmt::format("{}_{}", wanted, i);
        return name;
    }

    /// By update and loop the dimension of an input that the loop goes through; none for loops that do not grow with
    /// images. Nothing where the accumulate cannot be divided, or need not be.
    using Keys = std::vector<std::vector<std::optional<InputDim>>>;
    std::optional<Keys> loops_of(const ir::Stage& stage, std::size_t number) const;
    [[nodiscard]] std::optional<InputDim> dim_of(const ir::Range& loop, const std::set<InputDim>& taken) const;

    void divide(ir::Stage& stage, const poly::Domain& domain, const Keys& keys);
    int add_parameter(const std::string& name);
    Expr stored(const ir::Stage& of, const Expr& value, const std::vector<ir::Range>& loops, const Expr& guard);

    ImageGrowth growth_;
    const ir::Pipeline& whole_;
    const poly::Model& model_;
    Partial result_;
    std::set<std::string> names_;
};

std::optional<InputDim> Parts::dim_of(const ir::Range& loop, const std::set<InputDim>& taken) const {
    const std::set<int> sizes = sizes_in(ir::binary(BinaryOp::Sub, loop.hi, loop.lo));
    for (std::size_t i = 0; i < whole_.inputs.size(); ++i) {
        for (std::size_t d = 0; d < whole_.inputs[i].rank(); ++d) {
            const InputDim key{static_cast<int>(i), static_cast<int>(d)};
            if (sizes_in(whole_.inputs[i].extents[d]) == sizes && taken.count(key) == 0) return key;
        }
    }
    return std::nullopt;
}

std::optional<Parts::Keys> Parts::loops_of(const ir::Stage& stage, std::size_t number) const {
    const auto* accumulate = std::get_if<ir::Accumulate>(&stage.definition);
    if (accumulate == nullptr || !ir::is_int(stage.type) || accumulate->updates.empty()) return std::nullopt;
    const ir::ReduceOp op = accumulate->updates.front().op;
    Keys result;
    std::optional<std::set<InputDim>> all;  // the loops that parts cut are those of every update
    for (const ir::Update& update : accumulate->updates) {
        std::set<InputDim> taken;
        auto& keys = result.emplace_back();
        for (const ir::Range& loop : update.domain) {
            if (!ir::is_uniform(loop.lo) || !ir::is_uniform(loop.hi)) return std::nullopt;
            keys.emplace_back();
            if (!growth_.grows(loop)) continue;
            const auto key = dim_of(loop, taken);
            if (!key) return std::nullopt;
            taken.insert(*key);
            keys.back() = key;
        }
        if (update.op != op || (all && *all != taken)) return std::nullopt;
        all = taken;
    }
    if (all->empty() || !is_small_array(whole_, model_, growth_, number)) return std::nullopt;
    return result;
}

int Parts::add_parameter(const std::string& name) {
    const std::string unused = unused_name(name);
    made().params.push_back({unused, Type::Int32, nullptr, {}});
    made().sizes.push_back({unused, {}});
    return static_cast<int>(made().sizes.size()) - 1;
}

/// `value` at the points of the loops, by a stage of its own where it reads something, and anything where the guard
/// does not hold.
Expr Parts::stored(const ir::Stage& of, const Expr& value, const std::vector<ir::Range>& loops, const Expr& guard) {
    if (!ir::has_reads(value)) return value;
    ir::Stage stage;
    stage.name = unused_name(of.name + ".update");
    stage.type = value->type;
    stage.generated = stage.stored = true;
    stage.range = of.range;
    stage.made_by = of.made_by;
    poly::Domain domain;
    std::map<ir::VarId, Expr> renamed;
    std::vector<Expr> indices;
    for (const ir::Range& loop : loops) {
        const ir::VariableInfo info = made().variables.at(static_cast<std::size_t>(loop.var));
        const ir::VarId var = ir::new_variable(made(), info.name, Type::Int32, info.range);
        stage.dims.push_back({var, loop.lo, loop.hi, {}});
        domain.box.push_back({loop.lo, loop.hi});
        renamed[loop.var] = ir::variable(var, Type::Int32);
        indices.push_back(ir::variable(loop.var, Type::Int32));
    }
    const Expr nothing = value->type == Type::Bool ? ir::bool_constant(false) : ir::constant(value->type, 0);
    const Expr guarded = guard ? ir::select(guard, value, nothing) : value;
    stage.definition = ir::Pure{ir::substitute(guarded, renamed)};
    add(std::move(stage), std::move(domain));
    return ir::read({ir::Source::Kind::Stage, count() - 1}, value->type, std::move(indices), value->range);
}

void Parts::divide(ir::Stage& stage, const poly::Domain& domain, const Keys& keys) {
    auto accumulate = std::get<ir::Accumulate>(stage.definition);
    const ir::ReduceOp op = accumulate.updates.front().op;
    PartialAccumulate part;
    std::map<InputDim, std::size_t> known;
    for (std::size_t u = 0; u < accumulate.updates.size(); ++u) {
        ir::Update& update = accumulate.updates[u];
        for (std::size_t l = 0; l < update.domain.size(); ++l) {
            ir::Range& loop = update.domain[l];
            if (!keys[u][l]) continue;
            const auto [found, is_new] = known.try_emplace(*keys[u][l], part.loops.size());
            if (is_new) {
                const auto& [input, dim] = *keys[u][l];
                const std::string name =
                    stage.name + "_" + made().variables.at(static_cast<std::size_t>(loop.var)).name;
                const int from = add_parameter(name + "_from");
                part.loops.push_back({from, add_parameter(name + "_to"), input, dim});
            }
            const ClippedLoop& clipped = part.loops[found->second];
            loop.lo = ir::binary(BinaryOp::Max, loop.lo, ir::size_ref(clipped.from));
            loop.hi = ir::binary(BinaryOp::Min, loop.hi, ir::size_ref(clipped.to));
        }
        const Expr guard = update.guard;
        if (guard) update.guard = stored(stage, guard, update.domain, nullptr);
        update.value = stored(stage, update.value, update.domain, guard);
        for (Expr& index : update.indices) index = stored(stage, index, update.domain, guard);
    }

    ir::Stage table = stage;
    table.name = unused_name(stage.name + ".part");
    table.output = -1;
    table.generated = true;
    const Expr init = std::exchange(accumulate.init, ir::identity(op, stage.type));
    for (ir::Dimension& dim : table.dims) {
        const ir::VariableInfo info = made().variables.at(static_cast<std::size_t>(dim.var));
        dim.var = ir::new_variable(made(), info.name, Type::Int32, info.range);
    }
    table.definition = std::move(accumulate);
    part.stage = count();
    add(std::move(table), domain);

    made().sizes.push_back({unused_name(stage.name + "_parts"), {}});
    part.count = static_cast<int>(made().sizes.size()) - 1;
    const ir::VarId number = ir::new_variable(made(), "part");
    std::vector<Expr> indices{ir::variable(number, Type::Int32)};
    for (const ir::Dimension& dim : stage.dims) indices.push_back(ir::variable(dim.var, Type::Int32));
    // Narrow types wrap, and so do what is left of the sums of wider ones.
    const Type wide = ir::bits(stage.type) < 32 ? Type::Int32 : stage.type;
    const Expr one = ir::cast(wide, ir::read({ir::Source::Kind::Stage, part.stage}, stage.type, indices, stage.range));
    const Expr all = ir::reduce(op, {{number, ir::int_constant(Type::Int32, 0), ir::size_ref(part.count)}}, one);
    const Expr value = ir::binary(ir::fold_op(op), ir::cast(wide, init), all);
    stage.definition = ir::Pure{ir::cast(stage.type, value)};
    part.merged = count();
    result_.accumulates.push_back(std::move(part));
}

}  // namespace

const PartialAccumulate* Partial::of(int stage) const {
    const auto found = std::ranges::find(accumulates, stage, &PartialAccumulate::stage);
    return found == accumulates.end() ? nullptr : &*found;
}

Partial partial_accumulates(const ir::Pipeline& pipeline, const poly::Model& model) {
    return Parts(pipeline, model).run();
}

}  // namespace pipec::fusion
