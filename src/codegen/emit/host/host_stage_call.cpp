// What the function of a stage works on, and its calls.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "codegen/emit/host/host_stage.h"

namespace pipec::codegen {

namespace {

/// Views of the caller's buffers have a form for dense memory, and one for any strides.
bool is_buffer(const ir::Pipeline& pipeline, const ir::Source& source) {
    return source.kind == ir::Source::Kind::Input ||
           pipeline.stages[static_cast<std::size_t>(source.index)].output >= 0;
}

}  // namespace

Uses uses_of(const Unit& unit, std::size_t index) {
    Uses uses;
    const ir::Stage& stage = unit.pipeline->stages[index];
    if (unit.model->domains.at(index).guard) uses.add(unit.model->domains[index].guard);
    if (const auto* pure = std::get_if<ir::Pure>(&stage.definition)) {
        uses.add(pure->value);
        return uses;
    }
    const auto& accumulate = std::get<ir::Accumulate>(stage.definition);
    uses.add(accumulate.init);
    for (const ir::Update& update : accumulate.updates) {
        for (const ir::Range& range : update.domain) uses.add(range.lo), uses.add(range.hi);
        if (update.guard) uses.add(update.guard);
        for (const ir::Expr& i : update.indices) uses.add(i);
        uses.add(update.value);
    }
    return uses;
}

std::vector<std::pair<std::string, std::string>> views_of(const Unit& unit, const CodeNames& names, std::size_t index) {
    std::vector<std::pair<std::string, std::string>> views;
    const Uses uses = uses_of(unit, index);
    for (const ir::Source& source : uses.sources()) {
        const auto i = static_cast<std::size_t>(source.index);
        if (source.kind == ir::Source::Kind::Stage && i == index) continue;  // a scan reads itself
        if (source.kind == ir::Source::Kind::Input)
            views.emplace_back(names.buffers[i], names.views[i] + "<dense>");
        else
            views.emplace_back(names.stages[i], stage_view_type(*unit.pipeline, names, i));
    }
    views.emplace_back(names.stages[index], stage_view_type(*unit.pipeline, names, index));
    return views;
}

bool has_dense_form(const Unit& unit, std::size_t stage) {
    const Uses uses = uses_of(unit, stage);
    const ir::Source own{ir::Source::Kind::Stage, static_cast<int>(stage)};
    return is_buffer(*unit.pipeline, own) ||
           std::any_of(uses.sources().begin(), uses.sources().end(),
                       [&](const ir::Source& source) { return is_buffer(*unit.pipeline, source); });
}

bool takes_box(const ir::Stage& stage) {
    return !stage.dims.empty();
}

std::string stage_view_type(const ir::Pipeline& pipeline, const CodeNames& names, std::size_t stage) {
    return names.stage_views[stage] + (pipeline.stages[stage].output >= 0 ? "<dense>" : "");
}

namespace {

/// The call of a function that open_function began.
std::string call(const Unit& unit, const CodeNames& names, std::size_t stage, const std::string& function,
                 const std::string& box) {
    std::vector<std::string> args{"plan"};
    if (!box.empty()) args.push_back(box);
    for (const auto& [name, type] : views_of(unit, names, stage)) args.push_back(name);
    const Uses uses = uses_of(unit, stage);  // named: a range-for does not keep it alive
    for (const int param : uses.params()) args.push_back(names.params[static_cast<std::size_t>(param)]);
    return fmt::format("{}{}({});", function, has_dense_form(unit, stage) ? "<dense>" : "", fmt::join(args, ", "));
}

}  // namespace

std::string stage_call(const Unit& unit, const CodeNames& names, std::size_t stage, const std::string& box) {
    return call(unit, names, stage, names.functions[stage], takes_box(unit.pipeline->stages[stage]) ? box : "");
}

std::string updates_call(const Unit& unit, const CodeNames& names, std::size_t stage) {
    return call(unit, names, stage, names.updates[stage], "");
}

}  // namespace pipec::codegen
