#include "fusion/schedule_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "fusion/group_fields.h"
#include "support/diagnostics.h"

namespace pipec::fusion {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kScheduleVersion = 2;
/// Without choices.
constexpr int kFirstScheduleVersion = 1;

// ------------------------------------------------------------------------------------------------------------- writing

constexpr std::size_t kLineWidth = 100;

/// `"tile": ` before a member of an object, nothing before an element of a list.
std::string key_of(const Json& parent, const std::string& key) {
    return parent.is_object() ? Json(key).dump() + ": " : "";
}

std::string one_line(const Json& value) {
    if (value.is_primitive()) return value.dump(-1, ' ', false, Json::error_handler_t::replace);
    std::vector<std::string> items;
    for (const auto& [key, item] : value.items()) items.push_back(key_of(value, key) + one_line(item));
    return fmt::format("{}{}{}", value.is_object() ? '{' : '[', fmt::join(items, ", "), value.is_object() ? '}' : ']');
}

std::size_t column(const std::string& text) {
    return text.size() - (text.rfind('\n') + 1);
}

/// What has no objects in it and fits a line, in one line; lists of words and numbers in as many lines as they need;
/// otherwise a line for each member.
void write(std::string& text, const Json& value, std::size_t indent) {
    const std::string line = one_line(value);
    const bool nested = std::any_of(value.begin(), value.end(), [](const Json& item) { return item.is_structured(); });
    const bool has_objects = std::any_of(value.begin(), value.end(), [](const Json& item) { return item.is_object(); });
    if (value.empty() || value.is_primitive() || (!has_objects && column(text) + line.size() < kLineWidth)) {
        text += line;
        return;
    }
    const std::string next_line = "\n" + std::string(indent + 2, ' ');
    text += line.front();
    bool first = true;
    for (const auto& [key, item] : value.items()) {
        const bool fits = !nested && column(text) + one_line(item).size() + 2 < kLineWidth;
        text += first ? next_line : fits && value.is_array() ? ", " : "," + next_line;
        text += key_of(value, key);
        write(text, item, indent + 2);
        first = false;
    }
    text += "\n" + std::string(indent, ' ') + line.back();
}

Json to_json(const GroupSchedule& group) {
    Json result{{"stages", group.stages}, {"strategy", name(group.strategy)}};
    for (const Field field : kFields) {
        if (!has(group.strategy, field) || is_auto(field, group)) continue;
        Json& value = result[std::string(name(field))];
        switch (field) {
            case Field::Block: value = group.block; break;
            case Field::Tile: value = group.tile; break;
            case Field::Vector: value = group.vector; break;
            case Field::Split: value = split_name(group.split); break;
            case Field::FracReg: value = group.frac_reg; break;
            case Field::Prefetch: value = group.prefetch; break;
            case Field::MinBlocks: value = *group.choices.min_blocks; break;
            case Field::Packed: value = *group.choices.packed; break;
            case Field::Threads: value = *group.choices.threads; break;
            case Field::Columns: value = *group.choices.columns; break;
            case Field::SharedLanes: value = *group.choices.shared_lanes; break;
            case Field::Histogram: value = group.choices.histogram->parts; break;
            case Field::LoadCache:
            case Field::BlockOrder:
            case Field::EdgeTiles:
            case Field::Direction:
            case Field::Edges:
            case Field::AccessWidths: value = value_text(field, group); break;
        }
    }
    return result;
}

// ------------------------------------------------------------------------------------------------------------- reading

/// A value in a file, and where it stands.
class JsonPlace {
public:
    JsonPlace(const Json& value, const std::string& file, std::string path = {})
        : value_(value), file_(file), path_(std::move(path)) {}

    [[noreturn]] void fail(const std::string& message) const {
        throw ScheduleError(fmt::format("{}: {}{}{}", file_, path_, path_.empty() ? "" : ": ", message));
    }
    /// What a function of group_fields.h makes of a value; its message gets the place before it.
    template <class Function>
    auto with_place(const Function& function) const {
        try {
            return function();
        } catch (const ScheduleError& error) {
            fail(error.what());
        }
    }

