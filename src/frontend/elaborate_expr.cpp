// Expressions: names, operators, if, let, tables and casts.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <unordered_set>

#include "frontend/elaborate_fold.h"
#include "frontend/elaborate_syntax.h"
#include "frontend/elaborator.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::elab {

using ir::overloaded;

Value Elaborator::eval(const ast::Expr& e, const Env& env) {
    exhausted_ = exhausted_ || diags_.too_many();
    if (exhausted_ || e == nullptr) {
        failed_ = true;
        return poison();
    }
    if (++steps_ > kMaxSteps) {
        report(diag::TooManySteps, e->range, kMaxSteps);
        exhausted_ = true;
        return poison();
    }
    if (depth_ >= kMaxDepth) {
        report(diag::TooDeep, e->range, "evaluation up to here");
        exhausted_ = true;  // one report is enough: what remains of a long chain would repeat it
        return poison();
    }
    ++depth_;
    Value result = eval_node(e, env);
    --depth_;
    return result;
}

namespace {

/// The reduction whose body ends where `e` does.
const ast::Reduce* last_reduction(const ast::Expr& e) {
    if (e == nullptr) return nullptr;
    if (const auto* reduce = std::get_if<ast::Reduce>(&e->value)) return reduce;
    if (const auto* binary = std::get_if<ast::Binary>(&e->value)) return last_reduction(binary->right);
    const auto* unary = std::get_if<ast::Unary>(&e->value);
    return unary == nullptr ? nullptr : last_reduction(unary->operand);
}

/// A use of one of the variables; what binds one of them anew is not looked into.
const ast::ExprNode* use_of(const ast::Expr& e, const std::vector<ast::IndexRange>& variables) {
    const auto is_one = [&](const std::string& name) {
        return std::ranges::any_of(variables, [&](const ast::IndexRange& r) { return r.name.text == name; });
    };
    const auto binds_one = [&](const auto& binder) { return is_one(binder.name.text); };
    if (e == nullptr) return nullptr;
    if (const auto* name = std::get_if<ast::NameRef>(&e->value)) return is_one(name->name) ? e.get() : nullptr;
    if (const auto* reduce = std::get_if<ast::Reduce>(&e->value);
        reduce != nullptr && std::ranges::any_of(reduce->ranges, binds_one)) {
        return nullptr;
    }
    if (const auto* let = std::get_if<ast::Let>(&e->value);
        let != nullptr && std::ranges::any_of(let->bindings, binds_one)) {
        return nullptr;
    }
    for (const ast::Expr& child : children(e)) {
        if (const auto* use = use_of(child, variables)) return use;
    }
    return nullptr;
}

/// Where `right` uses a variable of a reduction at the end of `left`.
const ast::ExprNode* lost_variable(const ast::Expr& left, const ast::Expr& right) {
    const ast::Reduce* reduce = last_reduction(left);
    return reduce == nullptr ? nullptr : use_of(right, reduce->ranges);
}

}  // namespace

Value Elaborator::eval_node(const ast::Expr& e, const Env& outer) {
    const bool hands_on = std::holds_alternative<ast::If>(e->value) || std::holds_alternative<ast::Let>(e->value) ||
                          std::holds_alternative<ast::Call>(e->value);
    const Env env = hands_on ? outer : outer.wanting(std::nullopt);
    return std::visit(
        overloaded{
            [&](const ast::IntLiteral& n) -> Value { return {UntypedInt{static_cast<Int128>(n.value)}}; },
            [&](const ast::FloatLiteral& n) -> Value { return {UntypedFloat{n.value}}; },
            [&](const ast::BoolLiteral& n) -> Value { return {Scalar{ir::bool_constant(n.value, e->range)}}; },
            [&](const ast::NameRef& n) { return eval_name(n.name, e->range, env); },
            [&](const ast::SpliceRef& n) {
                report(diag::MisplacedSplice, e->range, n.name);
                return poison();
            },
            [&](const ast::TableLiteral& n) { return eval_table(n, env); },
            [&](const ast::Call& n) { return eval_call(e, n, env); },
            [&](const ast::Index& n) { return eval_index(e, n, env); },
            [&](const ast::Cast& n) {
                return explicit_cast(eval_operand(n.operand, env), n.type, n.saturate, e->range, n.operand->range);
            },
            [&](const ast::Unary& n) { return negate(n.op, eval_operand(n.operand, env), n.operand->range, e->range); },
            [&](const ast::Binary& n) {
                if (ir::is_logical(n.op)) return eval_logical(e, n, env);
                if (const auto* lost = lost_variable(n.left, n.right)) {
                    const std::string& name = std::get<ast::NameRef>(lost->value).name;
                    if (find(env.scope, name, lost->range) == nullptr) {
                        report(diag::UnknownName, lost->range, name)
                            .note(n.left->range,
                                  fmt::format("the body of this reduction ends before `{0}`; parentheses around all "
                                              "of it would make this a part: sum(k in 0..8) (a(k) {0} k)",
                                              ir::name(n.op)));
                        return poison();
                    }
                }
                const Value left = eval_operand(n.left, env);
                const Value right = eval_operand(n.right, env);
                return arithmetic(n.op, left, right, n.left->range, n.right->range, e->range, n.op_range);
            },
            [&](const ast::Comparison& n) { return eval_comparison(e, n, env); },
            [&](const ast::If& n) { return eval_if(e, n.cond, n.then, n.otherwise, env); },
            [&](const ast::Let& n) { return eval_let(n, env); },
            [&](const ast::Reduce& n) { return eval_reduce(e, n, env); },
        },
        e->value);
}

