#include "fusion/lane_terms.h"

#include <algorithm>
#include <vector>

#include "fusion/index_factors.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::fusion {

namespace {

bool may_be_long(const ir::Range& range) {
    if (const auto lo = ir::as_int(range.lo), hi = ir::as_int(range.hi); lo && hi) return *hi - *lo >= kLeastLaneTerms;
    const auto [from, first] = ir::with_offset(range.lo);
    const auto [to, last] = ir::with_offset(range.hi);
    return !ir::structurally_equal(from, to) || last - first >= kLeastLaneTerms;
}

/// The index that runs fastest in memory.
const ir::Expr& inner_index(const ir::Pipeline& pipeline, const ir::Read& read) {
    const auto index = static_cast<std::size_t>(read.source.index);
    const std::vector<int>* order = nullptr;
    if (read.source.kind == ir::Source::Kind::Input) {
        order = &pipeline.inputs.at(index).order;
    } else if (const int output = pipeline.stages.at(index).output; output >= 0) {
        order = &pipeline.outputs.at(static_cast<std::size_t>(output)).buffer.order;
    }
    return order == nullptr ? read.indices.back() : read.indices.at(static_cast<std::size_t>(order->back()));
}

}  // namespace

LaneTerms lane_terms(const ir::Pipeline& pipeline, const ir::Expr& value, ir::VarId lane) {
    LaneTerms result;
    std::vector<ir::VarId> terms;
    ir::for_each_node(value, [&](const ir::Expr& e) {
        const auto* reduce = ir::as<ir::Reduce>(e);
        if (reduce == nullptr) return;
        for (const ir::Range& range : reduce->ranges) {
            if (may_be_long(range)) terms.push_back(range.var);
        }
    });
    result.enough = !terms.empty();
    bool along = false, across = false;
    ir::for_each_node(value, [&](const ir::Expr& e) {
        const auto* read = ir::as<ir::Read>(e);
        if (read == nullptr || read->indices.empty()) return;
        const ir::Expr& index = inner_index(pipeline, *read);
        const auto is_step = [&](ir::VarId var) { return index_factor(index, var).value_or(0) != 0; };
        const bool follows = lane >= 0 && is_step(lane);
        const bool is_term = std::ranges::any_of(terms, is_step);
        across = across || (follows && !is_term);
        along = along || (is_term && !follows);
    });
    result.along_memory = along && !across;
    return result;
}

}  // namespace pipec::fusion
