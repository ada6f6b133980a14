// A checked pipeline: the program after parsing, elaboration and type checking, before any decision about execution.
//
//   pipeline ::= sizes params inputs stages outputs where
//   stage    ::= name dims type (value | accumulate)
//
// Stages stand in topological order: a stage reads only inputs, stages before it and, where it is a scan, itself.
// Names of stages are unique; those that the compiler made from a stage function contain dots ("sxx.f"), elements of
// stage arrays brackets ("g[3]").
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/expr.h"

namespace pipec::ir {

struct VariableInfo {
    std::string name;
    Type type = Type::Int32;
    SourceRange range;
};

/// An integer that shapes mention, such as R and C; its value comes from the buffers' extents at launch.
struct SizeParameter {
    std::string name;
    SourceRange range;
    /// Of a size that no input determines: what it is where the caller gives no extent of it. An Int32 over sizes that
    /// stand before it and over parameters' sizes; may be null.
    Expr default_value{};
};

/// A run-time scalar. The default, where there is one, is a constant of the parameter's type.
struct ScalarParameter {
    std::string name;
    Type type = Type::Float32;
    Expr default_value;  ///< null: the caller must give it
    SourceRange range;
};

/// An n-d array in the caller's memory. Extents are affine in the sizes (with floor division by constants).
struct Buffer {
    std::string name;
    Type type = Type::Float32;
    std::vector<Expr> extents;
    /// Dimensions from outermost to innermost in dense memory: {0, 1, 2} is row-major, {1, 2, 0} for [3, R, C] is
    /// interleaved. It sets the strides that a caller gets by default, and the ones that code is best at.
    std::vector<int> order;
    SourceRange range;
    [[nodiscard]] std::size_t rank() const { return extents.size(); }
};

/// One dimension of a stage. `lo <= var < hi` where the program states a range (both set), otherwise both are null and
/// the domain is what the consumers read.
struct Dimension {
    VarId var = -1;
    Expr lo, hi;
    SourceRange range;
    [[nodiscard]] bool is_explicit() const { return lo != nullptr; }
};

/// target(indices) op= value, for every point of `domain` (lexicographic order) where `guard` (may be null) holds.
struct Update {
    std::vector<Range> domain;  ///< may be empty: a single update
    Expr guard;
    std::vector<Expr> indices;    ///< Int32, one for each dimension of the stage; may depend on data
    ReduceOp op = ReduceOp::Sum;  ///< Sum, Prod, Min or Max
    Expr value;                   ///< of the stage's type
    SourceRange range;
};

/// value(dims) = value: a pure function of the dimensions' variables.
struct Pure {
    Expr value;
};
/// First `init` over the whole (explicit) domain, then the updates one after the other.
struct Accumulate {
    Expr init;
    std::vector<Update> updates;
};

/// A stage that reads itself at earlier points of one dimension: `step` is 1 where they have smaller indices, so that
/// points are computed from the first one to the last one, and -1 where they have larger ones. The index of such a read
/// in `dim` is the stage's own variable minus step * (1 to `distance`). In the dimensions `across` it is any index, and
/// in all others the own variable: points that differ in them alone make up a line, those of a line with one index in
/// `dim` a slice. No point of a slice needs another one of it.
struct Scan {
    int dim = 0;
    int step = 1;
    int distance = 1;
    std::vector<int> across{};  ///< ascending; explicit
    [[nodiscard]] bool is_across(std::size_t d) const {
        for (const int dimension : across) {
            if (static_cast<std::size_t>(dimension) == d) return true;
        }
        return false;
    }
};

struct Stage {
    std::string name;
    Type type = Type::Float32;
    std::vector<Dimension> dims;
    std::variant<Pure, Accumulate> definition;
    int output = -1;         ///< index into Pipeline::outputs; then every dimension is explicit
    bool generated = false;  ///< an intermediate value that the program gives no name to
    SourceRange range;       ///< the definition's left side
    /// Calls of stage functions that made this stage, innermost first: each the range of a call.
    std::vector<SourceRange> made_by;
    /// Definitions of other stages that are computed inside of this one (after inlining).
    std::vector<SourceRange> includes{};
    /// A part of a long reduction: each point takes a thread a while, and in a kernel with others it would be repeated.
    bool alone = false;
    /// A copy of an array in another order in memory, or a table, for the stages that read it: no part of these.
    bool stored = false;
    /// Set where the definition (a Pure) reads the stage itself. The dimension is explicit then.
    std::optional<Scan> scan{};
};

struct Output {
    Buffer buffer;
    int stage = -1;
};

struct Pipeline {
    std::string name;
    SourceRange range;
    std::string doc;  ///< text of the `///` comment before it
    std::vector<SizeParameter> sizes;
    std::vector<ScalarParameter> params;
    std::vector<Buffer> inputs;
    std::vector<Output> outputs;
    std::vector<Stage> stages;
    /// Conditions that hold for every launch: Bool over sizes and scalar parameters.
    std::vector<Expr> where;
    std::vector<VariableInfo> variables;
};

/// A stage's dimensions from the outermost to the innermost one in dense memory: an output's are declared, others lie
/// in the order of the definition.
inline std::vector<int> memory_order(const Pipeline& pipeline, const Stage& stage) {
    if (stage.output >= 0) return pipeline.outputs.at(static_cast<std::size_t>(stage.output)).buffer.order;
    std::vector<int> order;
    for (std::size_t d = 0; d < stage.dims.size(); ++d) order.push_back(static_cast<int>(d));
    return order;
}

}  // namespace pipec::ir
