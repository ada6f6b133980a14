// Definitions, elaborated when something asks for their value: consts, lets, stages, and the stages that have no name.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/elaborate_syntax.h"
#include "frontend/elaborator.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::elab {

using ir::overloaded;

Value Elaborator::demand(Symbol* symbol, SourceRange use) {
    if (symbol->state == Symbol::State::InProgress) {
        if (self_allowed_ && symbol == in_progress_.back() && symbol->self) return {*symbol->self};
        report_cycle(symbol, use);
        return poison();
    }
    if (symbol->state == Symbol::State::Done) {
        failed_ = failed_ || symbol->value.is<Poison>();
        return symbol->value;
    }
    self_allowed_ = false;
    const bool outer_index = std::exchange(in_index_, false);
    Instance* outer = std::exchange(instance_, symbol->instance);
    symbol->state = Symbol::State::InProgress;
    in_progress_.push_back(symbol);
    const auto outside = std::exchange(outside_points_, {});
    switch (symbol->kind) {
        case Symbol::Kind::Const: define_const(*symbol); break;
        case Symbol::Kind::Let: define_let(*symbol); break;
        case Symbol::Kind::Elements: define_elements(*symbol); break;
        case Symbol::Kind::Stage: define_stage(*symbol); break;
        case Symbol::Kind::Accumulate: define_accumulate(*symbol); break;
        default: break;
    }
    in_progress_.pop_back();
    symbol->state = Symbol::State::Done;
    record_value(*symbol);
    instance_ = outer;
    in_index_ = outer_index;
    outside_points_ = outside;
    failed_ = failed_ || symbol->value.is<Poison>();
    return symbol->value;
}

void Elaborator::define_const(Symbol& symbol) {
    symbol.value = eval(*symbol.expr, Env{symbol.scope});
    if (symbol.value.is<Poison>() || is_constant(symbol.value)) return;
    Report r = report(diag::NotConstant, (*symbol.expr)->range, fmt::format("the value of const `{}`", symbol.name));
    if (const auto* s = symbol.value.as<Scalar>(); s != nullptr && !contents_.of(s->expr).reads) {
        r.note("it depends on what is known at launch; `let " + symbol.name + " = ...` names such a value");
    }
    symbol.value = poison();
}

void Elaborator::define_elements(Symbol& symbol) {
    Point point;
    symbol.value = eval(*symbol.expr, Env{symbol.scope, &symbol.full_name, &point});
    if (!symbol.value.is<Table>() || (!point.rank && !is_image(symbol.value))) return;
    std::size_t number = 0;
    symbol.value = map_elements(symbol.value, [&](const Value& v) {
        const std::string name = fmt::format("{}[{}]", symbol.full_name, number++);
        const auto* s = v.as<Scalar>();
        return s == nullptr ? v : image_of(s->expr, point, name, (*symbol.expr)->range);
    });
}

void Elaborator::name_element(Symbol& symbol) {
    Symbol& elements = *symbol.element->elements;
    symbol.value = element_of(demand(&elements, symbol.range), *symbol.element->binding);
    const auto* image = symbol.value.as<Image>();
    if (image == nullptr || image->source.kind != ir::Source::Kind::Stage) return;
    // A stage that the value made gets the name, as in `f = box3(img)`.
    const std::string& name = stage_of(*image).name;
    const bool made_here = name.starts_with(elements.full_name + ".") || name.starts_with(elements.full_name + "[");
    if (made_here) rename_stage(*image, symbol.full_name);
}

void Elaborator::define_let(Symbol& symbol) {
    if (symbol.element) {
        name_element(symbol);
        if (symbol.value.is<Image>()) return;
    } else {
        const auto outer = std::exchange(
            outside_points_, {"a `let` that is a statement has one value, for all points: write `let a = e in ...` "
                              "inside of a definition, or a stage `a(y, x) = e`"});
        symbol.value = eval(*symbol.expr, Env{symbol.scope});
        outside_points_ = outer;
    }
    const SourceRange range = (*symbol.expr)->range;
    const bool image = symbol.value.is<Image>() || symbol.value.is<Array>();
    const auto* s = symbol.value.as<Scalar>();
    if (image) {
        report(diag::LetOfImage, range, symbol.name)
            .note(fmt::format("a stage is named without `let`: {} = {}", symbol.name, text(range)));
    } else if (s != nullptr && contents_.of(s->expr).reads) {
        report(diag::LetOfImage, range, symbol.name)
            .note(fmt::format("a value of an image can be a stage without dimensions: {}() = ...", symbol.name));
    } else if (symbol.value.is<Function>()) {
        report(diag::NotAValue, range, "a function");
    } else {
        return;
    }
    symbol.value = poison();
}

