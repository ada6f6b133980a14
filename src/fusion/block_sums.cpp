#include "fusion/block_sums.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "fusion/index_factors.h"
#include "ir/build.h"
#include "ir/reduction.h"
#include "ir/visit.h"

namespace pipec::fusion {

namespace {

/// Sums in a chain, as many as stay in registers, and nodes of all terms.
constexpr std::int64_t kMostSums = 16, kMostNodes = 4000;

/// Points of a range from 0 or another constant to a constant; 0 where it is none.
std::int64_t points(const ir::Range& range) {
    const auto lo = ir::as_int(range.lo), hi = ir::as_int(range.hi);
    return lo && hi ? std::max<std::int64_t>(0, *hi - *lo) : 0;
}

class BlockSums {
public:
    explicit BlockSums(ir::Pipeline& pipeline) : pipeline_(pipeline) {}

    void run() {
        for (ir::Stage& stage : pipeline_.stages) {
            auto* pure = std::get_if<ir::Pure>(&stage.definition);
            if (pure == nullptr || stage.dims.empty()) continue;
            lane_ = stage.dims[inner_dim(stage.dims.size(), stage.output)].var;
            known_.clear();
            pure->value = walk(pure->value);
        }
    }

private:
    [[nodiscard]] std::size_t inner_dim(std::size_t rank, int output) const {
        if (output < 0) return rank - 1;
        return static_cast<std::size_t>(pipeline_.outputs.at(static_cast<std::size_t>(output)).buffer.order.back());
    }
    /// The index of a read that goes along memory; null: it has none.
    [[nodiscard]] ir::Expr along_memory(const ir::Read& read) const {
        if (read.indices.empty()) return nullptr;
        const auto source = static_cast<std::size_t>(read.source.index);
        if (read.source.kind == ir::Source::Kind::Input) {
            return read.indices[static_cast<std::size_t>(pipeline_.inputs.at(source).order.back())];
        }
        if (read.source.index < 0) return nullptr;  // of a scan's own stage
        return read.indices[inner_dim(read.indices.size(), pipeline_.stages.at(source).output)];
    }

    ir::Expr walk(const ir::Expr& e) {
        if (const auto known = known_.find(e.get()); known != known_.end()) return known->second;
        ir::Expr result = ir::map_children(e, [&](const ir::Expr& child) { return walk(child); });
        if (const auto* sum = ir::as<ir::Reduce>(result); sum != nullptr && is_block(*sum)) result = chain(*sum);
        known_.emplace(e.get(), result);
        return result;
    }

    [[nodiscard]] bool is_block(const ir::Reduce& sum) const {
        const auto* column = ir::as<ir::Reduce>(sum.body);
        if (column == nullptr || sum.op != ir::ReduceOp::Sum || column->op != sum.op) return false;
        if (!ir::is_float(sum.body->type) || sum.ranges.size() != 1 || column->ranges.size() != 1) return false;
        const std::int64_t columns = points(sum.ranges.front()), rows = points(column->ranges.front());
        if (columns < 2 || columns > kMostSums || rows < 2 || columns * rows <= ir::kBlockTerms) return false;
        if (columns * rows * ir::node_count(column->body) > kMostNodes) return false;
        bool blocks = false, windows = false;
        ir::for_each_node(column->body, [&](const ir::Expr& node) {
            // What binds variables has them once.
            windows = windows || ir::as<ir::Let>(node) != nullptr || ir::as<ir::Reduce>(node) != nullptr;
            const auto* read = ir::as<ir::Read>(node);
            const ir::Expr index = read == nullptr ? nullptr : along_memory(*read);
            if (!index) return;
            const auto next_point = index_factor(index, lane_), next_term = index_factor(index, sum.ranges.front().var);
            if (!next_point || !next_term || *next_term == 0) return;
            blocks = blocks || (*next_term == 1 && *next_point >= columns);
            windows = windows || (*next_point != 0 && *next_point < columns * *next_term);
        });
        return blocks && !windows;
    }

    /// From 0 on, in their order.
    ir::Expr chain(const ir::Reduce& sum) {
        const auto& column = *ir::as<ir::Reduce>(sum.body);
        const ir::Range &across = sum.ranges.front(), &down = column.ranges.front();
        ir::Expr result = ir::identity(sum.op, sum.body->type);
        for (std::int64_t j = *ir::as_int(across.lo); j < *ir::as_int(across.hi); ++j) {
            const ir::VariableInfo info = pipeline_.variables.at(static_cast<std::size_t>(down.var));
            const ir::VarId var = ir::new_variable(pipeline_, info.name, info.type, info.range);
            const ir::Expr body = ir::substitute(column.body, {{across.var, ir::int_constant(ir::Type::Int32, j)},
                                                               {down.var, ir::variable(var, ir::Type::Int32)}});
            const ir::Expr one = ir::reduce(sum.op, {{var, down.lo, down.hi}}, body, column.body->range);
            result = ir::binary(ir::BinaryOp::Add, result, one);
        }
        return result;
    }

    ir::Pipeline& pipeline_;
    ir::VarId lane_ = -1;  ///< along which neighbouring threads lie
    std::unordered_map<const ir::Node*, ir::Expr> known_;
};

}  // namespace

ir::Pipeline block_sums(ir::Pipeline pipeline) {
    BlockSums(pipeline).run();
    return pipeline;
}

}  // namespace pipec::fusion
