// Functions of the language itself: mathematics, and questions about images and tables that are answered at compile
// time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "frontend/elaborate_fold.h"
#include "frontend/elaborator.h"
#include "ir/build.h"
#include "ir/print.h"
#include "ir/visit.h"

namespace pipec::elab {

const std::vector<std::string>& Elaborator::builtin_names() {
    static const std::vector<std::string> kNames{
        "abs",   "acos",  "asin",  "atan",   "atan2",  "ceil", "clamp", "cos",  "cosh",  "exp",   "exp2", "extent",
        "floor", "fract", "hypot", "isnan",  "length", "lerp", "log",   "log2", "lower", "max",   "min",  "pow",
        "rank",  "round", "rsqrt", "select", "sin",    "sinh", "sqrt",  "tan",  "tanh",  "trunc", "upper"};
    return kNames;
}

bool Elaborator::check_arity(const ast::Expr& e, const std::string& name, const ast::Call& call, std::size_t least,
                             std::size_t most, SourceRange declared) {
    const std::size_t given = call.args.size();
    if (given >= least && given <= most) return true;
    const std::string wanted = least == most      ? fmt::format("{}", least)
                               : most == SIZE_MAX ? fmt::format("at least {}", least)
                                                  : fmt::format("{} to {}", least, most);
    const SourceRange at = given > most ? join(call.args[most]->range, call.args.back()->range) : e->range;
    Report r = report(diag::WrongArity, at, name, wanted, wanted == "1" ? "" : "s", given);
    if (declared.valid()) r.note(declared, fmt::format("`{}` is defined here", name));
    if (!declared.valid() && given == 1 && (name == "min" || name == "max")) {
        r.note(fmt::format("over an image it is `m() = {}(y in 0..R, x in 0..C) img(y, x)`, read by `m()`", name));
    }
    static const std::map<std::string_view, std::string_view> kParameters = {
        {"clamp", "clamp(v, lowest, highest)"},
        {"lerp", "lerp(a, b, t)"},
        {"select", "select(c, a, b)"},
        {"pow", "pow(a, b)"},
        {"atan2", "atan2(y, x)"},
        {"hypot", "hypot(a, b)"},
        {"extent", "extent(f, dimension)"},
        {"lower", "lower(f, dimension)"},
        {"upper", "upper(f, dimension)"},
    };
    if (const auto parameters = kParameters.find(name); !declared.valid() && parameters != kParameters.end()) {
        r.note(fmt::format("it is `{}`", parameters->second));
    }
    return false;
}

Value Elaborator::call_builtin(const ast::Expr& e, const std::string& name, const ast::Call& call, const Env& env) {
    const auto arity = [&](std::size_t least, std::size_t most) { return check_arity(e, name, call, least, most); };
    if (name == "select") {
        return arity(3, 3) ? eval_if(e, call.args[0], call.args[1], call.args[2], env) : poison();
    }
    if (name == "rank") return arity(1, 1) ? call_rank(call, env) : poison();
    if (name == "length") return arity(1, 1) ? call_length(call, env) : poison();
    if (name == "lower" || name == "upper" || name == "extent") {
        return arity(2, 2) ? call_bounds(e, name, call, env) : poison();
    }
    return call_numeric(e, name, call, env);
}

Value Elaborator::call_numeric(const ast::Expr& e, const std::string& name, const ast::Call& call, const Env& env) {
    using Values = std::vector<Value>;
    std::vector<SourceRange> at;
    for (const ast::Expr& arg : call.args) at.push_back(arg->range);
    const auto of_arguments = [&](std::size_t least, std::size_t most, const std::function<Value(Values)>& f) {
        if (!check_arity(e, name, call, least, most)) return poison();
        Values values;
        for (const ast::Expr& arg : call.args) values.push_back(eval_operand(arg, env));
        if (std::ranges::any_of(values, [](const Value& v) { return v.is<Poison>(); })) return poison();
        return element_by_element(std::move(values), at, e->range, f);
    };
    if (name == "min" || name == "max") {
        if (call.args.size() == 1 && !says_table_extremum(e, name, call.args[0], env)) return poison();
        const ir::BinaryOp op = name == "min" ? ir::BinaryOp::Min : ir::BinaryOp::Max;
        return of_arguments(2, SIZE_MAX, [&](Values v) { return call_min_max(op, std::move(v), at, e->range); });
    }
    if (name == "clamp") {
        if (call.args.size() == 3) check_clamp_order(call);
        return of_arguments(3, 3, [&](Values v) { return call_clamp(std::move(v), at, e->range); });
    }
    if (name == "lerp") return of_arguments(3, 3, [&](const Values& v) { return call_lerp(v, at, e->range); });
    if (name == "fract") return of_arguments(1, 1, [&](const Values& v) { return call_fract(v[0], at[0], e->range); });
    if (name == "abs") return of_arguments(1, 1, [&](const Values& v) { return call_abs(v[0], at[0], e->range); });
    const ir::Builtin fn = *ir::builtin_from_name(name);
    const auto count = static_cast<std::size_t>(ir::arity(fn));
    return of_arguments(count, count, [&](const Values& v) { return call_math(fn, v, at, e->range); });
}

bool Elaborator::says_table_extremum(const ast::Expr& e, const std::string& name, const ast::Expr& arg,
                                     const Env& env) {
    const Value value = eval(arg, env);
    if (value.is<Poison>()) return false;
    const auto* table = value.as<Table>();
    if (table == nullptr) return true;
    report(diag::WrongArity, e->range, name, "at least 2", "s", 1)
        .note(fmt::format("of the elements of a table it is `{}(i in 0..{}) {}[i]`", name, table->elements->size(),
                          std::holds_alternative<ast::NameRef>(arg->value) ? text(arg->range) : "t"));
    return false;
}

Value Elaborator::call_math(ir::Builtin fn, const std::vector<Value>& values, const std::vector<SourceRange>& at,
                            SourceRange range) {
    if (std::ranges::all_of(values, is_untyped)) {
        std::vector<double> numbers;
        for (const Value& value : values) {
            note_inexact(value);
            numbers.push_back(as_double(value));
        }
        if (fn == ir::Builtin::IsNan) return {Scalar{ir::bool_constant(std::isnan(numbers[0]), range)}};
        return {UntypedFloat{*math(fn, numbers)}};
    }
    std::vector<ir::Expr> args = to_one_float(values, at);
    if (args.empty()) return poison();
    return {Scalar{fold_call(fn, std::move(args), range)}};
}

std::vector<ir::Expr> Elaborator::to_one_float(const std::vector<Value>& values, const std::vector<SourceRange>& at) {
    // The widest float among the operands; integers and untyped constants follow it, or are float32.
    std::optional<ir::Type> type;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (is_untyped(values[i])) continue;
        if (!operator_type(values[i], values[i], true, at[i], at[i], at[i])) return {};
        const ir::Type own = values[i].as<Scalar>()->expr->type;
        if (ir::is_float(own) && (!type || own > *type)) type = own;
    }
    std::vector<ir::Expr> result;
    for (std::size_t i = 0; i < values.size(); ++i) {
        result.push_back(convert(values[i], type.value_or(ir::Type::Float32), at[i], "an argument"));
        if (!result.back()) return {};
    }
    return result;
}

