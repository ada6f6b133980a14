#include "ir/scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <unordered_map>

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

/// How far an index is from the stage's own variable; none where it is another expression.
std::optional<std::int64_t> offset(const Stage& stage, const Read& read, std::size_t dim) {
    const auto index = shifted(read.indices[dim]);
    if (!index || index->var != stage.dims[dim].var) return std::nullopt;
    return index->by;
}

/// Reads of a stage itself, and what their indices in a dimension are: none, or this far away.
struct OwnReads {
    std::vector<Expr> reads;
    std::vector<std::vector<std::optional<std::int64_t>>> offsets;  ///< by dimension, then by read

    /// All of them are before the point, or all behind it, and not too far.
    [[nodiscard]] bool go_along(std::size_t dim) const {
        const auto& by = offsets[dim];
        return std::all_of(by.begin(), by.end(), [&](const std::optional<std::int64_t>& o) {
            return o && *o != 0 && (*o < 0) == (*by.front() < 0) && std::abs(*o) <= kMostScanDistance;
        });
    }
};

OwnReads own_reads(const Stage& stage, int index, const Expr& value) {
    OwnReads result{{}, std::vector<std::vector<std::optional<std::int64_t>>>(stage.dims.size())};
    for_each_node(value, [&](const Expr& e) {
        const auto* read = as<Read>(e);
        if (read == nullptr || read->source != Source{Source::Kind::Stage, index}) return;
        result.reads.push_back(e);
        for (std::size_t d = 0; d < stage.dims.size(); ++d) result.offsets[d].push_back(offset(stage, *read, d));
    });
    return result;
}

/// From which to which distance from the stage's own index, at points of the stage, another index is.
class Reach {
public:
    Reach(const Stage& stage, std::size_t dim, const Expr& value) : dim_(stage.dims[dim]) {
        for_each_node(value, [&](const Expr& e) {
            if (const auto* let = as<Let>(e)) lets_[let->var] = let->value;
        });
    }

    /// With their values in place of names.
    Expr without_lets(const Expr& e) const {
        if (const auto* variable = as<Variable>(e)) {
            const auto let = lets_.find(variable->id);
            return let == lets_.end() ? e : without_lets(let->second);
        }
        return map_children(e, [&](const Expr& child) { return child ? without_lets(child) : child; });
    }

    std::optional<ScanReach> of(const Expr& e) {
        if (const auto index = shifted(e); index && index->var == dim_.var) return ScanReach{-index->by, index->by};
        if (const auto* variable = as<Variable>(e)) {
            const auto let = lets_.find(variable->id);
            return let == lets_.end() ? std::nullopt : of(let->second);
        }
        if (const auto* choice = as<Select>(e)) {
            const auto then = of(choice->then), otherwise = of(choice->otherwise);
            if (!then || !otherwise || then->wraps || otherwise->wraps) return std::nullopt;
            return ScanReach{std::max(then->below, otherwise->below), std::max(then->above, otherwise->above)};
        }
        if (const auto by = wrapped(e)) return ScanReach{-*by, *by, true};
        const auto* n = as<Binary>(e);
        if (n == nullptr || (n->op != BinaryOp::Min && n->op != BinaryOp::Max)) return std::nullopt;
        const auto a = of(n->a), b = of(n->b);
        if ((a && a->wraps) || (b && b->wraps)) return std::nullopt;
        if (a && b) return ScanReach{std::max(a->below, b->below), std::max(a->above, b->above)};
        // A bound that no point is on the other side of: it moves the index no farther than to the point's own.
        const Expr& bound = a ? n->b : n->a;
        if ((!a && !b) || !(n->op == BinaryOp::Max ? is_first(bound) : is_last(bound))) return std::nullopt;
        const ScanReach other = a ? *a : *b;
        return n->op == BinaryOp::Max ? ScanReach{other.below, std::max<std::int64_t>(other.above, 0)}
                                      : ScanReach{std::max<std::int64_t>(other.below, 0), other.above};
    }

