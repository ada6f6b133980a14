// accumulate: a nest of loops, conditions and lets becomes one update for each update statement, with loops, guard and
// variables of its own.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "frontend/elaborate_syntax.h"
#include "frontend/elaborator.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::elab {

/// A walk over the body: the statements that enclose or precede (lets) the place, outermost first.
struct Elaborator::UpdateWalk {
    struct Step {
        const ast::AccStatement* statement;
        bool in_else = false;
    };
    Symbol& symbol;
    ir::Type type;
    std::size_t rank;
    std::vector<Step> path;
    std::vector<ir::Update> updates;
    std::set<const ast::AccStatement*> checked;  ///< lets that an update elaborated

    /// The lets on the way to an update that it needs: those that it uses, itself or by others, and those that no
    /// update before has checked. All of them for each update would take quadratic time.
    [[nodiscard]] std::set<const ast::AccStatement*> needed_lets(const ast::AccUpdate& update) const;
};

std::set<const ast::AccStatement*> Elaborator::UpdateWalk::needed_lets(const ast::AccUpdate& update) const {
    std::set<const ast::AccStatement*> result;
    std::vector<ast::Expr> used = update.args;
    used.insert(used.end(), update.array_indices.begin(), update.array_indices.end());
    used.push_back(update.value);
    std::set<std::string> hidden;  // names that the checks are about: another let may have them
    for (auto step = path.rbegin(); step != path.rend(); ++step) {
        const ast::AccStatement* statement = step->statement;
        if (const auto* loop = std::get_if<ast::AccFor>(&statement->value)) {
            for (const ast::IndexRange& r : loop->ranges) {
                used.push_back(r.range.lo);
                used.push_back(r.range.hi);
            }
        } else if (const auto* choice = std::get_if<ast::AccIf>(&statement->value)) {
            used.push_back(choice->cond);
        } else if (const auto* let = std::get_if<ast::AccLet>(&statement->value)) {
            std::set<std::string> names;
            for (const ast::LetBinding& binding : let->bindings) names.insert(binding.name.text);
            const bool is_new = !checked.contains(statement);
            const bool needed = is_new ||
                                std::ranges::any_of(names, [&](const auto& name) { return hidden.contains(name); }) ||
                                std::ranges::any_of(used, [&](const ast::Expr& e) { return e && mentions(e, names); });
            if (!needed) continue;
            result.insert(statement);
            if (is_new) hidden.merge(names);
            for (const ast::LetBinding& binding : let->bindings) used.push_back(binding.value);
        }
    }
    return result;
}

void Elaborator::define_accumulate(Symbol& symbol) {
    const ast::Accumulate& a = *symbol.accumulate;
    symbol.value = poison();
    std::map<std::string, std::vector<ir::VarId>> splices;
    Env env{files_.new_scope(Scope::Kind::Expression, symbol.scope), &symbol.full_name, nullptr, &splices};
    for (const ast::DimPattern& dim : a.dims) {
        if (dim.splice || dim.range || symbol.output >= 0) continue;
        report(diag::MissingRange, dim.name.range, dim.name.text)
            .note(fmt::format("what an `accumulate` covers is not found from its readers: write `{} in 0..N`",
                              dim.name.text));
        return;
    }
    if (symbol.output >= 0 && a.type != symbol.port->type) {
        report(diag::OutputType, a.type_range, symbol.name, std::string(ir::name(symbol.port->type)),
               std::string(ir::name(a.type)))
            .note(symbol.port->type_range, "the output's type is given here");
        return;
    }
    if (a.type == ir::Type::Bool) {
        report(diag::AccumulateBool, a.type_range);
        return;
    }
    ir::Stage stage;
    const bool dims_ok = dimensions(a.dims, nullptr, symbol, env, stage.dims);
    if (dims_ok && symbol.output >= 0) cover_output(symbol.output, stage.dims);
    ir::Expr init = convert(eval_operand(a.init, env.wanting(a.type)), a.type, a.init->range,
                            fmt::format("stage `{}`", symbol.name));
    UpdateWalk walk{symbol, a.type, a.dims.size(), {}, {}, {}};
    const bool was_failed = std::exchange(failed_, false);
    walk_updates(a.body, walk);
    const bool body_ok = !failed_;
    failed_ = failed_ || was_failed;
    if (!dims_ok || !init || !body_ok) {
        failed_ = true;
        return;
    }
    init = close_over_lets(init);
    stage.name = symbol.full_name;
    stage.type = a.type;
    stage.range = a.left_range;
    stage.definition = ir::Accumulate{init, std::move(walk.updates)};
    finish_stage(symbol, std::move(stage));
}

