// `pipec`: the command line in, the passes in their order, files out.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include "codegen/lower.h"
#include "compiler/code_origin.h"
#include "compiler/diagnostics.h"
#include "compiler/fast_math.h"
#include "compiler/perf_warnings.h"
#include "driver/commands.h"
#include "driver/cpu_option.h"
#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/gpu_option.h"
#include "driver/native/nvcc.h"
#include "driver/native/object.h"
#include "driver/native/temporary_directory.h"
#include "driver/options.h"
#include "driver/outputs.h"
#include "driver/program.h"
#include "driver/run/run_process.h"
#include "driver/warnings.h"
#include "poly/memory.h"
#include "support/big_stack.h"
#include "support/render.h"
#include "support/unicode.h"

namespace pipec::driver {
namespace {

/// The passes recurse as deep as the deepest program that their limits admit, also in builds for debuggers and
/// sanitizers, whose frames are large. It is address space; an ordinary compilation touches some hundred KB.
constexpr std::size_t kStackBytes = std::size_t{256} << 20;

void print_diagnostics(const Options& options, const Diagnostics& diags, const SourceManager& sources) {
    std::cerr << (options.diagnostics_format == DiagnosticsFormat::Json
                      ? render_json(diags, sources)
                      : render_text(diags, sources, {.color = use_color(options.color)}))
              << std::flush;
}

/// A message that may have many lines; each is printed with its control characters made visible.
void print_lines(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) std::cerr << printable(line) << "\n";
}

/// -###: the command, without the directory that does not exist yet.
int print_command(const Options& options, const OutputPaths& paths) {
    const NativeCompiler compiler = object_compiler(options.platform, options.object);
    print_lines(
        object_command(compiler, object_source_name(options, paths), options.object, TemporaryDirectory::pattern()));
    return kExitSuccess;
}

/// The object as a file to be written. What the compiler had to say is shown, unless it would spoil a document.
OutputFile object_file(const Options& options, const OutputPaths& paths, const NativeSource& source) {
    const NativeCompiler compiler = object_compiler(options.platform, options.object);
    ObjectBytes object = make_object(compiler, source, options.object);
    if (options.diagnostics_format == DiagnosticsFormat::Text) print_lines(object.output);
    return {paths.main, std::move(object.bytes)};
}

/// Floats that atomics add: equal inputs need not give equal bits. Once for each stage.
void warn_of_order(const std::vector<ir::Pipeline>& pipelines, Diagnostics& diags) {
    for (const ir::Pipeline& pipeline : pipelines) {
        std::set<int> told;
        for (const codegen::OrderDependent& update : codegen::order_dependent_updates(pipeline)) {
            if (!told.insert(update.stage).second) continue;
            const std::string& name = pipeline.stages.at(static_cast<std::size_t>(update.stage)).name;
            diags.report(diag::OrderDependent, update.range, name)
                .note("`--deterministic` keeps the program's order, and may be much slower");
        }
    }
}

compiler::Settings settings_of(const Options& options) {
    compiler::Settings settings;
    settings.include_dirs = options.include_dirs;
    settings.analysis = options.analysis;
    settings.last = last_phase(options.emit);
    settings.fast_math = options.object.fast_math;
    settings.deterministic = options.deterministic;
    settings.windows = options.windows;
    settings.phases = options.phases;
    settings.versions =
        writes_code(options.emit) && options.emit != Emit::Header && compiler::is_automatic(options.schedule.request);
    return settings;
}

/// The passes for a GPU. Throws fusion::ScheduleError and FileError.
void make_kernels(const Options& options, Compilation& compilation, Diagnostics& diags) {
    compiler::ScheduleRequest request = options.schedule.request;
    read_files(request);
    const compiler::Settings settings = settings_of(options);
    const compiler::Prepared prepared = compiler::prepare(compilation.checked);
    compilation.scheduled =
        compiler::schedule(prepared, request, gpu_target(options.schedule.gpu), settings, compilation.sources);
    // A schedule that somebody chose is checked also where no code is written.
    if (needs_kernels(options.emit) || first_given(options.schedule) || options.pin) {
        compilation.lowered =
            compiler::lower(compilation.checked, compilation.scheduled, settings, compilation.sources);
        compilation.lowered->versions = compiler::lower_versions(
            compilation.checked, request.model, compilation.scheduled.target, settings, compilation.sources);
    }
    if (options.emit == Emit::Plan) {
        compilation.plans =
            compiler::plan_text(compilation.checked, compilation.scheduled, settings, compilation.sources);
    }
    if (options.pin) compilation.scheduled.schedules = compiler::pinned(compilation.scheduled, *compilation.lowered);
    if (any_enabled(options.warnings, kPerformanceGroup)) {
        compiler::warn_of_performance(prepared, compilation.scheduled.schedules, compilation.scheduled.target,
                                      request.model, diags);
    }
}

/// What a compilation gives, except what another compiler makes of it.
struct Generated {
    std::vector<OutputFile> files;
    NativeSource object;  ///< where there is one
};

/// Where nothing is written, a schedule tells something only if somebody chose it, or asked what is slow.
bool needs_schedule(const Options& options) {
    if (!uses_schedule(options.emit)) return false;
    return options.emit != Emit::Nothing || first_given(options.schedule) || options.pin || !options.cpu.empty() ||
           any_enabled(options.warnings, kPerformanceGroup);
}

/// The last passes. A schedule that does not fit the program is reported to `diags`.
Generated generate(const Options& options, const OutputPaths& paths, Compilation& compilation, Diagnostics& diags) {
    Generated result;
    try {
        if (options.platform == fusion::Platform::Cuda && needs_schedule(options)) {
            make_kernels(options, compilation, diags);
        }
        if (options.platform == fusion::Platform::Host && needs_schedule(options)) {
            compiler::ScheduleRequest request = options.schedule.request;
            read_files(request);
            compilation.host_schedules =
                compiler::host_schedule(compilation.checked, request.file, cpu_of(options.cpu));
        }
        const bool has_schedule = options.platform == fusion::Platform::Cuda;
        compilation.origin = compiler::code_origin(settings_of(options), options.schedule.request,
                                                   has_schedule ? &compilation.scheduled : nullptr);
        compilation.windows = options.windows;
        result.files = make_outputs(options, paths, compilation);
        if (options.emit == Emit::Object) result.object = object_source(paths, options, compilation);
    } catch (const fusion::ScheduleError& error) {
        const std::string message = error.what();
        auto report = diags.report(diag::InvalidSchedule, {}, message);
        const auto& file = options.schedule.request.file;
        if (file && !message.starts_with(file->name)) report.note(fmt::format("the schedule is in {}", file->name));
    }
    return result;
}

/// Compiles one file and prints its messages; what it gives is not written yet. None where the program has errors.
std::optional<std::vector<OutputFile>> compile(const Options& options, const OutputPaths& paths) {
    Diagnostics diags(options.warnings);
    for (const std::string& flag : options.unknown_warnings) {
        auto report = diags.report(diag::UnknownWarningOption, {}, flag);
        if (const auto close = closest_warning_flag(flag)) report.note("did you mean `-W" + *close + "`?");
    }
    Compilation compilation;
    const FileId main = add_source(compilation.sources, options.input);
    compilation.checked = compiler::check(compilation.sources, main, settings_of(options), diags);
    const std::vector<ir::Pipeline>& pipelines = compilation.checked.pipelines;
    if (writes_code(options.emit) && pipelines.empty() && !diags.has_errors()) {
        diags.report(diag::MissingPipeline, {}, std::string(compilation.sources.name(main)))
            .note("`-fsyntax-only` checks a file of functions");
    }
    if (options.platform == fusion::Platform::Cuda && writes_code(options.emit) && !options.deterministic &&
        !diags.has_errors()) {
        warn_of_order(pipelines, diags);
    }
    if (options.object.fast_math && !diags.has_errors()) compiler::warn_of_finite_math(pipelines, diags);
    Generated generated;
    if (!diags.has_errors()) generated = generate(options, paths, compilation, diags);
    print_diagnostics(options, diags, compilation.sources);
    if (diags.has_errors()) return std::nullopt;
    protect_inputs(paths, options, compilation.checked.program);
    if (options.emit == Emit::Object) generated.files.push_back(object_file(options, paths, generated.object));
    return std::move(generated.files);
}

/// All files are compiled before the first is written, so an error in one leaves all outputs as they are.
int run_compiler(Options options) {
    std::vector<std::string> inputs{options.input};
    inputs.insert(inputs.end(), options.more_inputs.begin(), options.more_inputs.end());
    std::vector<OutputFile> files;
    std::map<std::string, std::string> writers;  // of each path: the input
    bool failed = false;
    for (const std::string& input : inputs) {
        options.input = input;
        const OutputPaths paths = plan_outputs(options);
        if (options.object.print_only) {
            print_command(options, paths);
            continue;
        }
        auto made = compile(options, paths);
        failed = failed || !made;
        if (!made) continue;
        for (OutputFile& file : *made) {
            const auto [writer, is_new] = writers.emplace(file.path, input);
            if (!is_new && writer->second != input && file.path != "-") {
                throw BadPaths(fmt::format("`{}` and `{}` would both write `{}`", writer->second, input, file.path));
            }
            files.push_back(std::move(file));
        }
        options.unknown_warnings.clear();  // told once
    }
    if (failed) return kExitProgramError;
    write_files(files);
    return kExitSuccess;
}

std::string advice_about(std::string_view name) {
    std::vector<std::string> names{"help"};
    for (const Command& command : commands()) names.emplace_back(command.name);
    const auto close = closest_name(std::string(name), names);
    return close ? fmt::format("did you mean `pipec {}`?", *close) : "`pipec help` lists the commands";
}

/// What is wrong with a first argument that looks like a command: a word that names neither one nor a file.
std::optional<std::string> unknown_command(std::string_view name) {
    const bool word =
        !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalpha(c) != 0; });
    std::error_code error;
    if (!word || name == "help" || std::filesystem::exists(name, error)) return std::nullopt;
    return fmt::format("there is no command and no file `{}`; {}", name, advice_about(name));
}

