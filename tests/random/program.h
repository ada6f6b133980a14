// Random programs: a sequence of choices becomes the text of a well-typed pipeline.
#pragma once

#include <string>

#include "random/tape.h"

namespace pipec::testing {

/// The text of a file with one pipeline, called `name`. Its sizes are R and C, or one of them, or none. Most programs
/// are legal. A few read out of bounds, on purpose and without knowing whether the compiler can prove otherwise.
std::string program_text(const Tape& tape, const std::string& name);

}  // namespace pipec::testing
