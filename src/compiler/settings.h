// What a compilation is asked for, whichever command asks. Command lines are read into it (driver/schedule_options.h);
// nothing here knows how they look.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fusion/group_fields.h"
#include "fusion/schedule.h"
#include "poly/model.h"

namespace pipec::compiler {

/// How far a program is checked (passes.h).
enum class Phase : std::uint8_t { Parse, Elaborate, Analyze };

/// What holds for all passes.
struct Settings {
    std::vector<std::string> include_dirs;
    std::map<std::string, std::string> open_files = {};  ///< texts that stand for those of files (frontend/elaborate.h)
    Phase last = Phase::Analyze;                         ///< of a check; the phases behind it are not run
    poly::Options analysis;
    /// Floats may be computed as if they were real numbers: indices made of them are clamped to what is proved.
    bool fast_math = false;
    /// Float sums and products of an `accumulate` keep the program's order.
    bool deterministic = false;
    /// Functions for windows of images, besides those for whole images.
    bool windows = false;
    /// The phases of pipelines with statistics, besides these pipelines (fusion/phases.h).
    bool phases = false;
    /// Code of its own for usual values of sizes (fusion/size_versions.h).
    bool versions = false;
};

/// A file that a setting names. Whoever reads the command line reads the file, too; passes open none.
struct TextFile {
    std::string name;
    std::string text;
};

/// None: no fusion except of cheap stages into their readers.
enum class CostModelName : std::uint8_t { Time, Paper, None };

/// What a cost model is to find schedules with.
struct ModelRequest {
    std::optional<CostModelName> cost_model;    ///< Time where nothing else says what is fused
    std::map<std::string, std::int64_t> sizes;  ///< that costs are counted for, by name; usual ones for others
    std::optional<TextFile> profile;            ///< what `pipec profile` wrote
};

/// Where the schedules of all pipelines come from: a file, a strategy that is tried on as many stages as possible, or a
/// cost model.
struct ScheduleRequest {
    std::optional<TextFile> file;
    std::optional<fusion::Strategy> strategy;
    std::optional<double> overlap_threshold;  ///< of trials: the largest overlap, as a part of the points of the tiles
    ModelRequest model;
    std::set<fusion::Field> changed;  ///< fields that are set in every group that has them
    fusion::GroupSchedule values;     ///< what they are set to
};

/// Whether nothing is said of what runs where: the time model decides, for some sizes.
bool is_automatic(const ScheduleRequest& request);

/// How a person sets a field of all groups: `--frac-reg`.
std::string option_name(fusion::Field field);

}  // namespace pipec::compiler