// ------------------------------------------------------------------------------------------------------ dimensions

bool Elaborator::names_known(const ast::Expr& e, const Scope* scope) {
    if (const auto* ref = std::get_if<ast::NameRef>(&e->value)) {
        return std::ranges::find(builtin_names(), ref->name) != builtin_names().end() ||
               find(scope, ref->name, e->range) != nullptr;
    }
    const bool binds = std::holds_alternative<ast::Let>(e->value) || std::holds_alternative<ast::Reduce>(e->value);
    if (binds || std::holds_alternative<ast::SpliceRef>(e->value)) return false;
    const std::vector<ast::Expr> operands = children(e);
    return std::ranges::all_of(operands, [&](const ast::Expr& x) { return x && names_known(x, scope); });
}

std::optional<std::size_t> Elaborator::splice_length(const std::string& name, const ast::Expr& e, const Env& env,
                                                     bool& broken) {
    for (const ast::Call* call : calls_with_splice(e, name)) {
        if (!names_known(call->callee, env.scope)) continue;
        if (const auto* ref = std::get_if<ast::NameRef>(&call->callee->value)) {
            const Symbol* symbol = find(env.scope, ref->name, call->callee->range);
            if (symbol == nullptr || symbol->kind == Symbol::Kind::Function) continue;
            if (symbol->state == Symbol::State::InProgress) continue;
        }
        Value callee = eval(call->callee, env);
        while (const auto* table = callee.as<Table>()) {  // of stages: all have the same dimensions
            if (table->elements->empty()) break;
            callee = Value(table->elements->front());
        }
        if (callee.is<Poison>()) broken = true;
        const auto* image = callee.as<Image>();
        if (image == nullptr) continue;
        const std::size_t others = call->args.size() - 1;
        if (image->rank >= others) return image->rank - others;
    }
    return std::nullopt;
}

bool Elaborator::dimensions(const std::vector<ast::DimPattern>& patterns, const ast::Expr* value, Symbol& symbol,
                            Env& env, std::vector<ir::Dimension>& dims) {
    const ast::DimPattern* splice = nullptr;
    std::map<const ast::DimPattern*, ir::Dimension> plain;
    const Env outside{symbol.scope, env.owner};
    bool ok = true;
    for (const ast::DimPattern& pattern : patterns) {
        if (pattern.splice) {
            if (splice != nullptr) {
                report(diag::SecondSplice, pattern.name.range).note(splice->name.range, "the first is here");
                return false;
            }
            splice = &pattern;
            continue;
        }
        ir::Dimension dim;
        dim.range = pattern.name.range;
        dim.var = ir::new_variable(p_, pattern.name.text, ir::Type::Int32, pattern.name.range);
        if (pattern.range) {
            dim.lo = size_expr(pattern.range->lo, outside, "an explicit range");
            dim.hi = size_expr(pattern.range->hi, outside, "an explicit range");
            ok = ok && dim.lo && dim.hi;
            if (ok && pattern.range->inclusive) {
                dim.hi = ir::binary(ir::BinaryOp::Add, dim.hi, ir::int_constant(ir::Type::Int32, 1), dim.hi->range);
            }
        }
        index_variables_[dim.var] = pattern.name.range;
        if (bind(env.scope, pattern.name, {Scalar{ir::variable(dim.var, ir::Type::Int32, pattern.name.range)}}) ==
            nullptr) {
            ok = false;
        }
        plain[&pattern] = dim;
    }
    std::size_t extra = 0;
    if (splice != nullptr) {
        std::optional<std::size_t> length;
        bool broken = false;
        if (symbol.output >= 0) {
            const std::size_t rank = symbol.port->extents->size();
            if (rank >= plain.size()) length = rank - plain.size();
        } else if (value != nullptr) {
            length = splice_length(splice->name.text, *value, env, broken);
        }
        if (!length) {
            if (!broken) {
                report(diag::SpliceUnknown, splice->name.range, splice->name.text)
                    .note(fmt::format("it is found from a read such as f(..{}, y, x) of an image in the definition",
                                      splice->name.text));
            }
            failed_ = true;
            return false;
        }
        extra = *length;
    }
    for (const ast::DimPattern& pattern : patterns) {
        if (!pattern.splice) {
            dims.push_back(plain.at(&pattern));
            continue;
        }
        std::vector<ir::VarId>& vars = (*env.splices)[pattern.name.text];
        for (std::size_t i = 0; i < extra; ++i) {
            ir::Dimension dim;
            dim.range = pattern.name.range;
            const std::string name = extra == 1 ? pattern.name.text : pattern.name.text + std::to_string(i);
            dim.var = ir::new_variable(p_, name, ir::Type::Int32, pattern.name.range);
            index_variables_[dim.var] = pattern.name.range;
            vars.push_back(dim.var);
            dims.push_back(dim);
        }
    }
    if (symbol.output >= 0 && dims.size() != symbol.port->extents->size()) {
        report(diag::OutputRank, symbol.range, symbol.name, symbol.port->extents->size(), dims.size())
            .note(symbol.port->name.range, "the output is declared here")
            .note(dims.empty() ? fmt::format("a single value is declared as `{}: {}[]`", symbol.name,
                                             ir::name(symbol.port->type))
                               : fmt::format("it is defined by `{}({}) = e`", symbol.name,
                                             example_indices(symbol.port->extents->size())));
        return false;
    }
    return ok;
}

