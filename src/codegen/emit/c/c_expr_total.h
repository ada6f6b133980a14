// What the loops of reductions find: c_expr_reduce.cpp, c_expr_lanes.cpp.
#pragma once

#include <string>
#include <vector>

#include "codegen/emit/c/c_expr.h"

namespace pipec::codegen {

/// What a loop finds: a total, and where its best terms are.
struct ExpressionWriter::Total {
    const ir::Reduce* reduction;  ///< the first one with these terms
    std::string name;
    std::string tree, combine;  ///< where terms are combined in blocks
    struct Place {
        ir::Expr node;
        const ir::Reduce* reduction;
        std::string name;
    };
    std::vector<Place> places;
    std::vector<ir::Expr> nodes;  ///< that are the total itself

    [[nodiscard]] ir::Type type() const { return reduction->body->type; }
};

}  // namespace pipec::codegen
