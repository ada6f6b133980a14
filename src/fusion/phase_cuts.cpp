#include "fusion/phase_cuts.h"

#include <algorithm>
#include <map>
#include <set>

#include "fusion/evaluate.h"
#include "fusion/group_facts.h"
#include "ir/build.h"
#include "ir/parameter_sizes.h"
#include "ir/reduction.h"
#include "ir/visit.h"

namespace pipec::fusion {

namespace {

/// Sizes of large images; products of two and their doubles fit 32 bits.
constexpr std::int64_t kLargeSide = 1 << 14;
/// A table has a phase of its own where the largest input has at least this many times as many points.
constexpr double kSmallTable = 16;

/// What a stage reads inside of a loop over the image, at an index that follows the loop.
std::vector<ir::Source> long_reads(const ir::Stage& stage, int number, const poly::Domain& domain,
                                   const ImageGrowth& growth) {
    const std::vector<poly::ReadScope> scopes = poly::find_reads(stage);
    std::vector<ir::Source> result;
    std::vector<std::vector<ir::Range>> loops(scopes.size());  // by scope: the growing loops around it
    for (std::size_t i = 0; i < scopes.size(); ++i) {
        if (scopes[i].outer >= 0) loops[i] = loops[static_cast<std::size_t>(scopes[i].outer)];
        if (scopes[i].loop && growth.grows(scopes, static_cast<int>(i), stage, domain)) {
            loops[i].push_back(*scopes[i].loop);
        }
        for (const poly::ScopedRead& read : scopes[i].reads) {
            const bool is_self = read.source == ir::Source{ir::Source::Kind::Stage, number};
            const bool follows = std::ranges::any_of(
                read.indices, [&](const ir::Expr& index) { return ir::uses_variable(index, loops[i]); });
            if (!is_self && follows) result.push_back(read.source);
        }
    }
    return result;
}

/// Points of the largest input.
double image_points(const ir::Pipeline& pipeline, const ImageGrowth& growth) {
    double result = 0;
    for (const ir::Buffer& input : pipeline.inputs) result = std::max(result, growth.points(input));
    return result;
}

class Cuts {
public:
    Cuts(const ir::Pipeline& pipeline, const poly::Model& model)
        : pipeline_(pipeline), model_(model), growth_(pipeline) {
        image_ = image_points(pipeline, growth_);
    }

    std::vector<int> run() {
        std::vector<bool> table(count(), false), statistic(count(), false);
        for (std::size_t s = 0; s < count(); ++s) {
            for (const ir::Source& read :
                 long_reads(pipeline_.stages[s], static_cast<int>(s), model_.domains[s], growth_)) {
                statistic[s] = is_small(s);
                if (read.kind != ir::Source::Kind::Stage) continue;
                const auto source = static_cast<std::size_t>(read.index);
                table[source] = table[source] || is_small(source);
            }
        }
        for (std::size_t s = 0; s < count(); ++s) {
            cut_.push_back(table[s] || (statistic[s] && !is_read_by_blocks(s, table)));
        }
        return levels();
    }

private:
    [[nodiscard]] std::size_t count() const { return pipeline_.stages.size(); }
    [[nodiscard]] double points(std::size_t s) const { return growth_.points(model_.domains[s].box).value_or(image_); }

    [[nodiscard]] bool is_small(std::size_t s) const { return is_small_array(pipeline_, model_, growth_, s); }

    /// All that reads it are tables of blocks of it, which need not wait for each other.
    [[nodiscard]] bool is_read_by_blocks(std::size_t s, const std::vector<bool>& table) const {
        if (pipeline_.stages[s].output >= 0) return false;
        bool any = false;
        for (std::size_t r = s + 1; r < count(); ++r) {
            const std::vector<int> read = stages_read(pipeline_.stages[r], static_cast<int>(r));
            if (std::ranges::find(read, static_cast<int>(s)) == read.end()) continue;
            if (!table[r] || points(r) * kSmallTable > points(s)) return false;
            any = true;
        }
        return any;
    }

    std::vector<int> levels() const {
        std::vector<int> needs(count(), 0);  // the phase in which a stage can be computed
        std::vector<int> result(count(), -1);
        for (std::size_t s = 0; s < count(); ++s) {
            for (const int read : stages_read(pipeline_.stages[s], static_cast<int>(s))) {
                const auto r = static_cast<std::size_t>(read);
                needs[s] = std::max(needs[s], needs[r] + (cut_[r] ? 1 : 0));
            }
            if (cut_[s] || pipeline_.stages[s].output >= 0) result[s] = needs[s];
        }
        return result;
    }

