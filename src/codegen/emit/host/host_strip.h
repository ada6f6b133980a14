// Points beside each other in a row that go through a reduction's loops together: the loops are outside, and what is in
// them runs over the points, as vectors. Each point combines its terms in the order that the language defines.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codegen/emit/c/c_expr.h"
#include "codegen/expr/chains.h"
#include "codegen/expr/uses.h"
#include "ir/pipeline.h"

namespace pipec::codegen {

/// What the points of a strip compute.
struct Strip {
    /// What a loop finds for each point.
    struct Total {
        ir::ReduceOp op;
        ir::Expr term;
        ir::Expr start;                  ///< null: the operator's identity
        std::optional<ir::VarId> value;  ///< stands for the result
        struct Place {
            ir::Expr here, first;  ///< of the terms, and where none is better
            ir::VarId value;
        };
        std::vector<Place> places;
        bool in_blocks = false;
    };
    struct Loop {
        std::vector<ir::Range> ranges;
        std::vector<ir::Expr> uniform;  ///< reductions in the terms that are the same for all points
        std::vector<Loop> inner;        ///< what is found for each iteration
        std::vector<Total> totals;
        std::vector<Chain::Table> tables;
        std::int64_t together = 1;  ///< terms that are added to the totals at once
    };
    std::vector<ir::Expr> uniform;
    std::vector<Loop> loops;
    ir::Expr value;           ///< of a point, once all of these are known
    bool one_by_one = false;  ///< vectors of points gain nothing: loads from places far apart, or calls
    bool has_chains = false;  ///< some loops are chains (chains.h), which are long as straight lines

    [[nodiscard]] Uses uses() const;
};

/// `value` with its loops, and its long chains, outside; nothing where some reduction has another number of terms at
/// each point or is not evaluated at all of them, or where the points of a strip lie far apart in what its terms read.
/// `lanes`: the variables that tell its points apart. Without `with_chains` chains stay straight lines.
std::optional<Strip> find_strip(ir::Pipeline& pipeline, const ir::Expr& value, const std::set<ir::VarId>& lanes,
                                bool with_chains);

/// The points of a strip in generated code: loops around what each of them does, and its number.
struct Lanes {
    std::vector<std::string> loops;
    std::vector<std::string> definitions;  ///< that stand in the innermost one
    std::string number;
    std::int64_t count;
};

/// Writes the loops, and then what `store` writes for each point.
void write_strip(ExpressionWriter& writer, Writer& out, Names& names, Helpers& helpers, const Strip& strip,
                 const Lanes& lanes, const std::function<void()>& store);

}  // namespace pipec::codegen
