#include "random/random_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>
#include <utility>

#include "codegen/lower.h"
#include "fusion/group_fields.h"
#include "fusion/inline.h"
#include "fusion/schedule_json.h"
#include "support_lib/groups.h"

namespace pipec::testing {

using fusion::GroupSchedule;
using fusion::Strategy;

namespace {

constexpr std::array kStrategies = {Strategy::Otptb, Strategy::Otpw, Strategy::Hybrid, Strategy::RegisterTile,
                                    Strategy::Stream};

class Chooser {
public:
    Chooser(const Tape& tape, const codegen::Unit& unit, const SourceManager& sources, Tried& tried)
        : choices_(tape), sources_(sources), tried_(tried) {
        schedule_ = fusion::stage_schedule(*unit.pipeline, *unit.model);
        // Stages that cost nothing are part of groups as well as others.
        const std::size_t keep = choices_.choose(3);
        std::erase_if(schedule_.inlined,
                      [&](const std::string&) { return keep == 0 || choices_.choose(keep + 1) == 0; });
        fusion::Inlined inlined =
            fusion::inline_stages(*unit.pipeline, *unit.model, fusion::inlined_stages(*unit.pipeline, schedule_));
        program_ = {std::move(inlined.pipeline), std::move(inlined.model), {}};
        program_.dependences = poly::find_dependences(program_.pipeline, program_.model);
    }

    fusion::Schedule make() {
        for (std::size_t tries = 1 + choices_.choose(6); tries > 0; --tries) {
            GroupSchedule group = parameters();
            // Smaller groups where the strategy refuses a larger one.
            std::vector<std::set<int>> sizes = grow();
            for (; !sizes.empty(); sizes.pop_back()) {
                const ir::Stage& first = program_.pipeline.stages[static_cast<std::size_t>(*sizes.back().begin())];
                if (first.scan && group.strategy != Strategy::Scan) group = lines();
                if (possible(sizes.back(), group)) {
                    Tried::Counts& counts = tried_.counts[group.strategy];
                    ++counts.groups;
                    counts.stages += static_cast<int>(group.stages.size());
                    schedule_.groups.push_back(group);
                    used_.insert(sizes.back().begin(), sizes.back().end());
                    break;
                }
            }
        }
        shape_stages();
        return schedule_;
    }

private:
    GroupSchedule parameters() {
        static const std::vector<std::array<int, 3>> kBlocks = {
            {32, 1, 1}, {32, 4, 1}, {8, 4, 1}, {16, 4, 1}, {64, 2, 1}, {4, 16, 1}, {8, 8, 2}, {2, 4, 8}, {32, 2, 2}};
        static const std::vector<Strategy> strategies = chosen_strategies();
        GroupSchedule group;
        group.strategy = choices_.pick(strategies);
        group.block = choices_.pick(kBlocks);
        for (int& tile : group.tile) tile = 1 + static_cast<int>(choices_.choose(4));
        group.vector = 1;
        switch (group.strategy) {
            case Strategy::Hybrid:
                group.split = static_cast<int>(choices_.choose(3));
                group.tile[static_cast<std::size_t>(group.split)] += static_cast<int>(choices_.choose(6));
                group.frac_reg = choices_.pick(std::array{1.0, 0.5, 0.25, 0.75, 0.0});
                break;
            case Strategy::RegisterTile:
                group.block[0] = 32;
                group.tile[0] = 1 << choices_.choose(4);
                group.prefetch = choices_.pick(std::array{0, 0, 1, 3, 8});
                break;
            case Strategy::Stream: group.tile[1] += static_cast<int>(choices_.choose(8)); break;
            default: group.vector = 1 << choices_.choose(3); group.tile[0] *= group.vector;
        }
        if (choices_.rarely(4)) group.load_cache = fusion::LoadCache::Cg;
        choose_values(group);
        return group;
    }

    /// Only one strategy has stages that read themselves.
    GroupSchedule lines() {
        GroupSchedule group = fusion::default_group(Strategy::Scan, 2);
        choose_values(group);
        return group;
    }

