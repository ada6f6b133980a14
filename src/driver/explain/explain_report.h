// What `pipec explain` says of a pipeline and its schedule, as data: what was decided, what the default cost model
// predicts for it, and what it predicts for the alternatives that were not taken. Text and HTML are made from it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cost/predict.h"
#include "cost/tile_work.h"
#include "fusion/inline.h"
#include "fusion/schedule.h"
#include "fusion/target.h"
#include "support/source.h"

namespace pipec::driver::explain {

/// Where the values of a stage are while its kernel runs. Outputs of the kernel are in global memory besides. Both is
/// what hybrid tiling does: registers for a part of the tile, and at the edges of an image shared memory for all of it.
enum class Kept : std::uint8_t { Nowhere, Registers, Shared, Both };

/// A line of the program.
struct SourceLine {
    std::string file;  ///< "blur.pipe"
    std::uint32_t number = 1;
    std::string text;
};

/// One dimension of a tile's part of a stage, in points of the stage.
struct TilePart {
    std::string name;           ///< of the group's dimension; of the stage's own where it is computed as a whole
    std::int64_t computed = 1;  ///< points of it
    double owned = 1;           ///< points that no other tile is there for
    std::int64_t first = 0, needed = 1;  ///< the points that the tile needs, from its first own one
    std::int64_t before = 0, after = 0;  ///< points of them on each side that are not its own
    int dim = -1;                        ///< the group's dimension; -1: as a whole
};

struct StageReport {
    std::string name;
    std::string place;  ///< "blur.pipe:3"
    std::string type;   ///< "float32"
    Kept kept = Kept::Nowhere;
    std::int64_t tile_bytes = 0;       ///< of a block's shared memory
    bool is_live = false;              ///< written to global memory
    bool is_output = false;            ///< of the pipeline
    double bytes = 0;                  ///< of all its values
    std::vector<TilePart> part;        ///< by dimension; none where there are no tiles
    double computed = 0, owned = 0;    ///< points of a tile
    std::vector<std::string> inlined;  ///< stages that are computed inside of it
};

/// Another way of running some stages: a schedule, or why there is none.
struct Alternative {
    std::string what;               ///< a strategy's name
    std::vector<std::string> dims;  ///< names of the group's dimensions
    std::optional<fusion::GroupSchedule> schedule;
    std::optional<cost::TimePrediction> time;
    std::string refusal;  ///< where it is impossible
    std::string place;    ///< of the access that forbids it: "blur.pipe:3"
};

struct GroupReport {
    fusion::GroupSchedule schedule;
    std::string meaning;  ///< how its strategy computes it
    std::vector<StageReport> stages;
    std::vector<SourceLine> source;       ///< that define them, and what is computed inside of them
    std::vector<std::string> dims;        ///< names of the group's dimensions: the program's, or "dim 0"
    std::vector<std::int64_t> tile;       ///< size of a tile by dimension; none where there are no tiles
    std::vector<std::int64_t> warp_tile;  ///< register tiles: with the lanes that only serve their neighbours
    std::int64_t shared_bytes = 0;        ///< of a block
    double redundant = 0;                 ///< of the points of a tile, those that other tiles compute too
    std::optional<cost::TimePrediction> time;
    std::optional<cost::Traffic> traffic;
    std::string unknown;  ///< why the model has no prediction

    std::vector<Alternative> alternatives;  ///< other strategies, the fastest first, impossible ones last
    std::optional<double> apart;            ///< seconds of a kernel for each stage; for groups of several stages
};

/// Two groups of which one reads the other, and none has to run between them.
struct MergeReport {
    std::size_t producer = 0, reader = 0;  ///< groups
    Alternative merged;
    std::optional<double> now;  ///< seconds of both
};

struct PipelineReport {
    std::string name;
    fusion::Gpu gpu;
    std::vector<std::pair<std::string, std::int64_t>> sizes;
    std::vector<GroupReport> groups;
    std::vector<MergeReport> merges;
    double seconds = 0;
    fusion::Inlined program;  ///< what inlining left, for its graph
    std::vector<poly::Dependence> dependences;
};

struct Question {
    const fusion::Inlined& prepared;  ///< as code generation prepares a pipeline
    const fusion::Schedule& schedule;
    const fusion::Target& target;  ///< a GPU
    const std::vector<std::int64_t>& sizes;
    const SourceManager& sources;
    bool fast_math = false;
};
/// Throws fusion::ScheduleError.
PipelineReport explain(const Question& question);

}  // namespace pipec::driver::explain
