// Accesses of several elements at once: which of the elements that straight-line code reads or writes lie behind each
// other in memory, at an address that is a multiple of their size.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "codegen/expr/rewrite.h"
#include "codegen/kernel/kernel_build.h"
#include "codegen/kernel/kernel_ir.h"
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
/// An element that is not in the list.
inline constexpr std::size_t kFiller = SIZE_MAX;

/// Splits elements into packs of 1, 2, 4, 8 or 16, of at most 16 bytes. All of a pack's elements are in the list, and
/// nothing else is touched, but for fillers. The first element's offset is a multiple of the count as far as strides
/// are known (codegen/expr/strides.h); of the other strides and of the pointer that is for the launch to check.
/// `shared` are the kernel's arrays (Source::Kind::Local), of which everything is known. No access is of more than
/// `most_bytes`. `fill`: where that saves accesses, packs have other elements of the same row besides, kFiller. Of
/// shared arrays rows are whole vectors; in global memory that is so where their constant extent says it, as of [R, C,
/// 4].
std::vector<Pack> find_packs(Rewriter& rewriter, const ir::Pipeline& pipeline, const poly::Model& model,
                             const std::vector<Element>& elements, const std::vector<kernel::SharedArray>& shared = {},
                             std::int64_t most_bytes = 16, bool fill = false);

/// How many accesses of at most `widest` elements it takes for elements of one array at these offsets; `fill` as above.
std::int64_t access_count(const std::vector<std::int64_t>& offsets, std::int64_t widest, bool fill);

/// Writes straight-line code in which packs are one access each: loads in front, values, then stores.
class PackWriter {
public:
    /// `global_bytes`: the most that is accessed at once in global memory; 0: single elements. Of shared memory it is
    /// always up to 16.
    PackWriter(kernel::Program& program, KernelBuilder& build, Rewriter& rewriter, std::int64_t global_bytes)
        : program_(program), build_(build), rewriter_(rewriter), global_bytes_(global_bytes) {}

    /// Loads what the values read for certain, as far as it comes in packs; the values then use what was loaded.
    /// `fill`: everything in shared arrays may be read, whose rows are whole vectors. In global memory that holds
    /// always.
    void load(kernel::Body& body, std::vector<ir::Expr>& values, bool fill = false);
    /// The same for values that are wanted later: loads all that they read, alone where it comes in no pack.
    void load_ahead(kernel::Body& body, std::vector<ir::Expr>& values);
    /// The statements with such loads before the first that reads a pack for certain; only those of `body` itself are
    /// looked at, not what stands in branches and loops.
    kernel::Body with_loads(kernel::Body body);
    /// Stores each value to its element.
    void store(kernel::Body& body, const std::vector<Element>& elements, const std::vector<ir::Expr>& values);

    /// How many accesses it takes to load these reads, in packs where they come in packs.
    [[nodiscard]] std::int64_t accesses(const std::vector<ir::Expr>& reads, bool fill = false);

    /// Bytes of the widest pack in global memory; 0 where there is none.
    [[nodiscard]] std::int64_t widest() const { return widest_; }

private:
    /// The variable that a read's value is in.
    using Loaded = std::map<const ir::Node*, ir::Expr>;

    void load(kernel::Body& body, std::vector<ir::Expr>& values, bool fill, bool ahead);
    void load_reads(kernel::Body& body, const std::vector<ir::Expr>& reads, std::vector<ir::Expr>& values, bool fill,
                    bool ahead);
    /// `fill` in shared arrays, `fill_rows` in global memory.
    std::vector<Pack> packs(const std::vector<Element>& elements, bool fill, bool fill_rows);
    /// The load of a pack; `loaded` gets the variables of the reads that are in it.
    kernel::Load load_of(const Pack& pack, const std::vector<ir::Expr>& reads, Loaded& loaded);
    [[nodiscard]] ir::Expr with_loaded(const ir::Expr& value, const Loaded& loaded);

    kernel::Program& program_;
    KernelBuilder& build_;
    Rewriter& rewriter_;
    std::int64_t global_bytes_, widest_ = 0;
};

}  // namespace pipec::codegen