/// Dimensions without a range get the output's extents.
void Elaborator::cover_output(int output, std::vector<ir::Dimension>& dims) const {
    const ir::Buffer& buffer = p_.outputs[static_cast<std::size_t>(output)].buffer;
    for (std::size_t i = 0; i < dims.size(); ++i) {
        const ir::Expr& hi = buffer.extents[i];
        if (!hi || dims[i].is_explicit()) continue;  // without an extent: reported; this pipeline is dropped
        dims[i].lo = ir::int_constant(ir::Type::Int32, 0, hi->range);
        dims[i].hi = hi;
    }
}

void Elaborator::walk_updates(const ast::AccBlock& block, UpdateWalk& walk) {
    const std::size_t length = walk.path.size();
    for (const ast::AccStatement& statement : block) {
        std::visit(ir::overloaded{
                       [&](const ast::AccUpdate&) { add_update(statement, walk); },
                       [&](const ast::AccFor& f) {
                           walk.path.push_back({&statement});
                           walk_updates(*f.body, walk);
                           walk.path.pop_back();
                       },
                       [&](const ast::AccIf& i) {
                           walk.path.push_back({&statement});
                           if (i.then) walk_updates(*i.then, walk);
                           walk.path.back().in_else = true;
                           if (i.otherwise) walk_updates(*i.otherwise, walk);
                           walk.path.pop_back();
                       },
                       [&](const ast::AccLet&) { walk.path.push_back({&statement}); },
                   },
                   statement.value);
    }
    walk.path.resize(length);
}

void Elaborator::add_update(const ast::AccStatement& statement, UpdateWalk& walk) {
    const auto& u = std::get<ast::AccUpdate>(statement.value);
    Env env{files_.new_scope(Scope::Kind::Expression, walk.symbol.scope), &walk.symbol.full_name};
    ir::Update update;
    update.range = statement.range;
    update.op = u.op;
    bool ok = true;
    const std::set<const ast::AccStatement*> needed = walk.needed_lets(u);
    for (const UpdateWalk::Step& step : walk.path) {
        if (const auto* loop = std::get_if<ast::AccFor>(&step.statement->value)) {
            for (const ast::IndexRange& r : loop->ranges) {
                note_half_open(r.range);
                auto range = loop_range(r, env);
                if (!range) return;
                update.domain.push_back(std::move(*range));
            }
        } else if (const auto* choice = std::get_if<ast::AccIf>(&step.statement->value)) {
            ir::Expr cond = condition(choice->cond, env);
            if (!cond) return;
            if (step.in_else) cond = ir::unary(ir::UnaryOp::Not, cond, cond->range);
            if (const auto constant = ir::as_int(cond)) {
                if (*constant == 0) return;  // a compile-time condition: this branch does not exist
                continue;
            }
            cond = close_over_lets(cond);
            update.guard = update.guard ? ir::binary(ir::BinaryOp::And, update.guard, cond, cond->range) : cond;
        } else if (const auto* let = std::get_if<ast::AccLet>(&step.statement->value);
                   let != nullptr && needed.contains(step.statement)) {
            walk.checked.insert(step.statement);
            Value whole;
            for (const ast::LetBinding& binding : let->bindings) {
                if (binding.element == 0) whole = eval(binding.value, env);
                Value value = binding.of == 0 ? whole : element_of(whole, binding);
                if (binding.of > 0 && value.is<Poison>()) return;
                env.scope = files_.new_scope(Scope::Kind::Expression, env.scope);
                Symbol* symbol = bind(env.scope, binding.name, std::move(value));
                if (symbol == nullptr) return;
                bind_once(*symbol);
            }
        }
    }
    std::string target = u.target.text;
    for (const ast::Expr& index : u.array_indices) {
        const auto value = constant_int(eval(index, env));
        target += value ? "[" + to_string(*value) + "]" : "[?]";
    }
    if (target != walk.symbol.name) {
        report(diag::UpdateTarget, u.target.range, target, walk.symbol.name)
            .note(walk.symbol.range, fmt::format("the body of this accumulate updates `{}` only", walk.symbol.name));
        return;
    }
    for (const ast::Expr& arg : u.args) {
        update.indices.push_back(index_expr(arg, env));
        if (!update.indices.back()) {
            ok = false;
        } else {
            update.indices.back() = close_over_lets(update.indices.back());
        }
    }
    if (update.indices.size() != walk.rank) {
        report(diag::WrongRank, statement.range, walk.symbol.name, walk.rank, update.indices.size())
            .note(walk.symbol.range, "it is defined here");
        ok = false;
    }
    update.value = convert(eval_operand(u.value, env.wanting(walk.type)), walk.type, u.value->range,
                           fmt::format("stage `{}`", walk.symbol.name));
    if (!update.value || !ok) return;
    update.value = close_over_lets(update.value);
    walk.updates.push_back(std::move(update));
}

}  // namespace pipec::elab
