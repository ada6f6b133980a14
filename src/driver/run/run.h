// `pipec run`: compile for a device of this machine and run on images.
#pragma once

namespace pipec::driver {

/// Runs the subcommand; argv[0] is "run". Returns the exit code (driver/options.h).
int run_command(int argc, char** argv);

}  // namespace pipec::driver
