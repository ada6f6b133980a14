// What the kernels of scans have in common: a definition split into terms and the recurrence (scan_terms.h), lines and
// places on them.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "codegen/expr/interior.h"
#include "codegen/expr/rewrite.h"
#include "codegen/kernel/kernel_build.h"
#include "codegen/kernel/kernel_ir.h"
#include "codegen/strategies/scan/scan_terms.h"

namespace pipec::codegen {

/// Nodes that are written out behind each other at most.
inline constexpr std::int64_t kLargestScanBody = 2000;

/// A scan, and the stages that read it at their own points.
struct ScanMembers {
    int scan = -1;
    std::vector<int> readers;  ///< in an order in which they can be computed
    std::vector<int> stored;   ///< those of all of these that go to memory
    [[nodiscard]] bool stores(int stage) const {
        return std::find(stored.begin(), stored.end(), stage) != stored.end();
    }
};

class ScanCode {
public:
    /// `definition`: of the scan; null: as the stage has it.
    ScanCode(kernel::Program& program, const ScanMembers& members, const ir::Expr& definition = nullptr);

    /// Why the readers cannot be computed with the scan; empty where they can.
    [[nodiscard]] const std::string& refusal() const { return refusal_; }

protected:
    [[nodiscard]] std::string name(std::size_t dim) const {
        return program_.pipeline.variables.at(static_cast<std::size_t>(stage_.dims[dim].var)).name;
    }
    /// Adds the numbers of lines and of a line's points to the kernel. Returns the first as an expression of the host.
    ir::Expr add_arguments();
    /// Adds an array in shared memory behind the others.
    void add_shared(const std::string& called, ir::Type type, std::vector<std::int64_t> extents);
    /// Sets the coordinates of a line. Returns where it exists.
    ir::Expr line_place(kernel::Body& body, const ir::Expr& line, std::vector<ir::Expr>& at);
    [[nodiscard]] Rewriter::Bindings bindings(const std::vector<ir::Expr>& at) const;
    /// Of the point at a position of its line, in the scan's dimension.
    ir::Expr coordinate(kernel::Body& body, const ir::Expr& position);
    /// A term at a point, where it is needed and the point `exists` (null: certain).
    ir::Expr term_value(const ScanTerm& term, const Rewriter::Bindings& at, const ir::Expr& exists);
    /// Finds where the recurrence needs no conditions of the first points.
    void find_recurrence_interior();
    /// The points from coordinate `from` to `last` (in the scan's direction) have none of these conditions. Null: no
    /// point has one.
    ir::Expr inside(const ir::Expr& from, const ir::Expr& last);
    /// `e` is `x == first` of the stage's range in the scan's dimension, as a comparison with all other points on one
    /// side.
    [[nodiscard]] bool is_first(const ir::Expr& e);

    /// Nodes of the recurrence's terms, or of all terms and of what readers make of them.
    [[nodiscard]] std::int64_t term_nodes(bool with_readers) const;
    /// The numbers of the terms that readers use.
    [[nodiscard]] std::vector<std::size_t> reader_terms() const;
    /// Stores what goes to memory of a point that `exists` (null: certain), whose scan has the value `own` there.
    /// `place`: its coordinates `at`, and the terms of readers.
    void store_point(kernel::Body& body, const std::vector<ir::Expr>& at, Rewriter::Bindings place, const ir::Expr& own,
                     const ir::Expr& exists);

    kernel::Program& program_;
    const ScanMembers members_;
    const int index_;
    const ir::Stage stage_;  // copies: adding variables must not move them
    const poly::Domain domain_;
    const std::size_t scan_;
    Rewriter rewriter_;
    KernelBuilder build_;
    ir::Expr definition_;  ///< the scan's, over its dimensions' own variables
    ScanTerms terms_;
    Interior interior_;  ///< of the recurrence, in the scan's dimension
    ir::Expr guard_;

    std::vector<int> order_;                            ///< dimensions from outermost to innermost in memory
    std::vector<std::size_t> line_dims_;                ///< the same without the scan's
    std::vector<std::optional<std::int64_t>> extents_;  ///< those that are constant
    ir::Expr lines_, length_, first_;

private:
    std::vector<ScanReader> find_readers();
    ir::Expr part_of_domain(const ir::Stage& reader, int index, const Rewriter::Bindings& dims);
    std::optional<std::int64_t> distance(const ir::Expr& from, const ir::Expr& to);
    bool is_certain(const ir::Expr& term);
    [[nodiscard]] bool is_of_others(const ir::Expr& e) const;
    bool always_exists(const ir::Read& read);

    std::string refusal_;

    ir::Expr ordered(const ir::Expr& e);
    bool is_offset(const ir::Expr& e, const ir::Expr& from, std::int64_t by);
};

/// What a value is where there is none.
ir::Expr nothing(ir::Type type);

}  // namespace pipec::codegen
