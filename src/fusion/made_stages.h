// The stages that a pass takes out of others, while it goes through a pipeline from stage to stage.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fusion/conditions.h"
#include "fusion/inline.h"
#include "ir/canonical.h"

namespace pipec::fusion {

/// Reads of each element that a copy of an array is worth: it takes one read, and a write.
inline constexpr double kCopyReads = 16;
/// Reads at different places that may take as long as the launch of a kernel: a multiprocessor makes one in a clock,
/// 132 of them 2^22 in 18 us of an H100 where nothing else limits them.
inline constexpr double kCopyReadsInAll = 1 << 22;

/// Evaluations for each value of a table that is worth one.
inline constexpr double kTableUses = 16;
/// Instructions that take as long as the launch of another kernel, 3 us: of all threads of an H100 (132 multiprocessors
/// with 128 lanes, 1.7 GHz).
inline constexpr double kLaunchWork = 9e7;

/// The number of a scan in reads of itself, until the stages before it are known.
inline constexpr int kSelf = std::numeric_limits<int>::max();

class MadeStages {
public:
    explicit MadeStages(Inlined program) : result_(std::move(program)) {}

    /// The program with each of its stages as `change` leaves it, which may make stages that come before it. What a
    /// stage reads has its new number there; a scan reads itself as kSelf.
    Inlined with_changed(const std::function<void(ir::Stage&, const poly::Domain&)>& change);
    [[nodiscard]] int count() const { return static_cast<int>(result_.pipeline.stages.size()); }
    [[nodiscard]] const Inlined& all() const { return result_; }

    /// A stage of `from`, named for `what` it is, with `value` at the points of `places`, none where not `reached`
    /// (null: always); a read of it there. One that was made before and has the same values at the same points is read
    /// instead.
    ir::Expr make(const ir::Stage& from, std::string_view what, const ir::Expr& value, const Places& places,
                  const ir::Expr& reached, SourceRange range);
    /// The same with the dimensions in the order of `places`: make puts them in one that suits what `value` reads.
    ir::Expr make_in_order(const ir::Stage& from, std::string_view what, const ir::Expr& value, const Places& places,
                           const ir::Expr& reached, SourceRange range);
    /// A stage like `make`'s, stored, with the elements of the array that `read` reads, over the boxes `all`, its
    /// dimensions in this order from outermost to innermost; the same read of it. `all` may be larger than the array in
    /// dimensions whose last index `lasts` says (null: the box's): the last elements are there once more.
    ir::Expr make_copy(const ir::Stage& from, std::string_view what, const ir::Expr& read,
                       const std::vector<int>& order, const std::vector<poly::Interval>& all,
                       const std::vector<ir::Expr>& lasts = {});
    [[nodiscard]] ir::Stage& made(int number) { return result_.pipeline.stages.at(static_cast<std::size_t>(number)); }
    /// As if no stage from this number on had been made.
    void forget(int first);

    ir::VarId variable_like(ir::VarId var, const char* suffix);

private:
    void add(ir::Stage stage, poly::Domain domain);
    int same_stage(const ir::Stage& stage, const poly::Domain& domain);
    [[nodiscard]] Places in_memory_order(Places places, const ir::Expr& value) const;
    ir::Expr with_own_variables(const ir::Expr& e);
    [[nodiscard]] std::string unused_name(const std::string& wanted) const;

    Inlined result_;
    ir::CanonicalVariables canonical_;
    std::vector<int> made_;  ///< by number
};

/// A stage whose reads of stages have new numbers.
ir::Stage renumbered(ir::Stage stage, const std::function<int(int)>& new_number);

}  // namespace pipec::fusion
