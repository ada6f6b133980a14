// The syntax tree: what the person wrote, nothing resolved. Parsing makes it (parse.h), elaboration reads it
// (elaborate.h). No ANTLR type appears here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/expr.h"
#include "support/source.h"

namespace pipec::ast {

// By hand: a node a line, so that the grammar is seen at once.
// clang-format off
struct ExprNode;
using Expr = std::shared_ptr<const ExprNode>;

/// A name with its place.
struct Name {
    std::string text;
    SourceRange range;
};

// ---------------------------------------------------------------------------------------------------- expressions
/// Decimal, 0x or 0b; the parser has checked that it fits uint64.
struct IntLiteral { std::uint64_t value; };
struct FloatLiteral { double value; };
struct BoolLiteral { bool value; };
/// A constant, size, parameter, variable, stage, input or function parameter: scope decides.
struct NameRef { std::string name; };
/// `..k` as an argument.
struct SpliceRef { std::string name; };
/// `[a, b, c]`: rows of tables nest.
struct TableLiteral { std::vector<Expr> elements; };
/// `callee(args)`: a read of a stage, a call of a function or of a builtin.
struct Call { Expr callee; std::vector<Expr> args; };
/// `base[index]`: element of a table or stage array.
struct Index { Expr base, index; };
/// `uint8(e)`, `saturate<uint8>(e)`.
struct Cast { ir::Type type; bool saturate; SourceRange type_range; Expr operand; };
struct Unary { ir::UnaryOp op; Expr operand; };
/// Every binary operator but comparisons and min/max (those are calls).
struct Binary { ir::BinaryOp op; SourceRange op_range; Expr left, right; };
/// `a < b <= c`: operands.size() == ops.size() + 1; a single comparison is a chain of one.
struct Comparison { std::vector<Expr> operands; std::vector<ir::BinaryOp> ops; };
/// `if c then a` or `if c then a else b`.
struct If { Expr cond, then, otherwise; };
/// `[a, b] = e` is a binding for each name, with one value: `element` is the name's number, and `of` how many there are.
struct LetBinding { Name name; Expr value; std::size_t element = 0, of = 0; };
/// `let a = e, b = f in body`; a later binding sees the earlier ones.
struct Let { std::vector<LetBinding> bindings; Expr body; };
/// `lo..hi` or `lo..=hi`.
struct Range { Expr lo, hi; bool inclusive; SourceRange range; };
struct IndexRange { Name name; Range range; };
/// `sum(i in a..b, j in c..d) body`.
struct Reduce { ir::ReduceOp op; std::vector<IndexRange> ranges; Expr body; };

struct ExprNode {
    SourceRange range;
    std::variant<IntLiteral, FloatLiteral, BoolLiteral, NameRef, SpliceRef, TableLiteral, Call, Index, Cast, Unary,
                 Binary, Comparison, If, Let, Reduce>
        value;
};

// ----------------------------------------------------------------------------------------------------- statements
struct Statement;
using Block = std::vector<Statement>;

/// One of the dimensions on the left side: `x`, `x in a..b`, or `..k`.
struct DimPattern {
    Name name;
    bool splice = false;
    std::optional<Range> range;
};

/// `name[i][j](dims): type = value`. Without a dims list the value is a whole image (or the definition of one).
struct Definition {
    Name name;
    std::vector<Expr> array_indices;
    std::optional<std::vector<DimPattern>> dims;
    std::optional<ir::Type> type;
    SourceRange type_range;
    Expr value;
    SourceRange left_range;  ///< name up to the closing parenthesis
};

/// `let name = e` in a block: a scalar over sizes, parameters and constants, with a name. `let [a, b] = e`: names for
/// the elements of a table, which may be stages, too.
struct LetStatement { std::vector<LetBinding> bindings; };
struct Const { Name name; Expr value; };
/// Compile-time loop.
struct For { IndexRange index; std::shared_ptr<Block> body; };
/// Compile-time choice.
struct IfStatement { Expr cond; std::shared_ptr<Block> then, otherwise; };
struct Return { Expr value; };

struct AccStatement;
using AccBlock = std::vector<AccStatement>;
/// `target(args) op= value`.
struct AccUpdate { Name target; std::vector<Expr> array_indices; std::vector<Expr> args; ir::ReduceOp op; Expr value; };
/// `for y in 0..R, x in 0..C { ... }`: a run-time loop.
struct AccFor { std::vector<IndexRange> ranges; std::shared_ptr<AccBlock> body; };
struct AccIf { Expr cond; std::shared_ptr<AccBlock> then, otherwise; };
/// `let v = e`, `let [a, b] = e`: seen by the statements after it in its block.
struct AccLet { std::vector<LetBinding> bindings; };
struct AccStatement {
    SourceRange range;
    std::variant<AccUpdate, AccFor, AccIf, AccLet> value;
};

/// `accumulate name(dims): type = init { ... }`; every dimension has a range, unless it is an output.
struct Accumulate {
    Name name;
    std::vector<Expr> array_indices;
    std::vector<DimPattern> dims;
    ir::Type type;
    SourceRange type_range;
    Expr init;
    AccBlock body;
    SourceRange left_range;
};

struct Statement {
    SourceRange range;
    std::variant<Definition, Accumulate, LetStatement, Const, For, IfStatement, Return> value;
};

// ----------------------------------------------------------------------------------------------------------- items
/// `import "stencil"`.
struct Import { std::string path; SourceRange path_range; };

struct FnParam { Name name; Expr default_value; /* may be null */ };
/// `fn f(a, b = 1) = e` or `fn f(a) { ... return e }`.
struct Fn {
    Name name;
    std::vector<FnParam> params;
    std::variant<Expr, Block> body;
    std::string doc;  ///< the `///` lines before it
};

/// `name: type[e, N = default, ...] order(...)` or, without extents, a scalar parameter `name: type = default`.
struct Port {
    Name name;
    ir::Type type;
    SourceRange type_range;
    std::optional<std::vector<Expr>> extents;
    std::vector<Expr> extent_defaults;  ///< `H = 480`: one for each extent, null where there is none
    std::optional<std::vector<Expr>> order;
    Expr default_value;
    SourceRange range;
};

struct Pipeline {
    Name name;
    std::vector<Port> inputs;  ///< buffers and scalar parameters as written
    std::vector<Port> outputs;
    std::vector<Expr> where;
    Block body;
    std::string doc;
    SourceRange range;  ///< from `pipeline` to the closing brace
};

struct Item {
    SourceRange range;
    std::variant<Import, Const, Fn, Pipeline> value;
};

struct File {
    FileId id = -1;
    std::vector<Item> items;
};

/// The tree as indented text, for `--emit ast` and golden tests.
std::string to_string(const File& file, const SourceManager& sources);

// clang-format on

}  // namespace pipec::ast
