#include "ir/reduction.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::ir {

namespace {

/// The number of terms of some ranges, where all bounds are constants; `most` + 1 for more than `most`.
std::optional<std::int64_t> constant_terms(const Range* begin, const Range* end, std::int64_t most) {
    std::int64_t terms = 1;
    for (const Range* r = begin; r != end; ++r) {
        const auto lo = as_int(r->lo), hi = as_int(r->hi);
        if (!lo || !hi) return std::nullopt;
        terms = std::min(most + 1, terms * std::clamp<std::int64_t>(*hi - *lo, 0, most + 1));
    }
    return terms;
}

/// A window that is too large to be written out (fusion/written_out.h) becomes a loop of rows that are not: what the
/// terms of a row share, and conditions on places in it, are then known. The last variable goes along a row.
Expr loop_of_rows(ReduceOp op, std::vector<Range> ranges, const Expr& body, SourceRange range) {
    const Range* const all = ranges.data();
    const auto terms = constant_terms(all, all + ranges.size(), 2 * kBlockTerms);
    const auto row = constant_terms(all + ranges.size() - 1, all + ranges.size(), kBlockTerms);
    if (ranges.size() < 2 || !terms || *terms <= 2 * kBlockTerms || *row > kBlockTerms) {
        return reduce(op, std::move(ranges), body, range);
    }
    std::vector<Range> last{std::move(ranges.back())};
    ranges.pop_back();
    const Expr inner = reduce(op, std::move(last), body, range);
    return reduce(op, std::move(ranges), inner, range);
}

}  // namespace

bool may_have_identity(ReduceOp op, Type type) {
    if (op == ReduceOp::Min || op == ReduceOp::Max) return !is_float(type);
    return !gives_place(op);
}

bool uses_variable(const Expr& e, const std::vector<Range>& of) {
    bool result = false;
    for_each_node(e, [&](const Expr& node) {
        const auto* variable = as<Variable>(node);
        if (variable == nullptr) return;
        result = result || std::ranges::any_of(of, [&](const Range& r) { return r.var == variable->id; });
    });
    return result;
}

std::vector<Expr> terms_at(const std::vector<Range>& ranges, const Expr& body, std::int64_t most_nodes) {
    const std::int64_t most = most_nodes / std::max<std::int64_t>(1, node_count(body));
    const auto count = constant_terms(ranges.data(), ranges.data() + ranges.size(), most);
    if (!count || *count > most) return {};
    std::vector<Expr> terms{body};
    for (const Range& range : ranges) {
        std::vector<Expr> next;
        for (const Expr& term : terms) {
            for (std::int64_t i = *as_int(range.lo); i < *as_int(range.hi); ++i) {
                next.push_back(substitute(term, {{range.var, int_constant(Type::Int32, i)}}));
            }
        }
        terms = std::move(next);
    }
    return terms;
}

bool depends_on_blocks(ReduceOp op, Type type) {
    return is_float(type) && (op == ReduceOp::Sum || op == ReduceOp::Prod);
}

bool depends_on_order(ReduceOp op, Type type) {
    return is_float(type) || gives_place(op);
}

Expr reduce_nest(ReduceOp op, std::vector<Range> ranges, const Expr& body, SourceRange range) {
    if (gives_place(op)) return reduce(op, std::move(ranges), body, range);
    if (!depends_on_order(op, body->type)) return loop_of_rows(op, std::move(ranges), body, range);
    const bool dependent = std::ranges::any_of(
        ranges, [&](const Range& r) { return uses_variable(r.lo, ranges) || uses_variable(r.hi, ranges); });
    if (dependent) std::ranges::reverse(ranges);
    Expr result = body;
    for (Range& r : ranges) result = reduce(op, {std::move(r)}, result, range);
    return result;
}

}  // namespace pipec::ir
