// `pipec`: the command line in, the passes in their order, files out.
#include <cstring>
#include <exception>
#include <iostream>

#include "driver/compile.h"
#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/options.h"
#include "driver/outputs.h"
#include "driver/run.h"
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

int run_compiler(const Options& options) {
    Diagnostics diags(options.warnings);
    for (const std::string& flag : options.unknown_warnings) {
        auto report = diags.report(diag::UnknownWarningOption, {}, flag);
        if (const auto close = closest_warning_flag(flag)) report.note("did you mean `-W" + *close + "`?");
    }
    const OutputPaths paths = plan_outputs(options);
    SourceManager sources;
    const FileId main = sources.add(options.input == "-" ? "<stdin>" : options.input, read_source(options.input));
    const CompileOptions compile_options{options.include_dirs, options.analysis, last_phase(options.emit)};
    const Compilation compilation = compile(sources, main, compile_options, diags);
    const bool code = options.emit == Emit::Code || options.emit == Emit::Host || options.emit == Emit::Header;
    if (code && compilation.pipelines.empty() && !diags.has_errors()) {
        diags.report(diag::MissingPipeline, {}, std::string(sources.name(main)))
            .note("`-fsyntax-only` checks a file of functions");
    }
    print_diagnostics(options, diags, sources);
    if (diags.has_errors()) return kExitProgramError;
    protect_inputs(paths, options, compilation.program);
    write_files(make_outputs(options, paths, compilation, sources));
    return kExitSuccess;
}

int run_main(int argc, char** argv) {
    if (argc > 1 && std::strcmp(argv[1], "run") == 0) return run_command(argc - 1, argv + 1);
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

int fail(int exit_code, const char* what) {
    std::cerr << "pipec: error: " << pipec::printable(what) << "\n";
    return exit_code;
}

}  // namespace
}  // namespace pipec::driver

int main(int argc, char** argv) {
    using namespace pipec::driver;
    try {
        int exit_code = kExitInternal;
        pipec::run_on_big_stack(kStackBytes, [&] { exit_code = run_main(argc, argv); });
        return exit_code;
    } catch (const FileError& e) {
        return fail(kExitFile, e.what());
    } catch (const BadPaths& e) {
        return fail(kExitUsage, e.what());
    } catch (const std::exception& e) {
        std::cerr << "pipec: internal error: " << e.what()
                  << "\npipec: this is a defect of the compiler; please report it with the program\n";
        return kExitInternal;
    }
}
