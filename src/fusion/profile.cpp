#include "fusion/profile.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "fusion/schedule.h"
#include "ir/print.h"
#include "ir/visit.h"

namespace pipec::fusion {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kProfileVersion = 1;
constexpr double kNanoseconds = 1e9;

/// A member of an object; its type is checked by who reads it.
const Json& member(const Json& object, const char* key, const std::string& file) {
    if (!object.is_object()) throw ScheduleError(fmt::format("{}: this is no profile", file));
    const auto found = object.find(key);
    if (found == object.end()) throw ScheduleError(fmt::format("{}: `{}` is missing", file, key));
    return *found;
}

/// A value of a type, none where it is null.
template <class T>
std::optional<T> value_of(const Json& object, const char* key, const std::string& file) {
    const Json& value = member(object, key, file);
    if (value.is_null()) return std::nullopt;
    try {
        return value.get<T>();
    } catch (const Json::exception&) {
        throw ScheduleError(fmt::format("{}: `{}` is {}, which it cannot be", file, key, value.dump()));
    }
}

StageProfile stage_from_json(const Json& entry, const std::string& file) {
    StageProfile result;
    result.stage = value_of<std::string>(entry, "stage", file).value_or("");
    result.code = value_of<std::string>(entry, "code", file).value_or("");
    result.registers = value_of<int>(entry, "registers", file).value_or(0);
    const auto nanoseconds = value_of<double>(entry, "nanoseconds", file);
    if (result.registers < 1 || nanoseconds.value_or(1) <= 0) {
        throw ScheduleError(fmt::format("{}: registers and times of `{}` must be positive", file, result.stage));
    }
    if (nanoseconds) result.seconds = *nanoseconds / kNanoseconds;
    return result;
}

/// What the profile has of a stage.
StageProfile measured(const Profile& profile, const std::string& file, const ir::Pipeline& pipeline,
                      const ir::Stage& stage) {
    const auto stages = profile.pipelines.find(pipeline.name);
    if (stages == profile.pipelines.end()) {
        throw ScheduleError(fmt::format("{}: there is nothing of the pipeline `{}`", file, pipeline.name));
    }
    const std::string code = definition_digest(pipeline, stage);
    for (const StageProfile& entry : stages->second) {
        if (entry.stage == stage.name && entry.code == code) return entry;
    }
    throw ScheduleError(
        fmt::format("{}: `{}` was not measured as it is now; `pipec profile` measures again", file, stage.name));
}

}  // namespace

std::string definition_digest(const ir::Pipeline& pipeline, const ir::Stage& stage) {
    std::string text{ir::name(stage.type)};
    for (const ir::Dimension& dim : stage.dims) {
        text += " " + pipeline.variables.at(static_cast<std::size_t>(dim.var)).name;
    }
    for (const ir::Expr& e : ir::expressions(stage)) text += "\n" + (e ? ir::to_string(pipeline, e) : "");
    // FNV-1a (G. Fowler, L. Noll, K.-P. Vo).
    std::uint64_t hash = 0xCBF29CE484222325U;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
    return fmt::format("{:016x}", hash);
}

std::string to_json(const Profile& profile) {
    Json document{{"version", kProfileVersion}, {"architecture", profile.architecture}, {"device", nullptr}};
    if (profile.device) document["device"] = *profile.device;
    document["pipelines"] = Json::object();
    std::string text = document.dump(2, ' ', false, Json::error_handler_t::replace);
    text.erase(text.rfind("{}"));
    // By hand from here: a line for each stage.
    text += "{";
    const char* next = "\n";
    for (const auto& [pipeline, stages] : profile.pipelines) {
        text += fmt::format("{}    {}: [", std::exchange(next, ",\n"), Json(pipeline).dump());
        const char* next_stage = "\n";
        for (const StageProfile& stage : stages) {
            Json time;
            if (stage.seconds) time = std::round(*stage.seconds * kNanoseconds * 100) / 100;
            text += fmt::format("{}      {{\"stage\": {}, \"code\": \"{}\", \"registers\": {}, \"nanoseconds\": {}}}",
                                std::exchange(next_stage, ",\n"), Json(stage.stage).dump(), stage.code, stage.registers,
                                time.dump());
        }
        text += "\n    ]";
    }
    return text + "\n  }\n}\n";
}

Profile profile_from_json(std::string_view text, const std::string& file) {
    const Json document = Json::parse(text.begin(), text.end(), nullptr, false);
    if (document.is_discarded()) throw ScheduleError(fmt::format("{}: this is no JSON", file));
    if (const Json& version = member(document, "version", file); version != kProfileVersion) {
        throw ScheduleError(fmt::format("{}: `version` is {}, but must be {}", file, version.dump(), kProfileVersion));
    }
    Profile result;
    result.architecture = value_of<std::string>(document, "architecture", file).value_or("");
    result.device = value_of<std::string>(document, "device", file);
    const Json& pipelines = member(document, "pipelines", file);
    if (!pipelines.is_object()) throw ScheduleError(fmt::format("{}: `pipelines` must be an object", file));
    for (const auto& [name, stages] : pipelines.items()) {
        if (!stages.is_array()) throw ScheduleError(fmt::format("{}: `{}` must be a list of stages", file, name));
        std::vector<StageProfile>& list = result.pipelines[name];
        for (const Json& entry : stages) list.push_back(stage_from_json(entry, file));
    }
    return result;
}

CostModel with_profile(const CostModel& model, const Profile& profile, const std::string& file) {
    // By definition, which is kept alive: it is asked about the same stages many times.
    const auto known = std::make_shared<std::map<std::pair<std::string, ir::Expr>, StageProfile>>();
    const auto find = [profile, file, known](const ir::Pipeline& pipeline, const ir::Stage& stage) -> StageProfile {
        const ir::Expr& value = std::get<ir::Pure>(stage.definition).value;
        const auto [place, is_new] = known->try_emplace({stage.name, value});
        if (is_new) place->second = measured(profile, file, pipeline, stage);
        return place->second;
    };
    return [model, find](const ir::Pipeline& pipeline, const GroupFacts& facts, const std::vector<Strategy>& allowed) {
        GroupFacts told = facts;
        for (std::size_t m = 0; m < told.stages.size(); ++m) {
            const ir::Stage& stage = pipeline.stages.at(static_cast<std::size_t>(facts.group.stages[m]));
            if (!std::holds_alternative<ir::Pure>(stage.definition)) continue;
            const StageProfile found = find(pipeline, stage);
            told.stages[m].registers = found.registers;
            told.stages[m].seconds = found.seconds;
        }
        return model(pipeline, told, allowed);
    };
}

}  // namespace pipec::fusion
