// From readers to what they read, as in group.cpp, but with sets instead of intervals.
#include "poly/footprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "poly/isl_accesses.h"
#include "poly/isl_sizes.h"
#include "poly/memory.h"

namespace pipec::poly {

namespace {

/// The number of the tile in a dimension of the group; no binder has a negative id.
Name tile_name(int dim) {
    return {Name::Kind::Variable, -2 - dim};
}

class Follower {
public:
    Follower(const ir::Pipeline& pipeline, const Model& model, const Group& group,
             const std::vector<std::int64_t>& tile, bool exact, const Options& options)
        : pipeline_(pipeline), model_(model), group_(group), tile_(tile), exact_(exact), isl_(options.max_operations) {}

    std::vector<Footprint> run() {
        isl_.begin_question(pipeline_.range, "the sizes");
        const auto sizes = size_context(isl_, pipeline_);
        if (!sizes) return {};
        ProgramValues values(isl_, pipeline_, *sizes);
        std::vector<Footprint> result(group_.stages.size());
        for (std::size_t p = 0; p < group_.stages.size(); ++p) {
            needed_.push_back(isl_.nothing());
            boxes_.push_back(box(p));
            domains_.push_back(domain(p, *sizes, values.ranges, values.affine));
            result[p] = {group_.stages[p], "", "", false, true};
        }
        for (std::size_t p = group_.stages.size(); p-- > 0;) {
            isl_.begin_question(stage(p).range, stage(p).name);
            const int index = group_.stages[p];
            if (std::count(group_.live_outs.begin(), group_.live_outs.end(), index) > 0)
                needed_[p] = needed_[p].unite(own(p).intersect(domains_[p]));
            needed_[p] = needed_[p].coalesce();
            const isl::set computed = boxes_[p].intersect(domains_[p]);
            result[p].contained = needed_[p].is_subset(computed);
            result[p].needed = text(p, needed_[p]);
            result[p].box = text(p, computed);
            follow(p, computed, values.affine, values.ranges, result);
        }
        return result;
    }

private:
    [[nodiscard]] const ir::Stage& stage(std::size_t position) const {
        return pipeline_.stages.at(static_cast<std::size_t>(group_.stages[position]));
    }
    [[nodiscard]] isl::pw_aff dimension(std::size_t position, std::size_t d) const {
        return isl_.value({Name::Kind::Variable, stage(position).dims[d].var});
    }

    /// lo <= v < hi in every dimension of the member, and its guard; for all legal sizes.
    isl::set domain(std::size_t position, const SizeContext& sizes, ValueRanges& ranges, AffineTranslator& affine) {
        const Domain& domain = model_.domains.at(static_cast<std::size_t>(group_.stages[position]));
        isl::set points = sizes.assumed;
        for (std::size_t d = 0; d < stage(position).dims.size(); ++d) {
            points = points.intersect(dimension(position, d).ge_set(affine.integer(domain.box[d].lo).value))
                         .intersect(dimension(position, d).lt_set(affine.integer(domain.box[d].hi).value));
            ranges.bind_index(stage(position).dims[d].var, domain.box[d].lo, domain.box[d].hi);
        }
        return domain.guard ? points.intersect(affine.condition(domain.guard).value) : points;
    }

    /// `count` points from the tile's first one + `first` on, in dimension d.
    isl::set points_of_tile(std::size_t position, std::size_t d, const TileExtent& extent) {
        const Alignment& a = group_.alignment[position][d];
        const std::int64_t size = tile_[static_cast<std::size_t>(a.dim)] / a.scale;
        const isl::pw_aff origin = isl_.value(tile_name(a.dim)).scale(isl::val(isl_.ctx(), static_cast<long>(size)));
        const isl::pw_aff from_origin = dimension(position, d).sub(origin);
        return from_origin.ge_set(isl_.constant(extent.first))
            .intersect(from_origin.lt_set(isl_.constant(extent.first + extent.count)));
    }

    isl::set box(std::size_t position) {
        isl::set points = isl_.everything();
        for (std::size_t d = 0; d < stage(position).dims.size(); ++d) {
            const Alignment& a = group_.alignment[position][d];
            if (a.dim < 0) continue;  // as its domain has it
            const auto g = static_cast<std::size_t>(a.dim);
            points = points.intersect(points_of_tile(position, d, tile_extent(a, group_.reach[position][g], tile_[g])));
        }
        return points;
    }

    /// The points that the tile writes.
    isl::set own(std::size_t position) {
        isl::set points = isl_.everything();
        for (std::size_t d = 0; d < stage(position).dims.size(); ++d) {
            const Alignment& a = group_.alignment[position][d];
            if (a.dim < 0) continue;
            points =
                points.intersect(points_of_tile(position, d, {0, tile_[static_cast<std::size_t>(a.dim)] / a.scale}));
        }
        return points;
    }

