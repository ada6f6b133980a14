// Indices made of floats that are not rounded as the language says (-ffast-math): kept in bounds all the same.
#pragma once

#include "poly/model.h"

namespace pipec::poly {

/// The pipeline with each of the model's casts clamped to the range that proofs take for granted, and every cast to the
/// limits by sizes that they know (isl_float_limits.cpp). An index of data behind a condition on floats, which is a
/// part of its proof, is clamped to what is read. Its values are the same where floats are rounded as the language
/// says; the model serves both pipelines.
ir::Pipeline clamp_casts(const ir::Pipeline& pipeline, const Model& model);

}  // namespace pipec::poly
