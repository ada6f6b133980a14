// Constants, as tests write them.
#pragma once

#include <cstdint>

#include "ir/build.h"

namespace pipec::ir {

inline Expr i32(std::int64_t value) {
    return int_constant(Type::Int32, value);
}

}  // namespace pipec::ir
