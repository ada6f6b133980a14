#include "fusion/sparse_stages.h"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_set>

#include "fusion/evaluate.h"
#include "fusion/group_facts.h"
#include "fusion/inline.h"
#include "ir/visit.h"

namespace pipec::fusion {

namespace {

/// A stage is sparse if its box has more points than this for each one that is read. A filtered image of which every
/// fourth row and column is read has fewer: there, tiles that share what neighbouring points read may be faster.
constexpr double kSparse = 16;
/// A stage stays if all copies of its definition would have more nodes than this.
constexpr std::size_t kMostNodes = 4000;

struct Asked {
    double times = 0;       ///< how often the readers of a stage ask for a point of it
    std::size_t reads = 0;  ///< in their definitions
};

/// How the readers of each stage ask for its points.
class Asking {
public:
    Asking(const ir::Pipeline& pipeline, const poly::Model& model, const std::vector<std::int64_t>& sizes)
        : sizes_(sizes), asked_(pipeline.stages.size()) {
        for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
            const ir::Stage& reader = pipeline.stages[i];
            const double points = usual_points(model.domains.at(i).box, sizes_);
            seen_.clear();
            if (const auto* pure = std::get_if<ir::Pure>(&reader.definition)) {
                add(pure->value, points);
                continue;
            }
            const auto& accumulate = std::get<ir::Accumulate>(reader.definition);
            add(accumulate.init, points);
            for (const ir::Update& update : accumulate.updates) {
                const double updates = through(update.domain, 1);
                add(update.guard, updates);
                for (const ir::Expr& index : update.indices) add(index, updates);
                add(update.value, updates);
            }
        }
    }

    [[nodiscard]] const Asked& of(std::size_t stage) const { return asked_[stage]; }

private:
    /// How often the body of loops is evaluated that stand where expressions are evaluated `times` times.
    double through(const std::vector<ir::Range>& loops, double times) {
        for (const ir::Range& loop : loops) {
            add(loop.lo, times), add(loop.hi, times);
            times *= usual_extent(loop.lo, loop.hi, sizes_);
        }
        return times;
    }
    /// The reads in an expression, which may be null and is evaluated `times` times.
    void add(const ir::Expr& e, double times) {
        if (!e || !seen_.insert(e.get()).second) return;
        if (const auto* reduce = ir::as<ir::Reduce>(e)) return add(reduce->body, through(reduce->ranges, times));
        const auto* read = ir::as<ir::Read>(e);
        if (read != nullptr && read->source.kind == ir::Source::Kind::Stage) {
            Asked& asked = asked_[static_cast<std::size_t>(read->source.index)];
            asked.times += times;
            ++asked.reads;
        }
        ir::for_each_child(*e, [&](const ir::Expr& child) { add(child, times); });
    }

    const std::vector<std::int64_t>& sizes_;
    std::vector<Asked> asked_;
    std::unordered_set<const ir::Node*> seen_;
};

/// Stages that are sparse as their readers are now.
std::vector<int> sparse_in(const ir::Pipeline& pipeline, const poly::Model& model) {
    const std::vector<std::int64_t> sizes = usual_sizes(pipeline);
    const Asking asking(pipeline, model, sizes);
    std::vector<int> result;
    for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
        const ir::Stage& stage = pipeline.stages[i];
        const auto* pure = std::get_if<ir::Pure>(&stage.definition);
        const Asked& asked = asking.of(i);
        if (pure == nullptr || stage.scan || stage.stored || stage.output >= 0 || asked.reads == 0) continue;
        const std::vector<poly::Interval>& box = model.domains.at(i).box;
        const auto is_known = [&](const poly::Interval& all) {
            return evaluate(all.lo, sizes) && evaluate(all.hi, sizes);
        };
        if (!std::ranges::all_of(box, is_known) || usual_points(box, sizes) <= kSparse * asked.times) continue;
        std::size_t nodes = 0;
        ir::for_each_node(pure->value, [&](const ir::Expr&) { ++nodes; });
        if (nodes * asked.reads <= kMostNodes) result.push_back(static_cast<int>(i));
    }
    return result;
}

}  // namespace

std::vector<int> sparse_stages(const ir::Pipeline& pipeline, const poly::Model& model) {
    // A stage that only sparse ones read may turn out to be one once these are inside of their readers.
    std::set<std::string> names;
    Inlined left{pipeline, model};
    for (auto found = sparse_in(pipeline, model); !found.empty(); found = sparse_in(left.pipeline, left.model)) {
        for (const int stage : found) names.insert(left.pipeline.stages[static_cast<std::size_t>(stage)].name);
        left = inline_stages(left.pipeline, left.model, found);
    }
    std::vector<int> result;
    for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
        if (names.count(pipeline.stages[i].name) > 0) result.push_back(static_cast<int>(i));
    }
    return result;
}

}  // namespace pipec::fusion
