#include "fusion/loop_block.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "fusion/gpu.h"
#include "fusion/index_factors.h"
#include "fusion/written_out.h"
#include "ir/build.h"
#include "ir/linear_sum.h"
#include "ir/visit.h"

namespace pipec::fusion {

namespace {

/// Of reductions with different terms, which share less of what they read than those side by side do.
constexpr std::int64_t kMostDifferent = 16;
constexpr std::int64_t kMostPoints = 16;
/// Of the loads: what more points, and any block at all, must save.
constexpr double kWorthMore = 0.85, kWorthIt = 0.75;

/// Elements of an array, counted from one of them.
using Elements = std::set<std::vector<std::int64_t>>;

/// A read of each term, and how many of a block's points it takes.
struct TermRead {
    double times = 1;              ///< terms of one iteration that are written out
    std::vector<bool> depends;     ///< by dimension of the stage
    std::vector<double> overlaps;  ///< terms along it that ask for neighbours of one another; 1: none
    /// Of reads that are apart by constants, which are all in one of these: their elements; empty where nobody knows.
    Elements places{};
    std::vector<std::vector<std::int64_t>> steps{};  ///< by dimension: what the next point adds to each index
    const ir::Read* first = nullptr;                 ///< places are counted from its element
};

class TermReads {
public:
    /// `short_loops`: short loops are side by side, too.
    TermReads(const ir::Stage& stage, bool short_loops) : stage_(stage), short_loops_(short_loops) {}

    /// False where blocks are impossible: a loop differs from point to point.
    bool add(const ir::Expr& e) {
        walk(e, false);
        return !differ_;
    }

    std::vector<TermRead> of_terms;
    std::int64_t loops = 0;   ///< reductions that are loops, those side by side as one
    std::int64_t totals = 0;  ///< that a point has in them

private:
    /// A node that several expressions share is computed once.
    void walk(const ir::Expr& e, bool in_loop) {
        if (!walked_.emplace(e.get(), in_loop).second) return;
        if (const auto* let = ir::as<ir::Let>(e)) lets_[let->var] = let->value;
        if (const auto* n = ir::as<ir::Reduce>(e)) {
            const auto beside = in_loop ? std::nullopt : side_by_side(*n, short_loops_);
            if (beside) beside_ = std::max(beside_, beside->totals()), kept_.insert(beside->loop);
            const bool loop =
                kept_.count(n) > 0 || (!beside && !written_out(*n, in_loop ? kWrittenInBlocks : ir::kBlockTerms));
            if (loop && !in_loop) ++loops, totals += beside_;
            for (const ir::Range& range : n->ranges) {
                differ_ = differ_ || (loop && (says_point(range.lo) || says_point(range.hi)));
                if (!loop) terms_[range.var] = static_cast<double>(*ir::as_int(range.hi) - *ir::as_int(range.lo));
            }
            walk(n->body, in_loop || loop);
            for (const ir::Range& range : n->ranges) terms_.erase(range.var);
            if (beside && terms_.empty()) beside_ = 1;
            return;
        }
        if (const auto* read = ir::as<ir::Read>(e); read != nullptr && in_loop) add_read(*read);
        if (const auto* n = ir::as<ir::Select>(e); n != nullptr && ir::has_reads(n->cond)) {
            walk(n->cond, in_loop);
            ++conditions_;
            walk(n->then, in_loop);
            if (n->otherwise) walk(n->otherwise, in_loop);
            --conditions_;
            return;
        }
        ir::for_each_child(*e, [&](const ir::Expr& child) { walk(child, in_loop); });
    }

