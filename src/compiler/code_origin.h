// Where generated code comes from, as its first comment says it: nothing that differs from machine to machine.
#pragma once

#include "codegen/emit/origin.h"
#include "compiler/passes.h"

namespace pipec::compiler {

/// `scheduled` is null for the host, whose code has no schedule.
codegen::Origin code_origin(const Settings& settings, const ScheduleRequest& request, const Scheduled* scheduled);

}  // namespace pipec::compiler
