#include "ir/known_sizes.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::ir {

namespace {

/// Keeps what it was given alive, as it knows that by address.
class KnownValues {
public:
    /// For each size its value, or its new number.
    KnownValues(std::size_t sizes, const std::vector<KnownSize>& known) {
        for (std::size_t i = 0, next = 0; i < sizes; ++i) {
            const auto found = std::ranges::find(known, static_cast<int>(i), &KnownSize::size);
            sizes_.push_back(found != known.end() ? int_constant(Type::Int32, found->value)
                                                  : size_ref(static_cast<int>(next++)));
        }
    }

    void replace(Expr& e) {
        if (e) e = of(e);
    }

    Expr of(const Expr& e) {
        if (const auto found = done_.find(e); found != done_.end()) return found->second;
        Expr result = rebuilt(e);
        done_.emplace(e, result);
        return result;
    }

private:
    Expr rebuilt(const Expr& e) {
        if (const auto* n = as<SizeRef>(e)) return sizes_.at(static_cast<std::size_t>(n->index));
        const auto each = [this](const Expr& child) { return child ? of(child) : child; };
        const Expr same = map_children(e, each);
        return same == e ? e : folded(same);
    }

    std::vector<Expr> sizes_;
    std::unordered_map<Expr, Expr> done_;
};

std::set<int> stages_read(const Pipeline& pipeline) {
    std::set<int> result;
    for (const Stage& stage : pipeline.stages) {
        for (const Expr& e : expressions(stage)) {
            for_each_node(e, [&](const Expr& node) {
                const auto* read = as<Read>(node);
                if (read != nullptr && read->source.kind == Source::Kind::Stage) result.insert(read->source.index);
            });
        }
    }
    return result;
}

}  // namespace

std::optional<Pipeline> with_known_sizes(Pipeline pipeline, const std::vector<KnownSize>& known) {
    const std::set<int> read = stages_read(pipeline);
    KnownValues sizes(pipeline.sizes.size(), known);
    for (Buffer& input : pipeline.inputs) std::ranges::for_each(input.extents, [&](Expr& e) { sizes.replace(e); });
    for (Output& output : pipeline.outputs) {
        std::ranges::for_each(output.buffer.extents, [&](Expr& e) { sizes.replace(e); });
    }
    for (SizeParameter& size : pipeline.sizes) sizes.replace(size.default_value);
    for (Expr& condition : pipeline.where) sizes.replace(condition);
    for (Stage& stage : pipeline.stages) map_all_expressions(stage, [&](const Expr& e) { return sizes.of(e); });
    const auto is_false = [](const Expr& condition) { return as_int(condition) == 0; };
    if (std::ranges::any_of(pipeline.where, is_false) || stages_read(pipeline) != read) return std::nullopt;
    std::erase_if(pipeline.where, [](const Expr& condition) { return as_int(condition).has_value(); });
    std::vector<SizeParameter> left;
    for (std::size_t i = 0; i < pipeline.sizes.size(); ++i) {
        const auto found = std::ranges::find(known, static_cast<int>(i), &KnownSize::size);
        if (found == known.end()) left.push_back(std::move(pipeline.sizes[i]));
    }
    pipeline.sizes = std::move(left);
    return pipeline;
}

}  // namespace pipec::ir