// ---------------------------------------------------------------------------------------------------------- stages

void Elaborator::define_stage(Symbol& symbol) {
    const ast::Definition& d = *symbol.stage;
    symbol.value = poison();
    const std::optional<ir::Type> type = symbol.output >= 0 ? symbol.port->type : d.type;
    if (symbol.output >= 0 && d.type && *d.type != symbol.port->type) {
        report(diag::OutputType, d.type_range, symbol.name, std::string(ir::name(symbol.port->type)),
               std::string(ir::name(*d.type)))
            .note(symbol.port->type_range, "the output's type is given here");
        return;
    }
    std::map<std::string, std::vector<ir::VarId>> splices;
    Env env{files_.new_scope(Scope::Kind::Expression, symbol.scope), &symbol.full_name, nullptr, &splices, type};
    if (!d.dims) {
        define_pointwise(symbol, env);
        return;
    }
    ir::Stage stage;
    const bool dims_ok = dimensions(*d.dims, &d.value, symbol, env, stage.dims);
    if (!dims_ok && std::ranges::any_of(*d.dims, [](const ast::DimPattern& p) { return p.splice; })) return;
    allow_scan(symbol, stage.dims, type);
    const Value value = eval_operand(d.value, env);
    stage.range = d.left_range;
    if (value.is<Table>() && symbol.output < 0) {
        if (reads_itself(value)) {
            report_scan_of_table(symbol, d.left_range);
            return;
        }
        if (dims_ok) symbol.value = table_of_stages(symbol, stage.dims, value, symbol.full_name);
        return;
    }
    store_stage(symbol, std::move(stage), value, dims_ok);
}

void Elaborator::store_stage(Symbol& symbol, ir::Stage stage, const Value& value, bool ok) {
    const ast::Definition& d = *symbol.stage;
    std::optional<ir::Type> type = d.type;
    if (symbol.output >= 0) type = symbol.port->type;
    const std::string what = fmt::format("{} `{}`", symbol.output >= 0 ? "output" : "stage", symbol.name);
    ir::Expr result = type ? convert(value, *type, d.value->range, what) : typed(value, d.value->range);
    if (!result || !ok) return;
    result = close_over_lets(result);
    stage.name = symbol.full_name;
    stage.type = result->type;
    stage.definition = ir::Pure{result};
    finish_stage(symbol, std::move(stage));
}

void Elaborator::finish_stage(Symbol& symbol, ir::Stage stage) {
    const bool is_output = symbol.output >= 0 && shape_output(symbol.output, stage.dims);
    if (!make_scan(stage)) return;
    if (symbol.output < 0) {
        symbol.value = add_stage(std::move(stage));
        return;
    }
    if (is_output) {
        stage.output = symbol.output;
        symbol.value = add_stage(std::move(stage));
    } else {
        // The program states ranges other than the shape: the output is that part of the stage.
        const SourceRange range = stage.range;
        stage.name += ".all";
        const Value all = add_stage(std::move(stage));
        if (!all.is<Image>()) return;
        Point point;
        ir::Stage part;
        part.name = symbol.full_name;
        part.range = range;
        part.type = all.as<Image>()->type;
        const Value at = read_at_point(*all.as<Image>(), range, point);
        part.definition = ir::Pure{at.as<Scalar>()->expr};
        for (const ir::VarId var : point.vars) part.dims.push_back({var, nullptr, nullptr, range});
        shape_output(symbol.output, part.dims);
        part.output = symbol.output;
        symbol.value = add_stage(std::move(part));
    }
    if (const auto* image = symbol.value.as<Image>()) {
        p_.outputs[static_cast<std::size_t>(symbol.output)].stage = image->source.index;
    }
}

