#include "fusion/padded_tables.h"

#include <bit>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fusion/conditions.h"
#include "fusion/group_facts.h"
#include "fusion/made_stages.h"
#include "fusion/target.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "ir/without_lets.h"

namespace pipec::fusion {

namespace {

/// Bytes of a table of which an access of 32 lanes can touch 32 lines. In a smaller one they ask for the same lines.
constexpr double kLeastBytes = 32 * 128;

class Padding {
public:
    Padding(const ir::Pipeline& pipeline, const poly::Model& model)
        : made_({pipeline, model}), sizes_(usual_sizes(pipeline)) {}

    Inlined run() {
        return made_.with_changed([&](ir::Stage& stage, const poly::Domain& domain) {
            auto* pure = std::get_if<ir::Pure>(&stage.definition);
            if (pure == nullptr || stage.scan || stage.dims.empty()) return;
            stage_ = &stage;
            points_ = usual_points(domain.box, sizes_);
            known_.clear();
            const ir::Expr value = ir::WithoutLets().of(pure->value);  // what a let names is a part of a place
            if (ir::Expr padded = walk(value); padded != value) pure->value = std::move(padded);
        });
    }

private:
    ir::Expr walk(const ir::Expr& e) {
        if (const auto known = known_.find(e.get()); known != known_.end()) return known->second;
        ir::Expr result = ir::map_children(e, [&](const ir::Expr& child) { return walk(child); });
        if (const auto* read = ir::as<ir::Read>(result)) {
            if (const auto part = part_of(*read)) result = of_copy(result, *part);
        }
        known_.emplace(e.get(), result);
        return result;
    }

    /// The dimension of an input along which a few values of one place lie, no power of two of them behind each other;
    /// data tell the place and have no part in which of the values is read.
    [[nodiscard]] std::optional<std::size_t> part_of(const ir::Read& read) const {
        if (read.source.kind != ir::Source::Kind::Input) return std::nullopt;
        const ir::Buffer& table = made_.all().pipeline.inputs.at(static_cast<std::size_t>(read.source.index));
        std::optional<std::size_t> part;
        double elements = 1;
        for (std::size_t d = 0; d < read.indices.size(); ++d) {
            const ir::Expr& all = table.extents[d];
            elements *= usual_extent(ir::int_constant(ir::Type::Int32, 0), all, sizes_);
            if (ir::has_reads(read.indices[d])) continue;
            const auto extent = ir::as_int(all);
            if (part || !extent || *extent < 2 || *extent * ir::bytes(table.type) > kAccessBytes) return std::nullopt;
            part = d;
        }
        if (!part || read.indices.size() < 2) return std::nullopt;
        const std::int64_t values = *ir::as_int(table.extents[*part]);
        const bool is_vector =
            std::has_single_bit(static_cast<std::uint64_t>(values)) && table.order.back() == static_cast<int>(*part);
        if (is_vector || elements * ir::bytes(table.type) < kLeastBytes || points_ < kCopyReadsInAll ||
            points_ < kCopyReads * elements)
            return std::nullopt;
        return part;
    }

    ir::Expr of_copy(const ir::Expr& e, std::size_t part) {
        const auto& read = *ir::as<ir::Read>(e);
        const ir::Buffer& table = made_.all().pipeline.inputs.at(static_cast<std::size_t>(read.source.index));
        const auto constant = [](std::int64_t value) { return ir::int_constant(ir::Type::Int32, value); };
        std::vector<int> order = table.order;
        std::erase(order, static_cast<int>(part));
        order.push_back(static_cast<int>(part));
        std::vector<poly::Interval> all;
        for (const ir::Expr& extent : table.extents) all.push_back({constant(0), extent});
        const auto values = static_cast<std::uint64_t>(*ir::as_int(table.extents[part]));
        std::vector<ir::Expr> lasts(all.size());
        if (!std::has_single_bit(values)) lasts[part] = constant(static_cast<std::int64_t>(values) - 1);
        all[part].hi = constant(static_cast<std::int64_t>(std::bit_ceil(values)));
        return made_.make_copy(*stage_, "padded", e, order, all, lasts);
    }

    MadeStages made_;
    std::vector<std::int64_t> sizes_;
    // Of the stage that is being looked at:
    const ir::Stage* stage_ = nullptr;
    double points_ = 0;
    std::unordered_map<const ir::Node*, ir::Expr> known_;
};

}  // namespace

Inlined padded_tables(const ir::Pipeline& pipeline, const poly::Model& model) {
    return Padding(pipeline, model).run();
}

}  // namespace pipec::fusion