    /// All variables of an expression, with those of the values that its lets stand for.
    void for_each_variable(const ir::Expr& e, const std::function<void(const ir::Variable*)>& visit) const {
        std::vector<ir::Expr> left{e};
        std::set<ir::VarId> found;
        while (!left.empty()) {
            const ir::Expr next = std::move(left.back());
            left.pop_back();
            ir::for_each_node(next, [&](const ir::Expr& node) {
                const auto* variable = ir::as<ir::Variable>(node);
                if (variable == nullptr || !found.insert(variable->id).second) return;
                const auto let = lets_.find(variable->id);
                if (let != lets_.end()) left.push_back(let->second);
                visit(variable);
            });
        }
    }

    bool says_point(const ir::Expr& e) const {
        bool says = false;
        for_each_variable(e, [&](const ir::Variable* variable) {
            says = says ||
                   std::ranges::any_of(stage_.dims, [&](const ir::Dimension& dim) { return dim.var == variable->id; });
        });
        return says;
    }

    void add_read(const ir::Read& read) {
        TermRead result{1, std::vector<bool>(stage_.dims.size(), false), std::vector<double>(stage_.dims.size(), 1)};
        std::set<ir::VarId> along;
        for (const ir::Expr& index : read.indices) {
            std::vector<std::size_t> dims;
            double terms = 1;
            for_each_variable(index, [&](const ir::Variable* variable) {
                for (std::size_t d = 0; d < stage_.dims.size(); ++d) {
                    if (stage_.dims[d].var == variable->id) dims.push_back(d);
                }
                if (const auto known = terms_.find(variable->id); known != terms_.end()) {
                    terms *= known->second;
                    if (along.insert(variable->id).second) result.times *= known->second;
                }
            });
            // Neighbours of a block sum share terms where they are less than all terms apart: of f(16 * x + j), j in
            // 0..16, they share none.
            for (const std::size_t d : dims) {
                const auto factor = index_factor(index, stage_.dims[d].var);
                const double step = std::max(1.0, std::abs(static_cast<double>(factor.value_or(1))));
                result.depends[d] = true;
                // Behind a condition of data each term reads for itself.
                if (conditions_ == 0) result.overlaps[d] = std::max(result.overlaps[d], terms / step);
            }
        }
        if (conditions_ == 0 && along.empty() && knows_places(read, result)) {
            for (TermRead& other : of_terms) {
                if (other.first != nullptr && join(other, read)) return;
            }
            result.places.insert(std::vector<std::int64_t>(read.indices.size(), 0));
            result.first = &read;
        }
        of_terms.push_back(std::move(result));
    }

    /// Sets `steps`. False where some index is no sum with what it depends on.
    bool knows_places(const ir::Read& read, TermRead& of) const {
        for (std::size_t d = 0; d < stage_.dims.size(); ++d) {
            std::vector<std::int64_t>& steps = of.steps.emplace_back();
            for (const ir::Expr& index : read.indices) {
                const auto factor = index_factor(index, stage_.dims[d].var);
                if (!factor) return false;
                steps.push_back(*factor);
            }
            // Through a let, which hides it.
            if (of.depends[d] && std::ranges::all_of(steps, [](std::int64_t n) { return n == 0; })) return false;
        }
        return true;
    }

    /// Adds the read where it is a constant apart from those of `group`.
    static bool join(TermRead& group, const ir::Read& read) {
        if (!(group.first->source == read.source)) return false;
        std::vector<std::int64_t> place;
        for (std::size_t i = 0; i < read.indices.size(); ++i) {
            const auto apart = ir::constant_difference(read.indices[i], group.first->indices[i]);
            if (!apart) return false;
            place.push_back(*apart);
        }
        group.places.insert(std::move(place));
        group.times = static_cast<double>(group.places.size());
        return true;
    }

