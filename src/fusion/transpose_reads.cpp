#include "fusion/transpose_reads.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fusion/conditions.h"
#include "fusion/evaluate.h"
#include "fusion/group_facts.h"
#include "fusion/index_factors.h"
#include "fusion/made_stages.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::fusion {

namespace {

/// Bytes between the elements of neighbouring threads that are not across memory: a sector has 32.
constexpr double kNearBytes = 64;
/// Points along memory of a stage whose threads lie along it.
constexpr double kLeastThreads = 16;

class Transposing {
public:
    Transposing(const ir::Pipeline& pipeline, const poly::Model& model)
        : made_({pipeline, model}), sizes_(usual_sizes(pipeline)) {}

    Inlined run() {
        return made_.with_changed([&](ir::Stage& stage, const poly::Domain& domain) {
            auto* pure = std::get_if<ir::Pure>(&stage.definition);
            if (pure != nullptr && !stage.scan && !stage.dims.empty()) look_at(stage, domain, *pure);
        });
    }

private:
    void look_at(const ir::Stage& stage, const poly::Domain& domain, ir::Pure& pure) {
        if (!ir::has_reduction(pure.value)) return;
        stage_ = &stage;
        const auto inner = static_cast<std::size_t>(ir::memory_order(made_.all().pipeline, stage).back());
        lane_ = stage.dims[inner].var;
        points_ = 1;
        for (const poly::Interval& interval : domain.box) points_ *= extent(interval.lo, interval.hi);
        if (extent(domain.box[inner].lo, domain.box[inner].hi) < kLeastThreads) return;
        loops_.clear();
        known_.clear();
        pure.value = walk(pure.value);
    }

    [[nodiscard]] double extent(const ir::Expr& lo, const ir::Expr& hi) const { return usual_extent(lo, hi, sizes_); }

    /// `e` with reads of copies. (A read that a loop's variable is in stands in that loop only.)
    ir::Expr walk(const ir::Expr& e) {
        if (const auto known = known_.find(e.get()); known != known_.end()) return known->second;
        if (const auto* reduce = ir::as<ir::Reduce>(e)) {
            for (const ir::Range& range : reduce->ranges) loops_[range.var] = extent(range.lo, range.hi);
        }
        ir::Expr result = ir::map_children(e, [&](const ir::Expr& child) { return walk(child); });
        if (ir::as<ir::Read>(result) != nullptr) result = of_copy(result);
        known_.emplace(e.get(), result);
        return result;
    }

    /// An array's dimensions from the outermost one in memory inward, with their bounds.
    struct Array {
        std::vector<int> order;
        std::vector<poly::Interval> box;
    };
    [[nodiscard]] std::optional<Array> array_of(const ir::Source& source) const {
        const auto index = static_cast<std::size_t>(source.index);
        Array array;
        if (source.kind == ir::Source::Kind::Input) {
            const ir::Buffer& input = made_.all().pipeline.inputs.at(index);
            for (const ir::Expr& all : input.extents) array.box.push_back({ir::int_constant(ir::Type::Int32, 0), all});
            array.order = input.order;
            return array;
        }
        const poly::Domain& domain = made_.all().model.domains.at(index);
        const int output = made_.all().pipeline.stages.at(index).output;
        if (domain.guard) return std::nullopt;
        array.box = domain.box;
        if (output >= 0) {
            array.order = made_.all().pipeline.outputs.at(static_cast<std::size_t>(output)).buffer.order;
        } else {
            for (std::size_t d = 0; d < array.box.size(); ++d) array.order.push_back(static_cast<int>(d));
        }
        return array;
    }

    /// The dimension of a read's array that threads beside each other are apart in, where it is but one, and none that
    /// runs fast in memory.
    std::optional<std::size_t> across(const ir::Read& read, const Array& array) const {
        const auto inner = static_cast<std::size_t>(array.order.back());
        std::optional<std::size_t> found;
        for (std::size_t d = 0; d < read.indices.size(); ++d) {
            if (variables_of(read.indices[d]).count(lane_) == 0) continue;
            if (found || d == inner || index_factor(read.indices[d], lane_) != 1) return std::nullopt;
            found = d;
        }
        return found;
    }

    ir::Expr of_copy(const ir::Expr& e) {
        const auto& read = *ir::as<ir::Read>(e);
        const std::optional<Array> array = array_of(read.source);
        if (!array || array->order.size() < 2) return e;
        const std::optional<std::size_t> lanes = across(read, *array);
        if (!lanes) return e;

        double elements = 1, apart = ir::bytes(e->type), reads = points_;
        for (const int d : array->order) {
            const poly::Interval& all = array->box[static_cast<std::size_t>(d)];
            elements *= extent(all.lo, all.hi);
            apart = static_cast<std::size_t>(d) == *lanes ? ir::bytes(e->type) : apart * extent(all.lo, all.hi);
        }
        std::set<ir::VarId> in_loops;
        for (const ir::Expr& index : read.indices) in_loops.merge(variables_of(index));
        std::erase_if(in_loops, [&](ir::VarId var) { return loops_.count(var) == 0; });
        for (const ir::VarId var : in_loops) reads *= loops_.at(var);
        if (in_loops.empty() || apart < kNearBytes || reads < kCopyReadsInAll || reads < kCopyReads * elements)
            return e;

        std::vector<int> order = array->order;
        std::erase(order, static_cast<int>(*lanes));
        order.push_back(static_cast<int>(*lanes));
        return made_.make_copy(*stage_, "transposed", e, order, array->box);
    }

    MadeStages made_;
    std::vector<std::int64_t> sizes_;
    // Of the stage that is being looked at:
    const ir::Stage* stage_ = nullptr;
    ir::VarId lane_ = -1;  ///< of the dimension along which its threads lie
    double points_ = 0;
    std::map<ir::VarId, double> loops_;  ///< turns of each
    std::unordered_map<const ir::Node*, ir::Expr> known_;
};

}  // namespace

Inlined transpose_reads(const ir::Pipeline& pipeline, const poly::Model& model) {
    return ir::has_reduction(pipeline) ? Transposing(pipeline, model).run() : Inlined{pipeline, model};
}

}  // namespace pipec::fusion
