#include "fusion/clipped_ranges.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/build.h"
#include "ir/linear_sum.h"
#include "ir/reduction.h"
#include "ir/visit.h"
#include "poly/stage_ranges.h"
#include "poly/value_ranges.h"

namespace pipec::fusion {

namespace {

using ir::BinaryOp;
using ir::Type;

/// Turns of a loop: in an image that is smaller than a window most of them are for nothing.
constexpr std::int64_t kLongest = 256;

/// `e` as the least (or the greatest) of several, with `add` to each.
void parts_of(const ir::Expr& e, BinaryOp op, std::int64_t add, std::vector<ir::Expr>& parts) {
    const auto* n = ir::as<ir::Binary>(e);
    if (n != nullptr && n->op == op) {
        parts_of(n->a, op, add, parts);
        parts_of(n->b, op, add, parts);
        return;
    }
    if (n != nullptr && (n->op == BinaryOp::Add || n->op == BinaryOp::Sub)) {
        // max(a, b) + 1
        const auto* inner = ir::as<ir::Binary>(n->a);
        const auto constant = ir::as_int(n->b);
        if (inner != nullptr && inner->op == op && constant) {
            parts_of(n->a, op, n->op == BinaryOp::Add ? add + *constant : add - *constant, parts);
            return;
        }
    }
    parts.push_back(add == 0 ? e : ir::binary(BinaryOp::Add, e, ir::int_constant(Type::Int32, add)));
}

class Clipping {
public:
    Clipping(const ir::Pipeline& pipeline, const poly::Model& model)
        : pipeline_(pipeline), ranges_(poly::ranges_within(pipeline_, &model)) {
        for (std::size_t s = 0; s < pipeline_.stages.size(); ++s) {
            ir::Stage& stage = pipeline_.stages[s];
            auto* pure = std::get_if<ir::Pure>(&stage.definition);
            if (pure == nullptr || stage.scan || !ir::has_reduction(pure->value)) continue;
            poly::bind_points(ranges_, stage, model.domains.at(s).box);
            dims_ = &stage.dims;
            box_ = &model.domains.at(s).box;
            known_.clear();
            pure->value = changed(pure->value);
        }
    }
    ir::Pipeline result() && { return std::move(pipeline_); }

private:
    ir::Expr changed(const ir::Expr& e) {
        if (const auto known = known_.find(e); known != known_.end()) return known->second;
        ir::Expr result = ir::map_children(e, [&](const ir::Expr& x) { return changed(x); });
        if (const auto* loop = ir::as<ir::Reduce>(result); loop != nullptr) result = of_loop(*loop, result);
        known_.emplace(e, result);
        return result;
    }

    ir::Expr of_loop(const ir::Reduce& loop, const ir::Expr& e) {
        // Where the identity may not stand, the first and the last term do once more: they change no extreme, and no
        // first place of one.
        const bool ends_again = !ir::may_have_identity(loop.op, loop.body->type);
        const bool is_place = ir::gives_place(loop.op);
        if (is_place && loop.ranges.size() > 1) return e;
        const std::int64_t longest = ir::depends_on_blocks(loop.op, e->type) ? ir::kBlockTerms : kLongest;
        std::vector<ir::Range> ranges = loop.ranges;
        ir::Expr body = loop.body;
        std::vector<ir::Expr> conditions;
        bool any = false;
        for (ir::Range& range : ranges) {
            const auto window = window_of(range, ranges, longest);
            if (!window || (ends_again && !has_terms(*window))) continue;
            any = true;
            const ir::VarId old = range.var;
            const std::string name = pipeline_.variables[static_cast<std::size_t>(old)].name;
            const ir::VarId var = ir::new_variable(pipeline_, name, Type::Int32);
            ir::Expr place = ir::binary(BinaryOp::Add, window->first, ir::variable(var, Type::Int32));
            if (ends_again) {
                place = inside(*window, place);
            } else {
                for (const ir::Expr& l : window->least) conditions.push_back(ir::binary(BinaryOp::Ge, place, l));
                for (const ir::Expr& m : window->most) conditions.push_back(ir::binary(BinaryOp::Lt, place, m));
            }
            range = {var, ir::int_constant(Type::Int32, 0), window->length};
            body = ir::substitute(body, {{old, place}});
            if (is_place) {
                const ir::Expr turn = ir::reduce_like(loop, ranges, body, e->range);
                return inside(*window, ir::binary(BinaryOp::Add, window->first, turn));
            }
        }
        if (!any) return e;
        for (std::size_t c = conditions.size(); c-- > 0;) {
            body = ir::select(conditions[c], body, ir::identity(loop.op, body->type));
        }
        return ir::reduce_like(loop, ranges, body, e->range);
    }

