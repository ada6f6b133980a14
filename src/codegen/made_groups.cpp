#include "codegen/made_groups.h"

#include <algorithm>
#include <variant>

#include "codegen/lower.h"

namespace pipec::codegen {

namespace {

/// Of one program, pipelines differ by their names and by what is left of their stages.
bool is_same(const ir::Pipeline& a, const ir::Pipeline& b) {
    return a.name == b.name && std::equal(a.stages.begin(), a.stages.end(), b.stages.begin(), b.stages.end(),
                                          [](const ir::Stage& x, const ir::Stage& y) { return x.name == y.name; });
}

bool is_made_for(const kernel::Program& program, const ir::Pipeline& pipeline, const fusion::Target& target,
                 bool fast_math) {
    return program.fast_math == fast_math && program.target == target && is_same(program.pipeline, pipeline);
}

fusion::GroupSchedule without_stages(fusion::GroupSchedule schedule) {
    schedule.stages.clear();
    return schedule;
}

}  // namespace

std::optional<GroupCode::Piece> GroupCode::piece(std::int64_t load_bytes, std::int64_t store_bytes,
                                                 bool has_turns) const {
    for (const Piece& piece : pieces) {
        if (piece.load_bytes != load_bytes || piece.store_bytes != store_bytes) continue;
        Piece result = piece;
        if (has_turns) piece.in_turns.replace_in(result.kernel);
        return result;
    }
    return std::nullopt;
}

const GroupCode* MadeGroups::Made::find(const std::vector<int>& stages, const fusion::GroupSchedule& schedule) const {
    const auto known = groups_.find(stages);
    if (known == groups_.end()) return nullptr;
    const fusion::GroupSchedule wanted = without_stages(schedule);
    for (const auto& [with, code] : known->second) {
        if (with == wanted) return &code;
    }
    return nullptr;
}

std::optional<fusion::Refused> MadeGroups::refusal(const ir::Pipeline& pipeline, const poly::Model& model,
                                                   const std::vector<poly::Dependence>& dependences,
                                                   const fusion::Target& target, bool fast_math,
                                                   const poly::Group& group, const fusion::GroupSchedule& schedule,
                                                   const SourceManager& sources) {
    Made& made = of(pipeline, model, dependences, target, fast_math);
    if (made.find(group.stages, schedule) != nullptr) return std::nullopt;
    auto code = group_code(made.program, group, schedule, sources);
    if (auto* refused = std::get_if<fusion::Refused>(&code)) return std::move(*refused);
    // A group that has grown stands in the place of what it has grown from.
    std::erase_if(made.groups_, [&](const auto& other) {
        const std::vector<int>& stages = other.first;
        return stages.size() < group.stages.size() &&
               std::includes(group.stages.begin(), group.stages.end(), stages.begin(), stages.end());
    });
    made.groups_[group.stages].emplace_back(without_stages(schedule), std::move(std::get<GroupCode>(code)));
    return std::nullopt;
}

const MadeGroups::Made* MadeGroups::find(const ir::Pipeline& pipeline, const fusion::Target& target,
                                         bool fast_math) const {
    for (const Made& made : made_) {
        if (is_made_for(made.program, pipeline, target, fast_math)) return &made;
    }
    return nullptr;
}

MadeGroups::Made& MadeGroups::of(const ir::Pipeline& pipeline, const poly::Model& model,
                                 const std::vector<poly::Dependence>& dependences, const fusion::Target& target,
                                 bool fast_math) {
    for (Made& made : made_) {
        if (is_made_for(made.program, pipeline, target, fast_math)) return made;
    }
    return made_.emplace_back(kernel::Program{pipeline, model, target, {}, fast_math}, dependences);
}

}  // namespace pipec::codegen
