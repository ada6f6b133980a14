// What the loops of reductions find, and how lanes share their terms: c_expr_reduce.cpp, c_expr_lanes.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/emit/c/c_expr.h"

namespace pipec::codegen {

/// What a loop finds: a total, and where its best terms are.
struct ExpressionWriter::Total {
    const ir::Reduce* reduction;  ///< the first one with these terms
    std::string name;
    std::string tree, combine, blocks;  ///< where terms are combined in blocks, of which `blocks` is the number
    struct Place {
        ir::Expr node;
        const ir::Reduce* reduction;
        std::string name;
    };
    std::vector<Place> places;
    std::vector<ir::Expr> nodes;  ///< that are the total itself

    [[nodiscard]] ir::Type type() const { return reduction->body->type; }
};

/// How the lanes of a warp share the terms of a reduction.
struct ExpressionWriter::LaneShare {
    std::size_t range = 0;  ///< the variable whose values are shared out
    bool in_order = false;
    /// Of a lane before those of the next one.
    enum class Terms : std::uint8_t {
        Span,        ///< so many that each lane has one span
        One,         ///< one
        OneOrBlock,  ///< one where all are in one block, else a block
    };
    Terms terms = Terms::Span;
};

}  // namespace pipec::codegen
