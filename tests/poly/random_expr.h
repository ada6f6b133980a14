// Random expressions of every type over variables, sizes and parameters, rich in what overflows, rounds and wraps.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "ir/build.h"
#include "ir/pipeline.h"
#include "oracle.h"

namespace pipec::test {

inline constexpr std::array kIntegerTypes{ir::Type::Int8,  ir::Type::Int16,  ir::Type::Int32,  ir::Type::Int64,
                                          ir::Type::UInt8, ir::Type::UInt16, ir::Type::UInt32, ir::Type::UInt64};
inline constexpr std::array kFloatTypes{ir::Type::Float16, ir::Type::Float32, ir::Type::Float64};

/// Makes expressions over the sizes and parameters (one of each type, in the order of ir::Type) of a pipeline and over
/// Int32 index variables.
class RandomExpr {
public:
    struct Options {
        bool floats = true;
        /// In a hundred, how often a second operand is a constant: what the affine form can follow.
        int constants = 40;
        int variables = 2, sizes = 2;
    };

    RandomExpr(unsigned seed, Options options);

    ir::Pipeline pipeline;
    std::vector<ir::VarId> index_variables;

    ir::Expr integer(ir::Type type, int depth);
    ir::Expr real(ir::Type type, int depth);
    ir::Expr boolean(int depth);

    int pick(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random_); }
    bool chance(int percent) { return pick(0, 99) < percent; }
    template <class List>
    auto one_of(const List& list) {
        return list[static_cast<std::size_t>(pick(0, static_cast<int>(std::size(list)) - 1))];
    }
    /// Anything of the type, edges above all.
    Value any(ir::Type type);
    /// A range of values of the type, and a value in one.
    ValueRange any_range(ir::Type type);
    Value inside(ir::Type type, const ValueRange& range);

private:
    ir::Expr leaf(ir::Type type);
    ir::Expr constant(ir::Type type);
    ir::Expr let(ir::Type type, int depth);
    ir::Expr of(ir::Type type, int depth);

    std::mt19937_64 random_;
    Options options_;
    std::vector<std::pair<ir::VarId, ir::Type>> lets_;  ///< in scope
};

}  // namespace pipec::test
