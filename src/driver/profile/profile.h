// `pipec profile`: what each stage takes by itself, for cost models.
#pragma once

namespace pipec::driver {

/// argv[0] is "profile". Returns the exit code; throws Interrupted.
int profile_command(int argc, char** argv);

}  // namespace pipec::driver
