// `pipec profile`: what each stage takes by itself, for cost models.
#pragma once

#include "driver/commands.h"

namespace pipec::driver {

/// argv[0] is "profile". Returns the exit code; throws Interrupted.
int profile_command(int argc, char** argv);
void describe_profile(const AppVisitor& visit);

}  // namespace pipec::driver
