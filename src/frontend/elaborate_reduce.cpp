// Reductions. Ranges with few constant points are unrolled, the variables being constants in each term; all others are
// loops. Of reductions in each other, whose terms multiply, the inner ones are unrolled first. See docs/language.md,
// "Expressions".
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "frontend/elaborate_fold.h"
#include "frontend/elaborate_syntax.h"
#include "frontend/elaborator.h"
#include "ir/build.h"
#include "ir/parameter_sizes.h"
#include "ir/reduction.h"
#include "ir/visit.h"

namespace pipec::elab {

namespace {

/// A term that is 0 because of a constant factor 0. `seen` are factors that are not 0: a factor may stand in many.
bool is_zero_term(const ir::Expr& e, std::unordered_set<const ir::Node*>& seen) {
    if (const auto i = ir::as_int(e)) return *i == 0;
    if (const auto* f = ir::as<ir::FloatConstant>(e)) return f->value == 0;
    if (!seen.insert(e.get()).second) return false;
    if (const auto* c = ir::as<ir::Cast>(e)) return is_zero_term(c->a, seen);
    if (const auto* u = ir::as<ir::Unary>(e)) return u->op == ir::UnaryOp::Neg && is_zero_term(u->a, seen);
    if (const auto* l = ir::as<ir::Let>(e)) return is_zero_term(l->body, seen);
    if (const auto* b = ir::as<ir::Binary>(e)) {
        if (b->op == ir::BinaryOp::Mul) return is_zero_term(b->a, seen) || is_zero_term(b->b, seen);
        if (b->op == ir::BinaryOp::Div) return is_zero_term(b->a, seen);
    }
    return false;
}

/// Folds from left to right; more than kBlock terms in blocks of that many, so that the tree stays shallow.
ir::Expr fold_terms(ir::BinaryOp op, std::vector<ir::Expr> terms, SourceRange range) {
    constexpr std::size_t kBlock = 64;
    while (terms.size() > 1) {
        std::vector<ir::Expr> sums;
        for (std::size_t i = 0; i < terms.size(); i += kBlock) {
            ir::Expr sum = terms[i];
            for (std::size_t j = i + 1; j < std::min(i + kBlock, terms.size()); ++j) {
                sum = fold_binary(op, sum, terms[j], range);
            }
            sums.push_back(sum);
        }
        terms = std::move(sums);
    }
    return terms[0];
}

/// The nodes of values, each shared one once, and whether a loop is among them.
class TermSize {
public:
    void add(const Value& value) {
        if (const auto* scalar = value.as<Scalar>()) return add(scalar->expr);
        if (const auto* table = value.as<Table>()) {
            for (const Value& element : *table->elements) add(element);
        }
    }
    [[nodiscard]] std::size_t nodes() const { return seen_.size(); }
    [[nodiscard]] bool has_loop() const { return loop_; }

private:
    void add(const ir::Expr& root) {
        std::vector<ir::Expr> left{root};
        while (!left.empty()) {
            const ir::Expr e = std::move(left.back());
            left.pop_back();
            if (!e || !seen_.insert(e.get()).second) continue;
            loop_ = loop_ || ir::as<ir::Reduce>(e) != nullptr;
            ir::for_each_child(*e, [&](const ir::Expr& child) { left.push_back(child); });
        }
    }
    std::unordered_set<const ir::Node*> seen_;
    bool loop_ = false;
};

}  // namespace

void Elaborator::note_half_open(const ast::Range& range) {
    const auto* lo = std::get_if<ast::Unary>(&range.lo->value);
    if (range.inclusive || lo == nullptr || lo->op != ir::UnaryOp::Neg) return;
    const std::string first = text(range.lo->range), last = text(range.hi->range);
    if (text(lo->operand->range) != last) return;
    const auto* number = std::get_if<ast::IntLiteral>(&range.hi->value);
    report(diag::HalfOpenRange, range.range, text(range.range), last)
        .suggest(range.range, fmt::format("{}..={}", first, last))
        .note(fmt::format("`..` leaves its end out, `..=` holds it; `{}..={}` says that it is meant", first,
                          number ? std::to_string(number->value - 1) : last + " - 1"));
}

Value Elaborator::eval_reduce(const ast::Expr& e, const ast::Reduce& reduce, const Env& env) {
    for (const ast::IndexRange& r : reduce.ranges) note_half_open(r.range);
    bool too_many = false;
    const auto points = constant_points(reduce, env, too_many);
    std::set<std::string> names;
    for (const ast::IndexRange& r : reduce.ranges) names.insert(r.name.text);
    const auto loop = [&] {
        auto partly = reduce_partly_unrolled(e, reduce, env);
        return partly ? std::move(*partly) : reduce_loop(e, reduce, env);
    };
    if (!points && !too_many) {
        Value result = loop();
        note_divided_terms(e, reduce, names, result);
        return result;
    }
    std::set<std::pair<const ast::ExprNode*, std::set<std::string>>> bodies;
    const bool needed = indexes_with(reduce.body, names, env.scope, bodies);
    if (too_many && needed) {
        report(diag::ReductionTooLarge, join(reduce.ranges.front().range.range, reduce.ranges.back().range.range),
               kUnrollMost)
            .note("it is unrolled because its body takes elements of a table or stage array by its variables");
        return poison();
    }
    if (!too_many && points->empty() && needed) {
        // Without terms there is no index that has to be a constant.
        if (reduce.op == ir::ReduceOp::Sum) return {UntypedInt{0}};
        if (reduce.op == ir::ReduceOp::Prod) return {UntypedInt{1}};
        if (reduce.op == ir::ReduceOp::Any) return {Scalar{ir::bool_constant(false, e->range)}};
        if (reduce.op == ir::ReduceOp::All) return {Scalar{ir::bool_constant(true, e->range)}};
    }
    if (too_many || points->empty()) return loop();
    auto unrolled = reduce_unrolled(e, reduce, *points, env, needed ? SIZE_MAX : kUnrollAlways);
    Value result = unrolled ? std::move(*unrolled) : loop();
    note_divided_terms(e, reduce, names, result);
    return result;
}

void Elaborator::note_divided_terms(const ast::Expr& e, const ast::Reduce& reduce, const std::set<std::string>& names,
                                    const Value& result) {
    const auto* scalar = result.as<Scalar>();
    const auto* quotient = std::get_if<ast::Binary>(&reduce.body->value);
    if (reduce.op != ir::ReduceOp::Sum || scalar == nullptr || !ir::is_int(scalar->expr->type)) return;
    if (quotient == nullptr || quotient->op != ir::BinaryOp::Div || mentions(quotient->right, names)) return;
    // Parentheses around the quotient say that it is meant.
    const SourceRange body = reduce.body->range, left = quotient->left->range;
    const std::string_view source = files_.sources.text(body.file);
    const std::size_t before = source.substr(0, body.begin).find_last_not_of(" \t\n");
    if (body.begin < left.begin || (before != std::string_view::npos && source[before] == '(')) return;
    const std::string divisor = text(quotient->right->range), sum = text({e->range.file, e->range.begin, left.end});
    constexpr std::size_t kLong = 100;
    Report r = report(diag::DividedTerms, body);
    if (sum.size() + divisor.size() <= kLong && sum.find('\n') == std::string::npos) {
        r.suggest(e->range, fmt::format("({}) / {}", sum, divisor));
    }
    r.note(
        "parentheses around the sum divide it once, and with `float32(...)` around its body the mean keeps its "
        "fraction; parentheses around the body say that it is meant");
}

std::optional<std::vector<std::vector<std::int64_t>>> Elaborator::constant_points(const ast::Reduce& reduce,
                                                                                  const Env& env, bool& too_many) {
    std::vector<std::vector<std::int64_t>> points;
    std::vector<std::int64_t> point;
    // False: a bound is no constant, or there are too many.
    const std::function<bool(std::size_t, const Env&)> level = [&](std::size_t n, const Env& at) {
        if (n == reduce.ranges.size()) {
            points.push_back(point);
            too_many = points.size() > kUnrollMost;
            return !too_many;
        }
        const ast::IndexRange& r = reduce.ranges[n];
        const auto lo = constant_int(eval_operand(r.range.lo, at));
        const auto hi = constant_int(eval_operand(r.range.hi, at));
        if (!lo || !hi || *lo < INT32_MIN || *hi > INT32_MAX) return false;
        const std::int64_t last = static_cast<std::int64_t>(*hi) - (r.range.inclusive ? 0 : 1);
        for (std::int64_t i = static_cast<std::int64_t>(*lo); i <= last; ++i) {
            const Env inner = with_constant(at, r.name, i);
            if (inner.scope == nullptr) return false;
            point.push_back(i);
            const bool ok = level(n + 1, inner);
            point.pop_back();
            if (!ok) return false;
        }
        return true;
    };
    if (!level(0, env)) return std::nullopt;
    return points;
}

Env Elaborator::with_constant(const Env& env, const ast::Name& name, std::int64_t value) {
    Env inner = env;
    inner.scope = files_.new_scope(Scope::Kind::Expression, env.scope);
    const Value constant{Scalar{ir::int_constant(ir::Type::Int32, value, name.range)}};
    if (bind(inner.scope, name, constant) == nullptr) inner.scope = nullptr;
    return inner;
}

bool Elaborator::indexes_with(const ast::Expr& e, const std::set<std::string>& names, const Scope* scope,
                              std::set<std::pair<const ast::ExprNode*, std::set<std::string>>>& bodies) {
    if (const auto* index = std::get_if<ast::Index>(&e->value); index != nullptr && mentions(index->index, names)) {
        return true;
    }
    if (const auto* let = std::get_if<ast::Let>(&e->value)) {
        std::set<std::string> inner = names;
        for (const ast::LetBinding& b : let->bindings) {
            if (indexes_with(b.value, inner, scope, bodies)) return true;
            if (mentions(b.value, inner)) inner.insert(b.name.text);
        }
        return indexes_with(let->body, inner, scope, bodies);
    }
    if (const auto* call = std::get_if<ast::Call>(&e->value)) {
        const auto* ref = std::get_if<ast::NameRef>(&call->callee->value);
        Symbol* symbol = ref == nullptr ? nullptr : find(scope, ref->name, call->callee->range);
        if (symbol != nullptr && symbol->kind == Symbol::Kind::Function) {
            // A function that takes an element of a table by a parameter that depends on these variables.
            const Function& function = *symbol->value.as<Function>();
            const auto* body = std::get_if<ast::Expr>(&function.fn->body);
            std::set<std::string> params;
            for (std::size_t i = 0; i < std::min(call->args.size(), function.fn->params.size()); ++i) {
                if (mentions(call->args[i], names)) params.insert(function.fn->params[i].name.text);
            }
            if (params.empty()) return false;
            // A stage function's arguments must not depend on index variables, so they must become constants.
            if (body == nullptr) return true;
            const bool first = bodies.emplace(body->get(), params).second;
            if (first && indexes_with(*body, params, function.home, bodies)) return true;
        }
    }
    const std::vector<ast::Expr> operands = children(e);
    return std::ranges::any_of(operands,
                               [&](const ast::Expr& x) { return x && indexes_with(x, names, scope, bodies); });
}

std::optional<ir::Range> Elaborator::loop_range(const ast::IndexRange& r, Env& env) {
    ir::Expr lo = bound_expr(r.range.lo, env);
    ir::Expr hi = bound_expr(r.range.hi, env);
    if (!lo || !hi) return std::nullopt;
    lo = without_reads_of_places(close_over_lets(lo));
    hi = without_reads_of_places(close_over_lets(hi));
    for (const auto& [bound, at] : {std::pair{&lo, r.range.lo}, std::pair{&hi, r.range.hi}}) {
        const bool reads = contents_.of(*bound).reads;
        if (!reads && contents_.of(*bound).params) *bound = ir::parameters_as_sizes(p_, *bound, true);
        if (!reads && !contents_.of(*bound).params) continue;
        report(diag::LoopBound, at->range, reads ? "data" : "a parameter that is no int32")
            .note("a bound can use sizes, parameters of type int32, index variables and constants")
            .note(
                reads
                    ? "go up to the greatest value, and leave out terms: sum(i in 0..16) (if i < n(y, x) then i else 0)"
                    : "use a constant that is large enough for all its values (a function may take it as an argument), "
                      "or declare the parameter as int32, and bound it in `where`");
        return std::nullopt;
    }
    if (r.range.inclusive) hi = ir::binary(ir::BinaryOp::Add, hi, ir::int_constant(ir::Type::Int32, 1), hi->range);
    const ir::VarId var = ir::new_variable(p_, r.name.text, ir::Type::Int32, r.name.range);
    index_variables_[var] = r.name.range;
    env.scope = files_.new_scope(Scope::Kind::Expression, env.scope);
    if (bind(env.scope, r.name, {Scalar{ir::variable(var, ir::Type::Int32, r.name.range)}}) == nullptr) {
        return std::nullopt;
    }
    return ir::Range{var, std::move(lo), std::move(hi)};
}

ir::Expr Elaborator::truth(const Value& value, SourceRange range) {
    const auto* s = value.as<Scalar>();
    if (s != nullptr && s->expr->type == ir::Type::Bool) return s->expr;
    if (!value.is<Poison>()) {
        report(diag::ConditionType, range, describe(value))
            .note(
                fmt::format("the body of a reduction ends before a comparison: any(i in 0..3) ({} > 0)", text(range)));
    }
    return nullptr;
}

Value Elaborator::reduce_loop(const ast::Expr& e, const ast::Reduce& reduce, const Env& env) {
    Env inner = env;
    std::vector<ir::Range> ranges;
    for (const ast::IndexRange& r : reduce.ranges) {
        auto range = loop_range(r, inner);
        if (!range) return poison();
        ranges.push_back(std::move(*range));
    }
    const Value value = eval_operand(reduce.body, inner);
    if (value.is<Poison>()) return poison();
    if (ir::gives_place(reduce.op)) {
        for (const ir::Range& range : ranges) {
            for (const ir::VarId used : free_variables(ir::binary(ir::BinaryOp::Add, range.lo, range.hi))) {
                if (std::ranges::none_of(ranges, [&](const ir::Range& r) { return r.var == used; })) continue;
                report(diag::PlaceBounds, e->range, std::string(ir::name(reduce.op)),
                       p_.variables[static_cast<std::size_t>(used)].name)
                    .note("`if` in the body can leave out points: if condition then value else infinity");
                return poison();
            }
        }
    }
    return reduce_values(e, reduce, ranges, value);
}

std::optional<Value> Elaborator::reduce_partly_unrolled(const ast::Expr& e, const ast::Reduce& reduce, const Env& env) {
    if (reduce.ranges.size() < 2 || ir::gives_place(reduce.op)) return std::nullopt;
    const ast::IndexRange& first = reduce.ranges.front();
    const auto is_long = [&](const ast::Range& range) {
        const auto lo = constant_int(eval_operand(range.lo, env)), hi = constant_int(eval_operand(range.hi, env));
        return !lo || !hi || *hi - *lo + (range.inclusive ? 1 : 0) >= kLongRange;
    };
    ast::Reduce others = reduce;
    others.ranges.erase(others.ranges.begin());
    std::set<std::string> names;
    for (const ast::IndexRange& r : reduce.ranges) names.insert(r.name.text);
    for (const ast::IndexRange& r : others.ranges) {
        if (mentions(r.range.lo, names) || mentions(r.range.hi, names) || is_long(r.range)) return std::nullopt;
    }
    bool too_many = false;
    const auto points = constant_points(others, env, too_many);
    if (!is_long(first.range) || !points || points->empty()) return std::nullopt;
    Env inner = env;
    const auto range = loop_range(first, inner);
    if (!range) return poison();
    const auto terms = reduce_unrolled(e, others, *points, inner, kUnrollAlways);
    if (!terms) return std::nullopt;
    return terms->is<Poison>() ? poison() : reduce_values(e, reduce, {*range}, *terms);
}

Value Elaborator::reduce_values(const ast::Expr& e, const ast::Reduce& reduce, const std::vector<ir::Range>& ranges,
                                const Value& value) {
    bool first = true;
    const std::function<Value(const Value&)> reduced = [&](const Value& v) -> Value {
        if (v.is<Table>() && !ir::gives_place(reduce.op)) return map_elements(v, reduced);
        const Value result = reduce_value(e, reduce, ranges, v);
        const auto* scalar = result.as<Scalar>();
        // Each has variables of its own.
        return scalar == nullptr || std::exchange(first, false) ? result
                                                                : Value{Scalar{rename_binders(p_, scalar->expr)}};
    };
    return reduced(value);
}

/// What `op` is of values of this type: false is less than true, so the least bool is whether all of them are true.
static ir::ReduceOp reduction_of(ir::ReduceOp op, const Value& value) {
    if (!is_bool(value)) return op;
    return op == ir::ReduceOp::Min ? ir::ReduceOp::All : op == ir::ReduceOp::Max ? ir::ReduceOp::Any : op;
}

Value Elaborator::reduce_value(const ast::Expr& e, const ast::Reduce& reduce, const std::vector<ir::Range>& ranges,
                               const Value& value) {
    const SourceRange at = reduce.body->range;
    const ir::ReduceOp op = reduction_of(reduce.op, value);
    ir::Expr body;
    if (op == ir::ReduceOp::Any || op == ir::ReduceOp::All) {
        body = truth(value, at);
    } else {
        const bool promote = op == ir::ReduceOp::Sum || op == ir::ReduceOp::Prod;
        const auto type = operator_type(value, value, promote, at, at, at);
        if (type) body = convert(value, *type, at, "a reduction");
    }
    if (!body) return poison();
    if (!ir::gives_place(op)) return {Scalar{ir::reduce_nest(op, ranges, body, e->range)}};
    std::vector<Value> places;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        const ir::Expr place = ir::reduce(op, ranges, body, e->range, static_cast<int>(i));
        places.push_back({Scalar{i == 0 ? place : rename_binders(p_, place)}});
    }
    return places.size() == 1 ? places[0] : make_table(std::move(places));
}