Value Elaborator::eval_name(const std::string& name, SourceRange range, const Env& env,
                            std::optional<std::size_t> arguments) {
    if (Symbol* symbol = find(env.scope, name, range, arguments)) return use(symbol, range);
    if (std::ranges::find(builtin_names(), name) != builtin_names().end()) {
        report(diag::NotAValue, range, "a function").note("call it: " + name + "(...)");
        return poison();
    }
    unknown_name(env.scope, name, range);
    return poison();
}

Value Elaborator::use(Symbol* symbol, SourceRange range) {
    symbol->used = true;
    Value value = demand(symbol, range);
    const auto* scalar = value.as<Scalar>();
    if (scalar == nullptr) return value;
    // A variable has one binder, so a value with binders of its own is bound once, not copied to each use.
    if (symbol->let < 0 && contents_.of(scalar->expr).binders) bind_once(*symbol);
    if (symbol->let >= 0) {
        // A copy for each use would double with each let that is made of the one before.
        const bool has_binders = scalar->exact && contents_.of(scalar->exact).binders;
        return {Scalar{ir::variable(symbol->let, scalar->expr->type, range), has_binders ? nullptr : scalar->exact}};
    }
    // What is printed about a use points at the use: a leaf takes its place.
    return {
        Scalar{std::visit(overloaded{
                              [&](const ir::Variable& v) { return ir::variable(v.id, scalar->expr->type, range); },
                              [&](const ir::SizeRef& s) { return ir::size_ref(s.index, range); },
                              [&](const ir::ParamRef& p) { return ir::param_ref(p.index, scalar->expr->type, range); },
                              [&](const auto&) { return scalar->expr; },
                          },
                          scalar->expr->value)}};
}

Value Elaborator::operand(Value value, SourceRange range, const Env& env) {
    if (const auto* image = value.as<Image>()) {
        if (env.point != nullptr && image->source == kSelf) {
            report_cycle(in_progress_.back(), range);
            return poison();
        }
        if (env.point != nullptr && image->rank > 0) return read_at_point(*image, range, *env.point);
        const std::string source = text(range);
        std::string example = example_indices(image->rank);
        const bool of_one = image->source.kind == ir::Source::Kind::Input && image->rank == 1 &&
                            ir::as_int(p_.inputs[static_cast<std::size_t>(image->source.index)].extents[0]) == 1;
        if (of_one) example = "0";
        const bool named = source.size() <= 40 && source.find_first_of(" (\n") == std::string::npos;
        const bool shown =
            named || (source.size() <= 40 && source.ends_with(')') && source.find('\n') == std::string::npos);
        Report r = report(diag::BareImage, range, shown ? source : "this",
                          example.empty() ? "an image of one value; read it" : "an image; read a point of it",
                          fmt::format("{}({})", shown ? source : "f", example));
        if (example.empty()) r.suggest({range.file, range.end, range.end}, "()");
        if (of_one && named) {
            r.note(fmt::format("one number is passed as a parameter: `{}: {}`", source, ir::name(image->type)));
        }
        return poison();
    }
    if (value.is<Table>()) return map_elements(value, [&](const Value& e) { return operand(e, range, env); });
    if (const auto* array = value.as<Array>()) {
        report(diag::NotAValue, range, "a stage array")
            .note(fmt::format("take an element of it: {}[0]", array->array->name));
        return poison();
    }
    if (const auto* function = value.as<Function>()) {
        report(diag::NotAValue, range, "a function")
            .note(function->fn->name.range, fmt::format("`{}` is defined here", function->fn->name.text));
        return poison();
    }
    return value;
}

