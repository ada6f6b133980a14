// IR expressions as C++ text: what an expression computes, in statements and one final expression.
//
// Statements are needed for `let`, for reductions (loops) and for nodes that several places of an expression share
// (they get a name, so that the text stays as small as the graph). What a branch of `if` needs stands inside that
// branch: nothing is evaluated that the program does not evaluate.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "codegen/emit/c/c_names.h"
#include "codegen/emit/c/c_text.h"
#include "codegen/emit/c/helpers.h"
#include "codegen/emit/c/text.h"
#include "codegen/expr/both_sides.h"
#include "codegen/expr/uses.h"
#include "ir/pipeline.h"
#include "poly/value_ranges.h"

namespace pipec::codegen {

/// Sizes, extents and both ends of every domain are less than it in magnitude; wrappers check that before any code
/// runs.
using poly::kIndexLimit;
using poly::kSizeRange;

/// How the leaves of an expression are written. Sizes and parameters are primary expressions of the leaf's value type;
/// `read` gives the element in memory (of its storage type).
struct Naming {
    std::function<std::string(int size)> size;
    std::function<std::string(int param)> param;
    std::function<std::string(const ir::Read& read, const std::vector<Text>& indices)> read;
};

/// Writes the expressions of one function body, into the writer that it was given last. Variables that expressions do
/// not bind themselves are bound by the caller before.
class ExpressionWriter {
public:
    /// `uses` counts all the expressions that will be written; `names` are those taken where the code stands. Sizes and
    /// parameters are in the ranges that `within` has for them: code that runs after a launch has been checked.
    ExpressionWriter(const ir::Pipeline& pipeline, const Uses& uses, Naming naming, Names& names, Helpers& helpers,
                     Writer& out, const poly::Model* within = nullptr);

    /// Gives an index variable a name and its range, both ends inclusive.
    void bind(ir::VarId var, std::string name, poly::IntRange range);
    /// Gives a variable whose value is not known a name, or an expression that is as short.
    void bind(ir::VarId var, std::string name) { variables_[var] = std::move(name); }
    /// The same of one that is assigned to later.
    void bind_changing(ir::VarId var, std::string name) {
        changing_.insert(var);
        bind(var, std::move(name));
    }
    /// Declares a constant for `e`, unless there is one with this value, and binds `var` to it. With `index`, `var` is
    /// an index variable that stays below `index` in magnitude.
    void define(ir::VarId var, const ir::Expr& e, std::string_view wanted, std::optional<std::int64_t> index = {});
    /// Forgets the names of all nodes that evaluate one for which `changed` is true.
    void forget(const std::function<bool(const ir::Expr&)>& changed);

    /// From now on divisions and square roots of float32 may be those that note operands in the variable `rare` (a
    /// Rare) for which they round otherwise; "": no longer. Returns whether one did since the last call.
    bool note_rare(std::string rare);

    /// Whether loops evaluate several terms together from now on. Returns whether they did.
    bool use_batches(bool batches) { return std::exchange(batches_, batches); }

    /// From now on reductions that are in no other one are shared out over the lanes of a warp, all of which evaluate
    /// the same expressions together: each has a part of the terms. `lane`: its number.
    void share_over_lanes(std::string lane) { lane_ = std::move(lane); }

    /// From now on what the branches of an `if` on data read is read before it: nothing of it is out of bounds there
    /// (expr/both_sides.h). A compiler then makes vectors of the choice.
    void read_before_choices() { reads_first_ = true; }

    /// The kernel has a register limit: choices among many values are made from the last case to the first.
    void choose_backwards() { few_registers_ = true; }

    /// From now on integers do not wrap: where a result leaves its type, the variable `exact` (a bool) becomes false.
    void detect_overflow(std::string exact) { detected_ = std::move(exact); }

    /// Writes the statements that `e` needs and returns the expression, of value_type(e->type).
    Text value(const ir::Expr& e);
    /// The same of expressions that are all evaluated here: what they need in loops is found together.
    std::vector<Text> values(const std::vector<ir::Expr>& together);
    /// All of these are evaluated in the block that is being written, until end_together.
    void begin_together(std::vector<ir::Expr> together) { blocks_.push_back({std::move(together)}); }
    void end_together() { blocks_.pop_back(); }
    /// The indices of a read or of an update's target.
    std::vector<Text> indices(const std::vector<ir::Expr>& indices);