Value Elaborator::constant_min_max(ir::BinaryOp op, const Value& a, const Value& b) {
    const auto less = [](const Value& x, const Value& y) {
        return x.is<UntypedInt>() && y.is<UntypedInt>() ? x.as<UntypedInt>()->value < y.as<UntypedInt>()->value
                                                        : as_double(x) < as_double(y);
    };
    // As at run time: of equal ones the left, and not the one that is NaN.
    const bool right = op == ir::BinaryOp::Min ? less(b, a) : less(a, b);
    const Value& chosen = right || std::isnan(as_double(a)) ? b : a;
    // One float among them makes the result a float.
    if (a.is<UntypedFloat>() || b.is<UntypedFloat>()) return {UntypedFloat{as_double(chosen)}};
    return chosen;
}

Value Elaborator::call_min_max(ir::BinaryOp op, std::vector<Value> values, const std::vector<SourceRange>& at,
                               SourceRange range) {
    if (std::ranges::all_of(values, is_bool)) {  // false is less than true
        op = op == ir::BinaryOp::Min ? ir::BinaryOp::And : ir::BinaryOp::Or;
    } else if (!are_numbers(values, at)) {
        return poison();
    }
    const bool constants = std::ranges::all_of(values, is_untyped);
    if (!constants && !unify(values, at, range)) return poison();
    Value result = values[0];
    for (std::size_t i = 1; i < values.size(); ++i) {
        result = constants
                     ? constant_min_max(op, result, values[i])
                     : Value{Scalar{fold_binary(op, result.as<Scalar>()->expr, values[i].as<Scalar>()->expr, range)}};
    }
    return result;
}

bool Elaborator::are_numbers(const std::vector<Value>& values, const std::vector<SourceRange>& at) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!operator_type(values[i], values[i], false, at[i], at[i], at[i])) return false;
    }
    return true;
}