ir::Expr Elaborator::scalar(const ast::Expr& e, const Env& env) {
    return typed(eval_operand(e, env), e->range);
}

ir::Expr Elaborator::condition(const ast::Expr& e, const Env& env) {
    return condition_of(eval_operand(e, env), e->range);
}

ir::Expr Elaborator::condition_of(const Value& value, SourceRange range) {
    if (value.is<Poison>()) return nullptr;
    const auto* s = value.as<Scalar>();
    if (s != nullptr && s->expr->type == ir::Type::Bool) return s->expr;
    Report r = report(diag::ConditionType, range, describe(value));
    if (s != nullptr) r.suggest({range.file, range.end, range.end}, " != 0");
    if (value.is<Table>()) r.note("of a table `c` of conditions, `c[0] and c[1]` is one, or an element `c[0]`");
    return nullptr;
}

Value Elaborator::index_value(const ast::Expr& e, const Env& env) {
    const bool outer = std::exchange(in_index_, true);
    Value value = eval_operand(e, env);
    in_index_ = outer;
    return value;
}

ir::Expr Elaborator::bound_expr(const ast::Expr& e, const Env& env) {
    return convert(index_value(e, env), ir::Type::Int32, e->range, "a bound");
}

ir::Expr Elaborator::index_expr(const ast::Expr& e, const Env& env, const ast::Call* read) {
    const Value value = index_value(e, env);
    if (read != nullptr && says_as_function(*read, value, e->range, env)) return nullptr;
    const auto* scalar = value.as<Scalar>();
    const bool wide = scalar != nullptr && ir::is_int(scalar->expr->type) &&
                      !ir::converts_implicitly(scalar->expr->type, ir::Type::Int32);
    return wide ? fold_cast(ir::Type::Int32, scalar->expr, true, e->range)
                : convert(value, ir::Type::Int32, e->range, "an index");
}

Value Elaborator::eval_table(const ast::TableLiteral& table, const Env& env) {
    std::vector<Value> elements;
    for (const ast::Expr& element : table.elements) {
        // In a whole-image expression an image stays one, until an operator meets it.
        Value value = eval(element, env);
        const bool image = value.is<Image>() && env.point != nullptr;
        elements.push_back(image ? std::move(value) : operand(std::move(value), element->range, env));
        if (elements.back().is<Poison>()) return poison();
    }
    const auto first = elements.empty() ? std::nullopt : table_shape(elements[0]);
    for (std::size_t i = 1; i < elements.size(); ++i) {
        if (table_shape(elements[i]) == first) continue;
        report(diag::TableShape, table.elements[i]->range).note(table.elements[0]->range, "the first row is here");
        return poison();
    }
    if (elements.empty()) return poison();  // a syntax error
    return make_table(std::move(elements));
}

Value Elaborator::array_element(Array array, std::int64_t index, SourceRange range) {
    array.indices.push_back(index);
    const auto& elements = array.array->elements;
    if (elements.empty()) return poison();
    if (array.indices.size() < elements.begin()->first.size()) return {array};
    if (const auto found = elements.find(array.indices); found != elements.end()) return use(found->second, range);
    if (files_.reported.contains(place_of(diag::UndefinedElement, range))) {
        failed_ = true;
        return poison();
    }
    const auto label = [&](const std::vector<std::int64_t>& indices) {
        std::string result = array.array->name;
        for (const std::int64_t i : indices) result += fmt::format("[{}]", i);
        return result;
    };
    std::string defined;
    std::size_t listed = 0;
    for (auto it = elements.begin(); it != elements.end(); ++listed) {
        if (listed == 6) {
            defined += ", ...";
            break;
        }
        // A run of consecutive last indices is written g[0]..g[4].
        auto last = it;
        for (auto next = std::next(it); next != elements.end(); last = next++) {
            std::vector<std::int64_t> expected = last->first;
            ++expected.back();
            if (next->first != expected) break;
        }
        if (!defined.empty()) defined += ", ";
        defined += label(it->first);
        if (last != it) defined += (last == std::next(it) ? ", " : "..") + label(last->first);
        it = std::next(last);
    }
    report(diag::UndefinedElement, range, label(array.indices), defined)
        .note(array.array->range, "the first definition of an element is here");
    return poison();
}