    /// The member of that name; null where there is none.
    [[nodiscard]] std::optional<JsonPlace> find(std::string_view key) const {
        const auto found = value_.find(key);
        if (found == value_.end()) return std::nullopt;
        return JsonPlace(*found, file_, path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key));
    }
    [[nodiscard]] JsonPlace at(std::string_view key) const {
        auto found = find(key);
        if (!found) fail(fmt::format("`{}` is missing", key));
        return *found;
    }
    [[nodiscard]] std::vector<std::string> keys() const {
        std::vector<std::string> result;
        for (const auto& item : value_.items()) result.push_back(item.key());
        return result;
    }
    [[nodiscard]] std::vector<JsonPlace> elements() const {
        require(value_.is_array(), "a list");
        std::vector<JsonPlace> result;
        for (std::size_t i = 0; i < value_.size(); ++i)
            result.emplace_back(value_[i], file_, fmt::format("{}[{}]", path_, i));
        return result;
    }
    /// Refuses all that is no object of these members.
    void check_object(const std::vector<std::string>& known) const {
        require(value_.is_object(), "an object");
        for (const std::string& key : keys()) {
            if (std::find(known.begin(), known.end(), key) != known.end()) continue;
            const auto close = closest_name(key, known);
            fail(fmt::format("`{}` is unknown here; {}", key,
                             close ? fmt::format("did you mean `{}`?", *close)
                                   : fmt::format("there are: {}", fmt::join(known, ", "))));
        }
    }
    [[nodiscard]] std::string string() const {
        require(value_.is_string(), "a string");
        return value_.get<std::string>();
    }
    /// One of several words.
    template <class T>
    [[nodiscard]] T word(T (*parse)(std::string_view)) const {
        const std::string text = string();
        return with_place([&] { return parse(text); });
    }
    [[nodiscard]] double number() const {
        require(value_.is_number(), "a number");
        return value_.get<double>();
    }
    /// An integer that the field may be.
    [[nodiscard]] int integer(Field field, std::size_t axis = 0) const {
        require(value_.is_number_integer(), "an integer");
        with_place([&] { check_value(field, number(), axis); });
        return value_.get<int>();
    }
    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] bool is_string() const { return value_.is_string(); }
    [[nodiscard]] bool boolean() const {
        require(value_.is_boolean(), "true or false");
        return value_.get<bool>();
    }

private:
    void require(bool is, std::string_view what) const {
        if (!is) fail(fmt::format("this must be {}, but is {}", what, name_of_type()));
    }
    [[nodiscard]] std::string_view name_of_type() const {
        switch (value_.type()) {
            case Json::value_t::object: return "an object";
            case Json::value_t::array: return "a list";
            case Json::value_t::string: return "a string";
            case Json::value_t::boolean: return "true or false";
            case Json::value_t::null: return "null";
            default: return value_.is_number_integer() ? "an integer" : "a number";
        }
    }

    const Json& value_;
    const std::string& file_;
    std::string path_;  ///< "pipelines.blur.groups[0].tile[1]"
};

template <std::size_t n>
std::array<int, n> read_sizes(const JsonPlace& place, Field field) {
    const std::vector<JsonPlace> elements = place.elements();
    std::array<int, n> result{};
    if (elements.size() != n) {
        place.fail(fmt::format("this has {} elements, and must have {}", elements.size(),
                               n == 3   ? "three: x, y, z"
                               : n == 2 ? "two: x, y"
                                        : fmt::format("{}", n)));
    }
    for (std::size_t axis = 0; axis < n; ++axis) result[axis] = elements[axis].integer(field, axis);
    return result;
}

