// pipec-run: runs a compiled pipeline (a shared object with the interface of docs/generated-code.md) on files.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <new>
#include <sstream>

#include "runner/device.h"
#include "runner/error.h"
#include "runner/execute.h"
#include "runner/library.h"
#include "runner/pending.h"
#include "runner/report.h"
#include "runner/tiles.h"
#include "support/unicode.h"

namespace {

using pipec::runner::ExitCode;

int fail(ExitCode code, const char* message) {
    std::fputs("pipec-run: error: ", stderr);
    std::istringstream lines(message);  // names of files may hold control characters; the message's own newlines stay
    for (std::string line; std::getline(lines, line);) std::fprintf(stderr, "%s\n", pipec::printable(line).c_str());
    return static_cast<int>(code);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Runs a compiled pipeline on images and arrays.", "pipec-run");
    app.footer("`pipec run` compiles a .pipe file and calls this program; see docs/run.md.");
    app.set_version_flag("--version", "pipec-run " PIPEC_VERSION, "Print the version");
    std::string object, pipeline;
    pipec::runner::Options options;
    app.add_flag_callback(
        "--list-gpus",
        [] {
            std::fputs(pipec::runner::list_gpus().c_str(), stdout);
            throw CLI::Success();
        },
        "Print number, architecture and name of each GPU that CUDA sees");
    app.add_option_function<int>(
           "--describe-gpu",
           [](int number) {
               std::fputs(pipec::runner::describe_gpu(number).c_str(), stdout);
               throw CLI::Success();
           },
           "Print what CUDA knows of a GPU, as a description for `pipec --gpu`")
        ->check(CLI::NonNegativeNumber)
        ->option_text("NUMBER");
    app.add_option("OBJECT", object, "The shared object that holds the pipeline")->required();
    app.add_option("--pipeline", pipeline, "The pipeline's name")->required()->option_text("NAME");
    pipec::runner::add_options(app, options);
    pipec::runner::add_measuring_options(app, options);
    pipec::runner::remove_pending_files_on_signals();
    try {
        pipec::runner::parse(app, {argv + 1, argv + argc});
        if (const auto wrong = pipec::runner::inconsistency(options)) return fail(ExitCode::Usage, wrong->c_str());
        const pipec::runner::Library library(object, pipeline);
        const pipec::runner::Report report = options.tiled() ? pipec::runner::execute_in_tiles(library, options)
                                                             : pipec::runner::execute(library, options);
        const std::string text = options.json    ? pipec::runner::json(report)
                                 : options.quiet ? std::string()
                                                 : pipec::runner::text(report);
        std::fputs(text.c_str(), stdout);
        if (std::fflush(stdout) != 0) return fail(ExitCode::Io, "cannot write the report to standard output");
        for (const std::string& warning : report.warnings) {
            if (!options.quiet) std::fprintf(stderr, "pipec: warning: %s\n", warning.c_str());
        }
        if (!options.quiet) std::fprintf(stderr, "ran on %s\n", pipec::printable(report.device).c_str());
        return 0;
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::Usage);
    } catch (const pipec::runner::Error& error) {
        return fail(error.code(), error.what());
    } catch (const std::bad_alloc&) {
        return fail(ExitCode::Failed, "there is not enough memory for these sizes");
    } catch (const std::exception& error) {
        return fail(ExitCode::Failed, error.what());
    }
}
