// Types and literals of the language in C and C++.
#pragma once

#include <string>
#include <string_view>

#include "codegen/emit/c/helpers.h"
#include "ir/expr.h"

namespace pipec::codegen {

/// The type of an element in memory and of a parameter's field: uint8_t for bool, uint16_t (the bits) for float16.
std::string_view storage_type(ir::Type type);

/// The type of a value while code computes with it: bool, and float for float16 (always a value that float16 has).
std::string_view value_type(ir::Type type);

/// The enumerator of pipe_type: PIPE_UINT8.
std::string pipe_type_name(ir::Type type);

/// An expression of value_type(type) for a constant; `value` as in ir::IntConstant. It may start with a minus sign.
std::string int_literal(ir::Type type, std::int64_t value);
std::string float_literal(ir::Type type, double value, fusion::Platform platform = fusion::Platform::Host);

/// The 16 bits of a float16 value.
std::uint16_t half_bits(double value);

}  // namespace pipec::codegen