    /// How a loop differs from the usual one.
    struct LoopForm {
        ir::Expr step;                      ///< null: 1
        std::string_view pragma;            ///< a line before it
        std::optional<std::int64_t> limit;  ///< the variable stays below this in magnitude
    };
    /// Opens a loop over a range and binds its variable, until end_loop.
    void begin_loop(const ir::Range& range, const LoopForm& form);
    void begin_loop(const ir::Range& range) { begin_loop(range, LoopForm()); }
    void end_loop();
    /// Values of a range: from `first` to before `end`.
    struct Span {
        Text first, end;
    };
    /// Opens a loop over blocks of kBlockTerms values of a range, until end_block, and gives the values of a block.
    Span begin_blocks(const ir::Range& range);
    /// Opens a loop over values of a range and binds its variable, until end_block.
    void begin_points(const ir::Range& range, const Span& from);
    /// Opens a block, `head {`, until end_block.
    void begin_block(const std::string& head);
    void end_block(std::string_view tail = "");
    /// Ends a block and opens that of its `else`.
    void else_block();

    /// `accumulated op next`, as reductions and updates fold.
    Text fold(ir::ReduceOp op, ir::Type type, const Text& accumulated, const Text& next);

    /// Of a local variable that keeps its value. On a device it is not `const`: in a template, the front end of nvcc
    /// evaluates the initializer of a const variable, and those of all variables in it, again at each of their uses,
    /// so that a chain of values that are used twice takes twice as long with each of them.
    [[nodiscard]] std::string local_type(ir::Type type) const;

private:
    /// What a branch of an `if` needs and what it gives.
    struct Branch {
        Writer statements;
        Text value;
    };

    Text node(const ir::Expr& e);
    Text unary(const ir::Expr& e, const ir::Unary& n);
    Text binary(const ir::Expr& e, const ir::Binary& n);
    Text chain(const ir::Expr& e);
    Text logical(const ir::Binary& n);
    Text quotient(const ir::Binary& n, const Text& a);
    Text square_root(const Text& a);
    std::optional<int> granule(const ir::Expr& e);
    std::optional<int> find_granule(const ir::Expr& e);
    Text divide(const ir::Expr& e, const ir::Binary& n);
    Text shift(const ir::Expr& e, const ir::Binary& n);
    Text cast(const ir::Expr& e, const ir::Cast& n);
    Text call(const ir::Expr& e, const ir::Call& n);
    Text math(ir::Builtin fn, ir::Type type, const std::vector<Text>& args);
    Text select(const ir::Expr& e, const ir::Select& n);
    std::optional<Text> backwards(const ir::Expr& e, const std::string& wanted);
    Text read(const ir::Expr& e, const ir::Read& n);
    Text let(const ir::Let& n);
    struct Total;
    Text reduce(const ir::Expr& e, const ir::Reduce& n);
    std::vector<ir::Expr> same_loop(const ir::Expr& e);
    std::vector<Total> totals_of(const std::vector<ir::Expr>& reductions);
    void in_loops(const ir::Reduce& n, std::vector<Total>& totals);
    void in_blocks(const ir::Range& range, std::vector<Total>& totals);
    void add_terms(const std::vector<Total>& totals);
    poly::Wide most_points(const ir::Range& range);
    void each_term(const ir::Range& range, const Span& from, const std::vector<Total>& totals, int batch);
    struct LaneShare;
    [[nodiscard]] std::optional<LaneShare> lane_share(const ir::Reduce& n, const std::vector<Total>& totals);
    void in_lanes(const ir::Reduce& n, const LaneShare& share, std::vector<Total>& totals);
    void strided_over_lanes(const ir::Reduce& n, std::size_t shared, const std::string& lane,
                            std::vector<Total>& totals);
    void in_rounds_of_lanes(const ir::Reduce& n, const LaneShare& share, const std::string& lane,
                            std::vector<Total>& totals);
    void carry_blocks(const std::vector<Total>& totals, int added);
    void name_totals(std::vector<Total>& totals);
    void fold_parts(std::vector<Total>& totals, const std::vector<Total>& parts);
    void inner_loops(const ir::Reduce& n, std::size_t first, std::size_t end, const std::function<void()>& body);
    void declare_start(const Total& total);
    void name_same(const ir::Range& loop, const std::vector<Total>& totals);
    [[nodiscard]] bool are_short(const std::vector<Total>& totals) const;
    int unrolled_terms(const ir::Range& range, const std::vector<Total>& totals);
    int batch_of(const ir::Range& range, const std::vector<Total>& totals, bool known_number);
    Span span_of(const ir::Range& range);
    void bind_point(const ir::Range& range, const std::string& name);
    [[nodiscard]] const std::string& variable_name(ir::VarId var) const;
    void bind_like(ir::VarId var);
    [[nodiscard]] bool can_be_written(const ir::Expr& e) const;

