#include "codegen/emit/host/host_versions.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>

#include "codegen/emit/host/host_nest.h"
#include "codegen/emit/host/host_points.h"
#include "fusion/evaluate.h"
#include "fusion/group_facts.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

namespace {

/// Of the work; what is left is not worth the C++ compiler's time.
constexpr double kPart = 0.95;
/// Nodes of expressions in all versioned loops together, about a second for g++; and how many fewer for each stage,
/// which takes its time already.
constexpr std::int64_t kMostVersionedNodes = 500, kStageNodes = 10;

/// How often the longest loops in it go round, roughly: what a number of iterations that is not known counts for is
/// kUnknown.
std::int64_t rounds(const ir::Expr& e) {
    constexpr std::int64_t kUnknown = 16, kMost = 4096;
    std::int64_t most = 1;
    ir::for_each_node(e, [&](const ir::Expr& node) {
        const auto* reduce = ir::as<ir::Reduce>(node);
        if (reduce == nullptr) return;
        std::int64_t count = 1;
        for (const ir::Range& range : reduce->ranges) {
            const auto lo = ir::as_int(range.lo), hi = ir::as_int(range.hi);
            count = std::min(kMost, count * (lo && hi ? std::clamp<std::int64_t>(*hi - *lo, 1, kMost) : kUnknown));
        }
        most = std::max(most, count);
    });
    return most;
}

double points(const poly::Domain& domain, const std::vector<std::int64_t>& sizes) {
    double result = 1;
    for (const poly::Interval& interval : domain.box) {
        const auto lo = fusion::evaluate(interval.lo, sizes), hi = fusion::evaluate(interval.hi, sizes);
        result *= lo && hi ? static_cast<double>(std::max<std::int64_t>(0, *hi - *lo)) : 1;
    }
    return result;
}

/// Some read's place depends on data. The instructions that g++ then gathers with are slower than loads one by one.
bool gathers(const ir::Expr& value) {
    std::set<ir::VarId> of_data;
    bool found = false;
    const auto has_data = [&](const ir::Expr& e) {
        bool any = false;
        ir::for_each_node(e, [&](const ir::Expr& n) {
            const auto* variable = ir::as<ir::Variable>(n);
            any = any || ir::as<ir::Read>(n) != nullptr || (variable != nullptr && of_data.count(variable->id) > 0);
        });
        return any;
    };
    for (std::size_t known = SIZE_MAX; known != of_data.size();) {  // lets may stand in any order
        known = of_data.size();
        ir::for_each_node(value, [&](const ir::Expr& e) {
            const auto* let = ir::as<ir::Let>(e);
            if (let != nullptr && has_data(let->value)) of_data.insert(let->var);
        });
    }
    ir::for_each_node(value, [&](const ir::Expr& e) {
        const auto* read = ir::as<ir::Read>(e);
        found = found || (read != nullptr && std::any_of(read->indices.begin(), read->indices.end(), has_data));
    });
    return found;
}

}  // namespace

std::vector<bool> versioned_stages(const ir::Pipeline& pipeline, const poly::Model& model) {
    const std::vector<std::int64_t> sizes = fusion::usual_sizes(pipeline);
    std::vector<bool> result(pipeline.stages.size(), false);
    std::vector<std::int64_t> nodes(pipeline.stages.size(), 0);
    std::vector<double> work(pipeline.stages.size(), 0);
    for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
        const auto* pure = std::get_if<ir::Pure>(&pipeline.stages[s].definition);
        if (pure == nullptr || pipeline.stages[s].dims.empty() || gathers(pure->value)) continue;
        const std::int64_t each = ir::node_count(pure->value);
        const Nest nest = nest_of(pipeline, model, s);
        // Of points that have code of their own about half is shared, or known.
        nodes[s] = each * (1 + own_points(pipeline.stages[s], model.domains.at(s), nest, pure->value)) / 2;
        work[s] = points(model.domains.at(s), sizes) * static_cast<double>(each * rounds(pure->value));
    }
    std::vector<std::size_t> order(pipeline.stages.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return work[a] > work[b]; });
    double left = std::accumulate(work.begin(), work.end(), 0.0);
    const double enough = left * (1 - kPart);
    const std::int64_t most = kMostVersionedNodes - kStageNodes * static_cast<std::int64_t>(pipeline.stages.size());
    std::int64_t written = 0;
    for (const std::size_t s : order) {
        if (nodes[s] == 0 || left <= enough) break;
        if (written + nodes[s] > most) continue;
        written += nodes[s];
        left -= work[s];
        result[s] = true;
    }
    return result;
}

const std::string_view kVersionsHead = R"text(
// Loops come in versions for x86-64-v3 and -v4, unless the code is compiled for such a processor anyway; the loader
// takes the one for the processor that it is on. -DPIPE_NO_VERSIONS leaves them out.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__OPTIMIZE__) && !defined(__AVX2__) && \
    !defined(__clang__) && __GNUC__ >= 12 && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(PIPE_NO_VERSIONS)
#define PIPE_VERSIONS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#pragma GCC optimize("fp-contract=off")  // the same bits in all of them
#elif defined(__GNUC__)
#define PIPE_VERSIONS __attribute__((noinline))
#else
#define PIPE_VERSIONS
#endif

)text";

}  // namespace pipec::codegen
