#include "codegen/strategies/shared/tile_vectors.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "codegen/expr/interior.h"
#include "codegen/expr/pack.h"
#include "codegen/expr/rewrite.h"
#include "codegen/expr/strides.h"
#include "ir/build.h"
#include "ir/certain_reads.h"

namespace pipec::codegen {

namespace {

/// Reads of one row of a source: at factor * v + c for each of the constants c, v being the reader's column.
struct RowReads {
    ir::Source source;
    ir::Type type = ir::Type::Float32;
    std::int64_t factor = 1;
    std::set<std::int64_t> constants;
};

class Chooser {
public:
    Chooser(const kernel::Program& program, const poly::Group& group, std::int64_t columns)
        : pipeline_(program.pipeline), model_(program.model), columns_(columns), rewriter_(pipeline_) {
        for (std::size_t p = 0; p < group.stages.size(); ++p) reads_.push_back(reads_of(group, p));
    }

    std::int64_t first_point(const poly::Group& group, std::size_t position, std::int64_t needed) const {
        const int stage = group.stages[position];
        const bool live = std::find(group.live_outs.begin(), group.live_outs.end(), stage) != group.live_outs.end();
        if (live) return needed - ((needed % columns_) + columns_) % columns_;
        std::int64_t best = needed, least = std::numeric_limits<std::int64_t>::max();
        for (std::int64_t first = needed; first > needed - columns_; --first) {
            const std::int64_t cost = accesses(group, position, first);
            if (cost < least) best = first, least = cost;
        }
        return best;
    }

private:
    static int column_dim(const poly::Group& group, std::size_t position) {
        const auto& alignment = group.alignment[position];
        for (std::size_t d = 0; d < alignment.size(); ++d) {
            if (alignment[d].dim >= 0 && alignment[d].dim == group.rank - 1) return static_cast<int>(d);
        }
        return -1;
    }

    /// What the member reads in its interior, row by row; sources whose columns do not lie behind each other are not
    /// looked at.
    std::vector<RowReads> reads_of(const poly::Group& group, std::size_t position) {
        const int column = column_dim(group, position);
        const ir::Stage stage = pipeline_.stages.at(static_cast<std::size_t>(group.stages[position]));
        const auto* pure = std::get_if<ir::Pure>(&stage.definition);
        if (column < 0 || pure == nullptr) return {};
        const poly::Domain& domain = model_.domains.at(static_cast<std::size_t>(group.stages[position]));
        for (const ir::Dimension& dim : stage.dims) rewriter_.index(dim.var);
        const ir::Expr value = rewriter_.instance(pure->value, {});
        const std::vector<bool> splits(stage.dims.size(), true);
        const Interior interior = find_interior(rewriter_, stage, domain, value, nullptr, splits);
        std::map<std::vector<std::int64_t>, RowReads> rows;
        for (const ir::Expr& e : ir::certain_reads({interior.value})) {
            const auto& read = *ir::as<ir::Read>(e);
            const int inner = innermost(group, read.source);
            if (inner < 0) continue;
            const auto sum = rewriter_.linear(read.indices[static_cast<std::size_t>(inner)]);
            if (!sum) continue;
            const std::int64_t factor = sum->factor_of(stage.dims[static_cast<std::size_t>(column)].var);
            if (factor <= 0 || sum->terms.size() != 1) continue;
            std::vector<std::int64_t> key{static_cast<std::int64_t>(read.source.kind), read.source.index, factor};
            for (std::size_t d = 0; d < read.indices.size(); ++d) {
                if (static_cast<int>(d) != inner) {
                    key.push_back(reinterpret_cast<std::intptr_t>(rewriter_.unique(read.indices[d]).get()));
                }
            }
            RowReads& row = rows[key];
            row.source = read.source;
            row.type = e->type;
            row.factor = factor;
            row.constants.insert(sum->constant);
        }
        std::vector<RowReads> result;
        for (auto& [key, row] : rows) result.push_back(std::move(row));
        return result;
    }

    /// The dimension of a source in which elements lie behind each other; -1: none.
    [[nodiscard]] int innermost(const poly::Group& group, ir::Source source) const {
        if (is_member(group, source)) return column_dim(group, group.position(source.index));
        const std::vector<std::int64_t> strides = known_strides(pipeline_, model_, source);
        const auto found = std::find(strides.begin(), strides.end(), 1);
        return found == strides.end() ? -1 : static_cast<int>(found - strides.begin());
    }

    static bool is_member(const poly::Group& group, ir::Source source) {
        return source.kind == ir::Source::Kind::Stage &&
               std::find(group.stages.begin(), group.stages.end(), source.index) != group.stages.end();
    }

    /// For a vector that begins at `first`; the source's elements from `base` on are aligned.
    [[nodiscard]] std::int64_t accesses(const RowReads& row, std::int64_t first, std::int64_t base, bool shared) const {
        std::vector<std::int64_t> offsets;
        for (std::int64_t j = 0; j < columns_; ++j) {
            for (const std::int64_t c : row.constants) offsets.push_back(row.factor * (first + j) + c - base);
        }
        return access_count(offsets, std::min(columns_, fusion::kAccessBytes / ir::bytes(row.type)), shared);
    }

    /// What a vector of the member takes from global memory, and vectors of its readers take from it.
    [[nodiscard]] std::int64_t accesses(const poly::Group& group, std::size_t position, std::int64_t first) const {
        std::int64_t total = 0;
        for (const RowReads& row : reads_[position]) {
            if (!is_member(group, row.source)) total += accesses(row, first, 0, false);
        }
        for (std::size_t reader = position + 1; reader < group.stages.size(); ++reader) {
            const int column = column_dim(group, reader);
            if (column < 0) continue;
            const poly::Alignment& a = group.alignment[reader][static_cast<std::size_t>(column)];
            const auto& reach = group.reach[reader][static_cast<std::size_t>(a.dim)];
            const std::int64_t from = poly::tile_extent(a, reach, a.scale).first;
            for (const RowReads& row : reads_[reader]) {
                const bool ours = is_member(group, row.source) && row.source.index == group.stages[position];
                if (ours) total += accesses(row, from, first, true);
            }
        }
        return total;
    }

    ir::Pipeline pipeline_;  // a copy: rewriting adds variables
    const poly::Model& model_;
    const std::int64_t columns_;
    Rewriter rewriter_;
    std::vector<std::vector<RowReads>> reads_;  ///< of members
};

}  // namespace

poly::Group with_vectors(const kernel::Program& program, const poly::Group& group, std::int64_t columns) {
    if (columns == 1) return group;
    const Chooser chooser(program, group, columns);
    return poly::with_multiple(group, group.rank - 1, columns,
                               [&](const poly::Group& partly, std::size_t position, std::int64_t needed) {
                                   return chooser.first_point(partly, position, needed);
                               });
}

}  // namespace pipec::codegen
