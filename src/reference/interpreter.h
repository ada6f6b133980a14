// The meaning of the language, executable: a tree-walking interpreter, slow and obvious.
//
// It shares nothing with code generation and nothing with src/poly: the outputs' points are evaluated one by one, a
// stage's value at a point is computed when it is first asked for and then remembered, so no domain is ever inferred.
// Every access is checked; one out of bounds throws, which in a checked program means that the compiler is wrong.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "ir/pipeline.h"

namespace pipec::reference {

/// One scalar of any type: integers and Bool as int64 (uint64 as its bits), floats as double rounded to their type.
struct Value {
    ir::Type type = ir::Type::Int32;
    std::int64_t i = 0;
    double f = 0;
};

/// A dense row-major n-d array.
struct Array {
    ir::Type type = ir::Type::Float32;
    std::vector<std::int64_t> extents;
    std::vector<std::byte> data;  ///< elements in memory form (float16 as its 16 bits)

    Array() = default;
    Array(ir::Type type, std::vector<std::int64_t> extents);  ///< zero-filled
    [[nodiscard]] std::size_t size() const;                   ///< elements
    [[nodiscard]] Value get(std::size_t linear) const;
    void set(std::size_t linear, Value v);
};

struct Arguments {
    std::map<std::string, Array> inputs;
    std::map<std::string, Value> params;        ///< missing ones take their default
    std::map<std::string, std::int64_t> sizes;  ///< every size, solved by the caller or by solve_sizes
};

/// Access out of bounds, a missing argument, an uncovered case.
struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Evaluates a condition or an extent over sizes alone, in exact integers.
std::int64_t evaluate_size_expr(const ir::Expr& e, const std::vector<std::int64_t>& sizes);

/// Runs the pipeline. Returns each output by name.
std::map<std::string, Array> run(const ir::Pipeline& pipeline, const Arguments& arguments);

}  // namespace pipec::reference
