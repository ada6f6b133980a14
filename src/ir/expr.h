// Typed expressions: immutable values shared between their users.
//
//   expr ::= constant | variable | size | param
//          | unary expr | binary expr expr | cast expr | call builtin expr* | select expr expr expr?
//          | read source expr* | let var expr expr | reduce op (var lo hi)* expr
//
// Meaning (the interpreter in src/reference is the executable form of this comment):
// - Every node has one scalar type. Operands of a binary operator have equal types; there are no implicit conversions
//   left, each is a Cast. Integer arithmetic wraps; Div and Mod on integers are floor division and its remainder, and
//   give 0 where the divisor is 0. Float operations round to their type (float16 too).
// - Index variables and sizes are Int32. Sizes and extents are below 2^30.
// - Select is the language's `if`: the branch not taken is not evaluated. Without `otherwise` it is a case that the
//   compiler proves to hold wherever the expression is evaluated.
// - And and Or evaluate their right operand only where the left one leaves the result open.
// - Let evaluates its value once. Reduce folds over its variables, from the operator's identity; ir/reduction.h has the
//   order. One that can tell the order (of floats) has a single variable. The bounds of a variable may use the
//   variables before it.
// - ArgMin and ArgMax give an Int32: a variable's value at the first point, the last variable running fastest, whose
//   term is the least or the greatest. A term counts if it is less (greater) than the identity of Min (Max), so NaN
//   does not; where none counts, the result is the lower bound. Their bounds do not use their own variables.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/type.h"
#include "support/source.h"

namespace pipec::ir {

struct Node;
using Expr = std::shared_ptr<const Node>;

/// Index into Pipeline::variables. Every binder (stage dimension, reduction variable, let) has an id of its own.
using VarId = std::int32_t;

// By hand: a node a line, so that the grammar is seen at once.
// clang-format off
enum class UnaryOp : std::uint8_t { Neg, BitNot, Not };
enum class BinaryOp : std::uint8_t {
    Add, Sub, Mul, Div, Mod, Min, Max,  // operands and result of one numeric type (Mod: integers only)
    BitAnd, BitOr, BitXor, Shl, Shr,    // integers; a shift counts modulo the width; Shr of a signed type is arithmetic
    Eq, Ne, Lt, Le, Gt, Ge,             // result Bool; Eq and Ne also on Bool
    And, Or                             // Bool
};
/// Math functions; arguments and result have one float type except where said.
enum class Builtin : std::uint8_t {
    Abs,  // also signed integers (wraps at the least value)
    Sqrt, Rsqrt, Exp, Exp2, Log, Log2, Pow, Sin, Cos, Tan, Asin, Acos, Atan, Atan2, Sinh, Cosh, Tanh, Hypot,
    Floor, Ceil,
    Round,  // to nearest, ties to even
    Trunc,
    IsNan,  // result Bool
    // Of both 16-bit halves of uint32 values. Code generation makes them; the language has no name for them.
    MinHalves, MaxHalves
};
constexpr bool is_of_halves(Builtin fn) { return fn == Builtin::MinHalves || fn == Builtin::MaxHalves; }
/// A function of the C library where code has no instruction for it.
bool is_library_function(Builtin fn);
enum class ReduceOp : std::uint8_t { Sum, Prod, Min, Max, Any, All, ArgMin, ArgMax };

/// An integer or Bool literal; uint64 as its two's complement bits.
struct IntConstant { std::int64_t value; };
/// A float literal, already rounded to the node's type.
struct FloatConstant { double value; };
struct Variable { VarId id; };
/// Size parameter: index into Pipeline::sizes.
struct SizeRef { int index; };
/// Scalar run-time parameter: index into Pipeline::params.
struct ParamRef { int index; };

struct Unary { UnaryOp op; Expr a; };
struct Binary { BinaryOp op; Expr a, b; };
/// To the node's type. Integer to integer wraps; float to integer saturates toward zero, NaN gives 0; others round to
/// nearest even. With `saturate`, integer to integer clamps to the range instead. Numeric to Bool does not exist.
/// `exact`: it changes no value that it meets, as those between a stage's values and the narrower type that memory keeps
/// them in (fusion/narrow_stages.h).
struct Cast { Expr a; bool saturate = false, exact = false; };
struct Call { Builtin fn; std::vector<Expr> args; };
/// `otherwise` may be null: then `cond` is proved to hold wherever this is evaluated.
struct Select { Expr cond, then, otherwise; };

/// What a Read reads: an input of the pipeline or another stage. Local is an array of a kernel, which only code
/// generation makes.
struct Source {
    enum class Kind : std::uint8_t { Input, Stage, Local };
    Kind kind;
    int index;
    friend auto operator<=>(const Source&, const Source&) = default;
};
/// Indices are Int32, one for each dimension of the source.
struct Read { Source source; std::vector<Expr> indices; };
struct Let { VarId var; Expr value, body; };
/// `var` runs over lo <= var < hi.
struct Range { VarId var; Expr lo, hi; };
/// `place`: of ArgMin and ArgMax, the number of the range whose variable is the result.
struct Reduce { ReduceOp op; std::vector<Range> ranges; Expr body; int place = 0; };

struct Node {
    Type type;
    SourceRange range;  ///< what the person wrote; invalid where the compiler made the node
    std::variant<IntConstant, FloatConstant, Variable, SizeRef, ParamRef, Unary, Binary, Cast, Call, Select, Read, Let,
                 Reduce>
        value;
};

/// Names as the language and the text dump of the IR write them.
std::string_view name(UnaryOp op);
std::string_view name(BinaryOp op);
std::string_view name(Builtin fn);
std::string_view name(ReduceOp op);
std::optional<Builtin> builtin_from_name(std::string_view name);
int arity(Builtin fn);

constexpr bool is_comparison(BinaryOp op) { return op >= BinaryOp::Eq && op <= BinaryOp::Ge; }
constexpr bool is_logical(BinaryOp op) { return op == BinaryOp::And || op == BinaryOp::Or; }
/// The reductions that give a place instead of a value.
constexpr bool gives_place(ReduceOp op) { return op == ReduceOp::ArgMin || op == ReduceOp::ArgMax; }
/// How a term compares with the best one so far whose place it takes.
constexpr BinaryOp better_op(ReduceOp op) { return op == ReduceOp::ArgMin ? BinaryOp::Lt : BinaryOp::Gt; }

/// The node's alternative, or null: `if (const auto* read = as<Read>(e))`.
template <class T>
const T* as(const Expr& e) {
    return e ? std::get_if<T>(&e->value) : nullptr;
}

// clang-format on

}  // namespace pipec::ir
