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

/// Of a number itself, not of the places of what it reads. `data`: whether it reads something.
void add_symbols(const ir::Expr& root, Symbols& symbols, bool& data) {
    std::unordered_set<const ir::Node*> seen;
    const std::function<void(const ir::Expr&)> add = [&](const ir::Expr& e) {
        if (!e || !seen.insert(e.get()).second) return;
        if (const auto* variable = ir::as<ir::Variable>(e)) symbols.insert({0, variable->id});
        if (const auto* size = ir::as<ir::SizeRef>(e)) symbols.insert({1, size->index});
        if (const auto* param = ir::as<ir::ParamRef>(e)) symbols.insert({2, param->index});
        if (ir::as<ir::Read>(e) != nullptr) {
            data = true;
            return;
        }
        ir::for_each_child(*e, add);
    };
    add(root);
}

/// Sets of symbols of which what is known of one may tell something of another.
class Links {
public:
    void link(const Symbols& symbols) {
        for (const Symbol& one : symbols) parent_[root(one)] = root(*symbols.begin());
    }
    void link(const ir::Expr& a, const ir::Expr& b) {
        Symbols symbols;
        bool data = false;
        add_symbols(a, symbols, data);
        add_symbols(b, symbols, data);
        link(symbols);
    }
    Symbol root(const Symbol& one) {
        const auto found = parent_.try_emplace(one, one).first;
        return found->second == one ? one : found->second = root(Symbol(found->second));
    }

private:
    std::map<Symbol, Symbol> parent_;
};

/// Comparisons, and loops, which say where their variable is.
void link_facts(const ir::Expr& root, Links& links, Symbols& beside_data) {
    ir::for_each_node(root, [&](const ir::Expr& e) {
        if (const auto* reduce = ir::as<ir::Reduce>(e)) {
            for (const ir::Range& range : reduce->ranges) {
                for (const ir::Expr& bound : {range.lo, range.hi}) {
                    Symbols symbols{{0, range.var}};
                    bool data = false;
                    add_symbols(bound, symbols, data);
                    links.link(symbols);
                    if (data) beside_data.insert(symbols.begin(), symbols.end());
                }
            }
        }
        const auto* n = ir::as<ir::Binary>(e);
        if (n == nullptr || !ir::is_comparison(n->op)) return;
        Symbols symbols;
        bool data = false;
        add_symbols(e, symbols, data);
        links.link(symbols);
        if (data) beside_data.insert(symbols.begin(), symbols.end());
    });
}

/// What right sides read.
class RightSides {
public:
    RightSides(const ir::Pipeline& pipeline, const poly::Model& model, int stage)
        : pipeline_(pipeline),
          model_(model),
          stage_(pipeline.stages.at(static_cast<std::size_t>(stage))),
          box_(model.domains.at(static_cast<std::size_t>(stage)).box) {}

    void add(const ir::Expr& root) {
        ir::for_each_node(root, [&](const ir::Expr& e) {
            const auto* read = ir::as<ir::Read>(e);
            if (read == nullptr || always_exists(*read)) return;
            for (const ir::Expr& index : read->indices) add_symbols(index, places, by_data);
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
    RightSides right(pipeline, model, stage);
    ir::for_each_node(value, [&](const ir::Expr& e) {
        const auto* n = ir::as<ir::Binary>(e);
        if (n != nullptr && ir::is_logical(n->op)) right.add(n->b);
        const auto* select = ir::as<ir::Select>(e);
        if (!choices || select == nullptr || !asks_data(select->cond)) return;
        right.add(select->then);
        if (select->otherwise) right.add(select->otherwise);
    });
    if (right.by_data) return false;
    if (right.places.empty()) return true;
    Links links;
    Symbols beside_data;
    link_facts(value, links, beside_data);
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

bool asks_data(const ir::Expr& condition) {
    if (const auto* n = ir::as<ir::Binary>(condition); n != nullptr && ir::is_logical(n->op))
        return asks_data(n->a) && asks_data(n->b);
    if (const auto* n = ir::as<ir::Unary>(condition); n != nullptr && n->op == ir::UnaryOp::Not) return asks_data(n->a);
    return ir::has_reads(condition);
}

}  // namespace pipec::codegen
