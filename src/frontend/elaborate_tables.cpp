// Tables of values that are known at run time: what a reduction, a function or a stage gives that has several values.
// Each element is a scalar, or a stage, of its own; code generation finds what they share.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/elaborator.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::elab {

Value Elaborator::element_of(const Value& whole, const ast::LetBinding& binding) {
    if (whole.is<Poison>()) return poison();
    const auto* table = whole.as<Table>();
    if (table != nullptr && table->elements->size() == binding.of) return (*table->elements)[binding.element];
    const std::string what = table == nullptr ? describe(whole)
                                              : fmt::format("a table of {} element{}", table->elements->size(),
                                                            table->elements->size() == 1 ? "" : "s");
    report(diag::LetElements, binding.value->range, binding.of, binding.of == 1 ? "" : "s", what);
    return poison();
}

Value Elaborator::map_rows(const std::vector<Value>& tables, const std::vector<SourceRange>& ranges, SourceRange range,
                           const std::function<Value(std::vector<Value>)>& f) {
    const std::vector<Value>& first = *tables[0].as<Table>()->elements;
    for (std::size_t t = 1; t < tables.size(); ++t) {
        const std::size_t size = tables[t].as<Table>()->elements->size();
        if (size == first.size()) continue;
        report(diag::TableShape, range)
            .note(ranges[0], fmt::format("this has {} elements", first.size()))
            .note(ranges[t], fmt::format("this has {}", size));
        return poison();
    }
    std::vector<Value> elements;
    for (std::size_t i = 0; i < first.size(); ++i) {
        std::vector<Value> row;
        for (const Value& table : tables) row.push_back((*table.as<Table>()->elements)[i]);
        elements.push_back(f(std::move(row)));
        if (elements.back().is<Poison>()) return poison();
    }
    return make_table(std::move(elements));
}

Value Elaborator::table_of_stages(Symbol& symbol, const std::vector<ir::Dimension>& dims, const Value& value,
                                  const std::string& name) {
    const ast::Definition& d = *symbol.stage;
    if (value.is<Table>()) {
        std::size_t number = 0;
        return map_elements(value, [&](const Value& element) {
            return table_of_stages(symbol, dims, element, fmt::format("{}[{}]", name, number++));
        });
    }
    const ir::Expr expr = d.type ? convert(value, *d.type, d.value->range, fmt::format("stage `{}`", name))
                                 : typed(value, d.value->range);
    if (!expr) return poison();
    ir::Stage stage;
    stage.name = name;
    stage.type = expr->type;
    stage.range = d.left_range;
    std::map<ir::VarId, ir::Expr> own;
    for (ir::Dimension dim : dims) {
        const ir::VariableInfo info = p_.variables[static_cast<std::size_t>(dim.var)];
        const ir::VarId var = ir::new_variable(p_, info.name, info.type, info.range);
        own[dim.var] = ir::variable(var, info.type, info.range);
        index_variables_[var] = info.range;
        dim.var = var;
        stage.dims.push_back(dim);
    }
    stage.definition = ir::Pure{ir::substitute(rename_binders(p_, close_over_lets(expr)), own)};
    return add_stage(std::move(stage));
}

}  // namespace pipec::elab
