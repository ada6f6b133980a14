// After the definitions: generated stages that one reader reads pointwise are folded into it, stages that no output
// depends on are dropped, and what is unused is said.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "frontend/elaborator.h"
#include "ir/build.h"
#include "ir/parameter_sizes.h"
#include "ir/visit.h"

namespace pipec::elab {

namespace {

/// Whether an extent or a stage uses each size.
std::vector<bool> used_sizes(const ir::Pipeline& pipeline) {
    std::vector<bool> used(pipeline.sizes.size());
    const auto look = [&](const ir::Expr& e) {
        ir::for_each_node(e, [&](const ir::Expr& node) {
            const auto* size = ir::as<ir::SizeRef>(node);
            if (size != nullptr) used.at(static_cast<std::size_t>(size->index)) = true;
        });
    };
    for (const ir::Buffer& input : pipeline.inputs) std::ranges::for_each(input.extents, look);
    for (const ir::Output& output : pipeline.outputs) std::ranges::for_each(output.buffer.extents, look);
    for (const ir::Stage& stage : pipeline.stages) std::ranges::for_each(ir::expressions(stage), look);
    for (const ir::SizeParameter& size : pipeline.sizes) {
        if (size.default_value) look(size.default_value);
    }
    return used;
}

}  // namespace

void Elaborator::finish() {
    const std::vector<bool> used = used_sizes(p_);
    for (std::size_t i = 0; i < used.size(); ++i) {
        if (used[i]) continue;
        report(diag::SizeOnlyInWhere, p_.sizes[i].range, p_.sizes[i].name)
            .note(fmt::format(
                "nothing else uses it, and every caller has to pass it; a parameter, `{}: int32 = ...`, can "
                "have a default",
                p_.sizes[i].name));
    }
    fold_generated();
    drop_unused();
    ir::replace_parameters_by_sizes(p_);
}

namespace {

/// How many Read nodes name each stage.
std::vector<int> count_reads(const ir::Pipeline& pipeline) {
    std::vector<int> counts(pipeline.stages.size());
    for (const ir::Stage& stage : pipeline.stages) {
        for (const ir::Expr& e : ir::expressions(stage)) {
            ir::for_each_node(e, [&](const ir::Expr& node) {
                const auto* read = ir::as<ir::Read>(node);
                if (read != nullptr && read->source.kind == ir::Source::Kind::Stage) {
                    ++counts[static_cast<std::size_t>(read->source.index)];
                }
            });
        }
    }
    return counts;
}

/// `indices` are the dimensions' variables, one after the other.
bool is_identity(const std::vector<ir::Expr>& indices, const std::vector<ir::Dimension>& dims) {
    return std::ranges::equal(indices, dims, [](const ir::Expr& index, const ir::Dimension& dim) {
        const auto* v = ir::as<ir::Variable>(index);
        return v != nullptr && v->id == dim.var;
    });
}

}  // namespace

void Elaborator::fold_generated() {
    const std::vector<int> counts = count_reads(p_);
    for (ir::Stage& reader : p_.stages) {
        auto* pure = std::get_if<ir::Pure>(&reader.definition);
        if (pure == nullptr) continue;
        std::unordered_map<const ir::Node*, ir::Expr> done;
        const std::function<ir::Expr(const ir::Expr&)> go = [&](const ir::Expr& e) -> ir::Expr {
            if (const auto found = done.find(e.get()); found != done.end()) return found->second;
            ir::Expr result = e;
            const auto* read = ir::as<ir::Read>(e);
            if (read != nullptr && read->source.kind == ir::Source::Kind::Stage) {
                const auto index = static_cast<std::size_t>(read->source.index);
                const ir::Stage& source = p_.stages[index];
                if (source.generated && counts[index] == 1 && is_identity(read->indices, reader.dims)) {
                    std::map<ir::VarId, ir::Expr> here;
                    for (std::size_t i = 0; i < source.dims.size(); ++i) here[source.dims[i].var] = read->indices[i];
                    result = ir::substitute(std::get<ir::Pure>(source.definition).value, here);
                }
            }
            // Inside of a loop the value would be computed again in each iteration.
            if (result == e && ir::as<ir::Reduce>(e) == nullptr) result = ir::map_children(e, go);
            done.emplace(e.get(), result);
            return result;
        };
        const ir::Expr folded = go(pure->value);
        if (contents_.of(folded).depth <= kMaxExpressionDepth) pure->value = folded;
    }
}

void Elaborator::drop_unused() {
    std::vector<bool> live(p_.stages.size());
    for (const ir::Output& output : p_.outputs) live[static_cast<std::size_t>(output.stage)] = true;
    for (std::size_t i = p_.stages.size(); i-- > 0;) {
        if (!live[i]) continue;
        for (const ir::Expr& e : ir::expressions(p_.stages[i])) {
            ir::for_each_node(e, [&](const ir::Expr& node) {
                const auto* read = ir::as<ir::Read>(node);
                if (read == nullptr || read->source.kind != ir::Source::Kind::Stage) return;
                live[static_cast<std::size_t>(read->source.index)] = true;
            });
        }
    }
    std::set<int> unused_lets;  // warned about by their names
    for (const Symbol* symbol : local_symbols_) {
        const auto* image = symbol->value.as<Image>();
        const bool stage = image != nullptr && image->source.kind == ir::Source::Kind::Stage;
        if (stage && !symbol->used) unused_lets.insert(image->source.index);
    }
    // One definition may have made many stages, by loops and calls; it is unused when none of them is live.
    const auto place = [](SourceRange r) { return std::tuple(r.file, r.begin, r.end); };
    std::set<std::tuple<FileId, std::uint32_t, std::uint32_t>> live_places;
    for (std::size_t i = 0; i < live.size(); ++i) {
        if (live[i]) live_places.insert(place(p_.stages[i].range));
    }
    std::vector<int> moved(live.size(), -1);
    std::vector<ir::Stage> kept;
    for (std::size_t i = 0; i < live.size(); ++i) {
        ir::Stage& stage = p_.stages[i];
        if (live[i]) {
            moved[i] = static_cast<int>(kept.size());
            kept.push_back(std::move(stage));
        } else if (!stage.generated && !unused_lets.contains(static_cast<int>(i)) &&
                   !live_places.contains(place(stage.range)) && !files_.is_standard_library(stage.range.file)) {
            instance_ = nullptr;
            report(diag::UnusedStage, stage.range, stage.name);
        }
    }
    p_.stages = std::move(kept);
    std::unordered_map<const ir::Node*, ir::Expr> done;
    const std::function<ir::Expr(const ir::Expr&)> renumber = [&](const ir::Expr& e) -> ir::Expr {
        if (const auto found = done.find(e.get()); found != done.end()) return found->second;
        ir::Expr result = ir::map_children(e, renumber);
        if (const auto* read = ir::as<ir::Read>(result);
            read != nullptr && read->source.kind == ir::Source::Kind::Stage) {
            const int index = moved[static_cast<std::size_t>(read->source.index)];
            result = ir::read({ir::Source::Kind::Stage, index}, result->type, read->indices, result->range);
        }
        done.emplace(e.get(), result);
        return result;
    };
    // Nodes must outlive the memo, which knows them by address: the old expressions are kept until the end.
    const std::vector<ir::Stage> old = p_.stages;
    for (ir::Stage& stage : p_.stages) ir::map_expressions(stage, renumber);
    for (ir::Output& output : p_.outputs) output.stage = moved[static_cast<std::size_t>(output.stage)];
}

void Elaborator::warn_unused() {
    instance_ = nullptr;
    for (const auto& [name, symbol] : body_->names) {
        if (symbol->used) continue;
        if (symbol->kind == Symbol::Kind::Input) report(diag::UnusedInput, symbol->range, name);
        if (symbol->kind == Symbol::Kind::Parameter) report(diag::UnusedParameter, symbol->range, name);
    }
    std::set<std::pair<FileId, std::uint32_t>> used;
    for (const Symbol* symbol : local_symbols_) {
        if (symbol->used) used.emplace(symbol->range.file, symbol->range.begin);
    }
    for (const Symbol* symbol : local_symbols_) {
        if (used.contains({symbol->range.file, symbol->range.begin})) continue;
        if (files_.is_standard_library(symbol->range.file) || symbol->name.starts_with('_')) continue;
        report(diag::UnusedLet, symbol->range, symbol->kind == Symbol::Kind::Const ? "const" : "let", symbol->name);
    }
}

}  // namespace pipec::elab