    /// c of `(x + c) % C`, where x goes from 0 to C.
    std::optional<std::int64_t> wrapped(const Expr& index) {
        const Expr e = without_lets(index);
        const auto* n = as<Binary>(e);
        if (n == nullptr || n->op != BinaryOp::Mod || as_int(dim_.lo) != 0) return std::nullopt;
        if (!structurally_equal(n->b, dim_.hi)) return std::nullopt;
        std::int64_t variables = 0, by = 0, extents = 0;
        const std::function<bool(const Expr&, int)> add = [&](const Expr& term, int sign) {
            if (const auto* sum = as<Binary>(term); sum != nullptr && sum->op == BinaryOp::Add)
                return add(sum->a, sign) && add(sum->b, sign);
            if (const auto* sum = as<Binary>(term); sum != nullptr && sum->op == BinaryOp::Sub)
                return add(sum->a, sign) && add(sum->b, -sign);
            const auto* variable = as<Variable>(term);
            if (variable != nullptr && variable->id == dim_.var) return variables += sign, true;
            if (const auto number = as_int(term)) return by += sign * *number, std::abs(by) <= kMostScanDistance;
            return extents += sign, structurally_equal(term, dim_.hi);
        };
        if (!add(n->a, 1) || variables != 1) return std::nullopt;
        // An index and an extent are below 2^30 each: then the sum does not wrap around.
        const bool fits = std::abs(extents) <= 1 && (extents <= 0 || by <= 2);
        return fits ? std::optional(by) : std::nullopt;
    }

    /// The index is the point's own one plus a constant.
    bool is_beside(const Expr& index) {
        const auto by = shifted(without_lets(index));
        return by && by->var == dim_.var;
    }

private:
    [[nodiscard]] bool is_first(const Expr& e) const {
        const auto own = as_int(dim_.lo), given = as_int(e);
        return structurally_equal(e, dim_.lo) || (own && given && *given <= *own);
    }
    [[nodiscard]] bool is_last(const Expr& e) const {
        const auto own = as_int(dim_.hi), given = as_int(e);
        if (own && given) return *given >= *own - 1;
        const auto* n = as<Binary>(e);
        return n != nullptr && n->op == BinaryOp::Sub && as_int(n->b) == 1 && structurally_equal(n->a, dim_.hi);
    }

    const Dimension& dim_;
    std::map<VarId, Expr> lets_;
};

/// Why no dimension is one along which the stage could be computed, and the first read that shows it.
SelfReads no_scan(const OwnReads& own) {
    SelfReads result;
    int first_dim = -1;
    std::int64_t first_by = 0;
    for (std::size_t r = 0; r < own.reads.size() && result.problem.empty(); ++r) {
        int dim = -1;
        std::int64_t by = 0;
        bool others = false;
        for (std::size_t d = 0; d < own.offsets.size(); ++d) {
            const auto& o = own.offsets[d][r];
            others = others || !o || (dim >= 0 && *o != 0);
            if (dim >= 0 || !o || *o == 0) continue;
            dim = static_cast<int>(d);
            by = *o;
        }
        if (dim < 0) {
            result.problem =
                others ? "in one dimension its index has to be the stage's own variable plus or minus a constant"
                       : "that is the point which is being computed";
        } else if (std::abs(by) > kMostScanDistance) {
            result.problem =
                fmt::format("it is {} points away, and at most {} are possible", std::abs(by), kMostScanDistance);
        } else if (first_dim >= 0 && dim != first_dim) {
            result.problem =
                "another read is earlier in another dimension; a scan goes along one, so take one stage for each; "
                "where a point needs both, go along t = x + y: `g(t, y)` is the value at x = t - y, and reads "
                "g(t - 1, y) and g(t - 1, y - 1)";
        } else if (first_dim >= 0 && (by < 0) != (first_by < 0)) {
            result.problem = "another read is on the other side; a scan goes one way, so take one stage for each";
        }
        if (first_dim < 0) first_dim = dim, first_by = by;
        result.range = own.reads[r]->range;
    }
    if (result.problem.empty()) result.problem = "no dimension has all of its reads of itself on one side";
    return result;
}

}  // namespace

SelfReads find_scan(const Stage& stage, int index, const Expr& value) {
    const OwnReads own = own_reads(stage, index, value);
    if (own.reads.empty()) return {};
    // Where it may go along several dimensions, as in f(y - 1, x - 1), along one that has a range.
    std::optional<std::size_t> along;
    for (std::size_t d = 0; d < stage.dims.size(); ++d) {
        if (!own.go_along(d)) continue;
        if (!along || (!stage.dims[*along].is_explicit() && stage.dims[d].is_explicit())) along = d;
    }
    if (!along) return no_scan(own);
    Scan scan{static_cast<int>(*along), *own.offsets[*along].front() < 0 ? 1 : -1, 0};
    for (const auto& by : own.offsets[*along]) scan.distance = std::max(scan.distance, static_cast<int>(std::abs(*by)));
    for (std::size_t d = 0; d < stage.dims.size(); ++d) {
        const auto& by = own.offsets[d];
        if (d != *along && std::any_of(by.begin(), by.end(), [](const auto& o) { return !o || *o != 0; }))
            scan.across.push_back(static_cast<int>(d));
    }
    return {scan, {}, {}};
}