    /// Adds what a member reads to what is needed of others, and checks that boxes have what boxes read.
    void follow(std::size_t position, const isl::set& computed, AffineTranslator& affine, ValueRanges& ranges,
                std::vector<Footprint>& result) {
        const StageAccesses found = find_accesses(isl_, pipeline_, group_.stages[position], affine, ranges);
        for (const Access& access : found.accesses) {
            if (access.is_write || access.source.kind != ir::Source::Kind::Stage) continue;
            const int source = access.source.index;
            if (!std::binary_search(group_.stages.begin(), group_.stages.end(), source)) continue;
            const std::size_t producer = group_.position(source);
            isl::set relation = found.guards[static_cast<std::size_t>(access.guard)];
            for (std::size_t d = 0; d < access.values.size(); ++d)
                relation = relation.intersect(access.values[d].eq_set(dimension(producer, d)));
            relation = affine.with_opaque_bounds(relation);
            if (exact_)
                needed_[producer] = needed_[producer].unite(image(producer, needed_[position].intersect(relation)));
            const isl::set read = image(producer, computed.intersect(relation));
            result[producer].closed = result[producer].closed && read.is_subset(boxes_[producer]);
        }
    }

    /// Only the producer's point, the sizes and the tile are left.
    isl::set image(std::size_t producer, isl::set set) {
        std::vector<Name> others = names_in(set);
        std::erase_if(others, [&](const Name& name) {
            if (name.kind == Name::Kind::Size || (name.kind == Name::Kind::Variable && name.index < 0)) return true;
            const auto& dims = stage(producer).dims;
            return name.kind == Name::Kind::Variable &&
                   std::any_of(dims.begin(), dims.end(), [&](const auto& dim) { return dim.var == name.index; });
        });
        // Indices that depend on data may be any in their interval; those of a producer are in its domain, by proof.
        return project_out(isl_, std::move(set), others).intersect(domains_[producer]).coalesce();
    }

    /// With the program's names.
    std::string text(std::size_t position, const isl::set& set) {
        std::vector<Name> dims;
        for (const auto& dim : stage(position).dims) dims.push_back({Name::Kind::Variable, dim.var});
        isl_set* named = as_tuple(isl_, set, dims).release();
        for (std::size_t d = 0; d < dims.size(); ++d) {
            const std::string name = pipeline_.variables.at(static_cast<std::size_t>(dims[d].index)).name;
            named = isl_set_set_dim_name(named, isl_dim_set, static_cast<unsigned>(d), name.c_str());
        }
        const isl_size parameters = isl_set_dim(named, isl_dim_param);
        for (isl_size i = 0; i < parameters; ++i) {
            const char* own = isl_set_get_dim_name(named, isl_dim_param, static_cast<unsigned>(i));
            const int index = std::atoi(own + 1);
            const std::string name = own[0] == static_cast<char>(Name::Kind::Size)
                                         ? pipeline_.sizes.at(static_cast<std::size_t>(index)).name
                                         : fmt::format("t{}", -2 - index);
            named = isl_set_set_dim_name(named, isl_dim_param, static_cast<unsigned>(i), name.c_str());
        }
        const isl::set owner = isl::manage(named);
        char* text = isl_set_to_str(owner.get());
        std::string result = text;
        std::free(text);
        return result;
    }

    const ir::Pipeline& pipeline_;
    const Model& model_;
    const Group& group_;
    const std::vector<std::int64_t>& tile_;
    const bool exact_;
    IslContext isl_;
    std::vector<isl::set> needed_, boxes_, domains_;  ///< by member, over its dimensions' variables
};

}  // namespace

std::optional<std::vector<Footprint>> footprints(const ir::Pipeline& pipeline, const Model& model, const Group& group,
                                                 const std::vector<std::int64_t>& tile, bool exact,
                                                 const Options& options) {
    try {
        return Follower(pipeline, model, group, tile, exact, options).run();
    } catch (const isl::exception& failure) {
        rethrow_exhaustion(failure);
        return std::nullopt;
    }
}

bool is_subset(const std::string& a, const std::string& b) {
    const IslContext isl(0);
    return isl::set(isl.ctx(), a).is_subset(isl::set(isl.ctx(), b));
}

std::int64_t count_points(const std::string& set, const std::map<std::string, std::int64_t>& parameters) {
    const IslContext isl(0);
    isl_set* fixed = isl::set(isl.ctx(), set).release();
    for (const auto& [name, value] : parameters) {
        const int position = isl_set_find_dim_by_name(fixed, isl_dim_param, name.c_str());
        if (position >= 0)
            fixed = isl_set_fix_si(fixed, isl_dim_param, static_cast<unsigned>(position), static_cast<int>(value));
    }
    return to_long(isl::manage(isl_set_count_val(isl::manage(fixed).project_out_all_params().get())));
}

}  // namespace pipec::poly