/// A choice: of a string only words are values, of which all have `auto`.
void read_choice(const JsonPlace& place, Field field, GroupSchedule& group) {
    Choices& choices = group.choices;
    const bool has_words = field != Field::MinBlocks && field != Field::Packed && field != Field::Threads &&
                           field != Field::Columns && field != Field::SharedLanes && field != Field::Histogram;
    if (has_words || place.is_string()) {
        const std::string text = place.string();
        place.with_place([&] {
            if (!has_words && text != "auto")
                throw ScheduleError(fmt::format("\"{}\" is no value; there are: {}", text, legal_values(field)));
            set_value(field, text, group);
        });
        return;
    }
    if (field == Field::MinBlocks) choices.min_blocks = place.integer(field);
    if (field == Field::Packed) choices.packed = place.boolean();
    if (field == Field::Threads) choices.threads = read_sizes<2>(place, field);
    if (field == Field::Columns) choices.columns = place.integer(field);
    if (field == Field::SharedLanes) choices.shared_lanes = place.boolean();
    if (field == Field::Histogram) choices.histogram = HistogramShape{read_sizes<8>(place, field)};
}

void read_field(const JsonPlace& place, Field field, GroupSchedule& group) {
    switch (field) {
        case Field::Block: group.block = read_sizes<3>(place, field); return;
        case Field::Tile: group.tile = read_sizes<3>(place, field); return;
        case Field::Vector: group.vector = place.integer(field); return;
        case Field::Split: group.split = place.word(parse_split); return;
        case Field::FracReg:
            group.frac_reg = place.number();
            return place.with_place([&] { check_value(field, group.frac_reg); });
        case Field::Prefetch: group.prefetch = place.integer(field); return;
        case Field::LoadCache: group.load_cache = place.word(parse_load_cache); return;
        default: return read_choice(place, field, group);
    }
}

/// The schedule of one pipeline.
class PipelineReader {
public:
    PipelineReader(const ir::Pipeline& pipeline, int version) : pipeline_(pipeline), version_(version) {}

    Schedule read(const JsonPlace& place) {
        place.check_object({"origin", "inlined", "groups"});
        Schedule result;
        if (const auto origin = place.find("origin")) result.origin = origin->string();
        for (const JsonPlace& stage : place.at("inlined").elements()) result.inlined.push_back(read_stage(stage));
        for (const JsonPlace& group : place.at("groups").elements()) result.groups.push_back(read_group(group));
        return result;
    }

private:
    /// A stage, which has no other place in the schedule.
    std::string read_stage(const JsonPlace& place) {
        const std::string name = place.string();
        std::vector<std::string> names;
        for (const ir::Stage& stage : pipeline_.stages) names.push_back(stage.name);
        if (std::find(names.begin(), names.end(), name) == names.end()) {
            const auto close = closest_name(name, names);
            place.fail(fmt::format("`{}` has no stage `{}`{}", pipeline_.name, name,
                                   close ? fmt::format("; did you mean `{}`?", *close) : ""));
        }
        const auto [earlier, is_new] = places_.emplace(name, place.path());
        if (!is_new) place.fail(fmt::format("`{}` stands in {} already", name, earlier->second));
        return name;
    }

    GroupSchedule read_group(const JsonPlace& place) {
        std::vector<std::string> known{"stages", "strategy"};
        for (const Field field : kFields) known.emplace_back(name(field));
        place.check_object(known);
        GroupSchedule group;
        const JsonPlace stages = place.at("stages");
        for (const JsonPlace& stage : stages.elements()) group.stages.push_back(read_stage(stage));
        if (group.stages.empty()) stages.fail("a group has at least one stage");
        group.strategy = place.at("strategy").word(parse_strategy);
        for (const Field field : kFields) {
            const auto value = place.find(name(field));
            if (!value) continue;
            if (!has(group.strategy, field)) {
                value->fail(fmt::format("the strategy `{}` has no `{}`", name(group.strategy), name(field)));
            }
            if (is_choice(field) && version_ == kFirstScheduleVersion) {
                value->fail(fmt::format("`{}` is for files of version {}, and this is one of version {}", name(field),
                                        kScheduleVersion, version_));
            }
            read_field(*value, field, group);
        }
        return group;
    }

