// Programs: the parser, and everything up to the analysis.
#include <stdexcept>

#include "codegen/emit/host/host.h"
#include "compiler/passes.h"
#include "fuzz/targets/targets.h"
#include "ir/print.h"
#include "support/render.h"

namespace pipec::fuzz {

namespace {

constexpr unsigned long kOperations = 20'000;

void compile(std::string_view input, compiler::Phase last) {
    SourceManager sources;
    Diagnostics diags;
    compiler::Settings options;
    options.last = last;
    options.analysis.max_operations = kOperations;
    const compiler::Checked result =
        compiler::check(sources, sources.add("input.pipe", std::string(input)), options, diags);
    render_text(diags, sources);
    if (last != compiler::Phase::Analyze) return;
    render_json(diags, sources);  // takes longer than parsing
    if (diags.has_errors()) return;
    if (result.models.size() != result.pipelines.size()) throw std::logic_error("neither refused nor accepted");
    std::vector<codegen::Unit> units;
    for (std::size_t i = 0; i < result.pipelines.size(); ++i) {
        units.push_back({&result.pipelines[i], &result.models[i]});
        poly::to_string(result.pipelines[i], result.models[i]);
    }
    codegen::header("input.pipe", "input", units);
    codegen::host_source("input.pipe", "input.h", units, sources);
}

}  // namespace

void parser(std::string_view input) {
    compile(input, compiler::Phase::Parse);
}

void frontend(std::string_view input) {
    compile(input, compiler::Phase::Analyze);
}

}  // namespace pipec::fuzz
