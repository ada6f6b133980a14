#include "codegen/expr/both_sides.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/build.h"
#include "ir/visit.h"
#include "ir/without_lets.h"

namespace pipec::codegen {

namespace {

/// A variable, a size or a parameter: kind and number.
using Symbol = std::pair<int, int>;
using Symbols = std::set<Symbol>;

/// What the value of an expression may be told from. Of an input's element that is nothing; a stage's value is what its
/// definition gives, so `flag(x)` with `flag(x) = min(x, 1)` tells of x.
class SymbolsOf {
public:
    explicit SymbolsOf(const ir::Pipeline& pipeline) : pipeline_(pipeline) {}

    /// `data`: whether it reads something. Without `definitions` nothing is asked of what stages are.
    void add(const ir::Expr& root, Symbols& symbols, bool& data, bool definitions = true) {
        add(root, symbols, data, definitions, false);
    }

private:
    /// Of whose value proofs know nothing, where a stage is defined as it: sums and the like, and functions of floats.
    static bool tells_nothing(const ir::Expr& e) {
        if (const auto* reduce = ir::as<ir::Reduce>(e)) return !ir::gives_place(reduce->op);
        const auto* call = ir::as<ir::Call>(e);
        if (call == nullptr) return false;
        switch (call->fn) {
            case ir::Builtin::Abs:
            case ir::Builtin::Floor:
            case ir::Builtin::Ceil:
            case ir::Builtin::Round:
            case ir::Builtin::Trunc: return false;
            default: return true;
        }
    }

    void add(const ir::Expr& root, Symbols& symbols, bool& data, bool definitions, bool in_definition) {
        std::unordered_set<const ir::Node*> seen;
        const std::function<void(const ir::Expr&)> visit = [&](const ir::Expr& e) {
            if (!e || !seen.insert(e.get()).second || (in_definition && tells_nothing(e))) return;
            if (const auto* variable = ir::as<ir::Variable>(e)) symbols.insert({0, variable->id});
            if (const auto* size = ir::as<ir::SizeRef>(e)) symbols.insert({1, size->index});
            if (const auto* param = ir::as<ir::ParamRef>(e)) symbols.insert({2, param->index});
            const auto* read = ir::as<ir::Read>(e);
            if (read == nullptr) return ir::for_each_child(*e, visit);
            data = true;
            if (!definitions || read->source.kind != ir::Source::Kind::Stage) return;
            const Symbols definition = of_stage(read->source.index);
            const auto& dims = pipeline_.stages[static_cast<std::size_t>(read->source.index)].dims;
            for (const Symbol& one : definition) {
                if (one.first != 0) symbols.insert(one);
                for (std::size_t d = 0; d < dims.size(); ++d) {
                    if (one == Symbol{0, dims[d].var}) visit(read->indices[d]);
                }
            }
        };
        visit(root);
    }

    /// Of its value at a point, over its own dimensions.
    Symbols of_stage(int number) {
        const auto [known, is_new] = of_stages_.try_emplace(number);  // a scan's reads of itself add nothing
        const auto* pure = std::get_if<ir::Pure>(&pipeline_.stages.at(static_cast<std::size_t>(number)).definition);
        if (!is_new || pure == nullptr) return known->second;
        Symbols symbols;
        bool data = false;
        add(pure->value, symbols, data, true, true);
        return of_stages_[number] = std::move(symbols);
    }

    const ir::Pipeline& pipeline_;
    std::map<int, Symbols> of_stages_;
};

/// Sets of symbols of which what is known of one may tell something of another.
class Links {
public:
    explicit Links(SymbolsOf& symbols_of) : symbols_of_(symbols_of) {}
    void link(const Symbols& symbols) {
        for (const Symbol& one : symbols) parent_[root(one)] = root(*symbols.begin());
    }
    void link(const ir::Expr& a, const ir::Expr& b) {
        Symbols symbols;
        bool data = false;
        symbols_of_.add(a, symbols, data);
        symbols_of_.add(b, symbols, data);
        link(symbols);
    }
    Symbol root(const Symbol& one) {
        const auto found = parent_.try_emplace(one, one).first;
        return found->second == one ? one : found->second = root(Symbol(found->second));
    }

private:
    SymbolsOf& symbols_of_;
    std::map<Symbol, Symbol> parent_;
};

/// Comparisons, and loops, which say where their variable is.
void link_facts(const ir::Expr& root, SymbolsOf& symbols_of, Links& links, Symbols& beside_data) {
    ir::for_each_node(root, [&](const ir::Expr& e) {
        if (const auto* reduce = ir::as<ir::Reduce>(e)) {
            for (const ir::Range& range : reduce->ranges) {
                for (const ir::Expr& bound : {range.lo, range.hi}) {
                    Symbols symbols{{0, range.var}};
                    bool data = false;
                    symbols_of.add(bound, symbols, data);
                    links.link(symbols);
                    if (data) beside_data.insert(symbols.begin(), symbols.end());
                }
            }
        }
        const auto* n = ir::as<ir::Binary>(e);
        if (n == nullptr || !ir::is_comparison(n->op)) return;
        Symbols symbols;
        bool data = false;
        // Proofs take nothing from comparisons of floats (poly/isl_truth.cpp).
        symbols_of.add(e, symbols, data, ir::is_int(n->a->type));
        links.link(symbols);
        if (data) beside_data.insert(symbols.begin(), symbols.end());
    });
}

/// What right sides read.
class RightSides {
public:
    RightSides(const ir::Pipeline& pipeline, const poly::Model& model, int stage, SymbolsOf& symbols_of)
        : symbols_of_(symbols_of),
          pipeline_(pipeline),
          model_(model),
          stage_(pipeline.stages.at(static_cast<std::size_t>(stage))),
          box_(model.domains.at(static_cast<std::size_t>(stage)).box) {}

