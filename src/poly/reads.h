// What a stage reads, inside of which loops and under which conditions; without isl.
#pragma once

#include <optional>
#include <vector>

#include "ir/pipeline.h"

namespace pipec::poly {

struct ScopedRead {
    ir::Source source;
    std::vector<ir::Expr> indices;
};

/// A part of a stage's definition: all of it, what stands inside of a loop, or what is evaluated where a condition is
/// `truth`. No expression has lets, and none names a variable that is not bound around the scope.
struct ReadScope {
    int outer = -1;                 ///< the scope around it, which has a lower number; -1 of the first one
    std::optional<ir::Range> loop;  ///< otherwise, and where there is no condition, all of the definition
    ir::Expr condition;
    bool truth = true;
    std::vector<ScopedRead> reads;
};

/// The scopes in which something is read, and those around them; each read once in a scope, and in none inside of it.
/// An accumulate's reads are those of its first values and of its updates, at the points of their loops. A condition
/// without alternative, which code does not evaluate, is not looked at.
std::vector<ReadScope> find_reads(const ir::Stage& stage);

}  // namespace pipec::poly
