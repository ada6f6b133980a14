#include "poly/nearest_sizes.h"

#include <algorithm>

#include "ir/visit.h"
#include "poly/isl_sizes.h"
#include "poly/memory.h"

namespace pipec::poly {

namespace {

isl::set where_size_is(const IslContext& isl, const isl::set& set, std::size_t size, std::int64_t value) {
    return set.intersect(isl.value({Name::Kind::Size, static_cast<int>(size)}).eq_set(isl.constant(value)));
}

/// Up to the last one that conditions or extents mention: those behind it may be anything.
std::size_t mentioned_sizes(const ir::Pipeline& pipeline) {
    std::size_t count = 0;
    const auto look = [&](const ir::Expr& e) {
        ir::for_each_node(e, [&](const ir::Expr& node) {
            const auto* size = ir::as<ir::SizeRef>(node);
            if (size != nullptr) count = std::max(count, static_cast<std::size_t>(size->index) + 1);
        });
    };
    for (const ir::Expr& condition : pipeline.where) look(condition);
    for (const ir::Buffer& input : pipeline.inputs) std::ranges::for_each(input.extents, look);
    for (const ir::Output& output : pipeline.outputs) std::ranges::for_each(output.buffer.extents, look);
    return count;
}

/// Without stages, and with the first `count` sizes only.
ir::Pipeline interface_of(const ir::Pipeline& pipeline, std::size_t count) {
    ir::Pipeline result = pipeline;
    result.stages.clear();
    result.sizes.resize(count);
    return result;
}

}  // namespace

std::optional<std::vector<std::int64_t>> nearest_sizes(const ir::Pipeline& all, const std::vector<std::int64_t>& wanted,
                                                       const std::vector<bool>& fixed) {
    // Each size is found by projecting out all others. Code for windows has hundreds of its own behind the program's.
    const std::size_t count = mentioned_sizes(all);
    const ir::Pipeline pipeline = interface_of(all, count);
    const IslContext isl(Options{}.max_operations);
    try {
        const auto context = size_context(isl, pipeline);
        if (!context) return std::nullopt;
        isl::set admitted = context->bounded;
        for (std::size_t i = 0; i < count; ++i) {
            if (fixed[i]) admitted = where_size_is(isl, admitted, i, wanted[i]);
        }
        if (admitted.is_empty()) return std::nullopt;
        std::vector<std::int64_t> result = wanted;
        for (std::size_t i = 0; i < count; ++i) {
            if (fixed[i]) continue;
            const Name name{Name::Kind::Size, static_cast<int>(i)};
            const isl::set smaller = admitted.intersect(isl.value(name).le_set(isl.constant(wanted[i])));
            std::vector<Name> others;
            for (std::size_t j = 0; j < count; ++j) {
                if (j != i) others.push_back({Name::Kind::Size, static_cast<int>(j)});
            }
            const bool below = !smaller.is_empty();
            const isl::set alone = as_tuple(isl, project_out(isl, below ? smaller : admitted, others), {name});
            result[i] = to_long(below ? alone.dim_max_val(0) : alone.dim_min_val(0));
            admitted = where_size_is(isl, admitted, i, result[i]);
        }
        return result;
    } catch (const isl::exception& failure) {
        rethrow_exhaustion(failure);
        return std::nullopt;
    }
}

}  // namespace pipec::poly