void Elaborator::define_pointwise(Symbol& symbol, const Env& outer) {
    const ast::Definition& d = *symbol.stage;
    Point point;
    Env env = outer;
    env.point = &point;
    const auto outside = std::exchange(
        outside_points_,
        {"a definition without dimensions combines whole images; with them it names index variables: `f(y, x) = e`"});
    Value value = eval(d.value, env);
    outside_points_ = outside;
    if (value.is<Poison>()) return;
    if (const auto* image = value.as<Image>()) {
        const bool made_here =
            image->source.kind == ir::Source::Kind::Stage && stage_of(*image).name.starts_with(symbol.full_name + ".");
        const bool same_type = !d.type || *d.type == image->type;
        if (symbol.output < 0 && same_type) {
            // `f = box3(img)`: the stage that the function returns is what the program calls f.
            if (made_here) rename_stage(*image, symbol.full_name);
            symbol.value = value;
            return;
        }
        ir::Stage* stage = made_here ? &p_.stages[static_cast<std::size_t>(image->source.index)] : nullptr;
        if (stage != nullptr && symbol.port != nullptr && stage->type == symbol.port->type && stage->output < 0 &&
            std::holds_alternative<ir::Pure>(stage->definition) && stage->dims.size() == symbol.port->extents->size() &&
            std::ranges::none_of(stage->dims, &ir::Dimension::is_explicit)) {
            shape_output(symbol.output, stage->dims);
            stage->output = symbol.output;
            rename_stage(*image, symbol.full_name);
            bounds_[static_cast<std::size_t>(image->source.index)] = bounds_of(stage->dims);
            p_.outputs[static_cast<std::size_t>(symbol.output)].stage = image->source.index;
            symbol.value = value;
            return;
        }
    }
    if (value.is<Table>() && symbol.output < 0 && (point.rank || is_image(value))) {
        std::size_t number = 0;
        symbol.value = map_elements(value, [&](const Value& v) {
            const std::string name = fmt::format("{}[{}]", symbol.full_name, number++);
            const auto* s = v.as<Scalar>();
            return s == nullptr ? v : image_of(s->expr, point, name, d.value->range);
        });
        return;
    }
    value = operand(std::move(value), d.value->range, env);
    if (value.is<Poison>()) return;
    if (!point.rank) {
        if (symbol.output < 0) {
            if (scalar_outputs_.contains(symbol.name)) return;
            const bool table = value.is<Table>();
            const auto* scalar = value.as<Scalar>();
            const bool element = symbol.name.find('[') != std::string::npos;
            std::string named = fmt::format("`{} {} = ...` names a {}", table ? "const" : "let", symbol.name,
                                            table ? "table" : "scalar");
            // A `let` has no value that is read from an image, and its name no brackets.
            if (scalar != nullptr && contents_.of(scalar->expr).reads)
                named = fmt::format("`{}() = ...` is a stage of one value", symbol.name);
            else if (element)
                named = fmt::format("`{} a = ...` names a {}", table ? "const" : "let", table ? "table" : "scalar");
            report(diag::ScalarDefinition, d.value->range, symbol.name, table ? "a table" : "a scalar")
                .note(fmt::format("{}; `{}(y, x) = ...` defines an image", named, symbol.name));
            return;
        }
        set_rank(point, symbol.port->extents->size(), nullptr);
    } else if (symbol.output >= 0 && *point.rank != symbol.port->extents->size()) {
        report(diag::OutputRank, d.value->range, symbol.name, symbol.port->extents->size(), *point.rank)
            .note(symbol.port->name.range, "the output is declared here");
        return;
    }
    ir::Stage stage;
    stage.range = d.left_range;
    for (const ir::VarId var : point.vars) stage.dims.push_back({var, nullptr, nullptr, d.left_range});
    store_stage(symbol, std::move(stage), value, true);
    if (const auto* image = symbol.value.as<Image>(); image != nullptr && symbol.output < 0 && point.bounds) {
        bounds_[static_cast<std::size_t>(image->source.index)] = *point.bounds;
    }
}

