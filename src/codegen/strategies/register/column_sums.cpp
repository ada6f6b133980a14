#include "codegen/strategies/register/column_sums.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

/// Where a read lies: equal keys differ by constants only.
struct ColumnSums::Place {
    std::vector<std::int64_t> key;
    std::vector<std::int64_t> row;  ///< constants of the other dimensions
    std::size_t dim = 0;
    std::int64_t column = 0, columns = 0;
};

const ColumnSums::Sum* ColumnSums::find(const ir::Expr& e) const {
    const auto found = sums_.find(e.get());
    return found == sums_.end() ? nullptr : &found->second;
}

std::set<ir::Source> ColumnSums::uniform() const {
    std::set<ir::Source> result;
    for (const auto& [array, all] : factors_) {
        if (all.size() == 1) result.insert(array);
    }
    return result;
}

ir::Expr ColumnSums::factored(const ir::Expr& e, const ir::Expr& unit) {
    Memo memo;
    return rewrite(e, unit, memo);
}

ir::Expr ColumnSums::rewrite(const ir::Expr& e, const ir::Expr& unit, Memo& memo) {
    if (const auto known = memo.find(e.get()); known != memo.end()) return known->second;
    std::vector<FloatTerm> terms;
    if (ir::is_float(e->type)) add_terms(e, 1, terms);
    ir::Expr result;
    if (terms.size() >= 4) {
        for (FloatTerm& term : terms) {
            if (ir::as<ir::Read>(term.node) == nullptr) term.node = rewrite(term.node, unit, memo);
        }
        result = total(rewriter_, by_columns(std::move(terms), unit), e->type);
    } else {
        result = rewriter_.unique(
            ir::map_children(e, [&](const ir::Expr& operand) { return rewrite(operand, unit, memo); }));
    }
    memo.emplace(e.get(), result);
    return result;
}

/// Replaces terms by column sums where their factors allow that.
std::vector<FloatTerm> ColumnSums::by_columns(std::vector<FloatTerm> terms, const ir::Expr& unit) {
    const ir::VarId unit_var = ir::as<ir::Variable>(unit)->id;
    // Not by their addresses: the sums come in the order of the keys.
    std::unordered_map<const ir::Node*, std::int64_t> first_seen;
    const auto number_of = [&](const ir::Expr& e) {
        return first_seen.emplace(e.get(), static_cast<std::int64_t>(first_seen.size())).first->second;
    };
    const auto place_of = [&](const ir::Expr& e) -> std::optional<Place> {
        const auto* read = ir::as<ir::Read>(e);
        if (read == nullptr) return std::nullopt;
        Place place;
        place.key = {static_cast<std::int64_t>(read->source.kind), read->source.index};
        for (std::size_t d = 0; d < read->indices.size(); ++d) {
            auto sum = rewriter_.linear(read->indices[d]);
            if (!sum) return std::nullopt;
            const std::int64_t columns = sum->factor_of(unit_var);
            if (columns > 0) {
                if (place.columns > 0 || sum->terms.size() > 1) return std::nullopt;
                place.dim = d;
                place.columns = columns;
                place.column = sum->constant;
                place.row.push_back(0);
                continue;
            }
            place.row.push_back(sum->constant);
            sum->constant = 0;
            place.key.push_back(number_of(rewriter_.expr(*sum)));
        }
        return place.columns > 0 ? std::optional(place) : std::nullopt;
    };
    using Rows = std::map<std::vector<std::int64_t>, std::size_t>;             // terms by row
    std::map<std::vector<std::int64_t>, std::map<std::int64_t, Rows>> groups;  // by key and column
    std::map<std::vector<std::int64_t>, Place> places;
    std::vector<bool> used(terms.size(), false);
    for (std::size_t i = 0; i < terms.size(); ++i) {
        used[i] = terms[i].factor == 0;
        if (used[i]) continue;
        if (const auto place = place_of(terms[i].node)) {
            groups[place->key][place->column][place->row] = i;
            places.emplace(place->key, *place);
        }
    }
    std::vector<FloatTerm> result;
    for (const auto& [key, columns] : groups) {
        const Rows& first = columns.begin()->second;
        if (columns.size() < 2 || first.size() < 2) continue;
        std::vector<double> down;
        for (const auto& [row, i] : first) down.push_back(terms[i].factor);
        const double common = std::copysign(common_factor(down), down[0]);
        for (double& f : down) f = close(f / common, std::round(f / common)) ? std::round(f / common) : f / common;
        // Every column has the same rows, with factors in the same proportions.
        std::map<std::int64_t, double> across;
        bool rank_one = true;
        for (const auto& [column, rows] : columns) {
            if (rows.size() != first.size()) rank_one = false;
            if (!rank_one) break;
            const double factor = terms[rows.begin()->second].factor / down[0];
            std::size_t r = 0;
            auto other = first.begin();
            for (const auto& [row, i] : rows) {
                rank_one = rank_one && row == (other++)->first && close(terms[i].factor, factor * down[r++]);
            }
            across[column] = factor;
        }
        if (!rank_one) continue;
        const auto* read = ir::as<ir::Read>(terms[first.begin()->second].node);
        for (const auto& [column, rows] : columns) {
            Sum sum{read->source, places.at(key).dim, column, places.at(key).columns, {}, down};
            for (const auto& [row, i] : rows) {
                sum.reads.push_back(terms[i].node);
                used[i] = true;
            }
            result.push_back({across[column], add(std::move(sum))});
        }
    }
    for (std::size_t i = 0; i < terms.size(); ++i) {
        if (!used[i]) result.push_back(terms[i]);
    }
    return result;
}

ir::Expr ColumnSums::add(Sum sum) {
    factors_[sum.array].insert(sum.factors);
    std::vector<FloatTerm> terms;
    for (std::size_t i = 0; i < sum.reads.size(); ++i) terms.push_back({sum.factors[i], sum.reads[i]});
    const ir::Expr node = total(rewriter_, terms, sum.reads.front()->type);
    sums_.emplace(node.get(), std::move(sum));
    return node;
}

ir::Expr ColumnSums::moved(const Sum& sum, std::int64_t distance) {
    Sum other = sum;
    other.column += distance;
    for (ir::Expr& e : other.reads) {
        const auto* read = ir::as<ir::Read>(e);
        std::vector<ir::Expr> indices = read->indices;
        Linear index = *rewriter_.linear(indices[sum.dim]);
        index.constant += distance;
        indices[sum.dim] = rewriter_.expr(index);
        e = rewriter_.unique(ir::read(read->source, e->type, std::move(indices), e->range));
    }
    return add(std::move(other));
}

}  // namespace pipec::codegen
