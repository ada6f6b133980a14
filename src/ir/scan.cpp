#include "ir/scan.h"

#include <fmt/format.h>

#include <cstdlib>

#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::ir {

namespace {

/// An index that is a variable plus a constant.
struct Shifted {
    VarId var;
    std::int64_t by;
};

std::optional<Shifted> shifted(const Expr& e) {
    if (const auto* variable = as<Variable>(e)) return Shifted{variable->id, 0};
    const auto* n = as<Binary>(e);
    if (n == nullptr || (n->op != BinaryOp::Add && n->op != BinaryOp::Sub)) return std::nullopt;
    const bool left = as_int(n->a).has_value();
    const auto constant = as_int(left ? n->a : n->b);
    auto rest = shifted(left ? n->b : n->a);
    if (!constant || !rest || std::abs(*constant) > INT32_MAX || (left && n->op == BinaryOp::Sub)) return std::nullopt;
    rest->by += n->op == BinaryOp::Add ? *constant : -*constant;
    return rest;
}

/// What is wrong with a read of the stage itself, and otherwise the dimension in which it is shifted and how far.
struct Step {
    int dim = -1;
    std::int64_t by = 0;
    std::string problem{};
};

Step step_of(const Stage& stage, const Read& read) {
    Step step;
    for (std::size_t d = 0; d < read.indices.size(); ++d) {
        const auto index = shifted(read.indices[d]);
        if (!index || index->var != stage.dims[d].var) {
            step.problem = "each index of it is the stage's own variable, in one dimension plus or minus a constant";
            return step;
        }
        if (index->by == 0) continue;
        if (step.dim >= 0) {
            step.problem = "it is another point in two dimensions; a scan goes along one, so take one stage for each";
            return step;
        }
        step.dim = static_cast<int>(d);
        step.by = index->by;
    }
    if (step.dim < 0) {
        step.problem = "that is the point which is being computed";
    } else if (std::abs(step.by) > kMostScanDistance) {
        step.problem =
            fmt::format("it is {} points away, and at most {} are possible", std::abs(step.by), kMostScanDistance);
    }
    return step;
}

}  // namespace

SelfReads find_scan(const Stage& stage, int index, const Expr& value) {
    SelfReads result;
    for_each_node(value, [&](const Expr& e) {
        const auto* read = as<Read>(e);
        const bool own = read != nullptr && read->source == Source{Source::Kind::Stage, index};
        if (!own || !result.problem.empty()) return;
        Step step = step_of(stage, *read);
        if (step.problem.empty() && result.scan) {
            if (step.dim != result.scan->dim) {
                step.problem =
                    "another read is earlier in another dimension; a scan goes along one, so take one stage "
                    "for each";
            } else if ((step.by < 0) != (result.scan->step > 0)) {
                step.problem = "another read is on the other side; a scan goes one way, so take one stage for each";
            }
        }
        if (!step.problem.empty()) {
            result.problem = step.problem;
            result.range = e->range;
            return;
        }
        const auto distance = static_cast<int>(std::abs(step.by));
        if (!result.scan) result.scan = Scan{step.dim, step.by < 0 ? 1 : -1, distance};
        result.scan->distance = std::max(result.scan->distance, distance);
    });
    if (!result.problem.empty()) result.scan.reset();
    return result;
}

int scan_distance(const Stage& scan, const Read& read) {
    return static_cast<int>(std::abs(step_of(scan, read).by));
}

bool reads(const Expr& e, Source source) {
    bool found = false;
    for_each_node(e, [&](const Expr& node) {
        const auto* read = as<Read>(node);
        found = found || (read != nullptr && read->source == source);
    });
    return found;
}

}  // namespace pipec::ir