Value Elaborator::eval_logical(const ast::Expr& e, const ast::Binary& binary, const Env& env) {
    const auto decides = [&](const ir::Expr& side) {
        const auto constant = ir::as_int(side);
        return constant && (*constant != 0) == (binary.op == ir::BinaryOp::Or);
    };
    const Value left = eval_operand(binary.left, env);
    const auto* scalar = left.as<Scalar>();
    if (scalar != nullptr && scalar->expr->type == ir::Type::Bool && decides(scalar->expr)) return left;
    const Value right = eval_operand(binary.right, env);
    const std::vector<SourceRange> ranges{binary.left->range, binary.right->range};
    return element_by_element({left, right}, ranges, e->range, [&](const std::vector<Value>& sides) -> Value {
        const ir::Expr a = condition_of(sides[0], ranges[0]), b = condition_of(sides[1], ranges[1]);
        if (!a || !b) return poison();
        return {Scalar{decides(a) ? a : ir::binary(binary.op, a, b, e->range)}};
    });
}

/// Uses of the same lets at another place.
static Value used_again(const Value& value, SourceRange range) {
    if (value.is<Table>()) return map_elements(value, [&](const Value& e) { return used_again(e, range); });
    const auto* scalar = value.as<Scalar>();
    const auto* variable = scalar == nullptr ? nullptr : ir::as<ir::Variable>(scalar->expr);
    return variable == nullptr ? value : Value{Scalar{ir::variable(variable->id, scalar->expr->type, range)}};
}

Value Elaborator::eval_comparison(const ast::Expr& e, const ast::Comparison& comparison, const Env& env) {
    Scope* scope = files_.new_scope(Scope::Kind::Expression, env.scope);
    std::vector<Symbol*> shared;
    std::vector<Value> values;
    for (std::size_t i = 0; i < comparison.operands.size(); ++i) {
        values.push_back(eval_operand(comparison.operands[i], env));
        if (values.back().is<Poison>()) return poison();
        // An operand between two comparisons is evaluated once.
        if (i == 0 || i + 1 == comparison.operands.size()) continue;
        const SourceRange range = comparison.operands[i]->range;
        const std::function<Value(const Value&)> share = [&](const Value& value) {
            if (value.is<Table>()) return map_elements(value, share);
            if (!value.is<Scalar>()) return value;
            Symbol* symbol = files_.new_symbol("middle", range, Symbol::Kind::Value);
            symbol->scope = scope;
            symbol->value = value;
            bind_once(*symbol);
            shared.push_back(symbol);
            return use(symbol, range);
        };
        values.back() = share(values.back());
    }
    Value result;
    for (std::size_t i = 0; i < comparison.ops.size(); ++i) {
        const SourceRange left = comparison.operands[i]->range;
        const SourceRange right = comparison.operands[i + 1]->range;
        Value link = compare(comparison.ops[i], i == 0 ? values[i] : used_again(values[i], left), values[i + 1], left,
                             right, join(left, right));
        if (link.is<Poison>()) return poison();
        if (i == 0) {
            result = std::move(link);
            continue;
        }
        const SourceRange before = join(comparison.operands[0]->range, left);
        result = element_by_element(
            {result, std::move(link)}, {before, join(left, right)}, e->range, [&](const std::vector<Value>& both) {
                return Value{Scalar{
                    ir::binary(ir::BinaryOp::And, both[0].as<Scalar>()->expr, both[1].as<Scalar>()->expr, e->range)}};
            });
        if (result.is<Poison>()) return poison();
    }
    return wrap_lets(result, shared);
}

Value Elaborator::eval_if(const ast::Expr& e, const ast::Expr& cond, const ast::Expr& then, const ast::Expr& otherwise,
                          const Env& env) {
    const Value c = eval_operand(cond, env.wanting(std::nullopt));
    if (!c.is<Table>()) {
        const ir::Expr one = condition_of(c, cond->range);
        if (!one) return poison();
        if (const auto constant = ir::as_int(one)) {
            if (*constant != 0) return eval(then, env);
            if (otherwise) return eval(otherwise, env);
            report(diag::NoBranch, cond->range);
            return poison();
        }
    }
    std::vector<Value> branches{eval_operand(then, env)};
    std::vector<SourceRange> ranges{then->range};
    if (otherwise) {
        branches.push_back(eval_operand(otherwise, env));
        ranges.push_back(otherwise->range);
    }
    return choose(c, cond->range, std::move(branches), ranges, e->range, env);
}