    /// Values for some of what is otherwise left to the compiler.
    void choose_values(GroupSchedule& group) {
        static const std::map<fusion::Field, std::vector<std::string>> kValues{
            {fusion::Field::BlockOrder, {"xyz", "xzy", "yxz", "yzx", "zxy", "zyx"}},
            {fusion::Field::EdgeTiles, {"first", "in_order"}},
            {fusion::Field::Direction, {"forward", "backward"}},
            {fusion::Field::MinBlocks, {"0", "1", "2"}},
            {fusion::Field::Packed, {"true", "false"}},
            {fusion::Field::Edges, {"whole", "sliced", "whole_late", "sliced_late"}},
            {fusion::Field::AccessWidths, {"all", "few"}},
            {fusion::Field::Threads, {"32x8", "16x2", "1x32", "33x3", "128x1", "7x5"}},
            {fusion::Field::Columns, {"1", "2", "4", "8", "16"}}};
        for (const auto& [field, values] : kValues) {
            if (has(group.strategy, field) && choices_.rarely(3)) set_value(field, choices_.pick(values), group);
        }
    }

    /// Any is possible: what does not fit is made to.
    fusion::HistogramShape histogram_shape() {
        using Shape = fusion::HistogramShape;
        Shape shape;
        const auto power = [&](std::size_t most) { return 1 << choices_.choose(most); };
        const auto ask = [&](Shape::Part part, int value) {
            if (choices_.choose(2) == 0) shape[part] = value;
        };
        ask(Shape::Threads, 8 * power(6));
        ask(Shape::Rows, power(4));
        ask(Shape::Copies, power(6));
        ask(Shape::Blocks, 1 + static_cast<int>(choices_.choose(4)));
        ask(Shape::Merge, power(2));
        if (choices_.rarely(3)) shape[Shape::Parts] = 1 + static_cast<int>(choices_.choose(4));
        if (choices_.rarely(2)) shape[Shape::RegionRows] = power(6);
        if (choices_.rarely(2)) shape[Shape::RegionColumns] = power(9);
        return shape;
    }

    /// A later stage that can share the kernel of a stage by itself.
    [[nodiscard]] std::optional<int> sibling_of(int stage) {
        for (int other = stage + 1; other < static_cast<int>(program_.pipeline.stages.size()); ++other) {
            const bool share = fusion::stage_kernels(program_.pipeline, program_.model, {stage, other}).size() == 1;
            if (share && legal({stage, other})) return other;
        }
        return std::nullopt;
    }

    /// Kernels of stages that are in no group, by themselves or with a sibling.
    void shape_stages() {
        for (int s = 0; s < static_cast<int>(program_.pipeline.stages.size()); ++s) {
            const auto* pure = std::get_if<ir::Pure>(&program_.pipeline.stages[static_cast<std::size_t>(s)].definition);
            if (used_.count(s) > 0 || choices_.choose(2) == 0) continue;
            GroupSchedule group;
            group.stages = names({s});
            if (pure == nullptr) {
                group.choices.histogram = histogram_shape();
                note(group);
                schedule_.groups.push_back(group);
                continue;
            }
            choose_values(group);
            const bool scan = program_.pipeline.stages[static_cast<std::size_t>(s)].scan.has_value();
            std::vector<codegen::StageValue> values{{s, pure->value}};
            const auto sibling = !scan && choices_.choose(2) == 0 ? sibling_of(s) : std::nullopt;
            if (sibling) {
                const ir::Stage& other = program_.pipeline.stages[static_cast<std::size_t>(*sibling)];
                values.push_back({*sibling, std::get<ir::Pure>(other.definition).value});
                group.stages = names({s, *sibling});
            }
            note(group);
            codegen::kernel::Program made{program_.pipeline, program_.model, fusion::default_target()};
            const bool is_possible = scan ? codegen::scan_steps(made, {s}, {s}, sources_, group.choices).index() == 0
                                          : codegen::stage_step(made, values, sources_, group.choices).index() == 0;
            Tried::Counts& counts = tried_.counts[Strategy::Stage];
            if (is_possible) {
                schedule_.groups.push_back(group);
                if (sibling) used_.insert(*sibling);
                ++counts.groups;
                counts.stages += static_cast<int>(values.size());
            } else {
                ++counts.refused;
            }
        }
    }

    /// Ever larger legal groups of stages that are in none.
    std::vector<std::set<int>> grow() {
        std::vector<std::set<int>> sizes;
        std::vector<int> unused;  // the last stage first
        for (int stage = static_cast<int>(program_.pipeline.stages.size()) - 1; stage >= 0; --stage) {
            if (used_.count(stage) == 0) unused.push_back(stage);
        }
        if (unused.empty()) return {};
        std::set<int> members{choices_.pick(unused)};
        if (!legal(members)) return {};
        sizes.push_back(members);
        if (program_.dependences.empty()) return sizes;
        for (std::size_t steps = 4 + choices_.choose(16); steps > 0; --steps) {
            const poly::Dependence& d = choices_.pick(program_.dependences);
            const bool of_stage = d.source.kind == ir::Source::Kind::Stage;
            const bool has_reader = members.count(d.reader) > 0;
            const bool has_source = of_stage && members.count(d.source.index) > 0;
            std::set<int> more = members;
            if (has_reader != has_source && of_stage) {
                more.insert(has_reader ? d.source.index : d.reader);
            } else if (!has_reader) {  // it may have to do with a member that reads the same array
                more.insert(d.reader);
            }
            if (more.size() == members.size() || !legal(more)) continue;
            members = more;
            sizes.push_back(members);
        }
        return sizes;
    }