    /// Of the bounds of a range, two that are a constant or parameters apart, and what else ends it.
    struct Window {
        ir::Expr first, length;
        std::vector<ir::Expr> least, most;  ///< place >= least, place < most
    };

    std::optional<Window> window_of(const ir::Range& range, const std::vector<ir::Range>& all, std::int64_t longest) {
        std::vector<ir::Expr> los, his;
        parts_of(range.lo, BinaryOp::Max, 0, los);
        parts_of(range.hi, BinaryOp::Min, 0, his);
        if (los.size() + his.size() < 3) return std::nullopt;
        const auto is_exact = [&](const ir::Expr& e) { return poly::fits(ranges_.unwrapped(e), Type::Int32); };
        // Bounds of loops in each other stay: the other loop may become one over another variable.
        const auto is_place = [&](const ir::Expr& e) {
            return !ir::has_reads(e) && !ir::uses_variable(e, all) && is_exact(e);
        };
        if (!std::ranges::all_of(los, is_place) || !std::ranges::all_of(his, is_place)) return std::nullopt;
        for (std::size_t l = 0; l < los.size(); ++l) {
            for (std::size_t h = 0; h < his.size(); ++h) {
                ir::LinearSum difference;
                difference.add(his[h], 1);
                difference.add(los[l], -1);
                const ir::Expr length = difference.expr();
                if (!is_uniform(length) || !is_exact(length) || ranges_.unwrapped(length).hi > longest) continue;
                Window window{los[l], length, los, his};
                window.least.erase(window.least.begin() + static_cast<std::ptrdiff_t>(l));
                window.most.erase(window.most.begin() + static_cast<std::ptrdiff_t>(h));
                return window;
            }
        }
        return std::nullopt;
    }

    /// The nearest place of a window that is not empty.
    static ir::Expr inside(const Window& window, ir::Expr place) {
        for (const ir::Expr& least : window.least) place = ir::binary(BinaryOp::Max, place, least);
        for (const ir::Expr& most : window.most) {
            const ir::Expr last = ir::binary(BinaryOp::Sub, most, ir::int_constant(Type::Int32, 1));
            place = ir::binary(BinaryOp::Min, place, last);
        }
        return place;
    }

    /// Whether a window is empty nowhere.
    bool has_terms(const Window& window) {
        std::vector<ir::Expr> los = window.least, his = window.most;
        los.push_back(window.first);
        his.push_back(ir::binary(BinaryOp::Add, window.first, window.length));
        return std::ranges::all_of(los, [&](const ir::Expr& l) {
            return std::ranges::all_of(his, [&](const ir::Expr& h) { return is_less(l, h); });
        });
    }

    /// a < b at all points of the stage, of which there is one.
    bool is_less(const ir::Expr& a, const ir::Expr& b) {
        const auto apart = [&](const ir::Expr& low, const ir::Expr& high) {
            ir::LinearSum difference;
            difference.add(high, 1);
            difference.add(low, -1);
            return ranges_.unwrapped(difference.expr()).lo;
        };
        if (apart(a, b) > 0) return true;
        for (std::size_t d = 0; d < dims_->size(); ++d) {
            const ir::VarId var = (*dims_)[d].var;
            const poly::Interval& all = (*box_)[d];
            if (apart(all.hi, b) >= 0 && apart(a, all.lo) >= 0) return true;
            ir::LinearSum of_a, of_b;
            of_a.add(a, 1);
            of_b.add(b, 1);
            const ir::Expr last = ir::binary(BinaryOp::Sub, all.hi, ir::int_constant(Type::Int32, 1));
            if (of_a.factor_of(var) == 1 && apart(ir::substitute(a, {{var, last}}), b) > 0) return true;
            if (of_b.factor_of(var) == 1 && apart(a, ir::substitute(b, {{var, all.lo}})) > 0) return true;
        }
        return false;
    }

    const std::vector<ir::Dimension>* dims_ = nullptr;  ///< of the stage, and
    const std::vector<poly::Interval>* box_ = nullptr;
    ir::Pipeline pipeline_;
    poly::ValueRanges ranges_;
    std::unordered_map<ir::Expr, ir::Expr> known_;
};

}  // namespace

ir::Pipeline clipped_ranges(const ir::Pipeline& pipeline, const poly::Model& model) {
    return ir::has_reduction(pipeline) ? Clipping(pipeline, model).result() : pipeline;
}

}  // namespace pipec::fusion
