// Indices that come back to the other end of an array: `(y - 1 + H) % H`, `if y == 0 then H - 1 else y - 1`, `wrap`'s.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fusion/inline.h"

namespace pipec::fusion {

/// Points before 0 and from the period on.
struct Beyond {
    std::int64_t before = 0, after = 0;
    [[nodiscard]] bool has(const Beyond& other) const { return before >= other.before && after >= other.after; }
    friend bool operator==(const Beyond&, const Beyond&) = default;
};

/// An index that is `place` modulo an extent, wherever it is an index of the array, with
/// least <= place - variable <= greatest.
struct PeriodicIndex {
    std::size_t dim = 0;  ///< of the reader, whose variable it follows
    ir::Expr place;       ///< the variable, variables of loops and a constant
    std::int64_t least = 0, greatest = 0;
    bool wraps = false;  ///< it is not `place` itself
};

/// Whether two extents are equal for all sizes; not if one is null.
[[nodiscard]] bool same_extent(const ir::Expr& a, const ir::Expr& b);

class PeriodicIndices {
public:
    PeriodicIndices(const ir::Pipeline& pipeline, const poly::Model& model) : program_{pipeline, model} {}

    /// From now on, indices are those of reads of this stage.
    void enter(std::size_t stage);
    /// How far a dimension of a stage's domain reaches beyond the ends of a period; none where that is no constant.
    [[nodiscard]] std::optional<Beyond> beyond(std::size_t stage, std::size_t dim, const ir::Expr& period) const;
    /// An index of a dimension that has this extent; none where it is anything else.
    [[nodiscard]] std::optional<PeriodicIndex> of(const ir::Expr& index, const ir::Expr& period);

private:
    std::optional<PeriodicIndex> find(ir::Expr index, const ir::Expr& period);
    [[nodiscard]] std::optional<PeriodicIndex> place_of(std::size_t dim, const ir::Expr& e,
                                                        const ir::Expr& period) const;
    [[nodiscard]] bool is_equal_in_trial(const ir::Expr& index, const PeriodicIndex& place) const;
    bool is_always(const ir::Expr& index, const PeriodicIndex& place, const ir::Expr& period);

    struct Answer {
        ir::Expr question;
        std::vector<poly::Interval> box;
        bool holds;
    };

    Inlined program_;  ///< with a stage more while a question is asked
    std::size_t stage_ = 0;
    std::map<ir::VarId, std::pair<std::int64_t, std::int64_t>> loops_;  ///< least and greatest values
    std::map<ir::VarId, ir::Expr> lets_;
    /// By index, for each period.
    std::unordered_map<ir::Expr, std::vector<std::pair<ir::Expr, std::optional<PeriodicIndex>>>> found_;
    std::vector<Answer> answers_;
};

}  // namespace pipec::fusion
