// `pipec explain`: why a pipeline runs on a GPU as it does.
#pragma once

#include "driver/commands.h"

namespace pipec::driver {

/// Runs the subcommand; argv[0] is "explain". Returns the exit code (driver/options.h). Throws FileError and BadPaths.
int explain_command(int argc, char** argv);
void describe_explain(const AppVisitor& visit);

}  // namespace pipec::driver