namespace {

/// The number that an argument is written as; none for what is computed.
std::optional<double> literal(const ast::Expr& e) {
    if (const auto* i = std::get_if<ast::IntLiteral>(&e->value)) return static_cast<double>(i->value);
    if (const auto* f = std::get_if<ast::FloatLiteral>(&e->value)) return f->value;
    const auto* unary = std::get_if<ast::Unary>(&e->value);
    if (unary == nullptr || unary->op != ir::UnaryOp::Neg) return std::nullopt;
    const auto positive = literal(unary->operand);
    return positive ? std::optional(-*positive) : std::nullopt;
}

}  // namespace

void Elaborator::check_clamp_order(const ast::Call& call) {
    const auto [first, second, third] = std::tuple{literal(call.args[0]), literal(call.args[1]), literal(call.args[2])};
    const auto say = [&](const char* message, int v, int lowest, int highest) {
        const auto argument = [&](int i) { return text(call.args[static_cast<std::size_t>(i)]->range); };
        report(diag::ClampOrder, join(call.args[0]->range, call.args[2]->range), message)
            .suggest(join(call.args[0]->range, call.args[2]->range),
                     fmt::format("{}, {}, {}", argument(v), argument(lowest), argument(highest)));
    };
    if (first && second && !third && *first < *second) {
        say("`clamp` takes the value first: `clamp(v, lowest, highest)`", 2, 0, 1);
    } else if (!first && second && third && *second > *third) {
        say("the lowest value of this `clamp` is above its highest: `clamp(v, lowest, highest)`", 0, 2, 1);
    }
}

Value Elaborator::call_clamp(std::vector<Value> values, const std::vector<SourceRange>& at, SourceRange range) {
    if (!are_numbers(values, at)) return poison();
    if (std::ranges::all_of(values, is_untyped)) {
        return constant_min_max(ir::BinaryOp::Min, constant_min_max(ir::BinaryOp::Max, values[0], values[1]),
                                values[2]);
    }
    if (!unify(values, at, range)) return poison();
    const auto expr = [&](std::size_t i) { return values[i].as<Scalar>()->expr; };
    const ir::Expr at_least = fold_binary(ir::BinaryOp::Max, expr(0), expr(1), range);
    return {Scalar{fold_binary(ir::BinaryOp::Min, at_least, expr(2), range)}};
}

Value Elaborator::call_lerp(const std::vector<Value>& values, const std::vector<SourceRange>& at, SourceRange range) {
    if (!are_numbers(values, at)) return poison();
    Symbol* a = files_.new_symbol("a", at[0], Symbol::Kind::Value);
    a->value = values[0];
    bind_once(*a);
    const Value from = use(a, at[0]);
    const Value span = arithmetic(ir::BinaryOp::Sub, values[1], from, at[1], at[0], range, range);
    const Value part = arithmetic(ir::BinaryOp::Mul, span, values[2], range, at[2], range, range);
    return wrap_lets(arithmetic(ir::BinaryOp::Add, from, part, at[0], range, range, range), {a});
}

Value Elaborator::call_fract(const Value& value, SourceRange at, SourceRange range) {
    if (is_untyped(value)) return {UntypedFloat{as_double(value) - std::floor(as_double(value))}};
    const std::vector<ir::Expr> args = to_one_float({value}, {at});
    if (args.empty()) return poison();
    Symbol* x = files_.new_symbol("x", at, Symbol::Kind::Value);
    x->value = {Scalar{args[0]}};
    bind_once(*x);
    const ir::Expr operand = use(x, at).as<Scalar>()->expr;
    const ir::Expr whole = fold_call(ir::Builtin::Floor, {operand}, range);
    return wrap_lets({Scalar{fold_binary(ir::BinaryOp::Sub, operand, whole, range)}}, {x});
}

Value Elaborator::call_abs(const Value& value, SourceRange at, SourceRange range) {
    if (const auto* i = value.as<UntypedInt>()) return {UntypedInt{i->value < 0 ? -i->value : i->value, i->inexact}};
    if (const auto* f = value.as<UntypedFloat>()) return {UntypedFloat{std::fabs(f->value)}};
    const auto type = operator_type(value, value, true, at, at, at);
    if (!type) return poison();
    const ir::Type own = value.as<Scalar>()->expr->type;
    if (ir::is_unsigned_int(own)) return value;
    // A small signed type is widened: the magnitude of its least value does not fit.
    const ir::Expr operand = convert(value, *type, at, "an argument");
    if (const auto constant = ir::as_int(operand)) {
        return {Scalar{*constant < 0 ? ir::unary(ir::UnaryOp::Neg, operand, range) : operand}};
    }
    return {Scalar{fold_call(ir::Builtin::Abs, {operand}, range)}};
}

