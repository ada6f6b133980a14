// How the points of a stage depend on those of the stages and inputs that it reads: the facts from which groups of
// stages are aligned, scaled and tiled. Plain data; the questions are asked of isl.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/pipeline.h"
#include "poly/model.h"

namespace pipec::poly {

/// One index of a read, against the reader's point v. For all points of the reader's domain, all launches and all
/// values of what the index depends on besides:
///
///     dim >= 0:  lo <= den * index - num * v[dim] <= hi,  num and den positive and coprime
///     dim < 0:   lo <= index <= hi
///
/// A stencil's x + 1 gives 1 * index - 1 * x in [1, 1]; x / 2 gives 2 * index - 1 * x in [-1, 0]; a clamp gives the
/// hull of what it can be: max(x - 1, 0) is in [-1, 0].
///
/// `usual_lo` and `usual_hi` are the ends without the points whose distance varies, where it is constant at others:
/// what a boundary condition reads away from the edges. max(x - 1, 0) is in [-1, -1] there.
struct IndexRelation {
    int dim = -1;
    std::int64_t num = 1, den = 1;
    std::int64_t lo = 0, hi = 0;
    std::int64_t usual_lo = lo, usual_hi = hi;

    friend bool operator==(const IndexRelation&, const IndexRelation&) = default;
};

/// What one stage reads of one source. Reads with equal relations count once.
struct Dependence {
    int reader = -1;
    ir::Source source;
    /// One for each dimension of the source; none where no such relation holds: the index depends on data, runs
    /// backward, mixes dimensions, or lies anywhere.
    std::vector<std::optional<IndexRelation>> indices;
    SourceRange range;       ///< of the (first) read
    bool in_update = false;  ///< read by an accumulate's update; `dim` never refers to its loops
    /// For each index: where it has no relation because it runs backward (R - 1 - y), the reader's dimension that it
    /// falls with; -1 otherwise.
    std::vector<int> against{};
    /// For each index: sizes alone say where it lies, so that it is the same for all points of a launch (C - 1),
    /// however many places its relation, which holds for all launches, admits.
    std::vector<bool> same{};
};

/// All dependences of a pipeline, by reader. The pipeline and its model must be those of a successful analysis (or what
/// inlining makes of them). An index whose question exceeds the budget has no relation.
std::vector<Dependence> find_dependences(const ir::Pipeline& pipeline, const Model& model, const Options& options = {});

/// The same for pipelines that differ only in which stages are computed inside of their readers. What a stage reads is
/// found once for each set of stages inside of it.
class Dependences {
public:
    /// `inside`: of each stage, those computed inside of it, as any numbers that all the pipelines have in common.
    std::vector<Dependence> of(const ir::Pipeline& pipeline, const Model& model,
                               const std::vector<std::set<int>>& inside);

private:
    struct Known {
        Dependence dependence;
        std::string source;  ///< the name of a stage, whose number differs; empty for inputs
    };
    std::map<std::pair<std::string, std::set<int>>, std::vector<Known>> known_;
};

}  // namespace pipec::poly