Value Elaborator::choose(const Value& condition, SourceRange at, std::vector<Value> branches,
                         const std::vector<SourceRange>& ranges, SourceRange range, const Env& env) {
    std::vector<Value> values{condition};
    std::vector<SourceRange> places{at};
    values.insert(values.end(), branches.begin(), branches.end());
    places.insert(places.end(), ranges.begin(), ranges.end());
    return element_by_element(std::move(values), places, range, [&](std::vector<Value> row) -> Value {
        const ir::Expr c = condition_of(row[0], at);
        if (!c) return poison();
        row.erase(row.begin());
        const auto constant = ir::as_int(c);
        if (!constant) return choose_number(c, std::move(row), ranges, range, env);
        // An element of a table of conditions.
        const std::size_t taken = *constant != 0 ? 0 : 1;
        if (taken < row.size()) return row[taken];
        report(diag::NoBranch, at);
        return poison();
    });
}

Value Elaborator::choose_number(const ir::Expr& condition, std::vector<Value> branches,
                                const std::vector<SourceRange>& ranges, SourceRange range, const Env& env) {
    std::vector<ir::Expr> wide;
    for (const Value& branch : branches) wide.push_back(exact(branch));
    wide.resize(2);
    if (!adapt_branches(branches, ranges, env) || !unify(branches, ranges, range)) return poison();
    const auto expr = [&](std::size_t i) { return i < branches.size() ? branches[i].as<Scalar>()->expr : nullptr; };
    const ir::Expr chosen = ir::select(condition, expr(0), expr(1), range);
    const bool is_exact = chosen->type == ir::Type::Float32 && wide[0] && (wide[1] || branches.size() == 1);
    return {Scalar{chosen, is_exact ? ir::select(condition, wide[0], wide[1], range) : nullptr}};
}

/// Integers of two types that both convert to the wanted one, while the type that they meet in does not.
static bool are_narrower(const std::vector<Value>& branches, ir::Type wanted) {
    if (branches.size() != 2) return false;
    const auto *a = branches[0].as<Scalar>(), *b = branches[1].as<Scalar>();
    if (a == nullptr || b == nullptr || a->expr->type == b->expr->type) return false;
    if (!ir::is_int(a->expr->type) || !ir::is_int(b->expr->type)) return false;
    const auto common = ir::common_type(a->expr->type, b->expr->type);
    return ir::converts_implicitly(a->expr->type, wanted) && ir::converts_implicitly(b->expr->type, wanted) &&
           (!common || !ir::converts_implicitly(*common, wanted));
}

bool Elaborator::adapt_branches(std::vector<Value>& branches, const std::vector<SourceRange>& ranges, const Env& env) {
    const auto is = [](const Value& value, std::optional<ir::Type> type) {
        const auto* scalar = value.as<Scalar>();
        return scalar != nullptr && scalar->expr->type == type;
    };
    const bool bools = std::ranges::any_of(branches, [&](const Value& b) { return is(b, ir::Type::Bool); });
    // A branch with a type of its own that is not the wanted one decides: the `if` is converted as a whole. Where the
    // integers' common type does not convert, as int32 of a uint8 and a uint16 does not to uint16, each of them may.
    const bool wanted =
        env.wanted && *env.wanted != ir::Type::Bool &&
        (std::ranges::all_of(branches, [&](const Value& b) { return is_untyped(b) || is(b, env.wanted); }) ||
         are_narrower(branches, *env.wanted));
    for (std::size_t i = 0; i < branches.size(); ++i) {
        const auto* integer = branches[i].as<UntypedInt>();
        if (bools && integer != nullptr && (integer->value == 0 || integer->value == 1)) {
            branches[i] = {Scalar{ir::bool_constant(integer->value == 1, ranges[i])}};
        } else if (wanted && !is(branches[i], env.wanted)) {
            const ir::Expr converted = convert(branches[i], *env.wanted, ranges[i], "a branch");
            if (!converted) return false;
            branches[i] = {Scalar{converted}};
        }
    }
    return true;
}