    Text arithmetic(ir::BinaryOp op, ir::Type type, const Text& a, const Text& b, bool fits);
    Text helper(std::string_view name, const std::vector<Text>& args);
    Text wrapping(std::string_view operation, std::vector<Text> args);
    Text narrowed(ir::Type type, Text text);
    bool fits(const ir::Expr& e);
    [[nodiscard]] bool has_opaque_negation(ir::Type type) const;
    Text positive_part(const ir::Expr& e);
    void note_extremum(ir::VarId var, const ir::Expr& value);
    bool all_fit(const ir::Expr& e);
    Text index(const ir::Expr& e);

    Branch branch(const ir::Expr& e, bool counts_anew);
    Text choose(ir::Type type, const Text& condition, const Branch& then, const Branch& otherwise,
                std::string_view wanted = "v");
    void name_uniform(const ir::Expr& branch);
    void name_reads(const ir::Expr& branch);
    void name_common(const ir::Expr& a, const ir::Expr& b);
    void name_invariant(const std::vector<ir::Expr>& terms, const std::set<ir::VarId>& loops);
    std::vector<ir::Expr> certain(const ir::Expr& root);
    std::vector<ir::Expr> certain_operands(const ir::Expr& e);
    [[nodiscard]] int count(const ir::Expr& e) const;
    [[nodiscard]] bool deserves_name(const ir::Expr& e) const;
    [[nodiscard]] bool changing(const ir::Expr& e) const {
        const auto* n = ir::as<ir::Variable>(e);
        return n != nullptr && changing_.count(n->id) > 0;
    }
    [[nodiscard]] const std::string* known(const ir::Expr& e) const;
    Text primary(ir::Type type, const Text& text, std::string_view wanted);
    std::string declare(ir::Type type, const Text& text, std::string_view wanted);

    const ir::Pipeline& pipeline_;
    const Uses& uses_;
    Naming naming_;
    Names& names_;
    Helpers& helpers_;
    Writer* out_;
    poly::ValueRanges ranges_;
    bool exact_ = false;                 ///< in the definition of an index variable, where no integer wraps
    std::string rare_;                   ///< the variable that notes rare operands; empty: there is none
    bool noted_ = false;                 ///< something is noted in it
    std::map<ir::VarId, int> granules_;  ///< of variables
    std::unordered_map<ir::Expr, std::optional<int>> known_granules_;  ///< by nodes that stay alive here
    DataConditions conditions_;
    bool reads_first_ = false;    ///< of the branches of an `if` on data
    bool few_registers_ = false;  ///< choices among many values keep as few of them alive as they can
    bool batches_ = true;         ///< loops evaluate several terms together
    std::string lane_;            ///< the warp's lanes share reductions out: the own one's number; empty: they do not
    std::string detected_;        ///< the variable that overflow clears; empty: integers wrap
    std::map<ir::VarId, std::string> variables_;
    std::set<ir::VarId> index_variables_;
    std::set<ir::VarId> extrema_;  ///< variables that are a minimum or maximum of integers
    /// Names of shared nodes, by the block that they stand in.
    struct Named {
        std::string name;
        ir::Expr node;
    };
    std::vector<std::unordered_map<const ir::Node*, Named>> scopes_;
    std::unordered_map<const ir::Node*, std::vector<ir::Expr>> certain_;  ///< of selects
    std::unordered_set<const ir::Node*> forwards_;  ///< choices that are made from the first case on
    /// Whether a node is the same for all points, and whether it has a float that is and that several nodes use.
    struct Sameness {
        bool uniform = true, has_uniform = false;
    };
    Sameness sameness(const ir::Expr& e);
    std::unordered_map<const ir::Node*, Sameness> sameness_;
    std::string wanted_;  ///< a name for the select that is written next
    /// A branch in which what is written stands, and what it uses, once somebody asks.
    struct Counted {
        ir::Expr root;
        std::optional<Uses> uses{};
    };
    mutable std::vector<Counted> branches_;
    /// The variables of reductions that one loop finds, and those of the first one that they stand for.
    std::map<ir::VarId, ir::VarId> shared_variables_;
    /// By block that is being written: what is evaluated in it, and what it uses, once somebody asks.
    struct Block {
        std::vector<ir::Expr> roots;
        std::optional<Uses> uses{};
        std::unordered_set<const ir::Node*> searched{};  ///< for what is the same everywhere
    };
    std::deque<Block> blocks_;  ///< references stay valid when blocks are begun
    std::set<ir::VarId> changing_;
};

}  // namespace pipec::codegen
