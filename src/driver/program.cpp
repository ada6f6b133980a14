#include "driver/program.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "compiler/fast_math.h"
#include "driver/files.h"
#include "driver/options.h"
#include "support/render.h"

namespace pipec::driver {

compiler::Settings ProgramOptions::settings() const {
    compiler::Settings result;
    result.include_dirs = include_dirs;
    result.fast_math = fast_math;
    result.phases = phases;
    result.versions = versions;
    return result;
}

void add_import_option(CLI::App& app, ProgramOptions& options, const std::string& group) {
    app.add_option("-I", options.include_dirs, "Search DIR for imports")
        ->allow_extra_args(false)
        ->option_text("DIR ...")
        ->group(group);
}

void add_message_options(CLI::App& app, ProgramOptions& options, const std::string& group) {
    app.add_flag("-w", options.no_warnings, "No warnings about the program")->group(group);
    const auto set_color = [&options](const std::string& when) {
        options.color = use_color(when == "always" ? Color::Always : when == "never" ? Color::Never : Color::Auto);
    };
    app.add_option_function<std::string>("--color", set_color, "auto, always or never: messages about the program")
        ->check(CLI::IsMember({"auto", "always", "never"}))
        ->option_text("WHEN")
        ->group(group);
    options.color = use_color(Color::Auto);
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
