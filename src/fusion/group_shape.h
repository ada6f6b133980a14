// What follows of a group of stages from the program alone, whatever its sizes are: what plans are made from, for code,
// which runs at all sizes, and for cost models, which count at some.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/pipeline.h"
#include "poly/group.h"
#include "poly/model.h"

namespace pipec::fusion {

/// One stage, whatever group it is in.
struct StageShape {
    int bytes = 4;             ///< of a value
    bool accumulates = false;  ///< it is an `accumulate`; otherwise each of its points has a formula
    /// lo <= index < hi, by dimension, where both are constants.
    struct Range {
        std::int64_t lo = 0, hi = 0;
    };
    std::vector<std::optional<Range>> ranges;
    /// What its value reads: by array, of which of the stage's dimensions indices of one read depend on (bit d).
    struct Read {
        ir::Source array;
        unsigned dims = 0;
        unsigned data = 0;  ///< dimensions of the array of which data say the index (bit d)
        friend auto operator<=>(const Read&, const Read&) = default;
    };
    static constexpr unsigned kLoops = 1U << 31;  ///< and on variables of loops
    std::vector<Read> reads;                      ///< each once; of an `accumulate` those of its first values
    bool scans = false;                           ///< it reads itself
    std::vector<int> order;                       ///< dimensions, from the outermost one in global memory
    /// The dimension along which its points lie behind each other there; -1: it has none.
    [[nodiscard]] int innermost() const { return order.empty() ? -1 : order.back(); }
};
StageShape stage_shape(const ir::Pipeline& pipeline, const poly::Model& model, int stage);

struct GroupShape {
    poly::Group group;
    std::vector<StageShape> shapes;   ///< of its members, in its order
    std::vector<bool> live, kept;     ///< of members: an output of the group; read by a member
    std::vector<std::int64_t> units;  ///< by group dimension: poly::tile_unit
    /// By member: those that it reads, each once; the last one that reads it, or itself.
    std::vector<std::vector<std::size_t>> producers;
    std::vector<std::size_t> last_reader;
    /// By group dimension: its planes all read some of the same points of an array that is not the group's own.
    std::vector<bool> planes_share;
};
/// `shapes` are those of the group's members.
GroupShape group_shape(poly::Group group, std::vector<StageShape> shapes);
GroupShape group_shape(const ir::Pipeline& pipeline, const poly::Model& model, const poly::Group& group);

/// How members read the points of one: some at places that depend on data; by dimension, all at constant places.
struct FoundBy {
    bool data = false;
    std::vector<bool> constant;
};
/// The dimension whose points they read together, in one access: a whole one, of 2 or 4 points, of which they know the
/// index where data say the rest of the place. -1: none.
int read_together(const GroupShape& shape, std::size_t m, const FoundBy& found);

}  // namespace pipec::fusion
