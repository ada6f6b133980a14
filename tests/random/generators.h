// All generators of random programs, by name.
#pragma once

#include <string>
#include <vector>

#include "random/tape.h"

namespace pipec::testing {

struct ProgramGenerator {
    std::string name;
    std::string (*text)(const Tape& tape, const std::string& name);
    std::size_t least, most;   ///< lengths of tapes
    std::vector<int> largest;  ///< sizes on which the interpreter runs them
};

/// The generators that `name` means: one, or "all". None where there is no such name.
std::vector<ProgramGenerator> program_generators(const std::string& name);

}  // namespace pipec::testing
