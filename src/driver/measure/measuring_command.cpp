#include "driver/measure/measuring_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "compiler/schedule.h"
#include "driver/command_line.h"
#include "driver/files.h"
#include "driver/native/nvcc.h"
#include "driver/options.h"
#include "runner/options.h"
#include "support/unicode.h"

namespace fs = std::filesystem;

namespace pipec::driver {

void add_measuring_options(CLI::App& app, MeasuringOptions& options) {
    use_classic_names(app);
    app.add_option("file.pipe", options.program.input, "The program; `-` is standard input")
        ->required()
        ->option_text(" ");
    app.add_option("-o,--output", options.output, "Where the result goes")->option_text("FILE");
    app.add_option("--pipeline", options.pipeline, "Which pipeline of the file; needed where there are several")
        ->option_text("NAME");
    const std::string group = "Compilation";
    add_import_option(app, options.program, group);
    app.add_option("-j", options.jobs, "Run so many compilers at a time; default: one for each processor")
        ->check(CLI::Range(1, 256))
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
        ->option_text("N")
        ->group(group);
    app.add_option("--nvcc", options.nvcc, "The CUDA compiler; default $NVCC, or where CUDA is installed")
        ->option_text("COMMAND")
        ->group(group);
    app.add_option("--cxx", options.native.command, "The C++ compiler that nvcc calls")
        ->option_text("COMMAND")
        ->group(group);
    add_fast_math_option(app, options.program.fast_math, group);
    app.add_flag("--no-cache", options.no_cache, "Compile anew and keep no object")->group(group);
    add_message_options(app, options.program, group);
    app.add_flag("-q,--quiet", options.quiet, "Say nothing about progress");
}

std::optional<int> parse_command(CLI::App& app, const std::string& command, int argc, char** argv,
                                 const std::function<void()>& check) {
    app.allow_extras();
    try {
        parse_arguments(app, {argv + 1, argv + argc});
        refuse_extras(app, "one file is measured at a time");
        if (check) check();
    } catch (const CLI::CallForHelp&) {
        write_files({{"-", app.help()}});
        return kExitSuccess;
    } catch (const CLI::ParseError& error) {
        std::cerr << "pipec: error: " << printable(error.what()) << "\nTry `" << command << " --help`.\n";
        return kExitUsage;
    }
    return std::nullopt;
}

bool load(const MeasuringOptions& options, MeasuredProgram& program) {
    LoadedProgram loaded;
    if (!load(options.program, loaded)) return false;
    const std::size_t index = choose_pipeline(options.program.input, options.pipeline, loaded.checked.pipelines);
    program.sources = std::move(loaded.sources);
    program.name = std::move(loaded.name);
    program.checked = compiler::only(loaded.checked, index);
    program.prepared = compiler::prepare(program.checked).front();
    program.settings = options.program.settings();
    return true;
}

NativeSource cuda_of(const MeasuredProgram& program, const fusion::Schedule& schedule) {
    compiler::Scheduled scheduled;
    scheduled.target = program.target;
    scheduled.schedules = {{program.pipeline().name, schedule}};
    const compiler::Lowered lowered = compiler::lower(program.checked, scheduled, program.settings, program.sources);
    return {"pipeline.cu", compiler::code_text(program.name, "pipeline.h", program.checked, lowered, program.sources),
            "pipeline.h", compiler::header_text(program.name, "pipeline", program.checked)};
}

fusion::Schedule pinned(const MeasuredProgram& program, const fusion::Schedule& schedule) {
    const std::string& name = program.pipeline().name;
    compiler::Scheduled scheduled;
    scheduled.target = program.target;
    scheduled.schedules = {{name, compiler::completed(program.prepared, schedule)}};
    const compiler::Lowered lowered = compiler::lower(program.checked, scheduled, program.settings, program.sources);
    return compiler::pinned(scheduled, lowered).at(name);
}

void check_output(const std::string& path) {
    std::error_code error;
    if (fs::is_directory(path, error)) throw FileError(fmt::format("cannot write {}: it is a directory", path));
    const fs::path parent = fs::path(path).parent_path();
    const std::string directory = parent.empty() ? "." : parent.string();
    if (access(directory.c_str(), W_OK) != 0) {
        throw FileError(fmt::format("cannot write {}: {}", path, std::generic_category().message(errno)));
    }
}

int guarded(const std::function<int()>& command) {
    try {
        return command();
    } catch (const RunError& error) {
        return fail_run(error.exit_code, error.what());
    } catch (const fusion::ScheduleError& error) {
        return fail_run(kExitProgramError, error.what());
    } catch (const ToolError& error) {
        return fail_run(kExitProgramError, error.what());
    } catch (const BadArchitecture& error) {
        return fail_run(kExitProgramError, error.what());
    } catch (const FileError& error) {
        return fail_run(kExitFile, error.what());
    } catch (const std::system_error& error) {
        return fail_run(kExitFile, error.what());
    }
}

}  // namespace pipec::driver
