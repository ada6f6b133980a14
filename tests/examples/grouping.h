// Groups of stages in one kernel: an example under random legal groupings, in the SIMT emulator, against the
// interpreter.
#pragma once

#include <functional>
#include <random>
#include <string>

#include "fusion/schedule.h"

namespace pipec::testing {

/// A strategy with its parameters; stages are chosen elsewhere.
using ChooseStrategy = std::function<fusion::GroupSchedule(std::mt19937_64&)>;

/// Fails where code under a random schedule gives other results. Two schedules; PIPEC_TILE_SEEDS is how many instead.
void check_random_groups(const std::string& path, const ChooseStrategy& choose);

}  // namespace pipec::testing
