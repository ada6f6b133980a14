// A pipeline with statistics of whole images, in phases: pipelines that are called one after the other, each of which
// can be computed in windows.
//
// What a window of the last phase needs does not grow with the image, because the arrays between the phases are inputs:
// the statistics, and before them tables of partial results. These are stages that share_reductions.h made of long
// reductions, so that the order of terms is the language's, and no bit changes. A mean of float32[R, C] that an output
// uses has four phases:
//
//     blocks[ceil(R / 64), C]  from img      64 rows of a column each
//     blocks[ceil(C / 64)]     from the first blocks
//     mean[1]                  from these
//     out[R, C]                from img and mean
#pragma once

#include <string>
#include <vector>

#include "fusion/inline.h"

namespace pipec::fusion {

/// An `accumulate` over whole images is computed for a part of its loops at a time: one call for each part, and the
/// next phase takes the results, one behind the other in a dimension of their own.
struct PartLoop {
    std::string from, to;  ///< parameters of the phase: the loop runs over from <= variable < to, as far as it exists
    int input = -1;        ///< the loop goes through a dimension of this input
    int dim = -1;
};
struct PartOutput {
    int output = -1;  ///< of the phase
    std::vector<PartLoop> loops;
};

struct Phase {
    Inlined program;  ///< its inputs are those of the pipeline, then arrays that earlier phases give, by name
    std::vector<PartOutput> parts{};
};

/// The phases of a pipeline on which all passes were, in their order; none where one phase is all there is. Every
/// output of the pipeline is an output of one phase. All phases have its sizes, parameters and conditions.
///
/// A phase's functions take it for granted that inputs from earlier phases hold what those gave.
std::vector<Phase> phases(const ir::Pipeline& pipeline, const poly::Model& model);

}  // namespace pipec::fusion
