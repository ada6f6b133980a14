#include "fusion/sparse_stages.h"

#include <optional>
#include <unordered_set>

#include "fusion/evaluate.h"
#include "fusion/group_facts.h"
#include "ir/visit.h"

namespace pipec::fusion {

namespace {

/// Points of the box for each one that is read. Below, tiles that share what neighbours read may be quicker: an image
/// of a quarter of the rows and columns that is read of a filtered one.
constexpr double kSparse = 16;
/// Nodes of all copies in one reader: code that a compiler still takes.
constexpr std::size_t kMostNodes = 4000;

/// How often readers ask for points of each stage.
class Asked {
public:
    Asked(const ir::Pipeline& pipeline, const poly::Model& model, const std::vector<std::int64_t>& sizes)
        : pipeline_(pipeline), sizes_(sizes), times_(pipeline.stages.size()), nodes_(pipeline.stages.size()) {
        for (reader_ = 0; reader_ < pipeline.stages.size(); ++reader_) {
            double points = 1;
            for (const poly::Interval& all : model.domains.at(reader_).box) {
                points *= usual_extent(all.lo, all.hi, sizes_);
            }
            const ir::Stage& stage = pipeline.stages[reader_];
            seen_.clear();
            if (const auto* pure = std::get_if<ir::Pure>(&stage.definition)) {
                add(pure->value, points);
                continue;
            }
            const auto& accumulate = std::get<ir::Accumulate>(stage.definition);
            add(accumulate.init, points);
            for (const ir::Update& update : accumulate.updates) {
                const double updates = in_loops(update.domain, 1);
                add(update.guard, updates);
                for (const ir::Expr& index : update.indices) add(index, updates);
                add(update.value, updates);
            }
        }
    }

    /// Of a stage that is read.
    [[nodiscard]] double times(std::size_t stage) const { return times_[stage]; }
    /// What its copies have.
    [[nodiscard]] std::size_t nodes(std::size_t stage) const { return nodes_[stage]; }

private:
    double in_loops(const std::vector<ir::Range>& ranges, double times) {
        for (const ir::Range& range : ranges) {
            add(range.lo, times), add(range.hi, times);
            times *= usual_extent(range.lo, range.hi, sizes_);
        }
        return times;
    }
    /// `e`, which may be null, is evaluated so many times.
    void add(const ir::Expr& e, double times) {
        if (!e || !seen_.insert(e.get()).second) return;
        if (const auto* reduce = ir::as<ir::Reduce>(e)) return add(reduce->body, in_loops(reduce->ranges, times));
        const auto* read = ir::as<ir::Read>(e);
        if (read != nullptr && read->source.kind == ir::Source::Kind::Stage) {
            const auto stage = static_cast<std::size_t>(read->source.index);
            times_[stage] += times;
            if (const auto* pure = std::get_if<ir::Pure>(&pipeline_.stages[stage].definition)) {
                ir::for_each_node(pure->value, [&](const ir::Expr&) { ++nodes_[stage]; });
            }
        }
        ir::for_each_child(*e, [&](const ir::Expr& child) { add(child, times); });
    }

    const ir::Pipeline& pipeline_;
    const std::vector<std::int64_t>& sizes_;
    std::size_t reader_ = 0;
    std::vector<double> times_;
    std::vector<std::size_t> nodes_;
    std::unordered_set<const ir::Node*> seen_;
};

std::vector<int> sparse_stages(const ir::Pipeline& pipeline, const poly::Model& model) {
    const std::vector<std::int64_t> sizes = usual_sizes(pipeline);
    const Asked asked(pipeline, model, sizes);
    std::vector<int> result;
    for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
        const ir::Stage& stage = pipeline.stages[i];
        if (!std::holds_alternative<ir::Pure>(stage.definition) || stage.scan || stage.output >= 0) continue;
        if (asked.times(i) == 0 || asked.nodes(i) > kMostNodes) continue;
        double points = 1;
        bool known = true;
        for (const poly::Interval& all : model.domains.at(i).box) {
            known = known && evaluate(all.lo, sizes) && evaluate(all.hi, sizes);
            points *= usual_extent(all.lo, all.hi, sizes);
        }
        if (known && points > kSparse * asked.times(i)) result.push_back(static_cast<int>(i));
    }
    return result;
}

}  // namespace

Inlined inline_sparse_stages(const ir::Pipeline& pipeline, const poly::Model& model) {
    Inlined result{pipeline, model};
    // A stage that only such a stage reads may be one itself once that one is gone.
    for (auto found = sparse_stages(pipeline, model); !found.empty();
         found = sparse_stages(result.pipeline, result.model)) {
        result = inline_stages(result.pipeline, result.model, found);
    }
    return result;
}

}  // namespace pipec::fusion
