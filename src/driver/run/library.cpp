// The command line of `pipec library`; compiling is that of `pipec run`, with its cache.
#include "driver/run/library.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <optional>
#include <system_error>

#include "driver/command_line.h"
#include "driver/files.h"
#include "driver/native/tool.h"
#include "driver/options.h"
#include "driver/run/run_steps.h"
#include "runner/options.h"
#include "support/unicode.h"

namespace pipec::driver {

namespace {

struct LibraryOptions {
    MachineOptions machine;
    std::string device = "auto";
    std::string output;  ///< empty: no object
};

struct ParsedLibrary {
    LibraryOptions options;
    std::optional<int> finished;  ///< exit code: there is nothing to do
};

constexpr const char* kLibraryFooter = R"(
Prints what a program must know to call the pipelines, as JSON: this is what the Python package asks.
With -o one pipeline is compiled for this machine, exactly as `pipec run` does it, and from the same
cache. The object has the interface of docs/generated-code.md.

Exit codes: 0 success, 1 the program or its schedule has errors, 2 wrong command line, 3 a file
could not be read or written, 5 a compiler or the GPU is missing, or a compiler failed.

Examples:
  pipec library blur.pipe
  pipec library blur.pipe -o blur.so --device cpu)";

constexpr const char* kLibraryTitle = "A pipeline as a shared object for this machine, with a description of it.";

void declare(CLI::App& app, LibraryOptions& options) {
    app.footer(kLibraryFooter);
    add_machine_options(app, options.machine);
    app.add_option("-o,--output", options.output, "Compile one pipeline, and write the shared object to FILE")
        ->option_text("FILE");
    app.add_flag("--windows", options.machine.windows, "With -o: the object has functions for parts of images, too");
    app.add_flag("--phases", options.machine.program.phases,
                 "The phases of pipelines with statistics of whole images are pipelines, too");
    runner::add_device_option(app, options.device);
    app.allow_extras();
}

ParsedLibrary parse_library_options(int argc, char** argv) {
    ParsedLibrary parsed;
    LibraryOptions& options = parsed.options;
    CLI::App app(kLibraryTitle, "pipec library");
    declare(app, options);
    try {
        parse_arguments(app, {argv + 1, argv + argc});
        refuse_extras(app, "one file is compiled at a time");
        if (const auto wrong = inconsistency(options.machine.schedule)) throw CLI::ParseError(*wrong, kExitUsage);
        if (options.machine.windows && options.output.empty()) {
            throw CLI::ParseError("`--windows` is for an object, and there is none without `-o`", kExitUsage);
        }
        if (options.output == "-") throw CLI::ParseError("standard output is for the description", kExitUsage);
    } catch (const CLI::CallForHelp&) {
        write_files({{"-", app.help()}});
        parsed.finished = kExitSuccess;
    } catch (const CLI::ParseError& error) {
        std::cerr << "pipec: error: " << printable(error.what()) << "\nTry `pipec library --help`.\n";
        parsed.finished = kExitUsage;
    }
    return parsed;
}

int make_library(const LibraryOptions& options) {
    LoadedProgram program;
    const bool compiles = !options.output.empty();
    if (!load(compiles ? with_versions(options.machine) : options.machine.program, program)) return kExitProgramError;
    const std::string& input = options.machine.program.input;
    // Refused before anything is compiled, and also where nothing will be.
    const std::size_t index = options.output.empty() && options.machine.pipeline.empty()
                                  ? 0
                                  : choose_pipeline(input, options.machine.pipeline, program.checked.pipelines);
    if (options.output.empty()) {
        write_files({{"-", library_json(program, std::nullopt)}});
        return kExitSuccess;
    }
    const std::optional<std::string> runner = options.device == "cpu" ? std::string() : locate_runner();
    if (!runner) throw ToolError("there is no pipec-run, which looks for GPUs: it belongs beside pipec, or on PATH");
    const MachineObject made = make_for_this_machine(options.machine, program, index, options.device, *runner, false);
    const WrittenObject written{options.output, program.checked.pipelines[index].name, made};
    write_files(
        {{options.output, read_source(made.object.file.inherited_path())}, {"-", library_json(program, written)}});
    return kExitSuccess;
}

}  // namespace

void describe_library(const AppVisitor& visit) {
    describe<LibraryOptions>(kLibraryTitle, "pipec library", declare, visit);
}

int library_command(int argc, char** argv) {
    const ParsedLibrary parsed = parse_library_options(argc, argv);
    if (parsed.finished) return *parsed.finished;
    try {
        return make_library(parsed.options);
    } catch (const RunError& error) {
        return fail_run(error.exit_code, error.what());
    } catch (const fusion::ScheduleError& error) {
        return fail_run(kExitProgramError, error.what());
    } catch (const ToolError& error) {
        return fail_run(kExitTool, error.what());
    } catch (const std::system_error& error) {
        return fail_run(kExitFile, error.what());
    }
}

}  // namespace pipec::driver
