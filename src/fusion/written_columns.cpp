#include "fusion/written_columns.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "ir/build.h"
#include "ir/linear_sum.h"
#include "ir/unique_nodes.h"
#include "ir/visit.h"

namespace pipec::fusion {

namespace {

using ir::BinaryOp;
using ir::Type;

/// Fewer columns or terms save too little for a stage.
constexpr std::size_t kLeastColumns = 3, kLeastTerms = 3;

bool in_any_order(const ir::Expr& e) {
    const auto* b = ir::as<ir::Binary>(e);
    if (b == nullptr) return false;
    switch (b->op) {
        case BinaryOp::Add:
        case BinaryOp::Sub: return e->type == Type::Int32;
        case BinaryOp::Min:
        case BinaryOp::Max:
        case BinaryOp::BitAnd:
        case BinaryOp::BitOr:
        case BinaryOp::BitXor: return ir::is_int(e->type);
        case BinaryOp::And:
        case BinaryOp::Or: return true;
        default: return false;
    }
}

/// The terms of a reduction with their factors.
class Terms {
public:
    explicit Terms(BinaryOp op) : op_(op == BinaryOp::Sub ? BinaryOp::Add : op) {}

    std::vector<std::pair<ir::Expr, std::int64_t>> all;
    std::int64_t offset = 0;

    /// False: there are too many.
    bool add(const ir::Expr& e, std::int64_t factor) {
        if (op_ != BinaryOp::Add) {
            const auto* b = ir::as<ir::Binary>(e);
            return b != nullptr && b->op == op_ ? add(b->a, 1) && add(b->b, 1) : add_term(e, 1);
        }
        if (const auto value = ir::as_int(e)) {
            offset += factor * *value;
            return true;
        }
        if (const auto* u = ir::as<ir::Unary>(e); u != nullptr && u->op == ir::UnaryOp::Neg) return add(u->a, -factor);
        const auto* b = ir::as<ir::Binary>(e);
        if (b == nullptr) return add_term(e, factor);
        if (b->op == BinaryOp::Add) return add(b->a, factor) && add(b->b, factor);
        if (b->op == BinaryOp::Sub) return add(b->a, factor) && add(b->b, -factor);
        if (b->op == BinaryOp::Mul) {
            for (const auto& [constant, other] : {std::pair{b->a, b->b}, std::pair{b->b, b->a}}) {
                const auto value = ir::as_int(constant);
                const std::int64_t product = value ? factor * *value : 0;
                if (value && std::abs(product) <= INT32_MAX) return add(other, product);
            }
        }
        return add_term(e, factor);
    }

private:
    bool add_term(const ir::Expr& e, std::int64_t factor) {
        all.emplace_back(e, factor);
        return all.size() <= kMostWrittenTerms && std::abs(factor) <= INT32_MAX;
    }

    BinaryOp op_;
};

/// A term with u for step * x + shift, where the step is positive and all that depends on x is a multiple of it.
class Shifted {
public:
    Shifted(ir::VarId x, const ir::Expr& u) : x_(x), u_(u) {}

    std::int64_t step = 0, shift = 0;

    /// Null where x is in it in another way.
    ir::Expr of(const ir::Expr& e) {
        if (const auto known = known_.find(e); known != known_.end()) return known->second;
        ir::Expr result = changed(e);
        known_.emplace(e, result);
        return result;
    }

private:
    ir::Expr changed(const ir::Expr& e) {
        const auto* binary = ir::as<ir::Binary>(e);
        const bool is_sum = binary != nullptr &&
                            (binary->op == BinaryOp::Add || binary->op == BinaryOp::Sub || binary->op == BinaryOp::Mul);
        if (e->type == Type::Int32 && (ir::as<ir::Variable>(e) != nullptr || is_sum)) {
            ir::LinearSum sum;
            sum.add(e, 1);
            if (const std::int64_t factor = sum.factor_of(x_); factor != 0) return placed(std::move(sum), factor);
        }
        bool possible = true;
        const ir::Expr result = ir::map_children(e, [&](const ir::Expr& child) {
            const ir::Expr other = possible ? of(child) : nullptr;
            possible = possible && other != nullptr;
            return possible ? other : child;
        });
        return possible ? result : nullptr;
    }
    ir::Expr placed(ir::LinearSum sum, std::int64_t factor) {
        if (step == 0) {
            step = std::abs(factor);
            shift = factor > 0 ? sum.offset : -sum.offset;
        }
        if (factor % step != 0) return nullptr;
        std::erase_if(sum.terms, [&](const auto& term) {
            const auto* variable = ir::as<ir::Variable>(term.first);
            return variable != nullptr && variable->id == x_;
        });
        const auto uses_x = [&](const ir::Expr& node) {
            const auto* variable = ir::as<ir::Variable>(node);
            return variable != nullptr && variable->id == x_;
        };
        for (const auto& [term, times] : sum.terms) {
            if (ir::any_node(term, uses_x)) return nullptr;
        }
        sum.offset -= factor / step * shift;
        sum.add(u_, factor / step);
        return sum.expr();
    }

