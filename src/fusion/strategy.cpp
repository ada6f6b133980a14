#include "fusion/strategy.h"

namespace pipec::fusion {

const std::array<StrategyInfo, kStrategies>& strategies() {
    static constexpr std::array<StrategyInfo, kStrategies> all{{
        {.strategy = Strategy::Stage,
         .name = "stage",
         .meaning = "each point by itself, through global memory",
         .owner = TileOwner::None,
         .unit = TileUnit::None,
         .fields = {Field::LoadCache, Field::MinBlocks, Field::Threads, Field::Columns, Field::SharedLanes,
                    Field::Histogram},
         .missing_for_cells = "",
         .time_model = true,
         .paper_model = true,
         .line = {{32, 8, 1}, {1, 1, 1}},
         .plane = {{32, 8, 1}, {1, 1, 1}}},
        {.strategy = Strategy::Otptb,
         .name = "otptb",
         .meaning = "overlapped tiles, one for each block, in shared memory",
         .owner = TileOwner::Block,
         .unit = TileUnit::PointsOfThread,
         .fields = {Field::Block, Field::Tile, Field::Vector, Field::LoadCache, Field::BlockOrder, Field::EdgeTiles,
                    Field::Direction, Field::MinBlocks, Field::AccessWidths},
         .missing_for_cells = "",
         .time_model = true,
         .paper_model = false,
         .line = {{256, 1, 1}, {4, 1, 1}},
         .plane = {{32, 8, 1}, {1, 4, 1}}},
        {.strategy = Strategy::Otpw,
         .name = "otpw",
         .meaning = "overlapped tiles, one for each warp, in shared memory",
         .owner = TileOwner::Warp,
         .unit = TileUnit::PointsOfThread,
         .fields = {Field::Block, Field::Tile, Field::Vector, Field::LoadCache, Field::BlockOrder, Field::EdgeTiles,
                    Field::Direction, Field::MinBlocks, Field::AccessWidths},
         .missing_for_cells = "",
         .time_model = true,
         .paper_model = true,
         .line = {{128, 1, 1}, {8, 1, 1}},
         .plane = {{32, 4, 1}, {1, 8, 1}}},
        {.strategy = Strategy::Hybrid,
         .name = "hybrid",
         .meaning = "overlapped tiles, one for each warp, in registers and shared memory",
         .owner = TileOwner::Warp,
         .unit = TileUnit::PointsOfThread,
         .fields = {Field::Block, Field::Tile, Field::Split, Field::FracReg, Field::LoadCache, Field::BlockOrder,
                    Field::EdgeTiles, Field::Direction, Field::MinBlocks},
         .missing_for_cells = "shared memory",
         .time_model = true,
         .paper_model = true,
         .line = {{128, 1, 1}, {8, 1, 1}},
         .plane = {{32, 4, 1}, {4, 4, 1}}},
        {.strategy = Strategy::RegisterTile,
         .name = "register_tile",
         .meaning = "overlapped tiles, one for each warp, in registers only",
         .owner = TileOwner::Warp,
         .unit = TileUnit::ColumnsOfLane,
         .fields = {Field::Block, Field::Tile, Field::Prefetch, Field::LoadCache, Field::BlockOrder, Field::EdgeTiles,
                    Field::Direction, Field::MinBlocks, Field::Packed, Field::Edges, Field::AccessWidths},
         .missing_for_cells = "shared memory",
         .time_model = true,
         .paper_model = false,
         .line = {{64, 1, 1}, {4, 1, 1}},
         .plane = {{64, 1, 1}, {4, 8, 1}}},
        {.strategy = Strategy::Stream,
         .name = "stream",
         .meaning = "strips, one for each block, row by row, with windows of rows in shared memory",
         .owner = TileOwner::Block,
         .unit = TileUnit::Steps,
         .fields = {Field::Block, Field::Tile, Field::LoadCache, Field::BlockOrder, Field::EdgeTiles, Field::Direction,
                    Field::MinBlocks},
         .missing_for_cells = "a whole tile at once",
         .time_model = false,  // for comparisons, by hand: nothing is calibrated for it
         .paper_model = false,
         .line = {{128, 1, 1}, {2, 1, 1}},
         .plane = {{128, 4, 1}, {2, 16, 1}}},
        {.strategy = Strategy::Scan,
         .name = "scan",
         .meaning = "lines, point after point, each with what is made of the scan's value there",
         .owner = TileOwner::None,
         .unit = TileUnit::None,
         .fields = {Field::LoadCache, Field::MinBlocks},
         .missing_for_cells = "a kernel of its own",
         .time_model = true,
         .paper_model = false,
         .line = {{32, 8, 1}, {1, 1, 1}},
         .plane = {{32, 8, 1}, {1, 1, 1}}},
    }};
    return all;
}

const StrategyInfo& info(Strategy strategy) {
    return strategies().at(static_cast<std::size_t>(strategy));
}

std::string_view name(Strategy strategy) {
    return info(strategy).name;
}

GroupSchedule default_group(Strategy strategy, int rank) {
    const StrategyInfo::Trial& trial = rank < 2 ? info(strategy).line : info(strategy).plane;
    GroupSchedule group;
    group.strategy = strategy;
    group.block = trial.block;
    group.tile = trial.tile;
    return group;
}

}  // namespace pipec::fusion
