// The facts from which cost models judge a group of stages, as plain data: what a point of each stage costs, and how
// much of each stage a tile computes, keeps and loads. Everything is static: it follows from the program, the sizes
// that are tuned for, and the group's alignment.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "fusion/group_shape.h"
#include "fusion/histogram_facts.h"
#include "fusion/lane_terms.h"
#include "fusion/scan_facts.h"
#include "ir/pipeline.h"
#include "poly/dependences.h"
#include "poly/group.h"
#include "poly/model.h"

namespace pipec::fusion {

/// The reads of one stage from one array whose indices walk alike ("uniformly generated": they differ by constants),
/// taken together.
struct Load {
    ir::Source source;
    int bytes = 4;        ///< of an element
    double reads = 0;     ///< of the array, for a point of the stage
    double in_loops = 0;  ///< the part of these that stands in loops, from 0 to 1
    /// By dimension of the source, from the innermost one in memory outward, over all reads, with the usual distances
    /// alone; none where an index can be anything.
    std::vector<std::optional<poly::IndexRelation>> indices;
    /// By dimension, in the same order: between which places a single read goes where it follows no dimension of the
    /// stage (a table); 0 where it does.
    std::vector<std::int64_t> spread;
    /// By dimension, in the same order: poly::Dependence::against.
    std::vector<int> against;
    /// By dimension, in the same order: all reads lie at constant distances, a boundary condition's away from the
    /// edges. (A mask with zeros has fewer reads than its window has points.)
    std::vector<bool> constant;
    std::vector<std::int64_t> extents;  ///< of the source, in the same order
    std::vector<std::int64_t> firsts;   ///< first index of the source, in the same order
    /// By dimension in the same order, bit d: loops of an unknown number of terms go along it. Code reads kTermsInTurn
    /// of them at once (fusion/point_terms.h).
    unsigned looped = 0;
    int turn = -1;  ///< the dimension that the innermost such loop goes along; -1: none, or reads disagree
    /// A place that follows no dimension of the stage.
    [[nodiscard]] bool by_data() const;
};

/// Instructions of a stage's points that depend on some of its dimensions only: points beside each other in the others
/// have the same results.
struct Operations {
    unsigned dims = 0;  ///< bit d: the stage's dimension d
    double count = 0;   ///< for a point
    /// In a loop, or of a function of the library: code generation finds nothing simpler for these.
    bool as_written = false;
};

/// One stage, whatever group it is in.
struct StageFacts {
    StageShape shape;
    bool pure = true;
    bool is_output = false;          ///< the caller's array, whose rows are not padded
    bool alone = false;              ///< models choose a kernel of its own, with Strategy::Stage
    int bytes = 4;                   ///< of a value
    double operations = 0;           ///< instructions that a point takes, loads excepted
    std::vector<Operations> shares;  ///< the same, by the dimensions that they depend on
    /// The part of them that a GPU executes at half the rate: additions and comparisons of integers, minima, choices.
    double half_rate = 0;
    double own_part = 1;            ///< of the operations: what the stages before it with the same points do not have
    double reads = 0;               ///< loads that a point takes
    double block_reads = 1;         ///< part of them where a kernel of the stage alone computes blocks (loop_block.h)
    double block_operations = 0;    ///< instructions that a point takes in such a block
    double updates = 0;             ///< accumulates: that are made for a point
    double serial = 0;              ///< accumulates: updates that a thread makes one after the other for a point
    double serial_loads = 0;        ///< the same: times that it waits for what some of them read
    int registers = 0;              ///< that a thread needs for a point, estimated (docs/cost-model.md) or measured
    std::optional<double> seconds;  ///< of one thread by itself for a point, where that was measured
    std::int64_t points = 0;        ///< of its domain
    std::optional<ScanFacts> scan;  ///< of a stage that reads itself
    std::optional<HistogramFacts> histogram;  ///< of an accumulate whose targets depend on data
    std::vector<std::int64_t> lo, hi;         ///< the box of its domain
    double loop_terms = 0;  ///< of reductions that are loops: terms that a thread has one after the other for a point
    LaneTerms lane_terms;   ///< of its reductions
    std::vector<Load> loads;
    std::vector<int> inside;    ///< dimensions that run faster in memory than a tile's columns (interleaved)
    double pipeline_bytes = 0;  ///< of all inputs and outputs of the pipeline, the same for all stages
};

/// Facts of every stage of a pipeline, for `sizes` (by index).
std::vector<StageFacts> stage_facts(const ir::Pipeline& pipeline, const poly::Model& model,
                                    const std::vector<poly::Dependence>& dependences,
                                    const std::vector<std::int64_t>& sizes);

/// A size that nothing else is known of.
constexpr std::int64_t kUsualSize = 3584;

/// Rows or columns of a template or a kernel that slides over an image.
constexpr std::int64_t kUsualWindow = 32;

/// By index: sizes that `where`, or an output's extent such as R - N + 1, keeps below another one, or that an input's
/// adds to another one, R + N - 1, and that no output grows with.
std::vector<bool> window_sizes(const ir::Pipeline& pipeline);

/// Values from `lo` to `hi`, with `sizes` by index; kUsualSize where that is not known.
double usual_extent(const ir::Expr& lo, const ir::Expr& hi, const std::vector<std::int64_t>& sizes);
/// The same in each dimension of a domain whose extent follows from parameters alone; none in others, as nobody knows
/// how large an image is.
std::vector<std::optional<double>> parameter_extents(const ir::Pipeline& pipeline, const poly::Domain& domain);

/// Points of a box, the same way.
double usual_points(const std::vector<poly::Interval>& box, const std::vector<std::int64_t>& sizes);

/// Sizes that are tuned for where nobody says which: images of 3584 x 3584, as many points as photographs have, volumes
/// and stacks of images of 64 x 448 x 448, windows of 32 x 32, or the nearest that `where` and extents admit.
std::vector<std::int64_t> usual_sizes(const ir::Pipeline& pipeline);

/// The same with some sizes given (by index): the others fit them. Throws ScheduleError, which says what forbids it,
/// where the program does not admit those that are given.
std::vector<std::int64_t> usual_sizes(const ir::Pipeline& pipeline,
                                      const std::vector<std::optional<std::int64_t>>& given);

/// Sizes of large images, and of long lines and lists: one that is the length of lines alone, or of lists of short rows
/// (samples, points), may be larger than an image's. Parameters and windows have their values of `usual`.
std::vector<std::int64_t> large_sizes(const ir::Pipeline& pipeline, const std::vector<std::int64_t>& usual);

struct GroupFacts : GroupShape {
    std::vector<StageFacts> stages;     ///< of its members, in its order
    std::vector<int> together;          ///< of members: the dimension that readers load in one access; -1: none
    std::vector<std::int64_t> extents;  ///< of the group's outputs, in group coordinates, by group dimension
    std::vector<std::int64_t> firsts;   ///< where they begin
    /// The member that a load reads; -1: it reads global memory.
    [[nodiscard]] int member(const Load& load) const;
};
GroupFacts group_facts(poly::Group group, const std::vector<StageFacts>& stages);

/// The part of a member's operations and loads that is left where code computes it with the members before it at the
/// same points.
double own_part(const GroupFacts& facts, std::size_t member);

/// Loads of member `member` that do not read a member.
std::vector<const Load*> global_loads(const GroupFacts& facts, std::size_t member);

}  // namespace pipec::fusion
