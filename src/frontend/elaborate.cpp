// Entry of elaboration: pipelines one by one; their ports, sizes and conditions.
#include "frontend/elaborate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "frontend/elaborate_fold.h"
#include "frontend/elaborate_syntax.h"
#include "frontend/elaborator.h"
#include "ir/build.h"
#include "ir/parameter_sizes.h"
#include "ir/verify.h"
#include "ir/visit.h"

namespace pipec {

std::vector<ir::Pipeline> elaborate(const Program& program, const SourceManager& sources, Diagnostics& diags,
                                    ElaborationRecord* record) {
    elab::Files files(program, sources);
    files.record = record;
    std::vector<ir::Pipeline> result;
    elab::Elaborator(files, diags).check_file(files.main());
    for (const Program::Imported& imported : program.files) {
        elab::Elaborator(files, diags).check_file(files.scope_of(imported.file.id));
    }
    for (const ast::Item& item : program.main.items) {
        const auto* pipeline = std::get_if<ast::Pipeline>(&item.value);
        if (pipeline == nullptr) continue;
        if (auto elaborated = elab::Elaborator(files, diags).run(*pipeline)) {
            assert(ir::verify(*elaborated).empty());
            result.push_back(std::move(*elaborated));
        }
    }
    return result;
}

}  // namespace pipec

