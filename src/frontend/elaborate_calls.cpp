// What `callee(args)` can be: a read of an image, a call of an expression function, a call of a stage function.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/elaborate_syntax.h"
#include "frontend/elaborator.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::elab {

namespace {

/// The point of a whole-image expression that stands in the one over `outer`, if there is one.
Point inside(const Point* outer) {
    Point point;
    point.outer = outer;
    return point;
}

/// Forgets the bounds that `others` does not share.
void keep_common(Bounds& bounds, const Bounds& others) {
    for (std::size_t i = 0; i < bounds.size(); ++i) {
        auto& [lo, hi] = bounds[i];
        const bool same = lo && others[i].first && ir::structurally_equal(lo, others[i].first) &&
                          ir::structurally_equal(hi, others[i].second);
        if (!same) lo = hi = nullptr;
    }
}

}  // namespace

Value Elaborator::eval_call(const ast::Expr& e, const ast::Call& call, const Env& outer) {
    const Env env = outer.wanting(std::nullopt);
    const auto* name = std::get_if<ast::NameRef>(&call.callee->value);
    const std::size_t arguments = call.args.size();
    if (name != nullptr && find(env.scope, name->name, call.callee->range, arguments) == nullptr &&
        std::ranges::find(builtin_names(), name->name) != builtin_names().end()) {
        return call_builtin(e, name->name, call, name->name == "select" ? outer : env);
    }
    const bool named = name != nullptr || std::holds_alternative<ast::Index>(call.callee->value);
    self_allowed_ = named;
    const Value callee = name != nullptr ? eval_name(name->name, call.callee->range, env, arguments)
                         : named         ? eval(call.callee, env)
                                         : whole_image(call.callee, env);
    self_allowed_ = false;
    if (callee.is<Poison>()) {
        for (const ast::Expr& arg : call.args) {
            // The arguments' own mistakes are worth a report in the same run.
            if (name != nullptr && !std::holds_alternative<ast::SpliceRef>(arg->value)) eval(arg, env);
        }
        return poison();
    }
    if (const auto* image = callee.as<Image>()) return read_image(e, *image, call, env);
    if (callee.is<Table>() && is_image(callee)) {
        const auto indices = read_indices(call, env);
        if (!indices) return poison();
        const std::function<Value(const Value&)> read = [&](const Value& image) {
            return image.is<Table>() ? map_elements(image, read) : read_at(e, *image.as<Image>(), call, *indices);
        };
        return read(callee);
    }
    if (const auto* function = callee.as<Function>()) return call_function(e, *function, call, outer);
    if (const auto* s = callee.as<Scalar>(); s != nullptr && is_over_points(s->expr, env.point)) {
        // In a whole-image expression a scalar over the point is an image that has no stage yet.
        const Value image = image_of(s->expr, inside(env.point), *env.owner + ".arg", call.callee->range);
        return image.is<Image>() ? read_image(e, *image.as<Image>(), call, env) : poison();
    }
    Report r = report(diag::NotCallable, call.callee->range, text(call.callee->range), describe(callee));
    if (name != nullptr) {
        if (const Symbol* symbol = find(env.scope, name->name, call.callee->range, arguments)) {
            r.note(symbol->range, "it is defined here");
            const auto* s = callee.as<Scalar>();
            if (s != nullptr && ir::as<ir::ParamRef>(s->expr) != nullptr) {
                r.note(fmt::format("an image has extents: `{}: {}[{}]`", name->name, ir::name(s->expr->type),
                                   call.args.size() == 2 ? "R, C" : "N"));
            }
        }
    }
    if (callee.is<Table>()) r.note("elements of a table are taken with brackets: t[0]");
    if (callee.is<Array>()) r.note("take an element first: " + callee.as<Array>()->array->name + "[0](y, x)");
    return poison();
}

Value Elaborator::read_image(const ast::Expr& e, const Image& image, const ast::Call& call, const Env& env) {
    auto indices = read_indices(call, env);
    return indices ? read_at(e, image, call, std::move(*indices)) : poison();
}