int refuse(const std::string& message) {
    std::cerr << "pipec: error: " << printable(message) << "\nTry `pipec --help`.\n";
    return kExitUsage;
}

/// `pipec help run` is `pipec run --help`.
int help_of(std::string name) {
    const Command* command = find_command(name);
    if (command == nullptr) return refuse(fmt::format("there is no command `{}`; {}", name, advice_about(name)));
    std::string option = "--help";
    std::array<char*, 3> arguments{name.data(), option.data(), nullptr};
    return command->run(2, arguments.data());
}

int run_main(int argc, char** argv) {
    if (argc > 1) {
        const std::string_view name = argv[1];
        if (const Command* command = find_command(name)) return command->run(argc - 1, argv + 1);
        if (name == "help" && argc > 2) return help_of(argv[2]);
        if (const auto wrong = unknown_command(name)) return refuse(*wrong);
    }
    std::vector<const char*> arguments(argv, argv + argc);
    if (argc == 2 && std::strcmp(argv[1], "help") == 0) arguments[1] = "--help";
    const auto parsed = parse_options(argc, arguments.data());
    if (const auto* finished = std::get_if<Finished>(&parsed)) {
        if (finished->exit_code == kExitSuccess) {
            write_files({{"-", finished->text}});
        } else {
            std::cerr << finished->text;
        }
        return finished->exit_code;
    }
    return run_compiler(std::get<Options>(parsed));
}

