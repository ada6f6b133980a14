#include "codegen/strategies/register/register_reads.h"

#include <unordered_set>

#include "codegen/expr/pack.h"
#include "ir/certain_reads.h"
#include "ir/visit.h"

namespace pipec::codegen {

std::optional<ColumnRead> column_read(Rewriter& rewriter, const ir::Read& read, const ir::Expr& unit) {
    const ir::VarId var = ir::as<ir::Variable>(unit)->id;
    std::optional<ColumnRead> result;
    for (std::size_t d = 0; d < read.indices.size(); ++d) {
        const auto sum = rewriter.linear(read.indices[d]);
        if (!sum) return std::nullopt;
        const std::int64_t columns = sum->factor_of(var);
        const bool alone = sum->terms.size() == 1 && columns > 0;
        for (const auto& [atom, factor] : sum->terms) {
            bool has_unit = false;  // also inside of quotients
            ir::for_each_node(atom, [&](const ir::Expr& node) { has_unit = has_unit || node == unit; });
            if (has_unit && (!alone || result)) return std::nullopt;
        }
        if (columns != 0) result = ColumnRead{d, columns, sum->constant};
    }
    return result;
}

std::vector<plan::LaneRead> lane_reads(TileSpace& space, const plan::RegisterTile& tile) {
    Rewriter& rewriter = space.rewriter;
    const ir::VarId var = space.build.variable("unit", ir::Type::Int32);
    const std::int64_t units = kernel::kVariableLimit / (tile.columns / finest_scale(space.group, tile.lane_dim));
    rewriter.index(var, 1, -units, units);
    const ir::Expr unit = rewriter.unique(ir::variable(var, ir::Type::Int32));
    std::vector<plan::LaneRead> reads;
    for (std::size_t m = 0; m < space.members.size(); ++m) {
        const TileSpace::Member& member = space.members[m];
        for (std::size_t d = 0; d < member.alignment.size(); ++d) {
            if (member.alignment[d].dim != static_cast<int>(tile.lane_dim)) continue;
            const std::int64_t columns = tile.columns / member.alignment[d].scale;
            for (std::int64_t column = 0; column < columns; ++column) {
                Linear at{{}, tile.shift[m] + column};
                at.add(*rewriter.linear(unit), columns);
                const ir::Expr value =
                    rewriter.instance(member.interior.value, {{member.definition.dims[d].var, rewriter.expr(at)}});
                std::unordered_set<const ir::Node*> certain;
                for (const ir::Expr& e : ir::certain_reads({value})) certain.insert(e.get());
                ir::for_each_node(value, [&](const ir::Expr& e) {
                    const auto* read = ir::as<ir::Read>(e);
                    if (read == nullptr) return;
                    if (read->source.kind == ir::Source::Kind::Stage && space.member(read->source.index) != nullptr)
                        return;
                    if (const auto found = column_read(rewriter, *read, unit)) {
                        reads.push_back({m,
                                         column,
                                         {read->source, found->along, found->columns},
                                         found->index,
                                         certain.contains(e.get())});
                    }
                });
            }
        }
    }
    return reads;
}

}  // namespace pipec::codegen
