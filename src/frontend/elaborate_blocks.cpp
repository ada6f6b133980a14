// Blocks: which definitions there are. Plain names are declared first, then compile-time `for` and `if` are expanded in
// the order of the text, which adds elements of stage arrays; only then is anything elaborated, so that definitions may
// stand in any order. (A compile-time condition or bound can use array elements that stand before it.)
#include <fmt/format.h>

#include "frontend/elaborator.h"
#include "ir/visit.h"

namespace pipec::elab {

using ir::overloaded;

/// Of the stages that `let [a, b] = ...` makes and gives no name to: "a_b".
static std::string let_name(const ast::LetStatement& let) {
    std::string name;
    for (const ast::LetBinding& b : let.bindings) name += (name.empty() ? "" : "_") + b.name.text;
    return name;
}

void Elaborator::declare_block(const ast::Block& block, Scope* scope) {
    Instance& instance = *scope->instance;
    const bool top = scope == instance.body;
    std::map<const ast::Statement*, std::vector<Symbol*>> plain;
    const auto declare_value = [&](const ast::Statement& statement, const ast::Name& name, const ast::Expr& value,
                                   Symbol::Kind kind) {
        Symbol* symbol = declare(scope, name, kind);
        if (symbol == nullptr) return symbol;
        symbol->expr = &value;
        symbol->state = Symbol::State::Unvisited;
        local_symbols_.push_back(symbol);
        plain[&statement].push_back(symbol);
        return symbol;
    };
    const auto declare_let = [&](const ast::Statement& statement, const ast::LetStatement& let) {
        Symbol* elements = nullptr;
        for (const ast::LetBinding& binding : let.bindings) {
            Symbol* symbol = declare_value(statement, binding.name, binding.value, Symbol::Kind::Let);
            if (symbol == nullptr || binding.of == 0) continue;
            if (elements == nullptr) {
                elements = files_.new_symbol(let_name(let), binding.value->range, Symbol::Kind::Elements);
                elements->scope = scope;
                elements->instance = &instance;
                elements->expr = &binding.value;
                elements->state = Symbol::State::Unvisited;
                elements->full_name = instance.prefix + let_name(let) + scope->suffix;
            }
            symbol->element = LetElement{elements, &binding};
            symbol->full_name = instance.prefix + binding.name.text + scope->suffix;
        }
    };
    for (const ast::Statement& statement : block) {
        std::visit(overloaded{
                       [&](const ast::Const& c) { declare_value(statement, c.name, c.value, Symbol::Kind::Const); },
                       [&](const ast::LetStatement& l) { declare_let(statement, l); },
                       [&](const ast::Return& r) {
                           if (instance.calls.empty()) {
                               report(diag::MisplacedReturn, statement.range)
                                   .note("a pipeline's results are its outputs, defined by their names");
                           } else if (!top || &statement != &block.back()) {
                               report(diag::MisplacedReturn, statement.range)
                                   .note("`return` stands once, as the last statement of a stage function");
                           } else {
                               instance.result = &r;
                               instance.result_range = statement.range;
                           }
                           instance.broken = instance.broken || instance.result == nullptr;
                       },
                       [&](const ast::Definition& d) {
                           if (d.array_indices.empty()) plain[&statement] = {declare_definition(d, scope)};
                       },
                       [&](const ast::Accumulate& a) {
                           if (a.array_indices.empty()) plain[&statement] = {declare_accumulate(a, scope)};
                       },
                       [](const auto&) {},
                   },
                   statement.value);
    }
    for (const ast::Statement& statement : block) {
        if (exhausted_) return;
        if (const auto found = plain.find(&statement); found != plain.end()) {
            for (Symbol* symbol : found->second) {
                if (symbol != nullptr) instance.definitions.push_back(symbol);
            }
            continue;
        }
        const auto element = [&](Symbol* symbol) {
            if (symbol != nullptr) instance.definitions.push_back(symbol);
        };
        std::visit(overloaded{
                       [&](const ast::Definition& d) { element(declare_definition(d, scope)); },
                       [&](const ast::Accumulate& a) { element(declare_accumulate(a, scope)); },
                       [&](const ast::For& f) { expand_for(f, scope); },
                       [&](const ast::IfStatement& i) { expand_if(i, scope); },
                       [](const auto&) {},
                   },
                   statement.value);
    }
}

Symbol* Elaborator::declare_definition(const ast::Definition& d, Scope* scope) {
    Symbol* symbol = declare_stage(d.name, d.array_indices, scope, Symbol::Kind::Stage);
    if (symbol != nullptr) symbol->stage = &d;
    return symbol;
}

Symbol* Elaborator::declare_accumulate(const ast::Accumulate& a, Scope* scope) {
    Symbol* symbol = declare_stage(a.name, a.array_indices, scope, Symbol::Kind::Accumulate);
    if (symbol != nullptr) symbol->accumulate = &a;
    return symbol;
}

Symbol* Elaborator::declare_stage(const ast::Name& name, const std::vector<ast::Expr>& indices, Scope* scope,
                                  Symbol::Kind kind) {
    Instance& instance = *scope->instance;
    Symbol* symbol = nullptr;
    if (indices.empty()) {
        Symbol* output = nullptr;
        for (Symbol* candidate : outputs_) {
            if (instance.calls.empty() && candidate->name == name.text) output = candidate;
        }
        if (output != nullptr && (output->stage != nullptr || output->accumulate != nullptr)) {
            report(diag::DuplicateDefinition, name.range, name.text)
                .note(output->range, "first defined here")
                .note(
                    "a stage is defined once: its parts are `if c then a else b`, and what is made of it has another "
                    "name");
            return nullptr;
        }
        if (output != nullptr) {
            symbol = output;
            symbol->scope = scope;
            symbol->kind = kind;
            symbol->state = Symbol::State::Unvisited;
            symbol->range = name.range;
        } else {
            symbol = declare(scope, name, kind);
            if (symbol == nullptr) return nullptr;
            symbol->state = Symbol::State::Unvisited;
        }
        symbol->full_name = instance.prefix + name.text + scope->suffix;
    } else {
        std::vector<std::int64_t> key;
        std::string label = name.text;
        for (const ast::Expr& index : indices) {
            const auto* ref = std::get_if<ast::NameRef>(&index->value);
            if (ref != nullptr && find(scope, ref->name, index->range) == nullptr) {
                report(diag::UnknownName, index->range, ref->name)
                    .note(
                        fmt::format("the points of an image are defined at once, with their dimensions in parentheses: "
                                    "`{}(y, x) = ...`; brackets hold constants",
                                    name.text));
                instance.broken = true;
                return nullptr;
            }
            const Value value = eval(index, Env{scope});
            if (value.is<Poison>()) return nullptr;
            const auto constant = constant_int(value);
            if (!constant) {
                report(diag::NotConstant, index->range, "the index of a stage array");
                return nullptr;
            }
            key.push_back(static_cast<std::int64_t>(*constant));
            label += "[" + to_string(*constant) + "]";
        }
        const auto found = instance.body->names.find(name.text);
        Symbol* array = found == instance.body->names.end() ? nullptr : found->second;
        if (array == nullptr) {
            array = declare(instance.body, name, Symbol::Kind::Array);
            if (array == nullptr) return nullptr;
            array->value = {Array{array, {}}};
        }
        if (array->kind != Symbol::Kind::Array) {
            report(diag::DuplicateDefinition, name.range, name.text).note(array->range, "first defined here");
            return nullptr;
        }
        if (!array->elements.empty() && array->elements.begin()->first.size() != key.size()) {
            report(diag::ArrayIndexCount, name.range, name.text, array->elements.begin()->first.size(), key.size())
                .note(array->elements.begin()->second->range, "another element is defined here");
            return nullptr;
        }
        if (const auto same = array->elements.find(key); same != array->elements.end()) {
            report(diag::DuplicateDefinition, name.range, label).note(same->second->range, "first defined here");
            return nullptr;
        }
        symbol = files_.new_symbol(label, name.range, kind);
        symbol->scope = scope;
        symbol->instance = &instance;
        symbol->state = Symbol::State::Unvisited;
        symbol->full_name = instance.prefix + label;
        array->elements.emplace(std::move(key), symbol);
    }
    return symbol;
}

std::optional<std::pair<std::int64_t, std::int64_t>> Elaborator::constant_range(const ast::Range& range,
                                                                                const Env& env) {
    const Value lo = eval(range.lo, env);
    const Value hi = eval(range.hi, env);
    if (lo.is<Poison>() || hi.is<Poison>()) return std::nullopt;
    const auto first = constant_int(lo);
    const auto last = constant_int(hi);
    for (const auto& [value, e] : {std::pair{first, range.lo}, std::pair{last, range.hi}}) {
        if (!value) {
            report(diag::NotConstant, e->range, "a bound of a compile-time loop")
                .note(
                    "no loop goes over points: `f(y, x) = ...` defines all of them, `sum(i in a..b) ...` and "
                    "`accumulate` combine them")
                .note(
                    "steps whose number is known at launch are a dimension: `f(t in 0..n, y, x): float32 = if t == 0 "
                    "then a(y, x) else ... f(t - 1, y, x) ...`");
            return std::nullopt;
        }
        if (*value < INT32_MIN || *value > INT32_MAX) {
            report(diag::ConstantRange, e->range, to_string(*value), "int32");
            return std::nullopt;
        }
    }
    return std::pair{static_cast<std::int64_t>(*first), static_cast<std::int64_t>(*last) + (range.inclusive ? 1 : 0)};
}

void Elaborator::expand_for(const ast::For& loop, Scope* scope) {
    const auto range = constant_range(loop.index.range, Env{scope});
    if (!range) {
        scope->instance->broken = true;
        return;
    }
    for (std::int64_t i = range->first; i < range->second && !exhausted_; ++i) {
        if (++iterations_ > kMaxIterations) {
            report(diag::TooManyIterations, loop.index.range.range, kMaxIterations);
            exhausted_ = true;
            return;
        }
        Scope* iteration = files_.new_scope(Scope::Kind::Block, scope);
        iteration->suffix = fmt::format("{}[{}]", scope->suffix, i);
        bind(iteration, loop.index.name, {UntypedInt{i}});
        declare_block(*loop.body, iteration);
    }
}

void Elaborator::expand_if(const ast::IfStatement& choice, Scope* scope) {
    const auto outside = std::exchange(
        outside_points_, {"an `if` that is a statement takes one of two for all points; a choice for each point is "
                          "`f(y, x) = if c then a else b`"});
    const Value cond = eval(choice.cond, Env{scope});
    outside_points_ = outside;
    const auto taken = constant_bool(cond);
    if (!taken) {
        scope->instance->broken = true;
        if (cond.is<Poison>()) return;
        if (const auto* s = cond.as<Scalar>(); s != nullptr && s->expr->type == ir::Type::Bool) {
            report(diag::NotConstant, choice.cond->range, "the condition of an `if` statement")
                .note(
                    "to choose between values at run time, write `if` inside of a definition: "
                    "f(y, x) = if c then a else b");
        } else {
            report(diag::ConditionType, choice.cond->range, describe(cond));
        }
        return;
    }
    const auto& branch = *taken ? choice.then : choice.otherwise;
    if (branch == nullptr) return;
    Scope* inner = files_.new_scope(Scope::Kind::Block, scope);
    inner->suffix = scope->suffix;
    declare_block(*branch, inner);
}

void Elaborator::elaborate_definitions(Instance& instance) {
    // By index: elaboration declares nothing in this instance, but makes others.
    for (std::size_t i = 0; i < instance.definitions.size() && !exhausted_; ++i) {
        demand(instance.definitions[i], instance.definitions[i]->range);
    }
}

}  // namespace pipec::elab
