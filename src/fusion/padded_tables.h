// Tables of a few values at each place, such as the three colours of a colour table, with a power of two of them: of
// float32[33, 33, 33, 3] the three at a place that data tell are three accesses; of four that lie behind each other at
// a multiple of their size they are one.
#pragma once

#include "fusion/inline.h"

namespace pipec::fusion {

/// The pipeline with a stage for each such copy of a table, named for the stage that reads it: `graded.padded`. A table
/// is copied where it has few elements for the number of reads. No bit of any result changes.
Inlined padded_tables(const ir::Pipeline& pipeline, const poly::Model& model);

}  // namespace pipec::fusion