std::optional<std::vector<ir::Expr>> Elaborator::read_indices(const ast::Call& call, const Env& env) {
    std::vector<ir::Expr> indices;
    bool ok = true;
    for (const ast::Expr& arg : call.args) {
        if (const auto* splice = std::get_if<ast::SpliceRef>(&arg->value)) {
            const std::vector<ir::VarId>* vars = nullptr;
            if (env.splices != nullptr) {
                const auto found = env.splices->find(splice->name);
                if (found != env.splices->end()) vars = &found->second;
            }
            if (vars == nullptr) {
                report(diag::UnknownSplice, arg->range, splice->name)
                    .note(fmt::format("`..{}` must be among the dimensions that the definition names", splice->name));
                ok = false;
                continue;
            }
            for (const ir::VarId var : *vars) indices.push_back(ir::variable(var, ir::Type::Int32, arg->range));
            continue;
        }
        indices.push_back(index_expr(arg, env, &call));
        if (!indices.back() && as_function(call, env)) return std::nullopt;  // said once for all of its arguments
        ok = ok && indices.back();
    }
    return ok ? std::optional(std::move(indices)) : std::nullopt;
}

std::optional<std::string> Elaborator::as_function(const ast::Call& read, const Env& env) {
    constexpr std::size_t kLongBody = 60;
    const auto* callee = std::get_if<ast::NameRef>(&read.callee->value);
    const Symbol* symbol = callee == nullptr ? nullptr : find(env.scope, callee->name, read.callee->range);
    if (symbol == nullptr || symbol->kind != Symbol::Kind::Stage || symbol->output >= 0) return std::nullopt;
    const ast::Definition* stage = symbol->stage;
    if (stage == nullptr || !stage->dims || stage->dims->empty() || stage->type) return std::nullopt;
    std::vector<std::string> parameters;
    for (const ast::DimPattern& dim : *stage->dims) {
        if (dim.splice || dim.range) return std::nullopt;
        parameters.push_back(dim.name.text);
    }
    const std::set<std::string> bound = bound_names(stage->value);
    for (const std::string& name : mentioned_names(stage->value)) {
        if (bound.contains(name) || std::ranges::find(parameters, name) != parameters.end()) continue;
        const Symbol* meant = find(symbol->scope, name, stage->value->range);
        if (meant == nullptr || meant->kind == Symbol::Kind::Const || meant->kind == Symbol::Kind::Function) continue;
        const bool scalar = meant->kind == Symbol::Kind::Parameter || meant->kind == Symbol::Kind::Size;
        if (!scalar) return std::nullopt;
        parameters.push_back(name);
    }
    const std::string body = text(stage->value->range);
    const bool is_short = body.size() <= kLongBody && body.find('\n') == std::string::npos;
    return fmt::format("fn {}({}) = {}", stage->name.text, fmt::join(parameters, ", "), is_short ? body : "...");
}

bool Elaborator::says_as_function(const ast::Call& read, const Value& index, SourceRange range, const Env& env) {
    const auto* scalar = index.as<Scalar>();
    const bool constant = index.is<UntypedFloat>();
    if (!constant && (scalar == nullptr || !ir::is_float(scalar->expr->type))) return false;
    const auto function = as_function(read, env);
    if (!function) return false;
    report(diag::ConversionNeeded, range, "an index", std::string(ir::name(ir::Type::Int32)),
           constant ? "a float constant" : std::string(ir::name(scalar->expr->type)))
        .note(
            fmt::format("`{}` is a stage, which has values at whole points; a function of any value stands outside of "
                        "the pipeline: `{}`",
                        text(read.callee->range), *function));
    return true;
}

