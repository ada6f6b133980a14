#include "lsp/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <exception>

#include "frontend/diagnostics.h"
#include "lsp/stage_facts.h"

namespace pipec::lsp {

namespace {

PIPEC_DECLARE_DIAGNOSTIC(AnalysisFailed, Error, "internal-error", "internal error: {}", std::string);

void run(const AnalysisRequest& request, Analysis& result) {
    compiler::Settings settings;
    settings.include_dirs = request.include_dirs;
    settings.open_files = request.open_files;
    settings.last = request.full ? compiler::Phase::Analyze : compiler::Phase::Elaborate;
    result.checked = compiler::check(result.sources, result.main, settings, result.diags, &result.record);
    result.names = collect_names(result.checked.program, result.sources);
    if (request.full && !result.diags.has_errors()) result.stages = stage_facts(result.checked, result.sources);
    result.full = request.full;
}

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

}  // namespace

std::shared_ptr<const Analysis> analyze(const AnalysisRequest& request) {
    auto result = std::make_shared<Analysis>();
    result->main = result->sources.add(request.path, request.text);
    try {
        run(request, *result);
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& error) {
        result->diags.report(AnalysisFailed, {result->main, 0, 0}, error.what());
    }
    return result;
}

bool is_on_disk(const Analysis& analysis, FileId file) {
    return file >= 0 && !analysis.sources.name(file).starts_with("<");
}

std::optional<NameAt> name_at(const Analysis& analysis, std::size_t offset) {
    const auto holds = [&](SourceRange range) {
        return range.file == analysis.main && range.begin <= offset && offset <= range.end;
    };
    std::optional<NameAt> found;
    const auto consider = [&](int declaration, SourceRange range) {
        // Between two names that touch, the one that begins here.
        if (holds(range) && (!found || range.begin > found->range.begin)) found = NameAt{declaration, range};
    };
    for (const NameUse& use : analysis.names.uses) consider(use.declaration, use.range);
    for (std::size_t i = 0; i < analysis.names.declarations.size(); ++i) {
        consider(static_cast<int>(i), analysis.names.declarations[i].range);
    }
    return found;
}

std::string_view word_at(std::string_view text, std::size_t offset) {
    std::size_t begin = std::min(offset, text.size());
    std::size_t end = begin;
    while (begin > 0 && is_word(text[begin - 1])) --begin;
    while (end < text.size() && is_word(text[end])) ++end;
    return text.substr(begin, end - begin);
}

}  // namespace pipec::lsp