std::optional<Value> Elaborator::reduce_unrolled(const ast::Expr& e, const ast::Reduce& reduce,
                                                 const std::vector<std::vector<std::int64_t>>& points, const Env& env,
                                                 std::size_t most) {
    if (points.size() > most) return std::nullopt;
    std::vector<Value> values;
    std::size_t terms = 0;
    for (const std::vector<std::int64_t>& point : points) {
        std::size_t of_point = 1;
        Env inner = env;
        inner.unrolled = &of_point;
        for (std::size_t i = 0; i < point.size(); ++i) inner = with_constant(inner, reduce.ranges[i].name, point[i]);
        values.push_back(eval_operand(reduce.body, inner));
        if (values.back().is<Poison>()) return poison();
        terms += of_point;
        if (terms > most) return std::nullopt;
    }
    if (most != SIZE_MAX) {
        TermSize size;
        for (const Value& value : values) size.add(value);
        if (size.nodes() > kUnrollNodes || (size.has_loop() && values.size() > kUnrollLoops)) return std::nullopt;
    }
    Value result = ir::gives_place(reduce.op) ? best_place(e, reduce, std::move(values), points)
                                              : fold_values(e, reduce, std::move(values));
    // What is computed at compile time takes no place in the term around it.
    if (env.unrolled != nullptr && !is_constant(result)) *env.unrolled = std::max(*env.unrolled, terms);
    return result;
}

