// `pipec run`: compile for a device of this machine and run on images.
#pragma once

#include "driver/commands.h"

namespace pipec::driver {

/// Runs the subcommand; argv[0] is "run". Returns the exit code (driver/options.h).
int run_command(int argc, char** argv);
void describe_run(const AppVisitor& visit);

}  // namespace pipec::driver