namespace pipec::elab {

void Elaborator::report_undefined_outputs() {
    for (const Symbol* output : outputs_) {
        if (output->stage != nullptr || output->accumulate != nullptr || outputs_in_lets_.contains(output)) continue;
        instance_ = nullptr;
        Report r = report(diag::UndefinedOutput, output->range, output->name);
        std::vector<std::string> stages;
        std::vector<const Symbol*> unread;
        for (const auto& [name, symbol] : body_->names) {
            if (symbol->kind != Symbol::Kind::Stage && symbol->kind != Symbol::Kind::Accumulate) continue;
            if (symbol->output >= 0) continue;
            stages.push_back(name);
            if (!symbol->used) unread.push_back(symbol);
        }
        const auto close = closest_name(output->name, stages);
        const Symbol* meant = close ? body_->names.find(*close)->second : unread.size() == 1 ? unread.front() : nullptr;
        if (meant != nullptr) {
            r.note(meant->range, fmt::format("is this meant to be `{}`?", output->name));
        } else {
            r.note(fmt::format("an output is defined by its name: `{}{} = ...`", output->name,
                               output->port->extents->empty()       ? "()"
                               : output->port->extents->size() == 1 ? "(x)"
                               : output->port->extents->size() == 2 ? "(y, x)"
                                                                    : "(c, y, x)"));
        }
    }
}

std::optional<ir::Pipeline> Elaborator::run(const ast::Pipeline& source) {
    p_.name = source.name.text;
    p_.range = source.name.range;
    p_.doc = source.doc;
    Instance& instance = instances_.emplace_back();
    instance_ = &instance;
    body_ = files_.new_scope(Scope::Kind::Body, files_.main());
    body_->instance = &instance;
    instance.body = body_;
    declare_ports(source);
    where(source);
    declare_block(source.body, body_);
    elaborate_definitions(instance);
    if (!instance.broken && !exhausted_) report_undefined_outputs();
    if (failed_) return std::nullopt;
    finish();
    warn_unused();
    return std::move(p_);
}

namespace {

/// The names in `e` that do not stand where a function is called; `bound` in it are those of lets and reductions.
void value_names(const ast::Expr& e, std::set<std::string> bound, std::vector<const ast::ExprNode*>& names) {
    const auto* name = std::get_if<ast::NameRef>(&e->value);
    if (name != nullptr && !bound.contains(name->name)) names.push_back(e.get());
    if (const auto* let = std::get_if<ast::Let>(&e->value)) {
        for (const ast::LetBinding& b : let->bindings) bound.insert(b.name.text);
    }
    if (const auto* reduce = std::get_if<ast::Reduce>(&e->value)) {
        for (const ast::IndexRange& r : reduce->ranges) bound.insert(r.name.text);
    }
    const auto* call = std::get_if<ast::Call>(&e->value);
    for (const ast::Expr& child : children(e)) {
        const bool function =
            call != nullptr && child == call->callee && std::holds_alternative<ast::NameRef>(child->value);
        if (child && !function) value_names(child, bound, names);
    }
}

}  // namespace

void Elaborator::declare_ports(const ast::Pipeline& source) {
    // Scalars and buffers first, so that a name in an extent that is none of them is a size.
    std::vector<std::pair<const ast::Port*, Symbol*>> buffers;
    for (const ast::Port& port : source.inputs) {
        if (!port.extents) {
            scalar_parameter(port);
            continue;
        }
        Symbol* symbol = declare(body_, port.name, Symbol::Kind::Input);
        buffers.emplace_back(&port, symbol);
        if (symbol != nullptr) symbol->index = static_cast<int>(p_.inputs.size());
        p_.inputs.push_back({port.name.text, port.type, {}, {}, port.name.range});
    }
    for (const ast::Port& port : source.outputs) {
        if (!port.extents) {
            scalar_outputs_.insert(port.name.text);
            report(diag::ScalarOutput, port.range.valid() ? port.range : port.name.range, port.name.text)
                .note(fmt::format("a single value is `{0}: {1}[]`, defined by `{0}() = ...`", port.name.text,
                                  ir::name(port.type)));
            continue;
        }
        Symbol* symbol = declare(body_, port.name, Symbol::Kind::Stage);
        if (symbol == nullptr) continue;
        symbol->output = static_cast<int>(p_.outputs.size());
        symbol->port = &port;
        symbol->state = Symbol::State::Done;  // until its definition is met
        outputs_.push_back(symbol);
        buffers.emplace_back(&port, symbol);
        p_.outputs.push_back({{port.name.text, port.type, {}, {}, port.name.range}, -1});
    }
    std::size_t sizes_of_inputs = 0;
    for (const auto& [port, symbol] : buffers) {
        for (const ast::Expr& e : *port->extents) collect_sizes(e);
        if (symbol != nullptr && symbol->kind == Symbol::Kind::Input) sizes_of_inputs = p_.sizes.size();
    }
    for (const ast::Expr& e : source.where) collect_sizes(e);
    for (const auto& [port, symbol] : buffers) default_extents(*port, sizes_of_inputs);
    for (const auto& [port, symbol] : buffers) {
        std::vector<ir::Expr> extents;
        for (const ast::Expr& e : *port->extents) {
            extents.push_back(size_expr(e, Env{body_}, "an extent"));
            if (const auto value = extents.back() ? ir::as_int(extents.back()) : std::nullopt;
                value && (*value < 1 || *value >= (1 << 30))) {
                report(diag::ExtentRange, e->range, *value);
            }
        }
        if (symbol == nullptr) continue;
        const std::vector<int> order = memory_order(*port);
        ir::Buffer& buffer = symbol->kind == Symbol::Kind::Input
                                 ? p_.inputs[static_cast<std::size_t>(symbol->index)]
                                 : p_.outputs[static_cast<std::size_t>(symbol->output)].buffer;
        buffer.extents = std::move(extents);
        buffer.order = order;
        if (symbol->kind == Symbol::Kind::Input) {
            symbol->value = {Image{{ir::Source::Kind::Input, symbol->index}, buffer.rank(), buffer.type}};
        }
    }
}

void Elaborator::scalar_parameter(const ast::Port& port) {
    Symbol* symbol = declare(body_, port.name, Symbol::Kind::Parameter);
    ir::ScalarParameter param{port.name.text, port.type, nullptr, port.name.range};
    if (port.default_value != nullptr) {
        const Value value = eval(port.default_value, Env{files_.main()});
        if (!value.is<Poison>() && !is_constant(value)) {
            report(diag::NotConstant, port.default_value->range, "the default of a parameter");
        } else if (!value.is<Poison>()) {
            const SourceRange range = port.default_value->range;
            param.default_value = convert(value, port.type, range, "parameter `" + port.name.text + "`");
            const bool literal = ir::as_int(param.default_value) || ir::as<ir::FloatConstant>(param.default_value);
            if (param.default_value && !literal) {
                report(diag::NotConstant, range, "the default of a parameter")
                    .note("a reduction is evaluated at compile time where it has at most 64 points");
            }
        }
    }
    if (symbol == nullptr) return;
    symbol->index = static_cast<int>(p_.params.size());
    symbol->value = {Scalar{ir::param_ref(symbol->index, port.type, port.name.range)}};
    p_.params.push_back(std::move(param));
}

void Elaborator::collect_sizes(const ast::Expr& e) {
    std::vector<const ast::ExprNode*> names;
    value_names(e, {}, names);
    for (const ast::ExprNode* node : names) {
        const std::string& name = std::get<ast::NameRef>(node->value).name;
        const auto found = body_->names.find(name);
        if (found != body_->names.end()) continue;
        if (Symbol* outer = find(files_.main(), name, node->range); outer != nullptr) continue;
        Symbol* symbol = declare(body_, {name, node->range}, Symbol::Kind::Size);
        symbol->index = static_cast<int>(p_.sizes.size());
        symbol->value = {Scalar{ir::size_ref(symbol->index, node->range)}};
        p_.sizes.push_back({name, node->range});
    }
}

void Elaborator::default_extents(const ast::Port& port, std::size_t sizes_of_inputs) {
    for (std::size_t d = 0; d < port.extents->size(); ++d) {
        const ast::Expr& preset = port.extent_defaults[d];
        if (preset == nullptr) continue;
        const SourceRange range = (*port.extents)[d]->range;
        const auto* name = std::get_if<ast::NameRef>(&(*port.extents)[d]->value);
        const auto found = name == nullptr ? body_->names.end() : body_->names.find(name->name);
        if (found == body_->names.end() || found->second->kind != Symbol::Kind::Size) {
            const bool parameter = found != body_->names.end() && found->second->kind == Symbol::Kind::Parameter;
            Report r = report(diag::DefaultOfSize, range, text(range));
            if (parameter) {
                r.note(found->second->range, "the default of a parameter stands where it is declared");
            } else {
                r.note("only a name that is a size can have one: `out: uint8[H = 480, 2 * H]`");
            }
            continue;
        }
        const auto number = static_cast<std::size_t>(found->second->index);
        ir::SizeParameter& size = p_.sizes[number];
        if (number < sizes_of_inputs) {
            report(diag::DefaultOfSize, range, size.name)
                .note(size.range, "the extents of inputs, among which it is, are always given");
            continue;
        }
        if (size.default_value) {
            report(diag::DefaultOfSize, range, size.name).note(size.default_value->range, "it has one already");
            continue;
        }
        const ir::Expr value = size_expr(preset, Env{body_}, "the default of a size");
        if (!value) continue;
        bool known = true;
        ir::for_each_node(value, [&](const ir::Expr& node) {
            const auto* used = ir::as<ir::SizeRef>(node);
            if (used == nullptr) return;
            const auto other = static_cast<std::size_t>(used->index);
            known = known && (other < number || ir::parameter_of(p_, other));
        });
        if (!known) {
            report(diag::NotOverSizes, preset->range, "the default of a size")
                .note("of the sizes those can be used that stand before it");
            continue;
        }
        p_.sizes[number].default_value = value;
    }
}

/// What to write where some other parameter decides.
static const char* const kDecidesSizes =
    "parameters of type int32 can stand here, too; for all else declare another size, as in `out: float32[M]`, which "
    "the caller gives";

ir::Expr Elaborator::size_expr(const ast::Expr& e, const Env& env, const char* what) {
    const Value value = eval_operand(e, env);
    if (value.is<Poison>()) return nullptr;
    if (const auto* real = value.as<Scalar>();
        real != nullptr && ir::is_float(real->expr->type) && contents_.of(real->expr).params) {
        report(diag::NotOverSizes, e->range, what).note(kDecidesSizes);  // also as an integer it would be refused
        return nullptr;
    }
    ir::Expr result = convert(value, ir::Type::Int32, e->range, what);
    if (!result) return nullptr;
    result = without_reads_of_places(close_over_lets(result));
    if (contents_.of(result).reads) {
        report(diag::NotOverSizes, e->range, what).note("the value of an image is not known when a launch is prepared");
        return nullptr;
    }
    if (contents_.of(result).params) result = ir::parameters_as_sizes(p_, result, true);
    if (contents_.of(result).params || !free_variables(result).empty()) {
        Report r = report(diag::NotOverSizes, e->range, what);
        if (contents_.of(result).params) r.note(kDecidesSizes);
        return nullptr;
    }
    return bound(result, e->range, what);
}

std::vector<int> Elaborator::memory_order(const ast::Port& port) {
    const std::size_t rank = port.extents->size();
    std::vector<int> order(rank);
    for (std::size_t i = 0; i < rank; ++i) order[i] = static_cast<int>(i);
    if (!port.order) return order;
    std::vector<int> stated;
    for (const ast::Expr& e : *port.order) {
        const Value value = eval(e, Env{files_.main()});
        if (value.is<Poison>()) return order;
        const auto dim = constant_int(value);
        if (!dim || *dim < 0 || *dim >= static_cast<Int128>(rank)) {
            report(diag::MemoryOrder, e->range, port.name.text, rank);
            return order;
        }
        if (std::ranges::find(stated, static_cast<int>(*dim)) != stated.end()) {
            report(diag::MemoryOrder, e->range, port.name.text, rank).note("this dimension stands twice");
            return order;
        }
        stated.push_back(static_cast<int>(*dim));
    }
    if (stated.size() != rank) {
        const SourceRange range =
            port.order->empty() ? port.name.range : join(port.order->front()->range, port.order->back()->range);
        report(diag::MemoryOrder, range, port.name.text, rank);
        return order;
    }
    return stated;
}

namespace {

/// The value of a condition, or of a part of it, where parameters and sizes have their defaults: a constant. Null where
/// it depends on anything else, or is no number of its type.
ir::Expr with_defaults(const ir::Pipeline& p, const ir::Expr& e) {
    const auto value = [&](const ir::Expr& part) { return with_defaults(p, part); };
    const auto constant = [](ir::Expr result) {
        return ir::as_int(result) || ir::as<ir::FloatConstant>(result) ? result : nullptr;
    };
    if (const auto* n = ir::as<ir::ParamRef>(e)) return p.params.at(static_cast<std::size_t>(n->index)).default_value;
    if (const auto* n = ir::as<ir::SizeRef>(e)) {
        const ir::Expr& preset = p.sizes.at(static_cast<std::size_t>(n->index)).default_value;
        return preset ? value(preset) : nullptr;
    }
    if (const auto* n = ir::as<ir::Unary>(e)) {
        const ir::Expr a = value(n->a);
        return a ? constant(ir::unary(n->op, a)) : nullptr;
    }
    if (const auto* n = ir::as<ir::Cast>(e)) {
        const ir::Expr a = value(n->a);
        return a ? constant(fold_cast(e->type, a, n->saturate, e->range)) : nullptr;
    }
    const auto* n = ir::as<ir::Binary>(e);
    if (n == nullptr) return constant(e);
    const ir::Expr a = value(n->a), b = value(n->b);
    if (ir::is_logical(n->op)) {
        const std::int64_t decisive = n->op == ir::BinaryOp::Or ? 1 : 0;
        for (const ir::Expr& side : {a, b}) {
            if (side && ir::as_int(side) == decisive) return side;
        }
    }
    if (!a || !b) return nullptr;
    if (!ir::is_int(e->type) || ir::bits(e->type) == 64) return constant(fold_binary(n->op, a, b, e->range));
    // A launch computes conditions exactly.
    const ir::Expr exact = fold_binary(n->op, ir::cast(ir::Type::Int64, a), ir::cast(ir::Type::Int64, b), e->range);
    const auto number = ir::as_int(exact);
    return number && ir::wrap_to(e->type, *number) == *number ? ir::int_constant(e->type, *number) : nullptr;
}

/// The default that makes a condition false, and whose it is: of the last parameter in it, or of the last size.
std::pair<ir::Expr, std::string> last_default(const ir::Pipeline& p, const ir::Expr& condition) {
    int param = -1, size = -1;
    ir::for_each_node(condition, [&](const ir::Expr& e) {
        if (const auto* n = ir::as<ir::ParamRef>(e)) param = std::max(param, n->index);
        if (const auto* n = ir::as<ir::SizeRef>(e)) size = std::max(size, n->index);
    });
    if (param >= 0) {
        const ir::ScalarParameter& of = p.params.at(static_cast<std::size_t>(param));
        return {of.default_value, fmt::format("parameter `{}`", of.name)};
    }
    if (size < 0) return {};
    const ir::SizeParameter& of = p.sizes.at(static_cast<std::size_t>(size));
    return {of.default_value, fmt::format("size `{}`", of.name)};
}

}  // namespace

void Elaborator::where(const ast::Pipeline& source) {
    for (const ast::Expr& e : source.where) {
        const ir::Expr cond = condition(e, Env{body_});
        if (!cond) continue;
        if (contents_.of(cond).reads) {
            report(diag::NotOverSizes, e->range, "a `where` condition");
            continue;
        }
        if (ir::has_reduction(cond)) {
            report(diag::BoundOperator, e->range, "a `where` condition", "a reduction that is a loop")
                .note("one of up to 64 constant points is written out");
            continue;
        }
        if (ir::as_int(cond) == 0) {
            report(diag::ImpossibleWhere, e->range);
            continue;
        }
        p_.where.push_back(cond);
        const ir::Expr by_default = with_defaults(p_, cond);
        if (!by_default || ir::as_int(by_default) != 0) continue;
        const auto [preset, whose] = last_default(p_, cond);
        if (!preset) continue;
        report(diag::DefaultOutsideWhere, preset->range, whose).note(e->range, "this does not hold for it");
    }
}

}  // namespace pipec::elab
