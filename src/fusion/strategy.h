// What there is to know about the strategies before one is carried out: a table with an entry for each. Names, words
// and defaults come from here alone. Plans (plan/make_plan.cpp), kernels (codegen/lower.cpp) and costs
// (cost/tile_work.cpp, cost/time_cost.cpp) dispatch on the enumerator, each in one `switch` without a default.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "fusion/schedule.h"

namespace pipec::fusion {

/// A parameter of a group (fusion/group_fields.h).
enum class Field : std::uint8_t {
    Block,
    Tile,
    Vector,
    Split,
    FracReg,
    Prefetch,
    LoadCache,
    // Choices, which may be `auto`:
    BlockOrder,
    EdgeTiles,
    Direction,
    MinBlocks,
    Packed,
    Edges,
    AccessWidths,
    Threads,
    Columns,
    SharedLanes,
    Histogram
};
inline constexpr std::array kFields{
    Field::Block,     Field::Tile,         Field::Vector,    Field::Split,     Field::FracReg,     Field::Prefetch,
    Field::LoadCache, Field::BlockOrder,   Field::EdgeTiles, Field::Direction, Field::MinBlocks,   Field::Packed,
    Field::Edges,     Field::AccessWidths, Field::Threads,   Field::Columns,   Field::SharedLanes, Field::Histogram};
/// Those that may be `auto`.
constexpr bool is_choice(Field field) {
    return field >= Field::BlockOrder;
}

class FieldSet {
public:
    constexpr FieldSet(std::initializer_list<Field> fields) {
        for (const Field field : fields) bits_ |= 1U << static_cast<unsigned>(field);
    }
    [[nodiscard]] constexpr bool has(Field field) const { return (bits_ >> static_cast<unsigned>(field) & 1U) != 0; }

private:
    unsigned bits_ = 0;
};

/// The threads that compute a tile.
enum class TileOwner : std::uint8_t { None, Warp, Block };
/// What GroupSchedule::tile counts.
enum class TileUnit : std::uint8_t {
    None,
    PointsOfThread,
    ColumnsOfLane,  ///< x: adjacent columns of a lane; y and z: rows and planes of the tile
    Steps           ///< x: columns of a thread; y: steps of a march
};

struct StrategyInfo {
    Strategy strategy;
    std::string_view name;     ///< on command lines and in schedule files
    std::string_view meaning;  ///< for people
    TileOwner owner;
    TileUnit unit;
    FieldSet fields;
    /// What the cells of an `accumulate` need that the strategy does not have; empty: it has a place for them.
    std::string_view missing_for_cells;
    bool time_model, paper_model;  ///< whether the cost model chooses it
    /// With what it is tried for a group of one dimension, and for others.
    struct Trial {
        std::array<int, 3> block, tile;
    };
    Trial line, plane;
};

inline constexpr std::size_t kStrategies = 7;
/// By Strategy.
const std::array<StrategyInfo, kStrategies>& strategies();
const StrategyInfo& info(Strategy strategy);

/// A block and a tile with which a strategy can be tried for a group of that many dimensions.
GroupSchedule default_group(Strategy strategy, int rank);

}  // namespace pipec::fusion
