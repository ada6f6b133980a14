#include "lsp/stage_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "fusion/target.h"
#include "ir/print.h"
#include "poly/dependences.h"

namespace pipec::lsp {

namespace {

/// `v`, `v + 1`, `2 * v - 1`, `(v + 1) / 2`.
std::string index_text(const poly::IndexRelation& r, const std::string& variable, std::int64_t constant) {
    std::string text = r.num == 1 ? variable : fmt::format("{} * {}", r.num, variable);
    if (constant != 0) text += fmt::format(" {} {}", constant < 0 ? '-' : '+', constant < 0 ? -constant : constant);
    if (r.den == 1) return text;
    if (constant != 0 || r.num != 1) text = "(" + text + ")";
    return fmt::format("{} / {}", text, r.den);
}

/// The indices of a source that a point reads.
std::string range_text(const std::optional<poly::IndexRelation>& r, const ir::Pipeline& pipeline,
                       const ir::Stage& reader) {
    if (!r) return "?";
    if (r->dim < 0) return r->lo == r->hi ? fmt::format("{}", r->lo) : fmt::format("{}..={}", r->lo, r->hi);
    const auto var = static_cast<std::size_t>(reader.dims.at(static_cast<std::size_t>(r->dim)).var);
    const std::string& name = pipeline.variables.at(var).name;
    const std::string lo = index_text(*r, name, r->lo);
    return r->lo == r->hi ? lo : lo + "..=" + index_text(*r, name, r->hi);
}

/// The hull of two relations; none where they are of different kinds.
std::optional<poly::IndexRelation> hull(const std::optional<poly::IndexRelation>& a,
                                        const std::optional<poly::IndexRelation>& b) {
    if (!a || !b || a->dim != b->dim || a->num != b->num || a->den != b->den) return std::nullopt;
    poly::IndexRelation result = *a;
    result.lo = std::min(a->lo, b->lo);
    result.hi = std::max(a->hi, b->hi);
    return result;
}

void add_reads(const ir::Pipeline& pipeline, const poly::Model& model, std::vector<StageFacts>& facts) {
    std::map<std::pair<int, ir::Source>, poly::Dependence> merged;
    for (poly::Dependence& d : poly::find_dependences(pipeline, model)) {
        const auto [known, is_new] = merged.try_emplace({d.reader, d.source}, d);
        if (is_new) continue;
        for (std::size_t i = 0; i < d.indices.size(); ++i) {
            known->second.indices[i] = hull(known->second.indices[i], d.indices[i]);
        }
    }
    for (const auto& [key, d] : merged) {
        const auto index = static_cast<std::size_t>(d.source.index);
        const std::string& name =
            d.source.kind == ir::Source::Kind::Input ? pipeline.inputs.at(index).name : pipeline.stages.at(index).name;
        std::string indices;
        for (const auto& relation : d.indices) {
            indices += (indices.empty() ? "" : ", ") +
                       range_text(relation, pipeline, pipeline.stages.at(static_cast<std::size_t>(d.reader)));
        }
        facts.at(static_cast<std::size_t>(d.reader)).reads.push_back(fmt::format("{}({})", name, indices));
    }
}

StageFacts facts_of(const ir::Pipeline& pipeline, const ir::Stage& stage, const poly::Domain& domain) {
    StageFacts facts;
    facts.pipeline = pipeline.name;
    facts.name = stage.name;
    facts.type = ir::name(stage.type);
    facts.range = stage.range;
    facts.made_by_call = !stage.made_by.empty();
    for (std::size_t d = 0; d < domain.box.size(); ++d) {
        const ir::VariableInfo& variable = pipeline.variables.at(static_cast<std::size_t>(stage.dims[d].var));
        const std::string range =
            ir::to_string(pipeline, domain.box[d].lo) + ".." + ir::to_string(pipeline, domain.box[d].hi);
        facts.domain += fmt::format("{}{} in {}", d == 0 ? "" : ", ", variable.name, range);
        facts.ranges.push_back(stage.dims[d].is_explicit() ? "" : range);
        facts.dimensions.push_back(variable.range);
    }
    if (domain.guard) facts.domain += " where " + ir::to_string(pipeline, domain.guard);
    return facts;
}

/// Where stages are computed on the GPU that code is made for by default.
void add_places(const compiler::Checked& checked, const SourceManager& sources,
                std::vector<std::vector<StageFacts>>& facts) {
    try {
        const compiler::Prepared prepared = compiler::prepare(checked);
        const compiler::Scheduled scheduled = compiler::schedule(prepared, {}, fusion::default_target(), {}, sources);
        for (std::size_t p = 0; p < facts.size(); ++p) {
            const auto found = scheduled.schedules.find(checked.pipelines[p].name);
            if (found == scheduled.schedules.end()) continue;
            const fusion::Schedule& schedule = found->second;
            for (StageFacts& stage : facts[p]) {
                if (std::ranges::find(schedule.inlined, stage.name) != schedule.inlined.end()) {
                    stage.place = "inlined: computed inside of its readers";
                }
                for (const fusion::GroupSchedule& group : schedule.groups) {
                    if (std::ranges::find(group.stages, stage.name) == group.stages.end()) continue;
                    stage.place = group.stages.size() == 1
                                      ? "stored: a kernel of its own"
                                      : fmt::format("fused: one of {} stages of a kernel ({})", group.stages.size(),
                                                    fusion::name(group.strategy));
                }
                if (stage.place.empty()) stage.place = "stored: a kernel of its own";
            }
        }
    } catch (const fusion::ScheduleError&) {  // hover says nothing of places then
    }
}

}  // namespace

std::map<ElaborationRecord::Place, std::vector<StageFacts>> stage_facts(const compiler::Checked& checked,
                                                                        const SourceManager& sources) {
    std::vector<std::vector<StageFacts>> facts(checked.pipelines.size());
    for (std::size_t p = 0; p < checked.pipelines.size(); ++p) {
        const ir::Pipeline& pipeline = checked.pipelines[p];
        const poly::Model& model = checked.models.at(p);
        for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
            facts[p].push_back(facts_of(pipeline, pipeline.stages[s], model.domains.at(s)));
        }
        add_reads(pipeline, model, facts[p]);
    }
    add_places(checked, sources, facts);
    std::map<ElaborationRecord::Place, std::vector<StageFacts>> result;
    for (std::vector<StageFacts>& of_pipeline : facts) {
        for (StageFacts& stage : of_pipeline) {
            if (stage.range.valid()) result[{stage.range.file, stage.range.begin}].push_back(std::move(stage));
        }
    }
    return result;
}

}  // namespace pipec::lsp