    const ir::Pipeline& pipeline_;
    const int version_;                          ///< of the file
    std::map<std::string, std::string> places_;  ///< of stages
};

/// Line and column of a byte, both from 1.
std::string position(std::string_view text, std::size_t byte) {
    const std::string_view before = text.substr(0, byte);
    const std::size_t line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
    return fmt::format("{}:{}", line, before.size() - (before.rfind('\n') + 1) + 1);
}

/// Refuses two members of one name, of which the library would keep the last.
class DistinctKeys {
public:
    bool operator()(int, Json::parse_event_t event, Json& parsed) {
        using Event = Json::parse_event_t;
        if (event == Event::object_start) open_.emplace_back();
        if (event == Event::object_end) open_.pop_back();
        if (event == Event::key && !open_.back().insert(parsed.get<std::string>()).second) {
            throw ScheduleError(fmt::format("`{}` stands twice in one object", parsed.get<std::string>()));
        }
        return true;
    }

private:
    std::vector<std::set<std::string>> open_;  ///< the objects around, with their keys so far
};

Json parse(std::string_view text, const std::string& file) {
    try {
        return Json::parse(text.begin(), text.end(), DistinctKeys());
    } catch (const Json::parse_error& error) {
        // "[json.exception.parse_error.101] parse error at line 3, column 5: syntax error while parsing ..."
        std::string what = error.what();
        const std::size_t column = what.find("column ");
        const std::size_t colon = what.find(": ", column == std::string::npos ? 0 : column);
        if (colon != std::string::npos) what.erase(0, colon + 2);
        throw ScheduleError(fmt::format("{}:{}: this is no JSON: {}", file,
                                        position(text, std::max<std::size_t>(error.byte, 1) - 1), what));
    } catch (const Json::exception& error) {
        const std::string what = error.what();
        throw ScheduleError(fmt::format("{}: this is no JSON: {}", file, what.substr(what.find("] ") + 2)));
    } catch (const ScheduleError& error) {
        throw ScheduleError(fmt::format("{}: {}", file, error.what()));
    }
}

}  // namespace

std::string to_json(const Schedules& schedules, const std::vector<ir::Pipeline>& pipelines) {
    Json document{{"version", kScheduleVersion}, {"pipelines", Json::object()}};
    for (const ir::Pipeline& pipeline : pipelines) {
        const auto found = schedules.find(pipeline.name);
        if (found == schedules.end()) continue;
        Json& entry = document["pipelines"][pipeline.name];
        entry = Json::object();
        if (!found->second.origin.empty()) entry["origin"] = found->second.origin;
        entry["inlined"] = found->second.inlined;
        entry["groups"] = Json::array();
        for (const GroupSchedule& group : found->second.groups) entry["groups"].push_back(to_json(group));
    }
    std::string text;
    write(text, document, 0);
    return text + "\n";
}

Schedules schedules_from_json(std::string_view text, const std::string& file,
                              const std::vector<ir::Pipeline>& pipelines) {
    const Json document = parse(text, file);
    const JsonPlace root(document, file);
    root.check_object({"version", "pipelines"});
    const JsonPlace version = root.at("version");
    if (document["version"] != kScheduleVersion && document["version"] != kFirstScheduleVersion) {
        version.fail(fmt::format("this is {}, but must be {} or {}", document["version"].dump(), kFirstScheduleVersion,
                                 kScheduleVersion));
    }
    const int number = document["version"] == kScheduleVersion ? kScheduleVersion : kFirstScheduleVersion;
    const JsonPlace entries = root.at("pipelines");
    std::vector<std::string> names;
    for (const ir::Pipeline& pipeline : pipelines) names.push_back(pipeline.name);
    entries.check_object(names);
    Schedules result;
    for (const ir::Pipeline& pipeline : pipelines) {
        if (const auto entry = entries.find(pipeline.name)) {
            result.emplace(pipeline.name, PipelineReader(pipeline, number).read(*entry));
        }
    }
    return result;
}

}  // namespace pipec::fusion