    const ir::Pipeline& pipeline_;
    const poly::Model& model_;
    ImageGrowth growth_;
    double image_ = 0;  ///< points of the largest input
    std::vector<bool> cut_;
};

}  // namespace

ImageGrowth::ImageGrowth(const ir::Pipeline& pipeline)
    : large_(pipeline.sizes.size(), kLargeSide), larger_(pipeline.sizes.size(), 2 * kLargeSide) {
    const Sizes usual = usual_sizes(pipeline);
    for (std::size_t i = 0; i < usual.size(); ++i) {
        if (ir::parameter_of(pipeline, i)) large_[i] = larger_[i] = usual[i];
    }
}

std::optional<double> ImageGrowth::points(const std::vector<poly::Interval>& box) const {
    return points(box, large_);
}

std::optional<double> ImageGrowth::points(const std::vector<poly::Interval>& box, const Sizes& sizes) {
    double result = 1;
    for (const poly::Interval& range : box) {
        const auto lo = evaluate(range.lo, sizes), hi = evaluate(range.hi, sizes);
        if (!lo || !hi) return std::nullopt;
        result *= static_cast<double>(std::max<std::int64_t>(0, *hi - *lo));
    }
    return result;
}

double ImageGrowth::points(const ir::Buffer& buffer) const {
    double result = 1;
    for (const ir::Expr& extent : buffer.extents) {
        result *= static_cast<double>(evaluate(extent, large_).value_or(kLargeSide));
    }
    return result;
}

bool ImageGrowth::grows(const ir::Range& loop) const {
    const auto few = points({{loop.lo, loop.hi}}), many = points({{loop.lo, loop.hi}}, larger_);
    return !few || !many || *many > *few;
}

bool ImageGrowth::grows(const std::vector<poly::ReadScope>& scopes, int scope, const ir::Stage& stage,
                        const poly::Domain& domain) const {
    std::vector<const ir::Range*> loops;
    for (int i = scope; i >= 0; i = scopes[static_cast<std::size_t>(i)].outer) {
        if (scopes[static_cast<std::size_t>(i)].loop) loops.push_back(&*scopes[static_cast<std::size_t>(i)].loop);
    }
    std::ranges::reverse(loops);
    // At the first points, or at the last ones, of what is around the loop.
    const auto turns = [&](const Sizes& sizes, bool last) -> std::optional<std::int64_t> {
        std::map<ir::VarId, ir::Expr> point;
        const auto bind = [&](ir::VarId var, const ir::Expr& lo, const ir::Expr& hi) -> std::optional<std::int64_t> {
            const auto first = evaluate(ir::substitute(lo, point), sizes),
                       end = evaluate(ir::substitute(hi, point), sizes);
            if (!first || !end) return std::nullopt;
            point[var] = ir::int_constant(ir::Type::Int32, last ? std::max(*first, *end - 1) : *first);
            return std::max<std::int64_t>(0, *end - *first);
        };
        for (std::size_t d = 0; d < stage.dims.size() && d < domain.box.size(); ++d) {
            if (!bind(stage.dims[d].var, domain.box[d].lo, domain.box[d].hi)) return std::nullopt;
        }
        std::optional<std::int64_t> result;
        for (const ir::Range* loop : loops) {
            result = bind(loop->var, loop->lo, loop->hi);
            if (!result) return std::nullopt;
        }
        return result;
    };
    const auto few = turns(large_, false), many = turns(larger_, false);
    if (!few || !many || *many > *few) return true;
    // At the last points prefixes are long. The last block of terms may have more of its 64 in larger images.
    const auto few_last = turns(large_, true), many_last = turns(larger_, true);
    return !few_last || !many_last || (*many_last > *few_last && *many_last > 2 * ir::kBlockTerms);
}

bool is_small_array(const ir::Pipeline& pipeline, const poly::Model& model, const ImageGrowth& growth,
                    std::size_t stage) {
    const poly::Domain& domain = model.domains[stage];
    const auto points = growth.points(domain.box);
    if (pipeline.stages[stage].scan || domain.guard || !points) return false;
    if (*points * kSmallTable > image_points(pipeline, growth)) return false;
    // What an accumulate updates cannot be moved to other indices.
    const auto begins_at_0 = [](const poly::Interval& range) { return ir::as_int(range.lo) == 0; };
    return std::holds_alternative<ir::Pure>(pipeline.stages[stage].definition) ||
           std::ranges::all_of(domain.box, begins_at_0);
}

std::vector<int> stages_read(const ir::Stage& stage, int itself) {
    std::set<int> result;
    for (const ir::Expr& e : ir::expressions(stage)) {
        ir::for_each_node(e, [&](const ir::Expr& node) {
            const auto* read = ir::as<ir::Read>(node);
            if (read == nullptr || read->source.kind != ir::Source::Kind::Stage) return;
            if (read->source.index != itself) result.insert(read->source.index);
        });
    }
    return {result.begin(), result.end()};
}

std::vector<int> phase_cuts(const ir::Pipeline& pipeline, const poly::Model& model) {
    return Cuts(pipeline, model).run();
}

}  // namespace pipec::fusion
