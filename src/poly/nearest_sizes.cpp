#include "poly/nearest_sizes.h"

#include "poly/isl_sizes.h"
#include "poly/memory.h"

namespace pipec::poly {

namespace {

isl::set where_size_is(const IslContext& isl, const isl::set& set, std::size_t size, std::int64_t value) {
    return set.intersect(isl.value({Name::Kind::Size, static_cast<int>(size)}).eq_set(isl.constant(value)));
}

}  // namespace

std::optional<std::vector<std::int64_t>> nearest_sizes(const ir::Pipeline& pipeline,
                                                       const std::vector<std::int64_t>& wanted,
                                                       const std::vector<bool>& fixed) {
    const IslContext isl(Options{}.max_operations);
    try {
        const auto context = size_context(isl, pipeline);
        if (!context) return std::nullopt;
        isl::set admitted = context->bounded;
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            if (fixed[i]) admitted = where_size_is(isl, admitted, i, wanted[i]);
        }
        if (admitted.is_empty()) return std::nullopt;
        std::vector<std::int64_t> result = wanted;
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            if (fixed[i]) continue;
            const Name name{Name::Kind::Size, static_cast<int>(i)};
            const isl::set smaller = admitted.intersect(isl.value(name).le_set(isl.constant(wanted[i])));
            std::vector<Name> others;
            for (std::size_t j = 0; j < wanted.size(); ++j) {
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