    const ir::Stage& stage_;
    const bool short_loops_;
    std::map<ir::VarId, double> terms_;  ///< of variables whose terms are written out
    std::map<ir::VarId, ir::Expr> lets_;
    std::int64_t beside_ = 1;                            ///< loops that become one, here
    std::set<const ir::Reduce*> kept_;                   ///< SideBySide::loop
    std::set<std::pair<const ir::Node*, bool>> walked_;  ///< and whether in a loop
    int conditions_ = 0;                                 ///< conditions of data around what is walked
    bool differ_ = false;
};

}  // namespace

std::int64_t LoopBlock::count() const {
    std::int64_t result = 1;
    for (const std::int64_t n : points) result *= n;
    return result;
}

namespace {

/// The elements that a block of points reads, with the next point in dimension `lane` a warp away.
double elements(const TermRead& read, const std::vector<std::int64_t>& points, std::size_t lane) {
    Elements all = read.places;
    for (std::size_t d = 0; d < points.size(); ++d) {
        const Elements before = all;
        for (std::int64_t n = 1; n < points[d]; ++n) {
            for (std::vector<std::int64_t> place : before) {
                for (std::size_t i = 0; i < place.size(); ++i)
                    place[i] += n * read.steps[d][i] * (d == lane ? kWarp : 1);
                all.insert(std::move(place));
            }
        }
    }
    return static_cast<double>(all.size());
}

LoopBlock best_block(const ir::Stage& stage, const ir::Expr& value, std::size_t lane,
                     const std::vector<std::optional<std::int64_t>>& extents,
                     const std::vector<std::optional<double>>& usual, bool short_loops) {
    LoopBlock best{std::vector<std::int64_t>(stage.dims.size(), 1)};
    TermReads terms(stage, short_loops);
    if (!terms.add(value) || terms.loops == 0 || terms.of_terms.empty()) return best;
    double alone = 0;
    for (const TermRead& read : terms.of_terms) alone += read.times;
    const auto part = [&](const std::vector<std::int64_t>& points) {
        double all = 0, count = 1;
        for (const std::int64_t n : points) count *= static_cast<double>(n);
        for (const TermRead& read : terms.of_terms) {
            if (read.first != nullptr) {
                all += elements(read, points, lane);
                continue;
            }
            double loads = read.times;
            for (std::size_t d = 0; d < points.size(); ++d) {
                if (!read.depends[d]) continue;
                // Columns of a thread are a warp apart, so that what neighbouring threads read lies side by side.
                const double overlap = d == lane ? 1 : read.overlaps[d];
                loads *= (overlap + static_cast<double>(points[d]) - 1) / overlap;
            }
            all += loads;
        }
        return all / count / alone;
    };
    const std::int64_t most = std::min({kMostPoints, kMostDifferent / terms.loops, kMostTotals / terms.totals});
    std::vector<std::int64_t> points(stage.dims.size(), 1);
    const std::function<void(std::size_t, std::int64_t)> choose = [&](std::size_t d, std::int64_t left) {
        if (d == points.size()) {
            LoopBlock block{points, part(points), short_loops};
            const bool larger = block.count() > best.count();
            if (block.loads < best.loads * (larger ? kWorthMore : 1)) best = std::move(block);
            return;
        }
        for (std::int64_t n = 1; n <= left; n *= 2) {
            const std::int64_t unit = d == lane ? n * kWarp : n;
            if (n > 1 && extents[d] && *extents[d] % unit != 0) break;
            if (n > 1 && usual[d] && static_cast<double>(unit) > *usual[d]) break;
            points[d] = n;
            choose(d + 1, left / n);
        }
        points[d] = 1;
    };
    choose(0, most);
    if (best.loads > kWorthIt) return {std::vector<std::int64_t>(stage.dims.size(), 1)};
    return best;
}

}  // namespace

LoopBlock loop_block(const ir::Stage& stage, const ir::Expr& value, std::size_t lane,
                     const std::vector<std::optional<std::int64_t>>& extents,
                     const std::vector<std::optional<double>>& usual) {
    LoopBlock written = best_block(stage, value, lane, extents, usual, false);
    LoopBlock beside = best_block(stage, value, lane, extents, usual, true);
    return beside.loads < written.loads ? beside : written;
}

}  // namespace pipec::fusion
