// Stages on a torus: beyond one end of an image their readers find the other end (periodic boundaries).
#pragma once

#include "fusion/inline.h"

namespace pipec::fusion {

/// Lets stages go on beyond the ends of their domains, where readers ask for what is at the other end: of
/// `p((y - 1 + H) % H)` and `wrap(p)` the read `p(y - 1)` is left, and p is computed at -1, too, with its own reads
/// treated in the same way. Then a tile has all that it reads beside it, and stages of several steps share one. (With
/// the wrapped read, the tile at one end needs the other end, so each step has a kernel of its own.) Only inputs and
/// stages that stay as they are, such as outputs, are read at wrapped places. Values stay the same bit by bit.
[[nodiscard]] Inlined periodic_stages(const ir::Pipeline& pipeline, const poly::Model& model);

}  // namespace pipec::fusion
