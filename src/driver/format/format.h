// `pipec fmt`: the one style of .pipe files.
#pragma once

#include "driver/commands.h"

namespace pipec::driver {

/// argv[0] is "fmt". Returns the exit code; throws FileError.
int format_command(int argc, char** argv);
void describe_format(const AppVisitor& visit);

}  // namespace pipec::driver
