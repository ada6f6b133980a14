#include "codegen/lower.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/text.h"
#include "fusion/inline.h"

namespace pipec::codegen {

namespace {

std::string place(const SourceManager& sources, SourceRange range) {
    return fmt::format("{}:{}", base_name(sources.name(range.file)), sources.position(range.file, range.begin).line);
}

std::string source_line(const SourceManager& sources, SourceRange range) {
    std::string_view line = sources.line(range.file, sources.position(range.file, range.begin).line);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return comment_text(line);
}

}  // namespace

std::vector<std::string> stage_comments(const ir::Stage& stage, const SourceManager& sources) {
    std::vector<std::string> lines;
    const auto add = [&](std::string_view what, SourceRange range) {
        if (range.valid())
            lines.push_back(fmt::format("{}{}: {}", what, place(sources, range), source_line(sources, range)));
    };
    add("", stage.range);
    for (const SourceRange& call : stage.made_by) add("  called at ", call);
    for (const SourceRange& included : stage.includes) add("  with ", included);
    return lines;
}

kernel::Program lower(const Unit& unit, const SourceManager& sources, const CudaOptions& options) {
    ir::Pipeline pipeline = *unit.pipeline;
    poly::Model model = *unit.model;
    widen_narrow_accumulates(pipeline, model);
    fusion::Inlined inlined = fusion::inline_stages(pipeline, model, fusion::cheap_stages(pipeline));
    kernel::Program program{std::move(inlined.pipeline), std::move(inlined.model), {}};
    for (std::size_t i = 0; i < program.pipeline.stages.size(); ++i) {
        const int stage = static_cast<int>(i);
        const auto definition = program.pipeline.stages[i].definition;  // steps add to the pipeline
        if (const auto* pure = std::get_if<ir::Pure>(&definition)) {
            program.steps.push_back(stage_step(program, stage, pure->value, sources));
            continue;
        }
        for (kernel::Step& step : accumulate_steps(program, stage, sources, options)) {
            program.steps.push_back(std::move(step));
        }
    }
    return program;
}

}  // namespace pipec::codegen