Value Elaborator::best_place(const ast::Expr& e, const ast::Reduce& reduce, std::vector<Value> values,
                             const std::vector<std::vector<std::int64_t>>& points) {
    const SourceRange at = reduce.body->range;
    if (operator_type(values[0], values[0], false, at, at, at) == std::nullopt) return poison();
    if (!unify(values, std::vector<SourceRange>(values.size(), at), at)) return poison();
    struct Best {
        ir::Expr term;
        std::vector<ir::Expr> place;
    };
    const auto at_point = [&](const std::vector<std::int64_t>& point) {
        std::vector<ir::Expr> place;
        for (const std::int64_t i : point) place.push_back(ir::int_constant(ir::Type::Int32, i, e->range));
        return place;
    };
    const ir::BinaryOp better_op = ir::better_op(reduce.op), op = ir::fold_op(reduce.op);
    const auto better_of = [&](const Best& a, const Best& b) {
        const ir::Expr better = fold_binary(better_op, b.term, a.term, e->range);
        Best best{fold_binary(op, a.term, b.term, e->range), {}};
        for (std::size_t i = 0; i < a.place.size(); ++i) {
            const auto known = ir::as_int(better);
            best.place.push_back(known ? (*known != 0 ? b.place[i] : a.place[i])
                                       : ir::select(better, b.place[i], a.place[i], e->range));
        }
        return best;
    };
    // In blocks, so that the tree stays shallow. Each begins with the identity, which no term that counts is equal to.
    constexpr std::size_t kBlock = 64;
    std::vector<Best> blocks;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const ir::Expr& term = values[i].as<Scalar>()->expr;
        if (i % kBlock == 0) blocks.push_back({ir::identity(reduce.op, term->type), at_point(points[i])});
        blocks.back() = better_of(blocks.back(), {term, at_point(points[i])});
    }
    Best best = blocks[0];
    for (std::size_t i = 1; i < blocks.size(); ++i) best = better_of(best, blocks[i]);
    std::vector<Value> places;
    for (const ir::Expr& place : best.place) places.push_back({Scalar{place}});
    return places.size() == 1 ? places[0] : make_table(std::move(places));
}