Value Elaborator::read_at(const ast::Expr& e, const Image& image, const ast::Call& call,
                          std::vector<ir::Expr> indices) {
    if (indices.size() != image.rank) {
        const SourceRange declared = image.source.kind == ir::Source::Kind::Input
                                         ? p_.inputs[static_cast<std::size_t>(image.source.index)].range
                                     : image.source == kSelf ? in_progress_.back()->range
                                                             : stage_of(image).range;
        const std::string name = text(call.callee->range);
        Report r = report(diag::WrongRank, e->range, name, image.rank, indices.size());
        if (files_.is_standard_library(declared.file)) {
            r.note(fmt::format("a point of it is `{}({})`", name, example_indices(image.rank)));
        } else {
            r.note(declared, "it is defined here");
            if (indices.size() < image.rank) {
                r.note(fmt::format("all indices stand in one pair of parentheses: `{}({})`", name,
                                   example_indices(image.rank)));
            }
        }
        return poison();
    }
    return {Scalar{ir::read(image.source, image.type, std::move(indices), e->range)}};
}

void Elaborator::set_rank(Point& point, std::size_t rank, const Image* like) {
    point.rank = rank;
    for (std::size_t i = 0; i < rank; ++i) {
        ir::VariableInfo info;
        info.name = i < 8 ? std::string(1, "ijklmnop"[i]) : fmt::format("i{}", i);
        if (like != nullptr && like->source.kind == ir::Source::Kind::Stage) {
            info = p_.variables[static_cast<std::size_t>(stage_of(*like).dims[i].var)];
        }
        point.vars.push_back(ir::new_variable(p_, info.name, ir::Type::Int32, info.range));
        index_variables_[point.vars.back()] = point.first;
    }
}

Value Elaborator::read_at_point(const Image& image, SourceRange range, Point& point) {
    if (!point.rank) {
        point.first = range;
        set_rank(point, image.rank, &image);
    } else if (*point.rank != image.rank) {
        report(diag::RankMismatch, range, *point.rank, image.rank)
            .note(point.first, fmt::format("this is of rank {}", *point.rank));
        return poison();
    }
    Bounds bounds = bounds_of(image);
    if (point.bounds) {
        keep_common(*point.bounds, bounds);
    } else {
        point.bounds = std::move(bounds);
    }
    std::vector<ir::Expr> indices;
    for (const ir::VarId var : point.vars) indices.push_back(ir::variable(var, ir::Type::Int32, range));
    return {Scalar{ir::read(image.source, image.type, std::move(indices), range)}};
}

Value Elaborator::call_function(const ast::Expr& e, const Function& function, const ast::Call& call, const Env& env) {
    const ast::Fn& fn = *function.fn;
    const auto required = static_cast<std::size_t>(
        std::ranges::count_if(fn.params, [](const ast::FnParam& p) { return p.default_value == nullptr; }));
    if (!check_arity(e, fn.name.text, call, required, fn.params.size(), fn.name.range)) return poison();
    if (call_depth_ >= kMaxCallDepth) {
        report(diag::CallDepth, e->range, fn.name.text, kMaxCallDepth)
            .note(fn.name.range, "a function may call itself only under a compile-time `if` that ends it");
        return poison();
    }
    ++call_depth_;
    Value result = std::holds_alternative<ast::Expr>(fn.body)
                       ? call_expression_function(e, function, std::get<ast::Expr>(fn.body), call, env)
                       : call_stage_function(e, function, std::get<ast::Block>(fn.body), call, env);
    --call_depth_;
    return result;
}

