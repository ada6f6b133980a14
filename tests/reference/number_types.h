// The types of numbers, for tests of all of them.
#pragma once

#include <array>

#include "ir/type.h"

namespace pipec::reference {

inline constexpr std::array kIntegers{ir::Type::Int8,  ir::Type::Int16,  ir::Type::Int32,  ir::Type::Int64,
                                      ir::Type::UInt8, ir::Type::UInt16, ir::Type::UInt32, ir::Type::UInt64};
inline constexpr std::array kFloats{ir::Type::Float16, ir::Type::Float32, ir::Type::Float64};

}  // namespace pipec::reference