constexpr const char* kOutOfMemory = "out of memory";

int fail(int exit_code, const char* what) {
    std::cerr << "pipec: error: ";
    print_lines(what);
    return exit_code;
}

/// Memory that is missing in a destructor, where nothing can be caught: ANTLR's parsers allocate in some.
[[noreturn]] void on_terminate() {
    try {
        if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
        std::_Exit(fail(kExitProgramError, kOutOfMemory));
    } catch (...) {  // the message of abort
    }
    std::abort();
}

/// Memory that is missing where nothing can be thrown.
void on_exhausted_numbers() {
    std::_Exit(fail(kExitProgramError, kOutOfMemory));
}

}  // namespace
}  // namespace pipec::driver

int main(int argc, char** argv) {
    using namespace pipec::driver;
    std::set_terminate(on_terminate);
    pipec::poly::on_exhausted_numbers(on_exhausted_numbers);
    try {
        int exit_code = kExitInternal;
        pipec::run_on_big_stack(kStackBytes, [&] { exit_code = run_main(argc, argv); });
        return exit_code;
    } catch (const FileError& e) {
        return fail(kExitFile, e.what());
    } catch (const BadPaths& e) {
        return fail(kExitUsage, e.what());
    } catch (const BadArchitecture& e) {
        return fail(kExitUsage, e.what());
    } catch (const ToolError& e) {
        return fail(kExitTool, e.what());
    } catch (const Interrupted& e) {
        die_of(e.signal);
    } catch (const std::bad_alloc&) {
        return fail(kExitProgramError, kOutOfMemory);
    } catch (const std::exception& e) {
        std::cerr << "pipec: internal error: " << e.what()
                  << "\npipec: this is a defect of the compiler; please report it with the program\n";
        return kExitInternal;
    }
}