Value Elaborator::call_expression_function(const ast::Expr& e, const Function& function, const ast::Expr& body,
                                           const ast::Call& call, const Env& env) {
    Instance& instance = instances_.emplace_back();
    instance.prefix = instance_ == nullptr ? "" : instance_->prefix;
    if (instance_ != nullptr) {
        instance.calls = instance_->calls;
        instance.callees = instance_->callees;
    }
    instance.calls.insert(instance.calls.begin(), e->range);
    instance.callees.insert(instance.callees.begin(), function.fn->name.text);
    Scope* scope = files_.new_scope(Scope::Kind::Expression, function.home);
    scope->instance = &instance;
    instance.body = scope;
    std::vector<Symbol*> symbols;
    bool ok = true;
    for (std::size_t i = 0; i < function.fn->params.size(); ++i) {
        const ast::FnParam& param = function.fn->params[i];
        Env at = env.wanting(std::nullopt);
        if (i >= call.args.size()) {
            at.scope = scope;  // a default sees the parameters before it
            at.splices = nullptr;
        }
        // A stage can hand itself to a function of its points, which reads earlier ones.
        self_allowed_ = i < call.args.size() && std::holds_alternative<ast::NameRef>(call.args[i]->value);
        Value value = i < call.args.size() ? eval(call.args[i], at) : eval(param.default_value, at);
        self_allowed_ = false;
        ok = ok && !value.is<Poison>();
        Symbol* symbol = bind(scope, param.name, std::move(value));
        if (symbol == nullptr) return poison();
        bind_once(*symbol);
        symbols.push_back(symbol);
    }
    if (!ok) return poison();
    Instance* outer = std::exchange(instance_, &instance);
    Env inner = env;
    inner.scope = scope;
    inner.splices = nullptr;
    Value result = eval(body, inner);
    instance_ = outer;
    return wrap_lets(std::move(result), symbols);
}

Value Elaborator::stage_argument(const ast::Expr& arg, const std::string& name, const Env& env) {
    Point point = inside(env.point);
    Env inner = env;
    inner.point = &point;
    inner.unrolled = nullptr;  // a stage of its own
    const Value value = eval(arg, inner);
    const std::function<Value(const Value&)> as_image = [&](const Value& v) -> Value {
        if (const auto* image = v.as<Image>(); image != nullptr && image->source == kSelf) {
            report_cycle(in_progress_.back(), arg->range);
            return poison();
        }
        if (v.is<Table>()) return map_elements(v, as_image);
        const auto* s = v.as<Scalar>();
        return s == nullptr ? v : image_of(s->expr, point, *env.owner + "." + name, arg->range);
    };
    return as_image(value);
}

Value Elaborator::whole_image(const ast::Expr& e, const Env& env) {
    Point point = inside(env.point);
    Env inner = env;
    inner.point = &point;
    Value value = eval(e, inner);
    const auto* s = value.as<Scalar>();
    if (s == nullptr || !is_over_points(s->expr, &point)) return value;
    static const std::string kNowhere = "stage";
    return image_of(s->expr, std::move(point), (env.owner == nullptr ? kNowhere : *env.owner) + ".arg", e->range);
}

bool Elaborator::is_over_points(const ir::Expr& value, const Point* innermost) {
    const std::vector<ir::VarId> free = free_variables(close_over_lets(value));
    return !free.empty() && std::ranges::all_of(free, [&](ir::VarId v) {
        for (const Point* point = innermost; point != nullptr; point = point->outer) {
            if (std::ranges::find(point->vars, v) != point->vars.end()) return true;
        }
        return false;
    });
}

