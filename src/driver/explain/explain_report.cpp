#include "driver/explain/explain_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <span>

#include "codegen/emit/c/text.h"
#include "codegen/kernel/shared_memory.h"
#include "codegen/lower.h"
#include "driver/explain/explain_tiles.h"
#include "fusion/strategy.h"
#include "ir/visit.h"
#include "plan/plan_print.h"
#include "plan/scan_tile.h"

namespace pipec::driver::explain {

namespace {

using fusion::GroupSchedule;
using fusion::Strategy;

constexpr std::array kTilings{Strategy::RegisterTile, Strategy::Hybrid, Strategy::Otpw, Strategy::Otptb};
/// Schedules of one strategy that code generation is asked about before it counts as impossible.
constexpr std::size_t kTrials = 3;
/// Another tile of the same strategy is worth a line where it saves this part of the time.
constexpr double kWorthwhile = 0.03;

bool has_no_tiles(const GroupSchedule& schedule) {
    return schedule.strategy == Strategy::Stage || schedule.strategy == Strategy::Scan;
}

class Explainer {
public:
    explicit Explainer(const Question& question)
        : q_(question),
          predicted_(cost::predict(q_.prepared.pipeline, q_.prepared.model, q_.schedule, q_.target.gpu(), q_.sizes)),
          pipeline_(predicted_.program.pipeline),
          facts_(fusion::stage_facts(pipeline_, predicted_.program.model, predicted_.dependences, q_.sizes)) {}

    PipelineReport run() {
        PipelineReport report;
        report.name = pipeline_.name;
        report.gpu = q_.target.gpu();
        for (std::size_t i = 0; i < pipeline_.sizes.size(); ++i) {
            report.sizes.emplace_back(pipeline_.sizes[i].name, q_.sizes.at(i));
        }
        const std::map<std::string, std::vector<std::string>> inlined = inlined_in();
        for (const cost::PredictedGroup& group : predicted_.groups) {
            report.groups.push_back(describe(group));
            for (StageReport& stage : report.groups.back().stages) {
                if (const auto found = inlined.find(stage.name); found != inlined.end()) stage.inlined = found->second;
            }
            report.groups.back().source = source_of(report.groups.back());
        }
        report.merges = merges();
        report.seconds = predicted_.seconds();
        report.program = predicted_.program;
        report.dependences = predicted_.dependences;
        return report;
    }

private:
    [[nodiscard]] const ir::Stage& stage(int index) const {
        return pipeline_.stages.at(static_cast<std::size_t>(index));
    }
    [[nodiscard]] std::vector<int> members(const GroupSchedule& schedule) const;
    [[nodiscard]] std::string place(SourceRange range) const;
    [[nodiscard]] std::vector<SourceLine> source_of(const GroupReport& group) const;
    [[nodiscard]] std::map<std::string, std::vector<std::string>> inlined_in() const;
    [[nodiscard]] std::variant<codegen::kernel::Step, std::string> generate(const poly::Group& group,
                                                                            const GroupSchedule& schedule) const;
    [[nodiscard]] std::optional<std::string> refused(const poly::Group& group, const GroupSchedule& schedule) const;
    [[nodiscard]] std::variant<fusion::GroupFacts, poly::Illegal> facts_of(const std::vector<int>& stages) const;
    [[nodiscard]] std::string meaning(const GroupSchedule& schedule, const std::vector<int>& stages) const;
    [[nodiscard]] std::string why_unknown(const std::vector<int>& stages) const;
    GroupReport describe(const cost::PredictedGroup& predicted) const;
    void describe_stages(const cost::PredictedGroup& predicted, GroupReport& report) const;
    /// The first stage that accumulates.
    [[nodiscard]] std::optional<std::string> impure(const std::vector<int>& stages) const;
    [[nodiscard]] Alternative best(const fusion::GroupFacts& facts, std::span<const Strategy> strategies) const;
    [[nodiscard]] std::vector<Alternative> alternatives(const cost::PredictedGroup& predicted) const;
    [[nodiscard]] std::optional<double> apart(const std::vector<int>& stages) const;
    [[nodiscard]] std::vector<MergeReport> merges() const;
    [[nodiscard]] Alternative merged(std::size_t producer, std::size_t reader) const;
    [[nodiscard]] bool can_run(std::size_t producer, std::size_t reader) const;

