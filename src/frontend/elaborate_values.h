// What an expression of the language can be while it is elaborated. Only a Scalar is left in the result; all else
// exists at compile time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "frontend/ast.h"
#include "ir/pipeline.h"

namespace pipec::elab {

/// Wide enough for every int64 and uint64, and for what one operator makes of two of them.
__extension__ using Int128 = __int128;

struct Symbol;
struct Scope;
struct Value;

/// The value of something that was reported as wrong; whatever uses it is silent.
struct Poison {};
/// A quotient of integer constants that dropped a fraction.
struct InexactQuotient {
    SourceRange range;
    Int128 value;
};
/// An integer constant that has met no typed operand yet: an int64, or a literal up to the greatest uint64.
struct UntypedInt {
    Int128 value;
    std::optional<InexactQuotient> inexact = std::nullopt;  ///< that it is made of
};
struct UntypedFloat {
    double value;
};
/// A typed scalar; may use index variables, and reads of images.
struct Scalar {
    ir::Expr expr;
    /// The same in float64, where it is a float32 only because nothing else was asked for: constants that a condition
    /// chooses from, and what is computed from them and other constants. Null for all else.
    ir::Expr exact = nullptr;
};
struct Table {
    std::shared_ptr<const std::vector<Value>> elements;
};
/// A whole stage or input.
struct Image {
    ir::Source source;
    std::size_t rank;
    ir::Type type;
};
/// A stage array with the first of its indices.
struct Array {
    Symbol* array;
    std::vector<std::int64_t> indices;
};
/// A function of a file, and the scope in which its body is read.
struct Function {
    const ast::Fn* fn;
    Scope* home;
};

struct Value {
    std::variant<Poison, UntypedInt, UntypedFloat, Scalar, Table, Image, Array, Function> v;

    template <class T>
    [[nodiscard]] const T* as() const {
        return std::get_if<T>(&v);
    }
    template <class T>
    [[nodiscard]] bool is() const {
        return std::holds_alternative<T>(v);
    }
};

inline Value poison() {
    return {Poison{}};
}
Value make_table(std::vector<Value> elements);
/// A table of what `f` makes of the elements; poison where one of them is.
Value map_elements(const Value& table, const std::function<Value(const Value&)>& f);
/// True for an image, and for tables of images alone.
bool is_image(const Value& value);

/// "a table", "an image", ... for messages.
std::string describe(const Value& value);

/// The value of an integer constant, typed or not; none for anything else.
std::optional<Int128> constant_int(const Value& value);
/// The value of a bool constant.
std::optional<bool> constant_bool(const Value& value);
/// True for what `const` may name: numbers, bools, and tables of them.
bool is_constant(const Value& value);
/// True for untyped numbers.
inline bool is_bool(const Value& value) {
    const auto* scalar = value.as<Scalar>();
    return scalar != nullptr && scalar->expr->type == ir::Type::Bool;
}
inline bool is_untyped(const Value& value) {
    return value.is<UntypedInt>() || value.is<UntypedFloat>();
}
/// An untyped number as a double.
double as_double(const Value& untyped);
/// A constant, or Scalar::exact; null for all else.
ir::Expr exact(const Value& value);

std::string to_string(Int128 value);

/// Extents of a table, outermost first; none where rows differ.
std::optional<std::vector<std::size_t>> table_shape(const Value& value);

/// A text that is equal for equal constants, images and tables of them; none where the value holds anything else.
std::optional<std::string> fingerprint(const Value& value);

// ---------------------------------------------------------------------------------------- properties of expressions
/// The variables that `e` uses and does not bind, in ascending order.
std::vector<ir::VarId> free_variables(const ir::Expr& e);
/// What a stage's reads of itself read until it has a number.
inline constexpr ir::Source kSelf{ir::Source::Kind::Stage, -2};
/// What stands somewhere in an expression.
struct Contents {
    bool reads = false;     ///< of images
    bool self = false;      ///< a read of the stage that is being defined
    bool params = false;    ///< scalar parameters
    bool binders = false;   ///< a Let or Reduce
    std::size_t depth = 1;  ///< nodes on the longest path to a leaf
};
/// The contents of expressions, found once for each node: values that are built on one another are asked at each step.
class ContentsOfNodes {
public:
    const Contents& of(const ir::Expr& e);

private:
    struct Known {
        ir::Expr node;  ///< keeps the address from being used again
        Contents contents;
    };
    std::unordered_map<const ir::Node*, Known> known_;
};
/// Cheap enough to be evaluated at each use: constants, variables, sizes, parameters, casts of those, and short index
/// arithmetic (which must stay visible to the polyhedral analysis).
bool is_trivial(const ir::Expr& e);
/// A copy whose Let and Reduce bind variables of their own, so that it can stand beside the original.
ir::Expr rename_binders(ir::Pipeline& pipeline, const ir::Expr& e);

}  // namespace pipec::elab