Value Elaborator::image_of(const ir::Expr& value, Point point, const std::string& name, SourceRange range) {
    const auto* let = ir::as<ir::Variable>(value);
    if (let != nullptr) {
        if (const auto made = let_images_.find(let->id); made != let_images_.end()) return {made->second};
    }
    ir::Expr whole = close_over_lets(value);
    std::vector<ir::VarId> free = free_variables(whole);
    if (free.empty()) return {Scalar{whole}};
    const auto in = [](const std::vector<ir::VarId>& vars, ir::VarId v) {
        return std::ranges::find(vars, v) != vars.end();
    };
    // Names bound in an enclosing whole-image expression stand for its point, which moves to this one.
    std::map<ir::VarId, ir::Expr> moved;
    for (const Point* outer = point.outer; outer != nullptr; outer = outer->outer) {
        if (std::ranges::none_of(free, [&](ir::VarId v) { return in(outer->vars, v); })) continue;
        if (!point.rank) {
            point.first = range;
            set_rank(point, *outer->rank, nullptr);
            point.bounds = outer->bounds;
        } else if (*point.rank != *outer->rank) {
            report(diag::RankMismatch, range, *point.rank, *outer->rank)
                .note(outer->first, fmt::format("this is of rank {}", *outer->rank));
            return poison();
        } else if (point.bounds && outer->bounds) {
            keep_common(*point.bounds, *outer->bounds);
        }
        for (std::size_t i = 0; i < *point.rank; ++i) {
            moved[outer->vars[i]] = ir::variable(point.vars[i], ir::Type::Int32);
        }
    }
    if (!moved.empty()) {
        whole = ir::substitute(whole, moved);
        free = free_variables(whole);
    }
    for (const ir::VarId v : free) {
        if (in(point.vars, v)) continue;
        const ir::VariableInfo& info = p_.variables[static_cast<std::size_t>(v)];
        Report r = report(diag::IndexInStageArgument, range, info.name);
        r.note(info.range, "the variable is bound here");
        const auto* body = callee_ == nullptr ? nullptr : std::get_if<ast::Block>(&callee_->body);
        if (body != nullptr && body->size() == 1) {  // `fn g(v) { return e }`
            r.note(callee_->name.range, "braces make a function of whole images; one of values is `fn f(a) = e`");
        } else {
            r.note("a call of a stage function makes whole stages, the same for every point");
        }
        return poison();
    }
    Value image = generate_stage(whole, point, name, range);
    if (let != nullptr && image.is<Image>()) let_images_.emplace(let->id, *image.as<Image>());
    return image;
}

Value Elaborator::call_stage_function(const ast::Expr& e, const Function& function, const ast::Block& body,
                                      const ast::Call& call, const Env& env) {
    const ast::Fn& fn = *function.fn;
    static const std::string kNowhere = "stage";
    Env caller = env.wanting(std::nullopt);
    if (caller.owner == nullptr) caller.owner = &kNowhere;
    Instance& instance = instances_.emplace_back();
    instance.prefix = *caller.owner + ".";
    if (instance_ != nullptr) {
        instance.calls = instance_->calls;
        instance.callees = instance_->callees;
    }
    instance.calls.insert(instance.calls.begin(), e->range);
    instance.callees.insert(instance.callees.begin(), fn.name.text);
    Scope* scope = files_.new_scope(Scope::Kind::Body, function.home);
    scope->instance = &instance;
    instance.body = scope;
    std::string key = fmt::format("{}:{}", fn.name.range.file, fn.name.range.begin);
    bool ok = true;
    bool known = true;
    for (std::size_t i = 0; i < fn.params.size(); ++i) {
        const ast::FnParam& param = fn.params[i];
        Env at = caller;
        if (i >= call.args.size()) {
            at = Env{scope, caller.owner};
        }
        const ast::Fn* outer = std::exchange(callee_, &fn);
        Value value =
            i < call.args.size() ? stage_argument(call.args[i], param.name.text, at) : eval(param.default_value, at);
        callee_ = outer;
        ok = ok && !value.is<Poison>();
        const auto print = fingerprint(value);
        known = known && print.has_value();
        if (print) key += "," + *print;
        if (bind(scope, param.name, std::move(value)) == nullptr) return poison();
    }
    if (!ok) return poison();
    // The same call again, as in the terms of an unrolled sum, gives the same image.
    if (known) {
        if (const auto same = instantiated_.find(key); same != instantiated_.end()) return same->second;
    }
    Instance* outer = std::exchange(instance_, &instance);
    note_interleaved(fn, body, *scope);
    declare_block(body, scope);
    Value result = poison();
    if (instance.result == nullptr && !instance.broken) {
        report(diag::MissingReturn, fn.name.range, fn.name.text);
    }
    elaborate_definitions(instance);
    if (instance.result != nullptr) {
        result = stage_argument(instance.result->value, fn.name.text, Env{scope, caller.owner});
    }
    instance_ = outer;
    failed_ = failed_ || result.is<Poison>();
    if (known && is_image(result)) instantiated_.emplace(std::move(key), result);
    return result;
}

}  // namespace pipec::elab
