// Instances of the program's expressions for kernels: variables replaced by expressions, no lets, short reductions
// written out, index arithmetic in one canonical form, and equal expressions as one node. What several points of a tile
// have in common is then the same node, and computed once.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "codegen/expr/both_sides.h"
#include "codegen/kernel/kernel_ir.h"
#include "ir/pipeline.h"
#include "ir/unique_nodes.h"
#include "poly/model.h"
#include "poly/value_ranges.h"

namespace pipec::codegen {

/// constant + sum of factor * atom. Atoms are distinct nodes of one Rewriter: variables, sizes, quotients, remainders.
/// The factors and the constant of a Rewriter's sums are numbers of Int32, and one `add` to them is exact.
struct Linear {
    std::vector<std::pair<ir::Expr, std::int64_t>> terms;  ///< no factor is 0
    std::int64_t constant = 0;

    Linear& add(const Linear& other, std::int64_t factor);
    /// The factor of a variable; 0 where it does not occur.
    [[nodiscard]] std::int64_t factor_of(ir::VarId var) const;
    /// All factors, also negated, and the constant are numbers of Int32.
    [[nodiscard]] bool is_int32() const;
};

class Rewriter {
public:
    using Bindings = std::map<ir::VarId, ir::Expr>;
    /// Called on every node of an instance after its operands; what it returns stands in the node's place.
    using Hook = std::function<ir::Expr(const ir::Expr&)>;

    /// Variables of loops that remain are added to `pipeline`. `fast_math`: floats are added and multiplied as if they
    /// were real numbers without infinities.
    explicit Rewriter(ir::Pipeline& pipeline, bool fast_math = false);

    /// An index variable: `least` <= var < `end`, and a multiple of `multiple`.
    void index(ir::VarId var, std::int64_t multiple = 1, std::int64_t least = -kernel::kVariableLimit,
               std::int64_t end = kernel::kVariableLimit);

    /// One that lies in a range over the sizes.
    void index(ir::VarId var, const poly::Interval& within);

    /// Reductions of more iterations than this stay loops.
    void write_out_at_most(std::int64_t iterations) { most_written_ = iterations; }

    /// Few loops of the same rounds, which are the terms of a reduction, become one loop (fusion::side_by_side).
    void put_loops_side_by_side(bool short_ones) { side_by_side_ = short_ones; }

    /// `and` and `or` of data compute both sides (rewrite_logic.cpp); where that is safe (both_sides.h).
    void compute_both_sides() { both_sides_ = true; }

    /// The hook is asked about a node in the bound of a loop.
    [[nodiscard]] bool in_bound() const { return in_bound_; }

    ir::Expr instance(const ir::Expr& e, const Bindings& bindings, const Hook& hook = {});

    /// The sum that an Int32 expression over index variables and sizes is; none for other expressions, nor where it has
    /// numbers that are not of Int32. As integers mod 2^32; `fits` tells whether no step of it can wrap, given the
    /// values of its atoms.
    std::optional<Linear> linear(const ir::Expr& e);
    [[nodiscard]] bool fits(const Linear& sum);
    /// Nothing wraps on the way to the value of an atom, which is then the same in exact integers.
    bool is_exact(const ir::Expr& atom);
    /// A lower bound of a sum, as an integer, whether its quotients are of exact integers or of those that wrap.
    [[nodiscard]] std::int64_t least(const Linear& sum);
    ir::Expr expr(const Linear& sum);

    /// True where factor * atom is certain to be a multiple of n.
    [[nodiscard]] bool is_multiple(const std::pair<ir::Expr, std::int64_t>& term, std::int64_t n) const;

    /// The node that stands for all that are equal to `e`, whose operands are such nodes already.
    ir::Expr unique(const ir::Expr& e) { return nodes_.get(e); }

private:
    /// A number of which factor * atom is certain to be a multiple.
    [[nodiscard]] std::int64_t divisor_of(const std::pair<ir::Expr, std::int64_t>& term) const;
    struct Index {
        std::int64_t multiple, least, end;
    };
    using Memo = std::unordered_map<const ir::Node*, ir::Expr>;

