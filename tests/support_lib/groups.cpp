#include "support_lib/groups.h"

#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "fusion/inline.h"
#include "fusion/schedule.h"

namespace pipec::testing {

Inlined inline_cheap(const ir::Pipeline& pipeline, const poly::Model& model) {
    const fusion::Schedule schedule = fusion::stage_schedule(pipeline, model);
    fusion::Inlined inlined = fusion::inline_stages(pipeline, model, fusion::inlined_stages(pipeline, schedule));
    Inlined result{std::move(inlined.pipeline), std::move(inlined.model), {}};
    result.dependences = poly::find_dependences(result.pipeline, result.model);
    return result;
}

std::optional<poly::Group> legal_group(const Inlined& program, const std::vector<int>& stages) {
    auto group = poly::make_group(program.pipeline, program.model, program.dependences, stages);
    if (!std::holds_alternative<poly::Group>(group)) return std::nullopt;
    fusion::Schedule schedule;
    schedule.groups.emplace_back();
    for (const int s : stages)
        schedule.groups[0].stages.push_back(program.pipeline.stages[static_cast<std::size_t>(s)].name);
    try {
        fusion::order_groups(program.pipeline, schedule);
    } catch (const fusion::ScheduleError&) {  // a way leads out of the group and back
        return std::nullopt;
    }
    return std::get<poly::Group>(std::move(group));
}

WholeGroup whole_group(const std::string& text) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "p.pipe", text);
    Inlined program{compiled.pipelines.at(0), compiled.models.at(0), {}};
    program.dependences = poly::find_dependences(program.pipeline, program.model);
    std::vector<int> stages(program.pipeline.stages.size());
    std::iota(stages.begin(), stages.end(), 0);
    poly::Group group = legal_group(program, stages).value();
    return {std::move(program), std::move(group)};
}

std::vector<poly::Group> some_of(std::vector<poly::Group> groups) {
    constexpr std::size_t kSome = 10;
    if (std::getenv("PIPEC_ALL_GROUPS") != nullptr || groups.size() <= kSome) return groups;
    std::vector<poly::Group> some;
    for (std::size_t i = 0; i < kSome; ++i) some.push_back(groups[i * (groups.size() - 1) / (kSome - 1)]);
    return some;
}

std::vector<poly::Group> legal_groups(const Inlined& program) {
    std::map<std::set<int>, std::optional<poly::Group>> known;
    std::vector<poly::Group> result;
    const auto is_legal = [&](const std::set<int>& members) {
        const auto [found, is_new] = known.try_emplace(members);
        if (is_new) {
            found->second = legal_group(program, {members.begin(), members.end()});
            if (found->second) result.push_back(*found->second);
        }
        return found->second.has_value();
    };
    for (const poly::Dependence& first : program.dependences) {
        if (first.source.kind != ir::Source::Kind::Stage) continue;
        std::set<int> members{first.reader, first.source.index};
        if (!is_legal(members)) continue;
        for (const bool producers : {true, false}) {
            for (bool grew = true; grew;) {
                grew = false;
                for (const poly::Dependence& d : program.dependences) {
                    if (d.source.kind != ir::Source::Kind::Stage) continue;
                    const int inside = producers ? d.reader : d.source.index;
                    const int outside = producers ? d.source.index : d.reader;
                    if (members.count(inside) == 0 || members.count(outside) > 0) continue;
                    std::set<int> more = members;
                    more.insert(outside);
                    if (!is_legal(more)) continue;
                    members = more;
                    grew = true;
                }
            }
        }
    }
    for (const poly::Dependence& a : program.dependences) {
        for (const poly::Dependence& b : program.dependences) {
            if (a.source == b.source && a.reader < b.reader) is_legal({a.reader, b.reader});
        }
    }
    return result;
}

}  // namespace pipec::testing
