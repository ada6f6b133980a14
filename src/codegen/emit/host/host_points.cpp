#include "codegen/emit/host/host_points.h"

#include <algorithm>
#include <set>

#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

namespace {

/// The code of all points is no longer than this, in nodes of each by itself, and reads no more elements: g++ takes
/// long to put many side by side.
constexpr std::int64_t kLongestRow = 1500;
constexpr std::size_t kMostReads = 40;

/// A place, without data, that depends on `var`.
bool is_place_of(const ir::Expr& e, ir::VarId var) {
    bool found = false, data = false;
    ir::for_each_node(e, [&](const ir::Expr& node) {
        const auto* variable = ir::as<ir::Variable>(node);
        found = found || (variable != nullptr && variable->id == var);
        data = data || ir::as<ir::Read>(node) != nullptr || ir::is_float(node->type);
    });
    return found && !data;
}

/// 2 or 4 where something depends on the quotient or the remainder of a place along `var` by it; else 1.
std::int64_t period_of(const ir::Expr& value, ir::VarId var) {
    std::int64_t period = 1;
    ir::for_each_node(value, [&](const ir::Expr& node) {
        const auto* n = ir::as<ir::Binary>(node);
        if (n == nullptr || ir::is_float(node->type) || (n->op != ir::BinaryOp::Div && n->op != ir::BinaryOp::Mod))
            return;
        const auto by = ir::as_int(n->b);
        if (by && (*by == 2 || *by == 4) && *by > period && is_place_of(n->a, var)) period = *by;
    });
    return period;
}

Period period_along(ir::Pipeline& pipeline, Rewriter& rewriter, const ir::Stage& stage, const poly::Domain& domain,
                    std::size_t dim, const ir::Expr& value) {
    const ir::VarId var = stage.dims[dim].var;
    Period result{period_of(value, var), dim, -1};
    if (result.period == 1) return result;
    result.variable = ir::new_variable(
        pipeline, pipeline.variables.at(static_cast<std::size_t>(var)).name + "_" + std::to_string(result.period));
    const auto lo = ir::as_int(domain.box[dim].lo), hi = ir::as_int(domain.box[dim].hi);
    const auto part = [&](std::int64_t i) {
        return i >= 0 ? i / result.period : -((-i + result.period - 1) / result.period);
    };
    rewriter.index(result.variable, 1, lo ? part(*lo) : part(-kernel::kVariableLimit),
                   hi ? part(*hi - 1) + 1 : part(kernel::kVariableLimit));
    return result;
}

/// The points of the dimensions inside of the row's.
std::int64_t planes_of(const poly::Domain& domain, const Nest& nest) {
    std::int64_t planes = 1;
    for (std::size_t i = nest.vector + 1; i < nest.order.size(); ++i) {
        planes *= std::max<std::int64_t>(1, *constant_extent(domain, nest.order[i]));
    }
    return planes;
}

std::size_t reads_of(const RowCode& code) {
    std::set<ir::Expr> reads;
    for (const auto& row : code.rows) {
        for (const PointCode& point : row) {
            ir::for_each_node(point.value, [&](const ir::Expr& e) {
                if (ir::as<ir::Read>(e) != nullptr) reads.insert(e);
            });
        }
    }
    return reads.size();
}

}  // namespace

std::int64_t own_points(const ir::Stage& stage, const poly::Domain& domain, const Nest& nest, const ir::Expr& value) {
    if (nest.order.empty()) return 1;
    return planes_of(domain, nest) * period_of(value, stage.dims[nest.order[nest.vector]].var);
}

RowCode find_row_code(ir::Pipeline& pipeline, Rewriter& rewriter, const ir::Stage& stage, const poly::Domain& domain,
                      const Nest& nest, const ir::Expr& value) {
    if (ir::has_reduction(value)) return {};
    std::vector<std::vector<std::int64_t>> inside{{}};
    for (std::size_t i = nest.vector + 1; i < nest.order.size(); ++i) {
        const std::size_t dim = nest.order[i];
        std::vector<std::vector<std::int64_t>> longer;
        for (const auto& at : inside) {
            for (std::int64_t k = *ir::as_int(domain.box[dim].lo); k < *ir::as_int(domain.box[dim].hi); ++k) {
                longer.push_back(at);
                longer.back().push_back(k);
            }
        }
        inside = std::move(longer);
    }
    const std::size_t along = nest.order[nest.vector];
    const std::int64_t each = ir::node_count(value) * static_cast<std::int64_t>(inside.size());
    RowCode code;
    if (each * period_of(value, stage.dims[along].var) > kLongestRow) return {};
    code.along = period_along(pipeline, rewriter, stage, domain, along, value);
    for (std::size_t i = nest.vector; i-- > 0 && code.across.period == 1;) {
        const std::int64_t period = period_of(value, stage.dims[nest.order[i]].var);
        if (period == 1 || each * code.along.period * period > kLongestRow) continue;
        code.across = period_along(pipeline, rewriter, stage, domain, nest.order[i], value);
    }
    if (inside.size() * static_cast<std::size_t>(code.along.period * code.across.period) <= 1) return {};
    const auto index = [](const Period& period, std::int64_t rest) {
        const ir::Expr variable = ir::variable(period.variable, ir::Type::Int32);
        const ir::Expr first = ir::binary(ir::BinaryOp::Mul, variable, ir::constant(ir::Type::Int32, period.period));
        return ir::binary(ir::BinaryOp::Add, first, ir::constant(ir::Type::Int32, rest));
    };
    for (std::int64_t row = 0; row < code.across.period; ++row) {
        std::vector<PointCode>& points = code.rows.emplace_back();
        for (std::int64_t rest = 0; rest < code.along.period; ++rest) {
            for (const auto& planes : inside) {
                Rewriter::Bindings bindings;
                if (code.across.period > 1) bindings[stage.dims[code.across.dim].var] = index(code.across, row);
                if (code.along.period > 1) bindings[stage.dims[along].var] = index(code.along, rest);
                for (std::size_t i = 0; i < planes.size(); ++i) {
                    const ir::VarId var = stage.dims[nest.order[nest.vector + 1 + i]].var;
                    bindings[var] = ir::constant(ir::Type::Int32, planes[i]);
                }
                PointCode point{{rest}, rewriter.instance(value, bindings)};
                point.at.insert(point.at.end(), planes.begin(), planes.end());
                points.push_back(std::move(point));
            }
        }
    }
    return reads_of(code) <= kMostReads * code.rows.size() ? code : RowCode();
}

}  // namespace pipec::codegen
