// `pipec`: the command line in, the passes in their order, files out.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <sstream>

#include "codegen/lower.h"
#include "driver/compile.h"
#include "driver/diagnostics.h"
#include "driver/explain.h"
#include "driver/fast_math.h"
#include "driver/files.h"
#include "driver/gpu_option.h"
#include "driver/nvcc.h"
#include "driver/object.h"
#include "driver/options.h"
#include "driver/outputs.h"
#include "driver/perf_warnings.h"
#include "driver/profile.h"
#include "driver/run.h"
#include "driver/run_process.h"
#include "driver/schedule.h"
#include "driver/temporary_directory.h"
#include "driver/tune.h"
#include "driver/warnings.h"
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

/// Floats that atomics add: equal inputs need not give equal bits.
void warn_of_order(const Compilation& compilation, Diagnostics& diags) {
    for (const ir::Pipeline& pipeline : compilation.pipelines) {
        for (const codegen::OrderDependent& update : codegen::order_dependent_updates(pipeline)) {
            const std::string& name = pipeline.stages.at(static_cast<std::size_t>(update.stage)).name;
            diags.report(diag::OrderDependent, update.range, name)
                .note("`--deterministic` keeps the program's order, and may be much slower");
        }
    }
}

/// Which GPU it is matters where there is a schedule.
fusion::Target target_of(const Options& options) {
    if (options.platform == fusion::Platform::Host) return fusion::Target::host();
    return uses_schedule(options.emit) ? gpu_target(options.schedule.gpu) : fusion::default_target();
}

/// What a compilation gives, but for what another compiler makes of it.
struct Generated {
    std::vector<OutputFile> files;
    NativeSource object;  ///< where there is one
};

/// The last passes. A schedule that does not fit the program is reported to `diags`.
Generated generate(const Options& options, const OutputPaths& paths, Compilation& compilation,
                   const SourceManager& sources, Diagnostics& diags) {
    Generated result;
    try {
        compilation.target = target_of(options);
        if (options.platform == fusion::Platform::Cuda && uses_schedule(options.emit)) {
            compilation.schedules =
                make_schedules(options.schedule, compilation, sources, options.object.fast_math, &compilation.made);
            if (first_given(options.schedule)) check_schedules(options, compilation, sources);
            if (any_enabled(options.warnings, kPerformanceGroup)) {
                warn_of_performance(compilation, compilation.schedules, options.schedule.automatic, diags);
            }
        }
        result.files = make_outputs(options, paths, compilation, sources);
        if (options.emit == Emit::Object) result.object = object_source(options, paths, compilation, sources);
    } catch (const fusion::ScheduleError& error) {
        const std::string message = error.what();
        auto report = diags.report(diag::InvalidSchedule, {}, message);
        const auto& file = options.schedule.file;
        if (file && !message.starts_with(*file)) report.note(fmt::format("the schedule is in {}", *file));
    }
    return result;
}

int run_compiler(const Options& options) {
    Diagnostics diags(options.warnings);
    for (const std::string& flag : options.unknown_warnings) {
        auto report = diags.report(diag::UnknownWarningOption, {}, flag);
        if (const auto close = closest_warning_flag(flag)) report.note("did you mean `-W" + *close + "`?");
    }
    const OutputPaths paths = plan_outputs(options);
    if (options.object.print_only) return print_command(options, paths);
    SourceManager sources;
    const FileId main = sources.add(options.input == "-" ? "<stdin>" : options.input, read_source(options.input));
    const CompileOptions compile_options{options.include_dirs, options.analysis, last_phase(options.emit),
                                         options.object.fast_math};
    Compilation compilation = compile(sources, main, compile_options, diags);
    if (writes_code(options.emit) && compilation.pipelines.empty() && !diags.has_errors()) {
        diags.report(diag::MissingPipeline, {}, std::string(sources.name(main)))
            .note("`-fsyntax-only` checks a file of functions");
    }
    if (options.platform == fusion::Platform::Cuda && writes_code(options.emit) && !options.deterministic &&
        !diags.has_errors()) {
        warn_of_order(compilation, diags);
    }
    if (options.object.fast_math && !diags.has_errors()) warn_of_finite_math(compilation.pipelines, diags);
    Generated generated;
    if (!diags.has_errors()) generated = generate(options, paths, compilation, sources, diags);
    print_diagnostics(options, diags, sources);
    if (diags.has_errors()) return kExitProgramError;
    protect_inputs(paths, options, compilation.program);
    if (options.emit == Emit::Object) generated.files.push_back(object_file(options, paths, generated.object));
    write_files(generated.files);
    return kExitSuccess;
}

int run_main(int argc, char** argv) {
    if (argc > 1 && std::strcmp(argv[1], "run") == 0) return run_command(argc - 1, argv + 1);
    if (argc > 1 && std::strcmp(argv[1], "explain") == 0) return explain_command(argc - 1, argv + 1);
    if (argc > 1 && std::strcmp(argv[1], "profile") == 0) return profile_command(argc - 1, argv + 1);
    if (argc > 1 && std::strcmp(argv[1], "tune") == 0) return tune_command(argc - 1, argv + 1);
    const auto parsed = parse_options(argc, argv);
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

}  // namespace
}  // namespace pipec::driver

int main(int argc, char** argv) {
    using namespace pipec::driver;
    std::set_terminate(on_terminate);
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
