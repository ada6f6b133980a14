// What kernels use, and with it their parameters.
#include "codegen/emit/cuda/kernel_uses.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "codegen/emit/cuda/cuda_kernel.h"
#include "codegen/kernel/kernel_flow.h"

namespace pipec::codegen {

using ir::Source;
using ir::Type;

Uses uses_of(const kernel::Body& body) {
    Uses uses;
    kernel::for_each_stmt(body, [&](const kernel::Stmt& stmt) {
        for (const ir::Expr& e : kernel::expressions(stmt)) uses.add(e);
    });
    return uses;
}

std::vector<Access> accesses_of(const kernel::Stmt& stmt) {
    if (const auto* n = std::get_if<kernel::Load>(&stmt.value)) return {{n->array, n->vars.size(), false}};
    if (const auto* n = std::get_if<kernel::Store>(&stmt.value)) return {{n->array, n->values.size(), true}};
    if (const auto* n = std::get_if<kernel::Atomic>(&stmt.value)) return {{n->array, 1, true}};
    if (const auto* n = std::get_if<kernel::Copy>(&stmt.value))
        return {{n->from, n->count, false}, {n->to, n->count, true}};
    return {};
}

Type element_type(const kernel::Program& program, const kernel::Kernel& kernel, Source source) {
    const auto index = static_cast<std::size_t>(source.index);
    switch (source.kind) {
        case Source::Kind::Input: return program.pipeline.inputs.at(index).type;
        case Source::Kind::Stage: return program.pipeline.stages.at(index).type;
        case Source::Kind::Local: break;
    }
    return kernel.shared.at(index).type;
}

KernelParameters parameters_of(const kernel::Program& program, const kernel::Kernel& kernel) {
    const Uses uses = uses_of(kernel.body);
    std::set<Source> reads = uses.sources(), writes;
    KernelParameters result;
    kernel::for_each_stmt(kernel.body, [&](const kernel::Stmt& stmt) {
        for (const Access& access : accesses_of(stmt)) {
            (access.writes ? writes : reads).insert(access.array);
            if (access.count <= 1) continue;
            int& widest = result.widest[access.array];
            widest = std::max(widest,
                              static_cast<int>(access.count) * ir::bytes(element_type(program, kernel, access.array)));
        }
    });
    for (const Source source : reads) {
        if (!kernel::is_local(source) && writes.count(source) == 0) result.reads.push_back(source);
    }
    for (const Source source : writes) {
        if (!kernel::is_local(source)) result.writes.push_back(source);
    }
    result.sizes.assign(uses.sizes().begin(), uses.sizes().end());
    result.params.assign(uses.params().begin(), uses.params().end());
    std::copy_if(kernel.arguments.begin(), kernel.arguments.end(), std::back_inserter(result.arguments),
                 [&](const kernel::Argument& argument) { return uses.variable(argument.var); });
    return result;
}

std::string_view text(Density density) {
    return density == Density::Template ? "dense" : density == Density::Dense ? "true" : "false";
}

std::string view_type(const CodeNames& names, Source source, Density density) {
    const auto index = static_cast<std::size_t>(source.index);
    return fmt::format("{}<{}>", source.kind == Source::Kind::Input ? names.views[index] : names.stage_views[index],
                       text(density));
}

const std::string& source_name(const CodeNames& names, Source source) {
    const auto index = static_cast<std::size_t>(source.index);
    return source.kind == Source::Kind::Input ? names.buffers[index] : names.stages[index];
}

}  // namespace pipec::codegen
