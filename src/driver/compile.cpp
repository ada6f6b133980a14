#include "driver/compile.h"

#include <fmt/format.h>

#include <stdexcept>

#include "ir/verify.h"
#include "poly/clamp_casts.h"

namespace pipec::driver {
namespace {

/// What elaboration promises to every later pass; a broken promise is a defect of the compiler.
void require_well_formed(const ir::Pipeline& pipeline) {
    const std::vector<std::string> defects = ir::verify(pipeline);
    if (!defects.empty()) {
        throw std::logic_error(fmt::format("pipeline `{}` is not well-formed: {}", pipeline.name, defects.front()));
    }
}

}  // namespace

Compilation compile(SourceManager& sources, FileId main, const CompileOptions& options, Diagnostics& diags) {
    Compilation result;
    const std::size_t errors_before = diags.error_count();
    result.program = load_program(sources, main, {options.include_dirs}, diags);
    if (options.last == Phase::Parse || diags.error_count() > errors_before) return result;

    result.pipelines = elaborate(result.program, sources, diags);
    for (const ir::Pipeline& pipeline : result.pipelines) require_well_formed(pipeline);
    if (options.last == Phase::Elaborate) return result;

    for (ir::Pipeline& pipeline : result.pipelines) {
        auto model = poly::analyze(pipeline, diags, options.analysis);
        if (!model) continue;
        if (options.fast_math) pipeline = poly::clamp_casts(pipeline, *model);
        result.models.push_back(std::move(*model));
    }
    return result;
}

}  // namespace pipec::driver