Value Elaborator::fold_values(const ast::Expr& e, const ast::Reduce& reduce, std::vector<Value> values) {
    const SourceRange at = reduce.body->range;
    const auto table = std::ranges::find_if(values, [](const Value& v) { return v.is<Table>(); });
    if (table != values.end()) {
        // A number stands for a table of it, as in other arithmetic.
        const std::size_t length = table->as<Table>()->elements->size();
        for (Value& value : values) {
            if (!value.is<Table>()) value = make_table(std::vector<Value>(length, value));
        }
        return map_rows(values, std::vector<SourceRange>(values.size(), at), at,
                        [&](std::vector<Value> row) { return fold_values(e, reduce, std::move(row)); });
    }
    const ir::ReduceOp reduction =
        std::ranges::all_of(values, is_bool) ? reduction_of(reduce.op, values[0]) : reduce.op;
    const ir::BinaryOp op = ir::fold_op(reduction);
    std::vector<ir::Expr> terms;
    if (reduction == ir::ReduceOp::Any || reduction == ir::ReduceOp::All) {
        for (const Value& value : values) {
            terms.push_back(truth(value, at));
            if (!terms.back()) return poison();
        }
        return {Scalar{fold_terms(op, std::move(terms), e->range)}};
    }
    if (std::ranges::all_of(values, is_untyped)) {
        Value result = values[0];
        for (std::size_t i = 1; i < values.size() && !result.is<Poison>(); ++i) {
            result = op == ir::BinaryOp::Min || op == ir::BinaryOp::Max
                         ? constant_min_max(op, result, values[i])
                         : constant_arithmetic(op, result, values[i], e->range, false);
        }
        return result;
    }
    if (op == ir::BinaryOp::Min || op == ir::BinaryOp::Max) {
        if (operator_type(values[0], values[0], false, at, at, at) == std::nullopt) return poison();
        if (!unify(values, std::vector<SourceRange>(values.size(), at), at)) return poison();
        for (const Value& value : values) terms.push_back(value.as<Scalar>()->expr);
        return {Scalar{fold_terms(op, std::move(terms), e->range)}};
    }
    // The type in which all terms are added; typed ones first, so that constants adapt to them.
    std::optional<Value> so_far;
    for (const bool untyped : {false, true}) {
        for (const Value& value : values) {
            if (is_untyped(value) != untyped) continue;
            const auto type = operator_type(so_far ? *so_far : value, value, true, at, at, at);
            if (!type) return poison();
            so_far = Value{Scalar{ir::constant(*type, 0)}};
        }
    }
    const ir::Type type = so_far->as<Scalar>()->expr->type;
    std::unordered_set<const ir::Node*> not_zero;
    std::vector<ir::Expr> wide;
    for (const Value& value : values) {
        const ir::Expr term = convert(value, type, at, "a term");
        if (!term) return poison();
        if (op == ir::BinaryOp::Add && is_zero_term(term, not_zero)) continue;
        terms.push_back(term);
        wide.push_back(exact(value));
    }
    if (terms.empty()) return {Scalar{ir::constant(type, 0, e->range)}};
    const bool is_exact = type == ir::Type::Float32 && std::ranges::none_of(wide, std::logical_not<>());
    return {Scalar{fold_terms(op, std::move(terms), e->range),
                   is_exact ? fold_terms(op, std::move(wide), e->range) : nullptr}};
}

}  // namespace pipec::elab
