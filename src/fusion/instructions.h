// What a node of an expression takes of a GPU's issue slots.
#pragma once

#include "ir/expr.h"

namespace pipec::fusion {

/// Instructions of one node, without its operands.
[[nodiscard]] double instructions(const ir::Expr& e);

/// Those of a function of float32 that is no single instruction, and of an exactly rounded division. Counted on an H100
/// (smsp__inst_executed of kernels that call one eight times, less those of one that calls none; CUDA 13.0, without
/// -ffast-math, arguments of images).
[[nodiscard]] double instructions(ir::Builtin function);
inline constexpr double kFloatDivision = 15, kFloatDivisionByConstant = 5;
/// The same by what another one divides by: without the reciprocal.
inline constexpr double kFloatDivisionAgain = 9;

/// The part of a node's instructions that GPUs since Volta execute in a unit of half the rate (CUDA C++ Programming
/// Guide, "Throughput of Native Arithmetic Instructions": 64 results a clock and multiprocessor, 128 of floats' sums
/// and products). Integers are multiplied elsewhere, at the same half of the rate, and float conversions more slowly
/// still; both are rare beside the rest.
[[nodiscard]] double half_rate_part(const ir::Expr& e);

}  // namespace pipec::fusion
