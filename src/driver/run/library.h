// `pipec library`: a pipeline as a shared object for this machine, and what programs must know to call it.
#pragma once

#include <optional>
#include <string>

#include "driver/commands.h"
#include "driver/program.h"
#include "driver/run/for_this_machine.h"

namespace pipec::driver {

/// Runs the subcommand; argv[0] is "library". Returns the exit code (driver/options.h).
int library_command(int argc, char** argv);
void describe_library(const AppVisitor& visit);

/// The object that was written, and where.
struct WrittenObject {
    std::string file;
    std::string pipeline;
    const MachineObject& made;
};

/// The document that the command prints (docs/python.md): the interface of every pipeline, and the object.
std::string library_json(const LoadedProgram& program, const std::optional<WrittenObject>& object);

}  // namespace pipec::driver
