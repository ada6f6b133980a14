// Whether a program that the compiler refuses is legal, found out by running it.
#pragma once

#include <string>

#include "ir/pipeline.h"

namespace pipec::testing {

/// Runs the interpreter at small sizes, odd ones and 1 among them, on smooth, extreme and constant values, until
/// something is read out of bounds or `seconds` are over. Returns what went wrong, with the sizes; empty where nothing
/// did, which is no proof: the program may go wrong at large sizes, or on rarer values.
std::string found_illegal(const ir::Pipeline& pipeline, double seconds);

}  // namespace pipec::testing
