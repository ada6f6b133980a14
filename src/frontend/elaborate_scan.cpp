// Stages that read themselves: which may, and what they become. All other circles of definitions are errors.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "frontend/elaborate_syntax.h"
#include "frontend/elaborator.h"
#include "ir/build.h"
#include "ir/scan.h"
#include "ir/visit.h"

namespace pipec::elab {

void Elaborator::allow_scan(Symbol& symbol, const std::vector<ir::Dimension>& dims, std::optional<ir::Type> type) {
    const bool ranged = symbol.output >= 0 || std::ranges::any_of(dims, &ir::Dimension::is_explicit);
    if (type && ranged) symbol.self = Image{kSelf, dims.size(), *type};
}

bool Elaborator::make_scan(ir::Stage& stage) {
    auto* pure = std::get_if<ir::Pure>(&stage.definition);
    if (pure == nullptr || !contents_.of(pure->value).self) return true;
    ir::Expr& value = pure->value;
    const ir::SelfReads found = ir::find_scan(stage, kSelf.index, value);
    if (!found.problem.empty()) {
        report(diag::ScanIndex, found.range, stage.name).note(found.problem);
        return false;
    }
    for (std::size_t d = 0; d < stage.dims.size(); ++d) {
        const ir::Dimension& dim = stage.dims[d];
        const bool along = static_cast<int>(d) == found.scan->dim;
        if (dim.is_explicit() || (!along && !found.scan->is_across(d))) continue;
        const std::string& name = p_.variables[static_cast<std::size_t>(dim.var)].name;
        Report r = report(diag::ScanRange, dim.range, stage.name, name);
        r.note(fmt::format("write `{} in first..end`: {}", name,
                           along ? "its readers alone do not say where it begins"
                                 : "it reads itself at other indices there than its own, and each has to exist"));
        return false;
    }
    stage.scan = found.scan;
    const auto number = static_cast<int>(p_.stages.size());
    std::unordered_map<const ir::Node*, ir::Expr> done;
    const std::function<ir::Expr(const ir::Expr&)> numbered = [&](const ir::Expr& e) -> ir::Expr {
        if (!contents_.of(e).self) return e;
        if (const auto known = done.find(e.get()); known != done.end()) return known->second;
        ir::Expr result = ir::map_children(e, numbered);
        if (const auto* read = ir::as<ir::Read>(result); read != nullptr && read->source == kSelf) {
            result = ir::read({kSelf.kind, number}, e->type, read->indices, e->range);
        }
        return done.emplace(e.get(), result).first->second;
    };
    value = numbered(ir::Expr(value));
    return true;
}

bool Elaborator::reads_itself(const Value& value) {
    if (const auto* table = value.as<Table>()) {
        return std::ranges::any_of(*table->elements, [&](const Value& element) { return reads_itself(element); });
    }
    const auto* scalar = value.as<Scalar>();
    return scalar != nullptr && contents_.of(scalar->expr).self;
}

void Elaborator::report_scan_of_table(const Symbol& symbol, SourceRange range) {
    const std::string& name = symbol.name;
    std::vector<std::string> names{"y", "x"};
    if (symbol.stage->dims) {
        names.clear();
        for (const ast::DimPattern& dim : *symbol.stage->dims) names.push_back(dim.name.text);
    }
    const std::string last = names.empty() ? "x" : names.back();
    const std::string before =
        names.size() < 2 ? "" : fmt::format("{}, ", fmt::join(names.begin(), names.end() - 1, ", "));
    report(diag::ScanOfTable, range, name)
        .note(fmt::format("write a scan for each of them: `{0}0({1}{2} in 0..N): float32 = if {2} == 0 then ... else "
                          "{0}0({1}{2} - 1) ...`; together they are `{0} = [{0}0, {0}1]`",
                          name, before, last))
        .note("one that is written after another can read its values, but they cannot need each other");
}

/// The expression is a table, as far as the text tells.
static bool is_table(const ast::Expr& e) {
    if (std::holds_alternative<ast::TableLiteral>(e->value)) return true;
    if (const auto* choice = std::get_if<ast::If>(&e->value)) return is_table(choice->then);
    if (const auto* let = std::get_if<ast::Let>(&e->value)) return is_table(let->body);
    if (const auto* op = std::get_if<ast::Binary>(&e->value)) return is_table(op->left) || is_table(op->right);
    return false;
}

/// The call whose callee stands at `range`; null where there is none.
static const ast::Call* call_at(const ast::Expr& e, SourceRange range) {
    if (const auto* call = std::get_if<ast::Call>(&e->value); call != nullptr && call->callee->range == range)
        return call;
    for (const ast::Expr& child : children(e)) {
        const ast::Call* found = child ? call_at(child, range) : nullptr;
        if (found != nullptr) return found;
    }
    return nullptr;
}

/// Of a stage with these dimensions, the one that it goes along where it reads itself: the first one with another index
/// than its own, or the last.
std::size_t Elaborator::scanned_dimension(const ast::Expr& value, SourceRange use,
                                          const std::vector<std::string>& names) const {
    const ast::Call* read = call_at(value, use);
    if (read == nullptr || read->args.size() != names.size()) return names.size() - 1;
    for (std::size_t d = 0; d < names.size(); ++d) {
        if (text(read->args[d]->range) != names[d]) return d;
    }
    return names.size() - 1;
}

/// What the definition of a stage that reads itself at `use` lacks to be a scan.
void Elaborator::note_scan(Report& report, const Symbol& symbol, SourceRange use) {
    std::vector<std::string> names{"y", "x"};
    if (symbol.stage->dims) {
        names.clear();
        for (const ast::DimPattern& dim : *symbol.stage->dims) names.push_back(dim.name.text);
    }
    if (names.empty()) return;
    const std::size_t along = scanned_dimension(symbol.stage->value, use, names);
    const auto with = [&](const char* suffix) {
        std::vector<std::string> dims = names;
        dims[along] += suffix;
        return fmt::format("{}({})", symbol.name, fmt::join(dims, ", "));
    };
    const std::string read = with(" - 1");
    if (symbol.self) {
        report.note(fmt::format("its earlier points can be read where its definition names them, as in `{}`", read));
        return;
    }
    const bool has_type = symbol.output >= 0 || symbol.stage->type;
    const std::string type =
        symbol.output >= 0 ? "" : fmt::format(": {}", ir::name(symbol.stage->type.value_or(ir::Type::Float32)));
    report.note(
        fmt::format("a stage that reads its own earlier points needs {}a range of the dimension that it goes "
                    "along: `{}{} = if {} == 0 then ... else ... {} ...`",
                    has_type ? "" : "a type and ", with(" in 0..N"), type, names[along], read));
}

void Elaborator::report_cycle(Symbol* symbol, SourceRange use) {
    const auto label = [](const Symbol* s) { return s->full_name.empty() ? s->name : s->full_name; };
    const auto first = std::ranges::find(in_progress_, symbol);
    if (in_progress_.end() - first == 1) {
        if (symbol->kind == Symbol::Kind::Accumulate) {
            report(diag::AccumulateReadsItself, use, symbol->name)
                .note("an update combines with what is there: `" + symbol->name + "(...) += value`");
        } else {
            if (symbol->kind == Symbol::Kind::Stage && is_table(symbol->stage->value)) {
                report_scan_of_table(*symbol, use);
                return;
            }
            Report r = report(diag::Cycle, use, fmt::format("`{}` needs itself", label(symbol)));
            if (symbol->kind == Symbol::Kind::Stage) note_scan(r, *symbol, use);
        }
        return;
    }
    std::string chain;
    for (auto it = first; it != in_progress_.end(); ++it) chain += fmt::format("`{}` needs ", label(*it));
    const std::string message = fmt::format("definitions go in a circle: {}`{}`", chain, label(symbol));
    // One that reads another twice closes the circle twice.
    const bool known = std::ranges::any_of(diags_.all(), [&](const Diagnostic& d) {
        return d.message == message && !d.notes.empty() && d.notes.front().range == symbol->range;
    });
    failed_ = true;
    if (known) return;
    Report r = report(diag::Cycle, use, message);
    for (auto it = first; it != in_progress_.end(); ++it)
        r.note((*it)->range, fmt::format("`{}` is defined here", label(*it)));
    const auto is_stage = [](const Symbol* s) { return s->kind == Symbol::Kind::Stage; };
    const auto is_scan = [](const Symbol* s) { return s->self.has_value(); };
    if (std::all_of(first, in_progress_.end(), is_stage) && std::any_of(first, in_progress_.end(), is_scan)) {
        r.note(
            "a stage can read its own earlier points, but not those of a stage that needs it: write one stage, with "
            "the other definitions in place of their names");
    }
}

}  // namespace pipec::elab