    ir::Expr rewrite(const ir::Expr& e);
    ir::Expr rewrite_node(const ir::Expr& e);
    ir::Expr reduce(const ir::Expr& e, const ir::Reduce& n);
    ir::Expr bound(const ir::Expr& e);
    void loop_index(ir::VarId var, const ir::Expr& lo, const ir::Expr& hi);
    /// What the iterations so far have given: the best term and its place of ArgMin and ArgMax, else the total.
    struct Folded {
        ir::Expr total, place;
    };
    ir::VarId loop_variable(ir::VarId like, const ir::Expr& lo, const ir::Expr& hi, bool shared);
    bool unroll(const ir::Reduce& n, std::size_t range, Folded& folded);
    static bool is_short(const ir::Expr& e);
    bool takes_both(const ir::Binary& n);
    ir::Expr number_of(const ir::Expr& condition);
    ir::Expr both_of(ir::BinaryOp op, const ir::Expr& a, const ir::Expr& b);
    ir::Expr fold(const ir::Expr& e);
    ir::Expr chosen_bit(const ir::Expr& e, const ir::Binary& n);
    ir::Expr fold_binary(const ir::Expr& e, const ir::Binary& n);
    ir::Expr addend_first(const ir::Expr& e, const ir::Binary& n);
    ir::Expr fold_extremum(const ir::Expr& e, const ir::Binary& n);
    ir::Expr fold_float(const ir::Expr& e, const ir::Binary& n);
    ir::Expr quotient(const ir::Expr& e, const ir::Binary& n, bool exact);
    ir::Expr exact(const ir::Expr& e);
    ir::Expr fold_index(const ir::Expr& e, const ir::Binary& n);
    ir::Expr new_exact(const ir::Expr& e);
    const std::optional<Linear>& known_sum(const ir::Expr& e);
    std::optional<Linear> new_sum(const ir::Expr& e);
    bool is_affine(const ir::Expr& e) { return e->type == ir::Type::Int32 && known_sum(e); }
    poly::IntRange range_of(const ir::Expr& atom);
    poly::IntRange range_of_quotient(const ir::Binary& n);
    poly::IntRange range_of(const Linear& sum);

    ir::Pipeline& pipeline_;
    bool fast_math_;
    std::map<ir::VarId, Index> index_;
    std::vector<std::pair<std::int64_t, std::int64_t>> sizes_;  ///< least and greatest value of each
    ir::UniqueNodes nodes_;
    // What was found out about nodes once; until another variable becomes an index.
    std::unordered_map<ir::Expr, std::optional<Linear>> sums_;
    std::unordered_map<ir::Expr, ir::Expr> folded_, exact_;
    std::unordered_map<ir::Expr, poly::IntRange> quotients_;
    std::unordered_map<ir::Expr, bool> is_exact_;
    Bindings bindings_;
    /// Variables of loops, by their bounds, which are kept in nodes_; those of loops that are being rewritten.
    std::map<std::pair<const ir::Node*, const ir::Node*>, std::vector<ir::VarId>> loops_;
    bool both_sides_ = false;
    std::optional<bool> side_by_side_;  ///< loops, and whether short ones are put so, too
    DataConditions conditions_;
    std::unordered_set<const ir::Node*> numbers_;  ///< 0 or 1: conditions that are computed both, as bits
    std::int64_t most_written_ = 64;               ///< iterations of reductions that are written out
    std::set<ir::VarId> kept_loops_;               ///< over constant ranges
    std::vector<ir::VarId> open_loops_;
    std::vector<Memo> memo_;
    const Hook* hook_ = nullptr;
    bool in_bound_ = false;
};

}  // namespace pipec::codegen