int scan_distance(const Stage& scan, const Read& read) {
    return static_cast<int>(std::abs(offset(scan, read, static_cast<std::size_t>(scan.scan->dim)).value()));
}

std::optional<ScanReach> scan_reach(const Stage& stage, int index, const Expr& value, std::size_t dim) {
    if (!stage.dims[dim].is_explicit()) return std::nullopt;
    Reach reach(stage, dim, value);
    std::optional<ScanReach> result = ScanReach{};
    for_each_node(value, [&](const Expr& e) {
        const auto* read = as<Read>(e);
        if (!result || read == nullptr) return;
        const Source self{Source::Kind::Stage, index};
        if (std::any_of(read->indices.begin(), read->indices.end(),
                        [&](const Expr& place) { return reads(reach.without_lets(place), self); })) {
            result.reset();
            return;
        }
        if (read->source != self) return;
        const auto one = reach.of(read->indices[dim]);
        if (!one) {
            result.reset();
            return;
        }
        result = ScanReach{std::max(result->below, one->below), std::max(result->above, one->above),
                           result->wraps || one->wraps};
    });
    // What is clamped, and what comes from the other end, are not beside each other.
    if (result && result->wraps && any_node(value, [&](const Expr& e) {
            const auto* read = as<Read>(e);
            if (read == nullptr || read->source != Source{Source::Kind::Stage, index}) return false;
            return !reach.wrapped(read->indices[dim]) && !reach.is_beside(read->indices[dim]);
        }))
        return std::nullopt;
    if (result && std::max(result->below, result->above) > kMostScanDistance) return std::nullopt;
    return result;
}

Expr without_wrapping(const Stage& stage, int index, const Expr& value, std::size_t dim) {
    Reach reach(stage, dim, value);
    std::unordered_map<Expr, Expr> done;
    const std::function<Expr(const Expr&)> write = [&](const Expr& e) -> Expr {
        if (const auto known = done.find(e); known != done.end()) return known->second;
        Expr result = map_children(e, write);
        const auto* read = as<Read>(result);
        if (read != nullptr && read->source == Source{Source::Kind::Stage, index}) {
            if (const auto by = reach.wrapped(read->indices[dim])) {
                std::vector<Expr> indices = read->indices;
                const Expr own = variable(stage.dims[dim].var, Type::Int32);
                indices[dim] = binary(BinaryOp::Add, own, int_constant(Type::Int32, *by));
                result = ir::read(read->source, e->type, std::move(indices), e->range);
            }
        }
        return done.emplace(e, std::move(result)).first->second;
    };
    return write(value);
}

std::optional<std::int64_t> last_slices_read(const Pipeline& pipeline, int stage) {
    const Stage& scan = pipeline.stages.at(static_cast<std::size_t>(stage));
    if (!scan.scan || scan.output >= 0 || scan.stored) return std::nullopt;
    const auto dim = static_cast<std::size_t>(scan.scan->dim);
    if (!scan.dims[dim].is_explicit()) return std::nullopt;
    const bool forward = scan.scan->step > 0;
    const auto parts = [](const Expr& e) {  // null and the value of a constant
        const auto number = as_int(e);
        return number ? std::pair(Expr{}, *number) : with_offset(e);
    };
    const auto [end, behind] = parts(forward ? scan.dims[dim].hi : scan.dims[dim].lo);
    std::optional<std::int64_t> last = 0;
    for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
        if (s == static_cast<std::size_t>(stage)) continue;
        for (const Expr& e : expressions(pipeline.stages[s])) {
            for_each_node(e, [&](const Expr& node) {
                const auto* read = as<Read>(node);
                if (read == nullptr || read->source != Source{Source::Kind::Stage, stage} || !last) return;
                const auto [place, by] = parts(read->indices[dim]);
                const bool same = place && end ? is_uniform(place) && structurally_equal(place, end) : !place && !end;
                const std::int64_t number = forward ? behind - by : by - behind + 1;
                last = same && number >= 1 ? std::optional(std::max(*last, number)) : std::nullopt;
            });
        }
    }
    return last && *last > 0 ? last : std::nullopt;
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