    void add(const ir::Expr& root) {
        ir::for_each_node(root, [&](const ir::Expr& e) {
            const auto* read = ir::as<ir::Read>(e);
            if (read == nullptr || always_exists(*read)) return;
            for (const ir::Expr& index : read->indices) symbols_of_.add(index, places, by_data);
        });
    }

    Symbols places;        ///< symbols in the places
    bool by_data = false;  ///< what is read says a place

private:
    /// At the stage's own point, of what has the same points.
    [[nodiscard]] bool always_exists(const ir::Read& read) const {
        if (read.indices.size() != stage_.dims.size()) return false;
        for (std::size_t d = 0; d < box_.size(); ++d) {
            const auto* variable = ir::as<ir::Variable>(read.indices[d]);
            if (variable == nullptr || variable->id != stage_.dims[d].var) return false;
        }
        const auto source = static_cast<std::size_t>(read.source.index);
        if (read.source.kind == ir::Source::Kind::Stage) {
            const poly::Domain& domain = model_.domains.at(source);
            return !domain.guard && std::equal(box_.begin(), box_.end(), domain.box.begin(),
                                               [](const poly::Interval& a, const poly::Interval& b) {
                                                   return ir::structurally_equal(a.lo, b.lo) &&
                                                          ir::structurally_equal(a.hi, b.hi);
                                               });
        }
        return read.source.kind == ir::Source::Kind::Input &&
               std::equal(box_.begin(), box_.end(), pipeline_.inputs.at(source).extents.begin(),
                          [](const poly::Interval& a, const ir::Expr& extent) {
                              return ir::as_int(a.lo) == 0 && ir::structurally_equal(a.hi, extent);
                          });
    }

    SymbolsOf& symbols_of_;
    const ir::Pipeline& pipeline_;
    const poly::Model& model_;
    const ir::Stage& stage_;
    const std::vector<poly::Interval>& box_;
};

/// Of right sides, and with `choices` of the branches of an `if` on data.
bool are_safe(const ir::Pipeline& pipeline, const poly::Model& model, int stage, bool choices) {
    const ir::Stage& s = pipeline.stages.at(static_cast<std::size_t>(stage));
    const auto* pure = std::get_if<ir::Pure>(&s.definition);
    if (pure == nullptr) return true;  // only values of pure stages are computed so
    const ir::Expr value = ir::WithoutLets().of(pure->value);
    SymbolsOf symbols_of(pipeline);
    RightSides right(pipeline, model, stage, symbols_of);
    DataConditions conditions;
    ir::for_each_node(value, [&](const ir::Expr& e) {
        const auto* n = ir::as<ir::Binary>(e);
        if (n != nullptr && ir::is_logical(n->op)) right.add(n->b);
        const auto* select = ir::as<ir::Select>(e);
        if (!choices || select == nullptr || !conditions.ask_data(select->cond)) return;
        right.add(select->then);
        if (select->otherwise) right.add(select->otherwise);
    });
    if (right.by_data) return false;
    if (right.places.empty()) return true;
    Links links(symbols_of);
    Symbols beside_data;
    link_facts(value, symbols_of, links, beside_data);
    const poly::Domain& domain = model.domains.at(static_cast<std::size_t>(stage));
    for (std::size_t d = 0; d < s.dims.size(); ++d) {
        for (const ir::Expr& bound : {domain.box[d].lo, domain.box[d].hi})
            links.link(ir::variable(s.dims[d].var, ir::Type::Int32), bound);
    }
    for (const ir::Expr& one : pipeline.where) links.link(one, nullptr);
    Symbols told;
    for (const Symbol& one : beside_data) told.insert(links.root(one));
    return std::none_of(right.places.begin(), right.places.end(),
                        [&](const Symbol& one) { return told.count(links.root(one)) > 0; });
}

}  // namespace

bool both_sides_are_safe(const ir::Pipeline& pipeline, const poly::Model& model, int stage) {
    return are_safe(pipeline, model, stage, false);
}

bool choices_are_safe(const ir::Pipeline& pipeline, const poly::Model& model, int stage) {
    return are_safe(pipeline, model, stage, true);
}

bool DataConditions::ask_data(const ir::Expr& condition) {
    if (const auto known = known_.find(condition); known != known_.end()) return known->second;
    const auto* n = ir::as<ir::Binary>(condition);
    const auto* negated = ir::as<ir::Unary>(condition);
    bool result = false;
    if (n != nullptr && ir::is_logical(n->op)) {
        result = ask_data(n->a) && ask_data(n->b);
    } else if (negated != nullptr && negated->op == ir::UnaryOp::Not) {
        result = ask_data(negated->a);
    } else {
        result = ir::has_reads(condition);
    }
    known_.emplace(condition, result);
    return result;
}

}  // namespace pipec::codegen
