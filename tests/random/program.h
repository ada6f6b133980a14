// Random programs: a sequence of choices becomes the text of a well-typed pipeline.
//
// A tape is all the randomness there is. Past its end every choice is 0, and 0 is everywhere the simplest alternative,
// so that a shorter tape, or one with smaller numbers, is a simpler program: shrinking tapes shrinks programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pipec::testing {

using Tape = std::vector<std::uint16_t>;

/// The text of a file with one pipeline, called `name`. Its sizes are R and C, or one of them, or none. Most programs
/// are legal. A few read out of bounds, on purpose and without knowing whether the compiler can prove otherwise.
std::string program_text(const Tape& tape, const std::string& name);

}  // namespace pipec::testing
