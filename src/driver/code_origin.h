// Where generated code comes from, as its first comment says it: nothing that differs from machine to machine.
#pragma once

#include "codegen/emit/origin.h"
#include "driver/compile.h"
#include "driver/options.h"

namespace pipec::driver {

codegen::Origin code_origin(const Options& options, const Compilation& compilation);

}  // namespace pipec::driver
