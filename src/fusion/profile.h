// What was measured of each stage by itself before fusion: the paper's "register usage and running time of each stage"
// (section "Automatic Fusion for GPUs"). `pipec profile` makes such a file; docs/tuning.md describes the form.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fusion/automatic.h"
#include "ir/pipeline.h"

namespace pipec::fusion {

struct StageProfile {
    std::string stage;
    std::string code;               ///< definition_digest: what it computed then
    int registers = 0;              ///< of a thread that computes a point
    std::optional<double> seconds;  ///< for a point, of one thread by itself
    friend bool operator==(const StageProfile&, const StageProfile&) = default;
};

struct Profile {
    std::string architecture;           ///< that registers are for: "sm_90"
    std::optional<std::string> device;  ///< that times are of; none: only registers are known
    std::map<std::string, std::vector<StageProfile>> pipelines;
};

/// 16 digits that change when what the stage computes does.
std::string definition_digest(const ir::Pipeline& pipeline, const ir::Stage& stage);

std::string to_json(const Profile& profile);

/// Reads what to_json() writes. Throws ScheduleError, whose message begins with the file's name.
Profile profile_from_json(std::string_view text, const std::string& file);

/// A cost model that is told what was measured in place of what facts estimate of pure stages. It throws ScheduleError
/// where a stage was not measured, or computed something else then; `file` is for messages.
CostModel with_profile(const CostModel& model, const Profile& profile, const std::string& file);

}  // namespace pipec::fusion
