// Groups of stages on the host: which stages a schedule computes together, and the code that computes them tile by
// tile.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "codegen/emit/c/code_names.h"
#include "codegen/emit/c/text.h"
#include "codegen/wrapper/regions.h"
#include "fusion/schedule.h"
#include "plan/host_tiles.h"
#include "poly/group.h"

namespace pipec::codegen {

/// A pipeline as the host runs it: what the schedule inlines is gone, and groups stand in their order.
struct HostProgram {
    struct Tiled {
        poly::Group group;
        plan::HostTiles tiles;
    };
    struct Group {
        std::vector<int> stages;
        std::optional<Tiled> tiled;  ///< otherwise stage after stage, each over its domain
    };
    ir::Pipeline pipeline;
    poly::Model model;
    std::vector<Group> groups;
};

/// Throws fusion::ScheduleError where the schedule is impossible.
HostProgram host_program(const Unit& unit, const fusion::Schedule& schedule);

Regions assign_regions(const HostProgram& program);

/// The member of a tiled group that a stage is; null where it is in none, or lies in no scratch.
const plan::HostTiles::Member* scratch_of(const HostProgram& program, std::size_t stage);

/// How a launch computes stages.
struct HostRun {
    bool window = false;  ///< parts of their domains, which may be empty
    /// The box of a stage that has dimensions, as an expression.
    std::function<std::string(std::size_t stage)> domain;
};

/// The statements that compute a group, where `scratch` and `crew` are known.
void write_group(Writer& out, const Unit& unit, const CodeNames& names, const HostProgram::Tiled& tiled,
                 std::int64_t scratch, const HostRun& run);

/// The end of a launch's function: calls `run` for dense memory (where `fits` hold) or any other, with its threads.
void write_run(Writer& out, const Regions& regions, const std::vector<std::string>& fits, const std::string& run);

}  // namespace pipec::codegen