bool Elaborator::shape_output(int output, std::vector<ir::Dimension>& dims) {
    const ir::Buffer& buffer = p_.outputs[static_cast<std::size_t>(output)].buffer;
    for (std::size_t i = 0; i < dims.size(); ++i) {
        const ir::Expr& hi = buffer.extents[i];
        if (!hi || !dims[i].is_explicit()) continue;
        if (ir::as_int(dims[i].lo) != 0 || !ir::structurally_equal(dims[i].hi, hi)) return false;
    }
    cover_output(output, dims);
    return true;
}

Bounds Elaborator::bounds_of(const std::vector<ir::Dimension>& dims) {
    Bounds bounds;
    for (const ir::Dimension& dim : dims) {
        if (!dim.is_explicit()) {
            bounds.emplace_back();
            continue;
        }
        const ir::Expr one = ir::int_constant(ir::Type::Int32, 1);
        bounds.emplace_back(dim.lo, ir::binary(ir::BinaryOp::Sub, dim.hi, one, dim.hi->range));
    }
    return bounds;
}

Bounds Elaborator::bounds_of(const Image& image) const {
    if (image.source.kind == ir::Source::Kind::Stage) return bounds_[static_cast<std::size_t>(image.source.index)];
    std::vector<ir::Dimension> dims;
    for (const ir::Expr& extent : p_.inputs[static_cast<std::size_t>(image.source.index)].extents) {
        ir::Dimension dim;
        if (extent) {
            dim.lo = ir::int_constant(ir::Type::Int32, 0);
            dim.hi = extent;
        }
        dims.push_back(dim);
    }
    return bounds_of(dims);
}

Value Elaborator::add_stage(ir::Stage stage) {
    if (p_.stages.size() >= kMaxStages) {
        report(diag::TooManyStages, stage.range, kMaxStages);
        exhausted_ = true;
        return poison();
    }
    for (const ir::Expr& e : ir::expressions(stage)) {
        if (e && contents_.of(e).depth > kMaxExpressionDepth) {
            report(diag::TooDeep, stage.range, "the expression that this expands to");
            return poison();
        }
        if (e && contents_.of(e).self) {
            // It belongs to another stage's definition, which this one would have to wait for.
            report_cycle(in_progress_.back(), stage.range);
            return poison();
        }
    }
    stage.name = unique_name(std::move(stage.name));
    if (instance_ != nullptr) stage.made_by = instance_->calls;
    const Image image{{ir::Source::Kind::Stage, static_cast<int>(p_.stages.size())}, stage.dims.size(), stage.type};
    bounds_.push_back(bounds_of(stage.dims));
    p_.stages.push_back(std::move(stage));
    return {image};
}

Value Elaborator::generate_stage(const ir::Expr& value, const Point& point, const std::string& name,
                                 SourceRange range) {
    ir::Stage stage;
    stage.name = name;
    stage.type = value->type;
    stage.generated = true;
    stage.range = range;
    std::map<ir::VarId, ir::Expr> fresh;
    for (const ir::VarId var : point.vars) {
        const ir::VariableInfo info = p_.variables[static_cast<std::size_t>(var)];
        const ir::VarId id = ir::new_variable(p_, info.name, info.type, info.range);
        fresh[var] = ir::variable(id, ir::Type::Int32);
        stage.dims.push_back({id, nullptr, nullptr, range});
    }
    stage.definition = ir::Pure{ir::substitute(rename_binders(p_, value), fresh)};
    Value result = add_stage(std::move(stage));
    if (const auto* image = result.as<Image>(); image != nullptr && point.bounds) {
        bounds_[static_cast<std::size_t>(image->source.index)] = *point.bounds;
    }
    return result;
}

const ir::Stage& Elaborator::stage_of(const Image& image) const {
    return p_.stages[static_cast<std::size_t>(image.source.index)];
}

void Elaborator::rename_stage(const Image& image, const std::string& name) {
    std::string& old = p_.stages[static_cast<std::size_t>(image.source.index)].name;
    stage_names_.erase(old);
    old = unique_name(name);
    p_.stages[static_cast<std::size_t>(image.source.index)].generated = false;
}

std::string Elaborator::unique_name(std::string name) {
    if (stage_names_.insert(name).second) return name;
    for (int i = 2;; ++i) {
        std::string numbered = fmt::format("{}.{}", name, i);
        if (stage_names_.insert(numbered).second) return numbered;
    }
}

}  // namespace pipec::elab