Value Elaborator::eval_let(const ast::Let& let, const Env& env) {
    Env inner = env.wanting(std::nullopt);
    std::vector<Symbol*> symbols;
    Value whole;  // of the names in brackets
    for (const ast::LetBinding& binding : let.bindings) {
        if (binding.element == 0) whole = eval(binding.value, inner);
        Value value = binding.of == 0 ? whole : element_of(whole, binding);
        if (binding.of > 0 && value.is<Poison>()) return poison();
        if (value.is<Function>()) value = operand(std::move(value), binding.value->range, inner);
        inner.scope = files_.new_scope(Scope::Kind::Expression, inner.scope);
        Symbol* symbol = bind(inner.scope, binding.name, std::move(value));
        if (symbol == nullptr) return poison();
        bind_once(*symbol);
        symbols.push_back(symbol);
    }
    return wrap_lets(eval(let.body, inner.wanting(env.wanted)), symbols);
}

void Elaborator::bind_once(Symbol& symbol) {
    const auto* scalar = symbol.value.as<Scalar>();
    if (scalar == nullptr || is_trivial(scalar->expr)) return;
    symbol.let = ir::new_variable(p_, symbol.name, scalar->expr->type, symbol.range);
    let_values_[symbol.let] = scalar->expr;
}

Value Elaborator::wrap_lets(Value body, const std::vector<Symbol*>& symbols) {
    if (body.is<Table>()) {
        const std::function<Value(const Value&)> closed = [&](const Value& e) -> Value {
            if (e.is<Table>()) return map_elements(e, closed);
            const auto* s = e.as<Scalar>();
            return s == nullptr ? e : Value{Scalar{close_over_lets(s->expr)}};
        };
        return map_elements(body, closed);
    }
    const auto* scalar = body.as<Scalar>();
    if (scalar == nullptr) return body;
    const bool any = std::ranges::any_of(symbols, [](const Symbol* s) { return s->let >= 0; });
    if (!any) return body;
    const auto wrapped = [&](ir::Expr result) {
        const std::vector<ir::VarId> in_body = free_variables(result);
        std::set<ir::VarId> free(in_body.begin(), in_body.end());
        for (auto it = symbols.rbegin(); it != symbols.rend(); ++it) {
            const ir::VarId var = (*it)->let;
            if (var < 0 || free.erase(var) == 0) continue;
            const ir::Expr& value = let_values_.at(var);
            result = ir::let(var, value, result, result->range);
            for (const ir::VarId used : free_variables(value)) free.insert(used);
        }
        return result;
    };
    // Both may be used, each with variables of its own.
    return {Scalar{wrapped(scalar->expr), scalar->exact ? rename_binders(p_, wrapped(scalar->exact)) : nullptr}};
}

ir::Expr Elaborator::close_over_lets(ir::Expr e) {
    struct Bound {
        ir::VarId var, fresh;
        ir::Expr value;
        bool once;
    };
    std::set<ir::VarId> needed;  // lets that are used and not bound yet
    std::unordered_map<ir::VarId, int> uses;
    std::unordered_set<const ir::Node*> seen;
    bool loops = false;
    const auto count = [&](const ir::Expr& part) {
        for (const ir::VarId v : free_variables(part)) {
            if (let_values_.contains(v)) needed.insert(v);
        }
        if (needed.empty()) return;
        ir::for_each_node(part, [&](const ir::Expr& node) {
            if (!seen.insert(node.get()).second) return;
            if (const auto* v = ir::as<ir::Variable>(node)) ++uses[v->id];
            loops = loops || ir::as<ir::Reduce>(node) != nullptr;
        });
    };
    count(e);
    // Variables have ascending ids, and a let's value uses only earlier ones: the greatest goes innermost.
    std::vector<Bound> bound;
    while (!needed.empty()) {
        const ir::VarId var = *needed.rbegin();
        needed.erase(var);
        const ir::Expr value = rename_binders(p_, let_values_.at(var));
        const bool once = uses[var] == 1 && !loops;  // in a loop it would be computed in each iteration
        const ir::VariableInfo info = p_.variables[static_cast<std::size_t>(var)];
        const ir::VarId fresh = once ? var : ir::new_variable(p_, info.name, info.type, info.range);
        bound.push_back({var, fresh, value, once});
        count(value);
    }
    std::map<ir::VarId, ir::Expr> replaced;
    for (auto it = bound.rbegin(); it != bound.rend(); ++it) {
        it->value = ir::substitute(it->value, replaced);
        const ir::VariableInfo& info = p_.variables[static_cast<std::size_t>(it->fresh)];
        replaced[it->var] = it->once ? it->value : ir::variable(it->fresh, info.type, info.range);
    }
    if (!bound.empty()) e = ir::substitute(e, replaced);
    for (const Bound& b : bound) {
        if (!b.once) e = ir::let(b.fresh, b.value, e, e->range);
    }
    return e;
}

}  // namespace pipec::elab
