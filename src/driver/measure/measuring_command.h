// What the commands that measure (`pipec tune`, `pipec profile`) have in common: options, and the program that is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/passes.h"
#include "driver/native/native_compiler.h"
#include "driver/program.h"
#include "driver/run/run_steps.h"
#include "fusion/inline.h"
#include "runner/options.h"
#include "support/source.h"

namespace CLI {
class App;
}

namespace pipec::driver {

struct MeasuringOptions {
    ProgramOptions program;
    std::string pipeline;               ///< empty: the only one
    std::optional<std::string> output;  ///< -o
    NativeOptions native;
    std::string nvcc;   ///< --nvcc; empty: found
    unsigned jobs = 0;  ///< -j; 0: as many as there are processors
    bool no_cache = false;
    bool quiet = false;
    runner::Options run;  ///< --in, --set, --size, --device
};

/// Declares the options on `app`, which then fills `options` when it parses.
void add_measuring_options(CLI::App& app, MeasuringOptions& options);

/// Parses; an exit code where there is nothing left to do: help was printed, or the command line refused. `command` is
/// "pipec tune"; `check` throws CLI::ParseError for what makes no sense together.
std::optional<int> parse_command(CLI::App& app, const std::string& command, int argc, char** argv,
                                 const std::function<void()>& check = {});

/// The pipeline that is measured.
struct MeasuredProgram {
    SourceManager sources;
    std::string name;           ///< of the program's file
    compiler::Checked checked;  ///< the one pipeline
    fusion::Inlined prepared;   ///< as schedules are about it
    compiler::Settings settings;
    fusion::Target target = fusion::default_target();
    [[nodiscard]] const ir::Pipeline& pipeline() const { return checked.pipelines.front(); }
    [[nodiscard]] const poly::Model& model() const { return checked.models.front(); }
};

/// Reads a program and prints what is wrong with it; false where it has errors. Throws RunError and FileError.
bool load(const MeasuringOptions& options, MeasuredProgram& program);

/// Code of the pipeline with a schedule for the program's target, and its header. Throws fusion::ScheduleError.
NativeSource cuda_of(const MeasuredProgram& program, const fusion::Schedule& schedule);

/// The schedule with what is decided about all that it leaves open (compiler::pinned). Throws fusion::ScheduleError.
fusion::Schedule pinned(const MeasuredProgram& program, const fusion::Schedule& schedule);

/// Throws FileError where there will be no file at `path`: a directory, or in one that cannot be written.
void check_output(const std::string& path);

/// Runs a command and prints why it failed, if it does. Returns the exit code.
int guarded(const std::function<int()>& command);

}  // namespace pipec::driver