    ir::VarId x_;
    ir::Expr u_;
    std::unordered_map<ir::Expr, ir::Expr> known_;
};

/// It is evaluated whether the terms before it hold or not: no condition says where it may be read.
bool is_plain(const ir::Expr& e) {
    if (const auto* u = ir::as<ir::Unary>(e); u != nullptr) return is_plain(u->a);
    const auto* read = ir::as<ir::Read>(e);
    return read != nullptr &&
           std::ranges::none_of(read->indices, [](const ir::Expr& index) { return ir::has_reads(index); });
}

/// The terms of one column, by the number of the term and with its factor; one of the factors is what they have in
/// common.
struct Column {
    std::map<std::size_t, std::int64_t> terms;  ///< of `Terms::all`
    std::int64_t factor = 1;

    void take_out_factor() {
        std::int64_t common = 0;
        for (const auto& [term, times] : terms) common = std::gcd(common, times);
        factor = terms.begin()->second < 0 ? -common : common;
        if (factor == 0) factor = 1;
        for (auto& [term, times] : terms) times /= factor;
    }
};

ir::Expr times(const ir::Expr& e, std::int64_t factor) {
    return factor == 1 ? e : ir::binary(BinaryOp::Mul, e, ir::int_constant(Type::Int32, factor));
}

}  // namespace

std::optional<WrittenColumns> written_columns(const ir::Expr& e, ir::VarId x, const ir::Expr& u) {
    if (!in_any_order(e)) return std::nullopt;
    WrittenColumns result{ir::as<ir::Binary>(e)->op, nullptr, 0, 0, {}, {}};
    if (result.op == BinaryOp::Sub) result.op = BinaryOp::Add;
    Terms terms(result.op);
    if (!terms.add(e, 1) || terms.all.size() < kLeastColumns * kLeastTerms) return std::nullopt;
    const auto is_term_plain = [](const auto& term) { return is_plain(term.first); };
    if (ir::is_logical(result.op) && !std::ranges::all_of(terms.all, is_term_plain)) return std::nullopt;

    // Terms are equal where they are one node with u; their first one's number stands for them.
    ir::UniqueExpressions nodes;
    std::unordered_map<const ir::Node*, std::size_t> number;
    std::map<std::int64_t, Column> columns;
    std::vector<ir::Expr> moved(terms.all.size());
    std::vector<std::optional<std::int64_t>> shift_of(terms.all.size());
    for (std::size_t i = 0; i < terms.all.size(); ++i) {
        Shifted shifted(x, u);
        const ir::Expr term = shifted.of(terms.all[i].first);
        if (term == nullptr || shifted.step == 0) continue;
        if (result.step == 0) result.step = shifted.step;
        if (shifted.step != result.step) continue;
        moved[i] = nodes.get(term);
        shift_of[i] = shifted.shift;
        const std::size_t same = number.emplace(moved[i].get(), i).first->second;
        std::int64_t& factor = columns[shifted.shift].terms[same];
        factor = result.op == BinaryOp::Add ? factor + terms.all[i].second : 1;
    }
    if (columns.size() < kLeastColumns) return std::nullopt;
    for (auto& [shift, column] : columns) {
        if (result.op == BinaryOp::Add) column.take_out_factor();
    }
    // The longest run of columns that are alike.
    auto best = columns.end();
    std::size_t longest = 0;
    for (auto from = columns.begin(); from != columns.end();) {
        auto to = std::next(from);
        std::size_t count = 1;
        while (to != columns.end() && to->first == std::prev(to)->first + 1 && to->second.terms == from->second.terms) {
            ++to;
            ++count;
        }
        if (count > longest && from->second.terms.size() >= kLeastTerms) {
            best = from;
            longest = count;
        }
        from = to;
    }
    if (longest < kLeastColumns) return std::nullopt;
    result.first = best->first;
    for (const auto& [term, factor] : best->second.terms) {
        const ir::Expr part = times(moved[term], factor);
        result.column = result.column ? ir::binary(result.op, result.column, part, e->range) : part;
    }
    for (auto column = best; result.factors.size() < longest; ++column) {
        result.factors.push_back(column->second.factor);
    }
    for (std::size_t i = 0; i < terms.all.size(); ++i) {
        const bool in_columns = shift_of[i] && *shift_of[i] >= result.first && *shift_of[i] <= result.last();
        if (!in_columns) result.others.push_back(terms.all[i]);
    }
    if (terms.offset != 0) result.others.emplace_back(ir::int_constant(Type::Int32, 1), terms.offset);
    return result;
}

}  // namespace pipec::fusion
