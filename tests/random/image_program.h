// Random image pipelines that groups of stages can be made of: stencils, images of half and twice the size, affine
// conditions, channels, rows, boundaries, histograms, stages with several readers, several outputs. All of them are
// legal.
#pragma once

#include <string>

#include "random/tape.h"

namespace pipec::testing {

/// The text of a file with one pipeline, called `name`, whose sizes are R and C.
std::string image_program(const Tape& tape, const std::string& name);

}  // namespace pipec::testing
