#include "plan/make_plan.h"

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "fusion/group_fields.h"
#include "plan/hybrid_tile.h"
#include "plan/register_tile.h"
#include "plan/shared_memory.h"
#include "plan/tiles.h"

namespace pipec::plan {

using fusion::Field;
using fusion::GroupSchedule;
using fusion::Strategy;

namespace {

std::optional<Refusal> check_vector(const GroupSchedule& schedule) {
    const int vector = schedule.vector;
    if (vector < 1 || vector > 16 || !std::has_single_bit(static_cast<unsigned>(vector)))
        return fmt::format("a vector of {} columns: it must be 1, 2, 4, 8 or 16", vector);
    if (schedule.tile[0] % vector != 0)
        return fmt::format("the {} columns of a thread are not made of vectors of {}", schedule.tile[0], vector);
    return std::nullopt;
}

std::optional<Refusal> check_split(const GroupSchedule& schedule, int rank) {
    if (schedule.split < 0 || schedule.split > 2 || schedule.split >= rank)
        return fmt::format("the group has no dimension {} to split", schedule.split);
    if (!(schedule.frac_reg >= 0 && schedule.frac_reg <= 1))
        return fmt::format("{} is no part of a tile: it must be from 0 to 1", schedule.frac_reg);
    return std::nullopt;
}

/// What rows that are fetched ahead rule out: they come one after the other, and registers are what they save.
std::optional<Refusal> check_prefetch(const GroupSchedule& schedule) {
    using fusion::EdgeCode;
    const fusion::Choices& choices = schedule.choices;
    if (schedule.prefetch == 0) return std::nullopt;
    if (choices.packed == true) return "`packed` must be false or auto where rows are fetched ahead";
    if (choices.edges == EdgeCode::Whole || choices.edges == EdgeCode::WholeLate)
        return "`edges` must be sliced, sliced_late or auto where rows are fetched ahead";
    return std::nullopt;
}

}  // namespace

std::optional<Refusal> check_schedule(const GroupSchedule& schedule, int rank) {
    // Dimensions of a register tile are found among the group's: short ones have no threads.
    if (auto reason = check_block(schedule.block, schedule.strategy == Strategy::RegisterTile ? 3 : rank))
        return reason;
    for (const int points : schedule.tile) {
        if (points < 1) return "a tile has at least one point";
    }
    if (has(schedule.strategy, Field::Prefetch)) return check_prefetch(schedule);
    if (has(schedule.strategy, Field::Vector)) return check_vector(schedule);
    if (has(schedule.strategy, Field::Split)) return check_split(schedule, rank);
    return std::nullopt;
}

std::variant<Plan, Refusal> plan_tiles(const fusion::GroupShape& shape, const GroupSchedule& schedule) {
    if (auto reason = check_schedule(schedule, shape.group.rank)) return *reason;
    Plan plan;
    plan.strategy = schedule.strategy;
    switch (schedule.strategy) {
        case Strategy::Stage: return "it computes one stage by itself, not a group";
        case Strategy::Scan: return "it goes along lines and has no tiles";
        case Strategy::RegisterTile: return make_register_tile(shape, schedule);
        case Strategy::Otptb:
        case Strategy::Otpw:
        case Strategy::Hybrid: plan.tiles = make_tiles(shape, schedule); break;
        case Strategy::Stream: {
            auto march = make_march(shape.group, schedule.block, schedule.tile);
            if (auto* reason = std::get_if<std::string>(&march)) return std::move(*reason);
            plan.march = std::move(std::get<March>(march));
            plan.tiles = make_strips(shape, schedule, *plan.march);
            break;
        }
    }
    return plan;
}

void plan_memory(const fusion::GroupShape& shape, const GroupSchedule& schedule, Plan& plan) {
    complete(shape, plan.tiles);
    switch (schedule.strategy) {
        case Strategy::Stage:
        case Strategy::Scan:
        case Strategy::RegisterTile: break;
        case Strategy::Otptb:
        case Strategy::Otpw: plan.shared = tile_arrays(shape, plan.tiles); break;
        case Strategy::Hybrid: {
            std::vector<std::int64_t> size;
            for (const Cut& cut : plan.tiles.cuts) size.push_back(cut.size);
            plan.hybrid =
                make_hybrid_tile(shape, static_cast<std::size_t>(shape.group.rank - 1 - schedule.split), size);
            split(shape, plan.tiles, *plan.hybrid, schedule.frac_reg);
            break;
        }
        case Strategy::Stream: plan.shared = stream_windows(shape, plan.tiles, *plan.march); break;
    }
}

std::variant<Plan, Refusal> make_plan(const fusion::GroupShape& shape, const GroupSchedule& schedule) {
    auto made = plan_tiles(shape, schedule);
    if (auto* plan = std::get_if<Plan>(&made)) plan_memory(shape, schedule, *plan);
    return made;
}

}  // namespace pipec::plan
