#include "compiler/named_conditions.h"

#include <functional>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fusion/made_stages.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "ir/without_lets.h"

namespace pipec::compiler {

namespace {

/// Nodes of a condition that is written out, with those that it asks in turn.
constexpr std::int64_t kMostConditionNodes = 64;

class WrittenConditions {
public:
    explicit WrittenConditions(const ir::Pipeline& pipeline) : result_(pipeline), conditions_(pipeline.stages.size()) {}

    std::optional<ir::Pipeline> run() {
        for (std::size_t s = 0; s < result_.stages.size(); ++s) {
            rewrite(result_.stages[s]);
            const ir::Stage& stage = result_.stages[s];
            const auto* pure = std::get_if<ir::Pure>(&stage.definition);
            if (pure == nullptr || stage.scan || stage.type != ir::Type::Bool || ir::has_reduction(pure->value))
                continue;
            ir::Expr value = ir::WithoutLets().of(pure->value);
            if (ir::node_count(value) <= kMostConditionNodes) conditions_[s] = std::move(value);
        }
        if (!any_) return std::nullopt;
        drop_unread();
        return std::move(result_);
    }

private:
    /// Conditions that nobody asks any more.
    void drop_unread() {
        std::vector<bool> is_read(result_.stages.size(), false);
        for (const ir::Stage& stage : result_.stages) {
            static_cast<void>(fusion::renumbered(stage, [&](int number) {
                is_read[static_cast<std::size_t>(number)] = true;
                return number;
            }));
        }
        std::vector<int> numbers;
        std::vector<ir::Stage> kept;
        for (std::size_t s = 0; s < result_.stages.size(); ++s) {
            numbers.push_back(static_cast<int>(kept.size()));
            if (is_read[s] || !conditions_[s] || result_.stages[s].output >= 0) kept.push_back(result_.stages[s]);
        }
        const auto renumber = [&](int number) { return numbers.at(static_cast<std::size_t>(number)); };
        for (ir::Stage& stage : kept) stage = fusion::renumbered(std::move(stage), renumber);
        for (ir::Output& output : result_.outputs) output.stage = renumber(output.stage);
        result_.stages = std::move(kept);
    }

    void rewrite(ir::Stage& stage) {
        known_.clear();
        const ir::Stage old = stage;  // nodes must outlive the memo, which knows them by address
        ir::map_expressions(stage, [&](const ir::Expr& e) { return written_out(e); });
    }

    ir::Expr written_out(const ir::Expr& e) {
        if (const auto known = known_.find(e.get()); known != known_.end()) return known->second;
        ir::Expr result = ir::map_children(e, [&](const ir::Expr& child) { return written_out(child); });
        if (const auto* read = ir::as<ir::Read>(result);
            read != nullptr && read->source.kind == ir::Source::Kind::Stage) {
            const auto s = static_cast<std::size_t>(read->source.index);
            if (conditions_[s]) {
                std::map<ir::VarId, ir::Expr> place;
                for (std::size_t d = 0; d < read->indices.size(); ++d)
                    place.emplace(result_.stages[s].dims[d].var, read->indices[d]);
                result = ir::substitute(conditions_[s], place);
                any_ = true;
            }
        }
        known_.emplace(e.get(), result);
        return result;
    }

    ir::Pipeline result_;
    std::vector<ir::Expr> conditions_;  ///< by stage: what it is, where it is such a condition
    std::unordered_map<const ir::Node*, ir::Expr> known_;
    bool any_ = false;
};

}  // namespace

std::optional<ir::Pipeline> with_conditions_written_out(const ir::Pipeline& pipeline) {
    return WrittenConditions(pipeline).run();
}

}  // namespace pipec::compiler
