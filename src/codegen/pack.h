// Accesses of several elements at once: which of the elements that straight-line code reads or writes lie behind each
// other in memory, at an address that is a multiple of their size.
#pragma once

#include <vector>

#include "codegen/rewrite.h"
#include "ir/pipeline.h"
#include "poly/model.h"

namespace pipec::codegen {

/// One element: what array, where. `indices` are expressions of one Rewriter.
struct Element {
    ir::Source source;
    std::vector<ir::Expr> indices;
};

/// Elements (by their position in the list) that one access covers, in the order of memory.
using Pack = std::vector<std::size_t>;

/// Splits elements into packs of 1, 2, 4, 8 or 16, of at most 16 bytes. All of a pack's elements are in the list:
/// nothing else is touched. The first element's offset is a multiple of the count as far as strides are known
/// (codegen/strides.h); of the other strides and of the pointer that is for the launch to check.
std::vector<Pack> find_packs(Rewriter& rewriter, const ir::Pipeline& pipeline, const poly::Model& model,
                             const std::vector<Element>& elements);

/// The reads of inputs and stages that are evaluated whenever `e` is, each once.
std::vector<ir::Expr> certain_reads(const std::vector<ir::Expr>& roots);

}  // namespace pipec::codegen
