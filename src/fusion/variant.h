// A pipeline in one of the forms that computing some of its stages inside of others gives it, and what its groups cost.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fusion/automatic.h"
#include "fusion/group_facts.h"
#include "fusion/inline.h"

namespace pipec::fusion {

class Variant {
public:
    /// `inside`: the names of the stages that are computed inside of their readers.
    Variant(const ir::Pipeline& pipeline, const poly::Model& model, std::set<std::string> inside,
            poly::Dependences& dependences, const CostModel& cost, const FusionOptions& options);

    [[nodiscard]] const ir::Pipeline& pipeline() const { return inlined_.pipeline; }
    [[nodiscard]] const std::set<std::string>& inside() const { return inside_; }
    [[nodiscard]] const StageGraph& graph() const { return graph_; }
    [[nodiscard]] const std::vector<std::pair<int, int>>& siblings() const { return siblings_; }

    /// Of stages (sorted) as one group, by its best choice; none where they cannot be one.
    std::optional<double> cost(const std::vector<int>& stages);
    /// The best choice of stages that can be a group.
    const GroupSchedule& best(const std::vector<int>& stages) { return choices(stages).front().schedule; }
    /// Asks the model that looks at more, where there is one.
    void refine(const std::vector<int>& stages);

    /// Whether code can be generated for the best choice. It is asked once. What is refused is no choice any more:
    /// another tile is the best one then, or another strategy.
    bool is_legal(const std::vector<int>& stages, const IsLegal& legal);

private:
    std::vector<GroupChoice>& choices(const std::vector<int>& stages);
    /// Without the choices that `is_refused` says; `strategy`: theirs, of which none may be left.
    void refuse(const std::vector<int>& stages, Strategy strategy,
                const std::function<bool(const GroupSchedule&)>& is_refused);
    /// No register tile has both of these stages.
    void keep_apart(const std::pair<int, int>& stages);
    [[nodiscard]] std::vector<GroupChoice> judged(const std::vector<int>& stages, const CostModel& model) const;

    const CostModel& cost_;
    const FusionOptions& options_;
    std::set<std::string> inside_;
    Inlined inlined_;
    std::vector<poly::Dependence> dependences_;
    StageGraph graph_;
    std::vector<std::pair<int, int>> siblings_;
    std::vector<StageFacts> facts_;
    /// For each group that was asked about, the best first, less those that code generation has refused.
    std::map<std::vector<int>, std::vector<GroupChoice>> choices_;
    std::map<std::vector<int>, std::vector<Strategy>> refused_;
    std::set<std::pair<int, int>> apart_;  ///< stages that no register tile has both of
    std::set<std::vector<int>> refined_, accepted_;
};

}  // namespace pipec::fusion
