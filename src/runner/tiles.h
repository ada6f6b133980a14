// A run in tiles: images that no memory holds as a whole.
#pragma once

#include "runner/execute.h"

namespace pipec::runner {

/// Runs the pipeline tile by tile, as the options say (Options::tiled). Outputs without a file are not computed. What
/// the tiles need is known, and fits, before anything is written. Throws Error.
Report execute_in_tiles(const Library& library, const Options& options);

}  // namespace pipec::runner
