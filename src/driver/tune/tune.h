// `pipec tune`: measures the best schedules of a cost model on the GPU and keeps the fastest.
#pragma once

#include "driver/commands.h"

namespace pipec::driver {

/// argv[0] is "tune". Returns the exit code; throws Interrupted.
int tune_command(int argc, char** argv);
void describe_tune(const AppVisitor& visit);

}  // namespace pipec::driver
