// Tables of values that are known at run time: what a reduction, a function or a stage gives that has several values.
// Each element is a scalar, or a stage, of its own; code generation finds what they share.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

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

Value Elaborator::element_by_element(std::vector<Value> values, const std::vector<SourceRange>& ranges,
                                     SourceRange range, const std::function<Value(std::vector<Value>)>& f) {
    std::vector<Value> tables;
    std::vector<SourceRange> of_tables;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!values[i].is<Table>()) continue;
        tables.push_back(values[i]);
        of_tables.push_back(ranges[i]);
    }
    if (tables.empty()) return f(std::move(values));
    return map_rows(tables, of_tables, range, [&](std::vector<Value> row) {
        std::vector<Value> at_place = values;
        auto element = row.begin();
        for (Value& value : at_place) {
            if (value.is<Table>()) value = std::move(*element++);
        }
        return element_by_element(std::move(at_place), ranges, range, f);
    });
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

Value Elaborator::eval_index(const ast::Expr& e, const ast::Index& index, const Env& env) {
    const Value base = eval(index.base, env);
    if (base.is<Poison>()) return poison();
    const auto* table = base.as<Table>();
    const auto* array = base.as<Array>();
    if (table == nullptr && array == nullptr) {
        if (const auto* image = base.as<Image>(); image != nullptr && image->source == kSelf) {
            report_scan_of_table(*in_progress_.back(), index.base->range);
            return poison();
        }
        Report r = report(diag::NotIndexable, index.base->range, describe(base));
        if (base.is<Image>())
            r.note(fmt::format("a point of an image is read with parentheses: {}(y, x)", text(index.base->range)));
        if (base.is<Scalar>() && std::holds_alternative<ast::Call>(index.base->value))
            r.note("a point of an image is one value; channels are a dimension of the image: `img(c, y, x)`");
        return poison();
    }
    const bool outer = std::exchange(in_index_, true);
    const Value at = eval_operand(index.index, env);
    in_index_ = outer;
    if (at.is<Poison>()) return poison();
    const auto value = constant_int(at);
    if (!value) {
        Report r = report(diag::NotConstant, index.index->range,
                          table != nullptr ? "the index of a table" : "the index of a stage array");
        if (table == nullptr) {
            r.note("stages are chosen at compile time");
            return poison();
        }
        const auto* row = std::get_if<ast::Index>(&index.base->value);
        const bool has_rows = !table->elements->empty() && table->elements->front().is<Table>();
        const bool has_images = !table->elements->empty() && table->elements->front().is<Image>();
        const std::string whole = text(index.base->range) + (has_images ? "(...)" : "");
        const std::string at_run_time = text(index.index->range);
        r.note(fmt::format("`{}` is that element, chosen at run time (import \"math\")",
                           has_rows         ? fmt::format("element2({}, {}, ...)", whole, at_run_time)
                           : row != nullptr ? fmt::format("element2({}, {}, {})", text(row->base->range),
                                                          text(row->index->range), at_run_time)
                                            : fmt::format("element({}, {})", whole, at_run_time)));
        r.note(
            "`sum` and its kin with constant bounds make their variables constants; a table that is indexed at many "
            "points can be a stage or an input");
        return poison();
    }
    if (table != nullptr) {
        if (*value < 0 || *value >= static_cast<Int128>(table->elements->size())) {
            report(diag::TableIndexRange, index.index->range, to_string(*value), table->elements->size());
            return poison();
        }
        return (*table->elements)[static_cast<std::size_t>(*value)];
    }
    return array_element(*array, static_cast<std::int64_t>(*value), e->range);
}

}  // namespace pipec::elab