const Symbol* Elaborator::output_symbol(const ast::Expr& e, const Env& env) {
    const auto* ref = std::get_if<ast::NameRef>(&e->value);
    if (ref == nullptr) return nullptr;
    const Symbol* symbol = find(env.scope, ref->name, e->range);
    return symbol != nullptr && symbol->output >= 0 ? symbol : nullptr;
}

Value Elaborator::call_rank(const ast::Call& call, const Env& env) {
    const ast::Expr& arg = call.args[0];
    if (const Symbol* output = output_symbol(arg, env)) {
        return {UntypedInt{static_cast<Int128>(output->port->extents->size())}};
    }
    const Value value = image_argument(arg, env);
    const auto* image = value.as<Image>();
    return image == nullptr ? poison() : Value{UntypedInt{static_cast<Int128>(image->rank)}};
}

Value Elaborator::image_argument(const ast::Expr& arg, const Env& env) {
    static const std::string kOwner = "arg";
    Env at = env;
    if (at.owner == nullptr) at.owner = &kOwner;
    Value value = stage_argument(arg, "arg", at);
    if (!value.is<Image>() && !value.is<Poison>()) {
        report(diag::NotAnImage, arg->range, describe(value));
        return poison();
    }
    return value;
}

Value Elaborator::call_length(const ast::Call& call, const Env& env) {
    const Value value = eval(call.args[0], env);
    if (value.is<Poison>()) return poison();
    if (const auto* table = value.as<Table>()) {
        const std::size_t size = table->elements->size();
        const auto& written = call.args[0]->value;
        if (std::holds_alternative<ast::TableLiteral>(written) || std::holds_alternative<ast::Call>(written)) {
            report(diag::LengthOfTable, call.args[0]->range, size)
                .note("the length of a vector is `hypot(a, b)`, or `sqrt(a * a + b * b + c * c)`");
        }
        return {UntypedInt{static_cast<Int128>(size)}};
    }
    Report r = report(diag::NotATable, call.args[0]->range, describe(value));
    if (value.is<Image>()) r.note("the extent of an image in dimension d is extent(f, d)");
    return poison();
}

namespace {

using Extents = std::vector<ir::Expr>;

/// The dimension of a stage that an index follows, and how many of its points read one element: v, or v / 2.
std::optional<std::pair<std::size_t, std::int64_t>> followed(const ir::Stage& stage, ir::Expr index) {
    std::int64_t points = 1;
    if (const auto* b = ir::as<ir::Binary>(index); b != nullptr && b->op == ir::BinaryOp::Div) {
        points = ir::as_int(b->b).value_or(0);
        index = b->a;
    }
    const auto* variable = ir::as<ir::Variable>(index);
    if (variable == nullptr || points < 1) return std::nullopt;
    const auto dim = std::ranges::find(stage.dims, variable->id, &ir::Dimension::var);
    if (dim == stage.dims.end()) return std::nullopt;
    return std::pair{static_cast<std::size_t>(dim - stage.dims.begin()), points};
}

/// For each dimension of a stage the extent that what it reads along that dimension has: inputs, stages with ranges,
/// and what those read. Null where nothing tells. `known` has stages that were asked for before.
Extents extents_read(const ir::Pipeline& pipeline, const ir::Stage& stage, std::map<int, Extents>& known) {
    Extents result(stage.dims.size());
    const auto* pure = std::get_if<ir::Pure>(&stage.definition);
    if (pure == nullptr || !pure->value) return result;
    const auto extents_of = [&](const ir::Source& source) -> Extents {
        if (source.kind == ir::Source::Kind::Input)
            return pipeline.inputs.at(static_cast<std::size_t>(source.index)).extents;
        if (const auto found = known.find(source.index); found != known.end()) return found->second;
        known[source.index] = {};
        const ir::Stage& read = pipeline.stages.at(static_cast<std::size_t>(source.index));
        Extents extents = extents_read(pipeline, read, known);
        for (std::size_t d = 0; d < read.dims.size(); ++d) {
            if (read.dims[d].lo && ir::as_int(read.dims[d].lo) == 0) extents[d] = read.dims[d].hi;
        }
        return known[source.index] = extents;
    };
    ir::for_each_node(pure->value, [&](const ir::Expr& e) {
        const auto* read = ir::as<ir::Read>(e);
        if (read == nullptr || read->source.kind == ir::Source::Kind::Local) return;
        const Extents extents = extents_of(read->source);
        for (std::size_t i = 0; i < std::min(extents.size(), read->indices.size()); ++i) {
            const auto of = followed(stage, read->indices[i]);
            if (!of || result[of->first] || !extents[i]) continue;
            result[of->first] =
                ir::binary(ir::BinaryOp::Mul, extents[i], ir::int_constant(ir::Type::Int32, of->second));
        }
    });
    return result;
}

}  // namespace

