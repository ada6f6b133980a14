// A program as a shared object for a device of this machine: what `pipec run` and `pipec library` share.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "driver/native/native_compiler.h"
#include "driver/program.h"
#include "driver/run/run_device.h"
#include "driver/run/run_steps.h"
#include "driver/schedule_options.h"

namespace CLI {
class App;
}

namespace pipec::driver {

struct MachineOptions {
    ProgramOptions program;
    std::string pipeline;  ///< empty: the only one
    NativeOptions native;
    std::string nvcc;  ///< --nvcc; empty: found
    bool no_cache = false;
    bool windows = false;  ///< functions for windows of images, besides those for whole ones
    ScheduleOptions schedule;
};

/// Declares the program and the options on `app`, which then fills `options` when it parses.
void add_machine_options(CLI::App& app, MachineOptions& options);

/// How such a program is loaded: with versions, where the time model says what runs where.
ProgramOptions with_versions(const MachineOptions& options);

/// What a program became.
struct MachineObject {
    CompiledObject object;
    std::optional<PresentGpu> gpu;  ///< none: for the CPU
};

/// The object of one pipeline of a program, from the cache or made now. `device` as in choose_gpu. What the cache could
/// not keep is warned about; a person who watches sees what takes long, unless `quiet`. Throws RunError for options
/// that do not fit the device, fusion::ScheduleError, FileError and ToolError.
MachineObject make_for_this_machine(const MachineOptions& options, const LoadedProgram& program, std::size_t pipeline,
                                    const std::string& device, const std::string& runner, bool quiet);

}  // namespace pipec::driver
