// What the terms of a scan wait for: reads of memory, which can be asked for long before the terms are computed of
// them.
#pragma once

#include <vector>

#include "codegen/strategies/scan/scan_terms.h"
#include "ir/pipeline.h"

namespace pipec::codegen {

struct TermLoad {
    ir::VarId var;    ///< stands for it in TermLoads::values
    ir::Expr value;   ///< a read, or what cannot be taken apart
    ir::Expr needed;  ///< where it has to be evaluated, a condition without reads. Null: everywhere
};

struct TermLoads {
    std::vector<TermLoad> loads;
    std::vector<ir::Expr> values;  ///< of the terms, over the variables of `loads`
};

/// The loads of the first `count` terms. Loops, and what is read where other reads say so, are not taken apart. Adds
/// variables to `pipeline`.
TermLoads term_loads(ir::Pipeline& pipeline, const ScanTerms& terms, std::size_t count);

/// Registers that keep a value.
std::int64_t registers_of(ir::Type type);
/// The same for all loads of a point.
std::int64_t registers_of(const TermLoads& loads);

}  // namespace pipec::codegen