std::string Elaborator::stated_range(const ir::Stage& stage) const {
    std::vector<std::string> names;
    for (const ir::Dimension& dim : stage.dims) {
        names.push_back(p_.variables[static_cast<std::size_t>(dim.var)].name);
    }
    // What it reads tells its shape, else that of an input is the likeliest one, else of one without its channels.
    std::map<int, Extents> asked;
    std::vector<ir::Expr> likely = extents_read(p_, stage, asked);
    if (std::ranges::all_of(likely, [](const ir::Expr& e) { return e == nullptr; })) likely.clear();
    for (const bool with_channels : {true, false}) {
        for (const ir::Buffer& b : p_.inputs) {
            if (likely.size() == names.size()) break;
            likely = b.extents;
            if (!with_channels) std::erase_if(likely, [](const ir::Expr& e) { return e && ir::as_int(e); });
        }
    }
    std::vector<std::string> dims = names;
    for (std::size_t i = 0; i < dims.size(); ++i) {
        const bool known = likely.size() == names.size() && likely[i];
        dims[i] += " in 0.." + (known ? ir::to_string(p_, likely[i]) : std::string("N"));
    }
    // Whole-image definitions have no dimensions that could have a range, those of functions serve many images.
    const bool has_dimensions = !stage.generated && stage.made_by.empty() && text(stage.range).ends_with(')');
    if (has_dimensions) return fmt::format("give it a range, such as {}({})", stage.name, fmt::join(dims, ", "));
    // A name with a dot is the compiler's own.
    const std::string source = stage.name.find('.') == std::string::npos ? stage.name : "f";
    const std::string copy = source.substr(0, source.find('[')) + "_copy";
    return fmt::format("copy it to a stage with a range, such as {}({}) = {}({}), and use that", copy,
                       fmt::join(dims, ", "), source, fmt::join(names, ", "));
}

Value Elaborator::call_bounds(const ast::Expr& e, const std::string& name, const ast::Call& call, const Env& env) {
    const ast::Expr& arg = call.args[0];
    Bounds bounds;
    std::optional<SourceRange> defined;
    std::string remedy;
    if (const Symbol* output = output_symbol(arg, env)) {
        std::vector<ir::Dimension> dims(output->port->extents->size());
        shape_output(output->output, dims);
        bounds = bounds_of(dims);
    } else {
        const Value value = image_argument(arg, env);
        if (value.is<Poison>()) return poison();
        bounds = bounds_of(*value.as<Image>());
        if (value.as<Image>()->source.kind == ir::Source::Kind::Stage) {
            defined = stage_of(*value.as<Image>()).range;
            remedy = stated_range(stage_of(*value.as<Image>()));
        }
    }
    const Value which = eval_operand(call.args[1], env);
    if (which.is<Poison>()) return poison();
    const auto d = constant_int(which);
    if (!d) {
        report(diag::NotConstant, call.args[1]->range, "the dimension");
        return poison();
    }
    const auto rank = static_cast<Int128>(bounds.size());
    if (*d < -rank || *d >= rank) {
        report(diag::DimensionRange, call.args[1]->range, to_string(*d), bounds.size());
        return poison();
    }
    const auto& [lo, hi] = bounds[static_cast<std::size_t>(*d < 0 ? *d + rank : *d)];
    if (!lo || !hi) {
        if (failed_ && !defined) return poison();  // a shape that was reported
        // Once for a stage: functions ask for its bounds many times.
        if (defined && !files_.reported.insert({"border", defined->file, defined->begin, defined->end}).second) {
            failed_ = true;
            return poison();
        }
        Report r = report(diag::UnknownBounds, arg->range, text(arg->range));
        if (defined) r.note(*defined, "its domain is inferred from its readers; " + remedy);
        return poison();
    }
    if (name == "lower") return {Scalar{lo}};
    if (name == "upper") return {Scalar{hi}};
    const auto one = ir::int_constant(ir::Type::Int32, 1);
    const auto* less_one = ir::as<ir::Binary>(hi);
    const ir::Expr end = less_one != nullptr && less_one->op == ir::BinaryOp::Sub && ir::as_int(less_one->b) == 1
                             ? less_one->a
                             : ir::binary(ir::BinaryOp::Add, hi, one, e->range);
    return {Scalar{ir::binary(ir::BinaryOp::Sub, end, lo, e->range)}};
}

}  // namespace pipec::elab
