#include "driver/program.h"

#include <iostream>

#include "compiler/fast_math.h"
#include "driver/files.h"
#include "support/render.h"

namespace pipec::driver {

compiler::Settings ProgramOptions::settings() const {
    compiler::Settings result;
    result.include_dirs = include_dirs;
    result.fast_math = fast_math;
    return result;
}

FileId add_source(SourceManager& sources, const std::string& input) {
    return sources.add(input == "-" ? "<stdin>" : input, read_source(input));
}

bool load(const ProgramOptions& options, LoadedProgram& program) {
    WarningOptions warnings;
    warnings.none = options.no_warnings;
    Diagnostics diags(warnings);
    const FileId main = add_source(program.sources, options.input);
    program.name = program.sources.name(main);
    program.checked = compiler::check(program.sources, main, options.settings(), diags);
    if (options.fast_math && !diags.has_errors()) compiler::warn_of_finite_math(program.checked.pipelines, diags);
    print(diags, program.sources, options.color);
    return !diags.has_errors();
}

void print(const Diagnostics& diags, const SourceManager& sources, bool color) {
    std::cerr << render_text(diags, sources, {.color = color}) << std::flush;
}

}  // namespace pipec::driver