    const Question& q_;
    cost::Predicted predicted_;
    const ir::Pipeline& pipeline_;  ///< what inlining left
    std::vector<fusion::StageFacts> facts_;
};

std::vector<int> Explainer::members(const GroupSchedule& schedule) const {
    std::vector<int> result;
    for (std::size_t s = 0; s < pipeline_.stages.size(); ++s) {
        const auto& names = schedule.stages;
        if (std::find(names.begin(), names.end(), pipeline_.stages[s].name) != names.end()) {
            result.push_back(static_cast<int>(s));
        }
    }
    return result;
}

std::string Explainer::place(SourceRange range) const {
    if (!range.valid()) return "";
    return fmt::format("{}:{}", codegen::base_name(q_.sources.name(range.file)),
                       q_.sources.position(range.file, range.begin).line);
}

/// Definitions end where the layout says so: at a line that is indented no further than the first one.
std::vector<SourceLine> Explainer::source_of(const GroupReport& group) const {
    std::set<std::string> names;
    for (const StageReport& stage : group.stages) {
        names.insert(stage.name);
        names.insert(stage.inlined.begin(), stage.inlined.end());
    }
    std::map<std::pair<FileId, std::uint32_t>, std::string> lines;
    const auto indent = [](std::string_view line) { return std::min(line.find_first_not_of(" \t"), line.size()); };
    for (const ir::Stage& stage : q_.prepared.pipeline.stages) {
        if (!names.contains(stage.name) || !stage.range.valid()) continue;
        const FileId file = stage.range.file;
        std::uint32_t number = q_.sources.position(file, stage.range.begin).line;
        const std::size_t first = indent(q_.sources.line(file, number));
        const std::uint32_t last =
            q_.sources.position(file, static_cast<std::uint32_t>(q_.sources.text(file).size())).line;
        do {
            const std::string_view line = q_.sources.line(file, number);
            lines[{file, number}] = line.substr(std::min(first, line.size()));
        } while (++number < last && indent(q_.sources.line(file, number)) > first);
    }
    std::vector<SourceLine> result;
    for (auto& [place, text] : lines) {
        result.push_back(
            {std::string(codegen::base_name(q_.sources.name(place.first))), place.second, std::move(text)});
    }
    return result;
}

/// By stage that is left: the stages computed inside of it, also those inside of these.
std::map<std::string, std::vector<std::string>> Explainer::inlined_in() const {
    const ir::Pipeline& all = q_.prepared.pipeline;
    const std::vector<int> inlined = fusion::inlined_stages(all, q_.schedule);
    const std::set<int> gone(inlined.begin(), inlined.end());
    std::map<std::string, std::vector<std::string>> result;
    for (std::size_t s = 0; s < all.stages.size(); ++s) {
        if (gone.count(static_cast<int>(s)) > 0) continue;
        std::set<int> found;
        const std::function<void(const ir::Stage&)> follow = [&](const ir::Stage& reader) {
            for (const ir::Expr& root : ir::expressions(reader)) {
                ir::for_each_node(root, [&](const ir::Expr& e) {
                    const auto* read = ir::as<ir::Read>(e);
                    if (read == nullptr || read->source.kind != ir::Source::Kind::Stage) return;
                    if (gone.count(read->source.index) == 0 || !found.insert(read->source.index).second) return;
                    follow(all.stages[static_cast<std::size_t>(read->source.index)]);
                });
            }
        };
        follow(all.stages[s]);
        for (const int stage : found) {
            result[all.stages[s].name].push_back(all.stages[static_cast<std::size_t>(stage)].name);
        }
    }
    return result;
}

std::variant<codegen::kernel::Step, std::string> Explainer::generate(const poly::Group& group,
                                                                     const GroupSchedule& schedule) const {
    codegen::kernel::Program scratch{pipeline_, predicted_.program.model, q_.target, {}, q_.fast_math};
    return codegen::group_step(scratch, group, schedule, q_.sources);
}

/// Why no code can be generated; none where it can.
std::optional<std::string> Explainer::refused(const poly::Group& group, const GroupSchedule& schedule) const {
    codegen::kernel::Program scratch{pipeline_, predicted_.program.model, q_.target, {}, q_.fast_math};
    auto code = codegen::group_code(scratch, group, schedule, q_.sources);
    auto* refused = std::get_if<fusion::Refused>(&code);
    return refused == nullptr ? std::nullopt : std::optional(std::move(refused->reason));
}

std::variant<fusion::GroupFacts, poly::Illegal> Explainer::facts_of(const std::vector<int>& stages) const {
    auto made = poly::make_group(pipeline_, predicted_.program.model, predicted_.dependences, stages);
    if (auto* illegal = std::get_if<poly::Illegal>(&made)) return std::move(*illegal);
    return fusion::group_facts(std::get<poly::Group>(std::move(made)), facts_);
}

// ---------------------------------------------------------------------------------------------------------- one group

/// The points of a scan are not computed each by itself, also where it is alone.
std::string Explainer::meaning(const GroupSchedule& schedule, const std::vector<int>& stages) const {
    const auto& scan = stage(stages.front()).scan;
    if (!scan) return std::string(fusion::info(schedule.strategy).meaning);
    const ir::VarId along = stage(stages.front()).dims.at(static_cast<std::size_t>(scan->dim)).var;
    const std::string& name = pipeline_.variables.at(static_cast<std::size_t>(along)).name;
    const fusion::StageFacts& first = facts_.at(static_cast<std::size_t>(stages.front()));
    const auto& facts = first.scan;
    const std::string readers = stages.size() > 1 ? ", with what is made of its value at a point" : "";
    if (!scan->across.empty()) {
        const fusion::Gpu& gpu = q_.target.gpu();
        const auto strip = facts ? plan::slice_strip(*facts, gpu) : std::nullopt;
        const auto patch = facts ? plan::slice_patch(first, gpu) : std::nullopt;
        const std::int64_t launched = strip ? strip->slices : patch ? patch->slices : 0;
        std::string more =
            launched > 0 ? fmt::format("; blocks share a slice out, and a launch computes {}", launched) : "";
        if (facts && facts->last) more += fmt::format("; memory has {} at a time", plan::memory_slices(first, gpu));
        return fmt::format("a scan along {}, slice after slice, since it reads itself at other lines{}", name, more);
    }
    if (facts && facts->length >= plan::kShortestSharedLine && facts->shared) {
        return fmt::format("a scan along {}, which the threads of a block share out{}", name, readers);
    }
    return fmt::format("a scan along {}, a lane for each line, point after point{}", name, readers);
}

std::string Explainer::why_unknown(const std::vector<int>& stages) const {
    if (const auto accumulate = impure(stages)) {
        return fmt::format("`{}` accumulates, and the model knows nothing of how", *accumulate);
    }
    return "by the model's count it is beyond the limits of the GPU";
}

/// As the last member that names a dimension calls it. A whole-image expression names none: then its position.
GroupReport Explainer::describe(const cost::PredictedGroup& predicted) const {
    GroupReport report;
    report.schedule = predicted.schedule;
    report.time = predicted.time;
    const std::vector<int> stages = members(predicted.schedule);
    report.meaning = meaning(predicted.schedule, stages);
    describe_stages(predicted, report);
    if (!predicted.facts) {
        if (predicted.time)
            report.shared_bytes = predicted.time->shared_per_block;
        else
            report.unknown = why_unknown(stages);
        return report;
    }
    const poly::Group& group = predicted.facts->group;
    report.dims = plan::dimension_names(pipeline_, group);
    report.traffic = cost::traffic(*predicted.facts);
    describe_tiles(*predicted.facts, report);
    if (!predicted.time) report.unknown = why_unknown(stages);
    if (predicted.time && has_no_tiles(predicted.schedule)) report.shared_bytes = predicted.time->shared_per_block;
    report.alternatives = alternatives(predicted);
    if (stages.size() > 1) report.apart = apart(stages);
    return report;
}

/// What a kernel keeps in shared memory is what its code says.
void Explainer::describe_stages(const cost::PredictedGroup& predicted, GroupReport& report) const {
    std::map<std::string, std::int64_t> shared;
    const bool tiled = predicted.facts && !has_no_tiles(predicted.schedule);
    if (tiled) {
        const auto step = generate(predicted.facts->group, predicted.schedule);
        if (const auto* made = std::get_if<codegen::kernel::Step>(&step)) {
            const codegen::kernel::Kernel& kernel = made->variants.front();
            report.shared_bytes = codegen::scratch_bytes(kernel) + codegen::own_bytes(kernel);
            for (const codegen::kernel::SharedArray& array : kernel.shared) {
                std::int64_t bytes = ir::bytes(array.type);
                for (const std::int64_t extent : array.extents) bytes *= extent;
                shared[array.name] = bytes;
            }
        }
    }
    const std::vector<int> stages = members(predicted.schedule);
    for (std::size_t m = 0; m < stages.size(); ++m) {
        const ir::Stage& member = stage(stages[m]);
        StageReport& one = report.stages.emplace_back();
        one.name = member.name;
        one.place = place(member.range);
        one.type = ir::name(member.type);
        one.is_output = member.output >= 0;
        one.is_live = !predicted.facts || predicted.facts->live.at(m);
        const fusion::StageFacts& facts = facts_.at(static_cast<std::size_t>(stages[m]));
        one.bytes = static_cast<double>(facts.points) * facts.bytes;
        if (facts.scan && facts.scan->last) {
            const auto slices = static_cast<double>(plan::memory_slices(facts, q_.target.gpu()));
            one.bytes *= slices / static_cast<double>(std::max<std::int64_t>(1, facts.scan->length));
        }
        if (const auto found = shared.find(member.name + "_tile"); found != shared.end()) {
            one.kept = predicted.schedule.strategy == Strategy::Hybrid ? Kept::Both : Kept::Shared;
            one.tile_bytes = found->second;
        } else if (tiled && predicted.facts->kept.at(m)) {
            one.kept = Kept::Registers;
        }
    }
}

std::optional<std::string> Explainer::impure(const std::vector<int>& stages) const {
    for (const int s : stages) {
        if (facts_.at(static_cast<std::size_t>(s)).pure) continue;
        return stage(s).name;
    }
    return std::nullopt;
}

/// The fastest schedule of some strategies for which code can be generated; else why there is none with the last one.
Alternative Explainer::best(const fusion::GroupFacts& facts, std::span<const Strategy> strategies) const {
    Alternative result;
    result.what = fusion::name(strategies.back());
    result.dims = plan::dimension_names(pipeline_, facts.group);
    std::vector<cost::TimeChoice> choices;
    for (const Strategy strategy : strategies) {
        std::vector<cost::TimeChoice> some = cost::time_choices(facts, q_.target.gpu(), {strategy}, kTrials);
        result.refusal = some.empty() ? "no tile that is tried keeps within the GPU's limits" : "";
        std::move(some.begin(), some.end(), std::back_inserter(choices));
    }
    std::stable_sort(choices.begin(), choices.end(), [](const cost::TimeChoice& a, const cost::TimeChoice& b) {
        return a.time.seconds < b.time.seconds;
    });
    for (cost::TimeChoice& choice : choices) {
        const Strategy strategy = choice.schedule.strategy;
        if (strategy != Strategy::Stage) {
            if (auto refusal = refused(facts.group, choice.schedule)) {
                if (strategy == strategies.back() && result.refusal.empty()) result.refusal = std::move(*refusal);
                continue;
            }
        }
        result.refusal.clear();
        result.what = fusion::name(strategy);
        result.time = choice.time;
        result.schedule = std::move(choice.schedule);
        break;
    }
    return result;
}

void sort_alternatives(std::vector<Alternative>& alternatives) {
    std::stable_sort(alternatives.begin(), alternatives.end(), [](const Alternative& a, const Alternative& b) {
        if (!a.time || !b.time) return a.time.has_value() && !b.time;
        return a.time->seconds < b.time->seconds;
    });
}

std::vector<Alternative> Explainer::alternatives(const cost::PredictedGroup& predicted) const {
    std::vector<Alternative> result;
    if (impure(members(predicted.schedule)) || predicted.facts->stages.front().scan) return result;
    std::vector<Strategy> strategies(kTilings.begin(), kTilings.end());
    if (predicted.schedule.stages.size() == 1) strategies.insert(strategies.begin(), Strategy::Stage);
    for (const Strategy strategy : strategies) {
        Alternative found = best(*predicted.facts, {&strategy, 1});
        if (strategy == predicted.schedule.strategy) {
            if (!found.time || !predicted.time || found.time->seconds > (1 - kWorthwhile) * predicted.time->seconds) {
                continue;
            }
        }
        result.push_back(std::move(found));
    }
    sort_alternatives(result);
    return result;
}

std::optional<double> Explainer::apart(const std::vector<int>& stages) const {
    double sum = 0;
    for (const int s : stages) {
        const auto facts = facts_of({s});
        const auto* alone = std::get_if<fusion::GroupFacts>(&facts);
        if (alone == nullptr) return std::nullopt;
        const auto time = cost::predict_time(*alone, q_.target.gpu(), {});
        if (!time) return std::nullopt;
        sum += time->seconds;
    }
    return sum;
}

// ---------------------------------------------------------------------------------------------------------- neighbours

/// Whether all groups could run one after the other if these two were one.
bool Explainer::can_run(std::size_t producer, std::size_t reader) const {
    fusion::Schedule trial;
    for (std::size_t g = 0; g < predicted_.groups.size(); ++g) {
        const std::vector<std::string>& stages = predicted_.groups[g].schedule.stages;
        if (g == reader) continue;
        trial.groups.emplace_back().stages = stages;
        if (g != producer) continue;
        const std::vector<std::string>& more = predicted_.groups[reader].schedule.stages;
        trial.groups.back().stages.insert(trial.groups.back().stages.end(), more.begin(), more.end());
    }
    try {
        fusion::order_groups(pipeline_, trial);
        return true;
    } catch (const fusion::ScheduleError&) {
        return false;
    }
}

Alternative Explainer::merged(std::size_t producer, std::size_t reader) const {
    Alternative result;
    std::vector<int> stages = members(predicted_.groups[producer].schedule);
    const std::vector<int> more = members(predicted_.groups[reader].schedule);
    stages.insert(stages.end(), more.begin(), more.end());
    std::sort(stages.begin(), stages.end());
    const auto made = facts_of(stages);
    if (const auto* illegal = std::get_if<poly::Illegal>(&made)) {
        result.refusal = illegal->reason;
        result.place = place(illegal->range);
        return result;
    }
    if (const auto accumulate = impure(stages)) {
        result.refusal = fmt::format("`{}` accumulates, and the model does not judge tiles of that", *accumulate);
        return result;
    }
    constexpr std::array kLines{Strategy::Scan};
    const auto& facts = std::get<fusion::GroupFacts>(made);
    if (facts.stages.front().scan) return best(facts, kLines);
    return best(facts, kTilings);  // the last one needs least: its reason is the best
}

std::vector<MergeReport> Explainer::merges() const {
    std::vector<std::size_t> group_of(pipeline_.stages.size());
    for (std::size_t g = 0; g < predicted_.groups.size(); ++g) {
        for (const int s : members(predicted_.groups[g].schedule)) group_of[static_cast<std::size_t>(s)] = g;
    }
    std::set<std::pair<std::size_t, std::size_t>> pairs;
    for (const poly::Dependence& d : predicted_.dependences) {
        if (d.source.kind != ir::Source::Kind::Stage) continue;
        const std::size_t producer = group_of[static_cast<std::size_t>(d.source.index)];
        const std::size_t reader = group_of[static_cast<std::size_t>(d.reader)];
        if (producer != reader) pairs.emplace(producer, reader);
    }
    std::vector<MergeReport> result;
    for (const auto& [producer, reader] : pairs) {
        if (!can_run(producer, reader)) continue;  // others run between them
        MergeReport& merge = result.emplace_back();
        merge.producer = producer;
        merge.reader = reader;
        merge.merged = merged(producer, reader);
        const auto &first = predicted_.groups[producer].time, &second = predicted_.groups[reader].time;
        if (first && second) merge.now = first->seconds + second->seconds;
    }
    return result;
}

}  // namespace

PipelineReport explain(const Question& question) {
    return Explainer(question).run();
}

}  // namespace pipec::driver::explain
