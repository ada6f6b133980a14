// `pipec fmt`: the one style of .pipe files.
#pragma once

namespace pipec::driver {

/// argv[0] is "fmt". Returns the exit code; throws FileError.
int format_command(int argc, char** argv);

}  // namespace pipec::driver
