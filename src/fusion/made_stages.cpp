#include "fusion/made_stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <cstdlib>
#include <map>
#include <unordered_map>

#include "fusion/index_factors.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "poly/group.h"

namespace pipec::fusion {

using ir::Type;

namespace {

/// Elements between the values of a variable in an index that is not linear in it.
constexpr std::int64_t kFarApart = 1 << 20;

/// How a variable steps through memory. Greater ones are further inside.
struct Walk {
    std::size_t depth = 0;  ///< the number of the array's dimension, from the outermost one; 0: it is in no index
    std::int64_t step = 0;  ///< the negative of its factor there
    std::size_t first = 0;  ///< depth in the first array that is read
    auto operator<=>(const Walk&) const = default;
};

}  // namespace

Inlined MadeStages::with_changed(const std::function<void(ir::Stage&, const poly::Domain&)>& change) {
    const auto stages = std::exchange(result_.pipeline.stages, {});
    const auto domains = std::exchange(result_.model.domains, {});
    std::vector<int> numbers;  // by stage of the program
    for (std::size_t i = 0; i < stages.size(); ++i) {
        numbers.push_back(kSelf);
        ir::Stage stage = renumbered(stages[i], [&](int n) { return numbers.at(static_cast<std::size_t>(n)); });
        change(stage, domains[i]);
        const int number = numbers.back() = count();
        if (stage.scan) stage = renumbered(std::move(stage), [&](int n) { return n == kSelf ? number : n; });
        add(std::move(stage), domains[i]);
    }
    for (ir::Output& output : result_.pipeline.outputs) {
        output.stage = numbers.at(static_cast<std::size_t>(output.stage));
    }
    return std::move(result_);
}

void MadeStages::add(ir::Stage stage, poly::Domain domain) {
    result_.pipeline.stages.push_back(std::move(stage));
    result_.model.domains.push_back(std::move(domain));
}

void MadeStages::forget(int first) {
    result_.pipeline.stages.resize(static_cast<std::size_t>(first));
    result_.model.domains.resize(static_cast<std::size_t>(first));
    std::erase_if(made_, [&](int number) { return number >= first; });
}

ir::VarId MadeStages::variable_like(ir::VarId var, const char* suffix) {
    const ir::VariableInfo info = result_.pipeline.variables.at(static_cast<std::size_t>(var));
    return ir::new_variable(result_.pipeline, info.name + suffix, Type::Int32, info.range);
}

ir::Expr MadeStages::make(const ir::Stage& from, std::string_view what, const ir::Expr& value, const Places& places,
                          const ir::Expr& reached, SourceRange range) {
    return make_in_order(from, what, value, in_memory_order(places, value), reached, range);
}

ir::Expr MadeStages::make_in_order(const ir::Stage& from, std::string_view what, const ir::Expr& value,
                                   const Places& places, const ir::Expr& reached, SourceRange range) {
    ir::Stage stage;
    stage.name = unused_name(fmt::format("{}.{}", from.name, what));
    stage.type = value->type;
    stage.generated = stage.alone = true;
    stage.range = from.range;
    stage.made_by = from.made_by;
    poly::Domain domain;
    std::map<ir::VarId, ir::Expr> renamed;
    std::vector<ir::Expr> indices;
    const auto add_dim = [&](ir::VarId var, const ir::Expr& lo, ir::Expr hi) {
        if (reached && domain.box.empty()) hi = ir::select(reached, hi, lo);
        stage.dims.push_back({var, lo, hi, {}});
        domain.box.push_back({lo, hi});
    };
    for (const Place& place : places) {
        const ir::VarId var = variable_like(place.var, "");
        add_dim(var, place.lo, place.hi);
        renamed[place.var] = ir::variable(var, Type::Int32);
        indices.push_back(ir::variable(place.var, Type::Int32));
    }
    if (places.empty()) {
        add_dim(ir::new_variable(result_.pipeline, "i"), ir::int_constant(Type::Int32, 0),
                ir::int_constant(Type::Int32, 1));
        indices.push_back(ir::int_constant(Type::Int32, 0));
    }
    stage.definition = ir::Pure{with_own_variables(ir::substitute(value, renamed))};
    int number = same_stage(stage, domain);
    if (number < 0) {
        add(std::move(stage), std::move(domain));
        number = count() - 1;
        made_.push_back(number);
    }
    return ir::read({ir::Source::Kind::Stage, number}, value->type, std::move(indices), range);
}

ir::Expr MadeStages::make_copy(const ir::Stage& from, std::string_view what, const ir::Expr& read,
                               const std::vector<int>& order, const std::vector<poly::Interval>& all,
                               const std::vector<ir::Expr>& lasts) {
    const auto& original = *ir::as<ir::Read>(read);
    Places places;
    std::vector<ir::Expr> at(original.indices.size()), indices;
    for (const int dim : order) {
        const auto d = static_cast<std::size_t>(dim);
        const ir::VarId var = variable_like(from.dims.front().var, "");
        const ir::Expr here = ir::variable(var, Type::Int32);
        at[d] = d < lasts.size() && lasts[d] ? ir::binary(ir::BinaryOp::Min, here, lasts[d]) : here;
        places.push_back({var, all[d].lo, all[d].hi, true});
        indices.push_back(original.indices[d]);
    }
    const ir::Expr elements = ir::read(original.source, read->type, at, read->range);
    const ir::Source copy = ir::as<ir::Read>(make_in_order(from, what, elements, places, nullptr, read->range))->source;
    made(copy.index).alone = false;
    made(copy.index).stored = true;
    return ir::read(copy, read->type, std::move(indices), read->range);
}

/// The number of a stage that was made before and has the same values at the same points; -1 where there is none.
int MadeStages::same_stage(const ir::Stage& stage, const poly::Domain& domain) {
    const ir::Expr value = canonical_.get(std::get<ir::Pure>(stage.definition).value);
    for (const int number : made_) {
        const ir::Stage& other = result_.pipeline.stages[static_cast<std::size_t>(number)];
        const poly::Domain& points = result_.model.domains[static_cast<std::size_t>(number)];
        if (other.type != stage.type || !poly::same_box(points.box, domain.box)) continue;
        std::map<ir::VarId, ir::Expr> renamed;
        for (std::size_t d = 0; d < stage.dims.size(); ++d) {
            renamed[other.dims[d].var] = ir::variable(stage.dims[d].var, Type::Int32);
        }
        const ir::Expr theirs = ir::substitute(std::get<ir::Pure>(other.definition).value, renamed);
        if (ir::structurally_equal(canonical_.get(theirs), value)) return number;
    }
    return -1;
}

/// The places in an order for threads: the last one is innermost in memory and has the smallest steps there.
/// Threads that follow each other then read elements that follow each other.
Places MadeStages::in_memory_order(Places places, const ir::Expr& value) const {
    std::map<ir::VarId, Walk> walks;
    bool is_first = true;
    ir::for_each_node(value, [&](const ir::Expr& e) {
        const auto* read = ir::as<ir::Read>(e);
        if (read == nullptr) return;
        std::vector<int> order;
        if (read->source.kind == ir::Source::Kind::Input) {
            order = result_.pipeline.inputs.at(static_cast<std::size_t>(read->source.index)).order;
        } else {
            for (std::size_t d = 0; d < read->indices.size(); ++d) order.push_back(static_cast<int>(d));
        }
        for (std::size_t i = 0; i < order.size(); ++i) {
            const ir::Expr& index = read->indices[static_cast<std::size_t>(order[i])];
            for (const ir::VarId var : variables_of(index)) {
                Walk& known = walks[var];
                const std::int64_t factor = std::abs(index_factor(index, var).value_or(kFarApart));
                const Walk walk{i + 1, -factor, is_first ? i + 1 : known.first};
                if (is_first) known.first = i + 1;
                known = std::max(known, walk);
            }
        }
        is_first = false;
    });
    std::ranges::stable_sort(places, {}, [&](const Place& place) {
        const auto found = walks.find(place.var);
        return found == walks.end() ? Walk{} : found->second;
    });
    return places;
}

/// With binders of its own: what is taken out may stay behind a condition elsewhere.
ir::Expr MadeStages::with_own_variables(const ir::Expr& e) {
    std::map<ir::VarId, ir::Expr> renamed;
    std::unordered_map<const ir::Node*, ir::Expr> memo;
    const std::function<ir::Expr(const ir::Expr&)> copy = [&](const ir::Expr& node) -> ir::Expr {
        if (const auto known = memo.find(node.get()); known != memo.end()) return known->second;
        ir::Expr result;
        if (const auto* variable = ir::as<ir::Variable>(node)) {
            const auto found = renamed.find(variable->id);
            result = found == renamed.end() ? node : found->second;
        } else if (const auto* reduce = ir::as<ir::Reduce>(node)) {
            std::vector<ir::Range> ranges;
            for (const ir::Range& range : reduce->ranges) {
                const ir::Expr lo = copy(range.lo), hi = copy(range.hi);
                const ir::VarId var = variable_like(range.var, "");
                renamed[range.var] = ir::variable(var, Type::Int32);
                ranges.push_back({var, lo, hi});
            }
            result = ir::reduce_like(*reduce, std::move(ranges), copy(reduce->body), node->range);
        } else {
            result = ir::map_children(node, copy);
        }
        memo.emplace(node.get(), result);
        return result;
    };
    return copy(e);
}

std::string MadeStages::unused_name(const std::string& wanted) const {
    const auto taken = [&](const std::string& name) {
        return std::ranges::any_of(result_.pipeline.stages, [&](const ir::Stage& s) { return s.name == name; });
    };
    std::string name = wanted;
    for (int i = 2; taken(name); ++i) name = fmt::format("{}_{}", wanted, i);
    return name;
}

ir::Stage renumbered(ir::Stage stage, const std::function<int(int)>& new_number) {
    std::unordered_map<const ir::Node*, ir::Expr> memo;
    const std::function<ir::Expr(const ir::Expr&)> renumber = [&](const ir::Expr& e) -> ir::Expr {
        if (const auto known = memo.find(e.get()); known != memo.end()) return known->second;
        ir::Expr result = ir::map_children(e, renumber);
        if (const auto* read = ir::as<ir::Read>(result);
            read != nullptr && read->source.kind == ir::Source::Kind::Stage) {
            const int number = new_number(read->source.index);
            if (number != read->source.index) {
                result = ir::read({ir::Source::Kind::Stage, number}, e->type, read->indices, e->range);
            }
        }
        memo.emplace(e.get(), result);
        return result;
    };
    const ir::Stage old = stage;  // nodes must outlive the memo, which knows them by address
    ir::map_expressions(stage, renumber);
    return stage;
}

}  // namespace pipec::fusion