    [[nodiscard]] std::vector<std::string> names(const std::set<int>& members) const {
        std::vector<std::string> result;
        for (const int s : members) result.push_back(program_.pipeline.stages[static_cast<std::size_t>(s)].name);
        return result;
    }

    bool legal(const std::set<int>& members) {
        for (const int s : members) {
            if (used_.count(s) > 0) return false;
        }
        if (!legal_group(program_, {members.begin(), members.end()})) return false;
        fusion::Schedule trial = schedule_;
        trial.groups.push_back({names(members), Strategy::Otptb});
        try {
            fusion::order_groups(program_.pipeline, trial);
            return true;
        } catch (const fusion::ScheduleError&) {
            return false;
        }
    }

    /// Sets the group's stages.
    bool possible(const std::set<int>& members, GroupSchedule& group) {
        const poly::Group aligned = *legal_group(program_, {members.begin(), members.end()});
        group.stages = names(members);
        const int last_axis = std::clamp(aligned.rank - 1, 0, 2);
        for (int axis = 2; axis > last_axis; --axis) {  // threads that would have nothing to do
            group.block[0] *= std::exchange(group.block[static_cast<std::size_t>(axis)], 1);
        }
        group.split = std::min(group.split, last_axis);
        note(group);
        codegen::kernel::Program made{program_.pipeline, program_.model, fusion::default_target()};
        std::string reason;
        if (group.strategy == Strategy::Scan) {
            const auto code = codegen::group_code(made, aligned, group, sources_);
            if (code.index() == 0) return true;
            reason = std::get<fusion::Refused>(code).reason;
        } else {
            const auto step = codegen::group_step(made, aligned, group, sources_);
            if (std::holds_alternative<codegen::kernel::Step>(step)) return true;
            reason = std::get<std::string>(step);
        }
        for (std::size_t i = 0; i < reason.size(); ++i) {
            if (std::isdigit(static_cast<unsigned char>(reason[i])) != 0) reason[i] = '#';
        }
        reason.erase(std::unique(reason.begin(), reason.end(), [](char a, char b) { return a == '#' && b == '#'; }),
                     reason.end());
        ++tried_.counts[group.strategy].refused;
        ++tried_.counts[group.strategy].reasons[reason];
        return false;
    }

    /// For whoever looks into a crash.
    void note(const GroupSchedule& group) const {
        fusion::Schedule trial = schedule_;
        trial.groups.push_back(group);
        const std::string& name = program_.pipeline.name;
        std::ofstream(PIPEC_BINARY_DIR "/random-current.json") << fusion::to_json({{name, trial}}, {program_.pipeline});
    }

    Choices choices_;
    const SourceManager& sources_;
    Tried& tried_;
    fusion::Schedule schedule_;
    Inlined program_;
    std::set<int> used_;
};

}  // namespace

std::vector<Strategy> chosen_strategies() {
    const char* wanted = std::getenv("PIPEC_RANDOM_STRATEGIES");
    const std::string list = fmt::format(",{},", wanted == nullptr ? "" : wanted);
    std::vector<Strategy> result;
    for (const Strategy s : kStrategies) {
        if (wanted == nullptr || list.find(fmt::format(",{},", name(s))) != std::string::npos) result.push_back(s);
    }
    return result;
}

std::string to_string(const Tried& tried) {
    std::string text;
    for (const auto& [strategy, counts] : tried.counts) {
        text += fmt::format("{}: {} groups of {} stages, {} refused\n", name(strategy), counts.groups, counts.stages,
                            counts.refused);
        for (const auto& [reason, count] : counts.reasons) text += fmt::format("    {} x {}\n", count, reason);
    }
    return text;
}

fusion::Schedule random_schedule(const Tape& tape, const codegen::Unit& unit, const SourceManager& sources,
                                 Tried& tried) {
    return Chooser(tape, unit, sources, tried).make();
}

}  // namespace pipec::testing
