// What a thread does with the points of an item: what they read is loaded at once, then come their updates, in what the
// block has of the table or in the table itself.
#include <algorithm>
#include <set>
#include <utility>

#include "codegen/expr/pack.h"
#include "codegen/strategies/reduce/histogram_code.h"
#include "ir/visit.h"

namespace pipec::codegen {

using ir::BinaryOp;
using ir::Type;

namespace {

ir::Expr all_of(const std::vector<ir::Expr>& conditions) {
    ir::Expr result;
    for (const ir::Expr& condition : conditions) result = both(result, condition);
    return result;
}

}  // namespace

/// The thread's points of a range (the first one, or all) are in it; null where that is certain.
ir::Expr HistogramKernel::inside(std::size_t range, bool all_points) {
    const ir::Range& r = domain_[range];
    const bool is_lane = range == plan_.lane, is_row = plan_.row && range == *plan_.row;
    const bool in_regions = plan_.table == Table::Region && (is_lane || is_row);
    const std::int64_t points = unit(range);
    ir::Expr result;
    if (is_lane && points > 1 && ir::as_int(r.lo).value_or(1) % points != 0)
        result = ir::binary(BinaryOp::Ge, at_[range], build_.argument(name(range) + "_begin", r.lo));
    if (points == 1 && !in_regions) return result;
    const auto lo = ir::as_int(r.lo), hi = ir::as_int(r.hi);
    if (!in_regions && lo && hi && *lo % points == 0 && *hi % points == 0) return result;
    const ir::Expr last = all_points && points > 1 ? sum(at_[range], constant(points - 1)) : at_[range];
    return both(result, ir::binary(BinaryOp::Lt, last, build_.argument(name(range) + "_end", r.hi)));
}

HistogramKernel::Ready HistogramKernel::ready(const ir::Update& update, const Point& point) {
    Ready result;
    if (update.guard) result.guard = rewriter_.instance(update.guard, point);
    result.value = rewriter_.instance(update.value, point);
    for (const ir::Expr& index : update.indices) result.indices.push_back(rewriter_.instance(index, point));
    return result;
}

void HistogramKernel::points(kernel::Body& body) {
    ir::Expr condition;
    for (std::size_t i = 0; i < domain_.size(); ++i) {
        if (!is_inner(i)) condition = both(condition, inside(i, true));
    }
    kernel::Body fast = straight_line();
    if (!condition) {
        body.insert(body.end(), fast.begin(), fast.end());
        return;
    }
    const bool one_point = plan_.columns == 1 && plan_.rows == 1;
    add(body, kernel::If{condition, std::move(fast), one_point ? kernel::Body{} : point_by_point(),
                         kernel::If::Uniform::Lane});
}

/// All points of the thread: what they read is loaded before the first update.
kernel::Body HistogramKernel::straight_line() {
    std::vector<Point> points(1);
    for (std::size_t i = 0; i < domain_.size(); ++i) {
        std::vector<ir::Expr> places;
        if (is_inner(i)) {
            const std::int64_t lo = *ir::as_int(domain_[i].lo), hi = *ir::as_int(domain_[i].hi);
            for (std::int64_t k = lo; k < hi; ++k) places.push_back(constant(k));
        } else {
            for (std::int64_t k = 0; k < unit(i); ++k) places.push_back(k == 0 ? at_[i] : sum(at_[i], constant(k)));
        }
        std::vector<Point> next;
        for (const Point& point : points) {
            for (const ir::Expr& place : places) next.emplace_back(point)[domain_[i].var] = place;
        }
        points = std::move(next);
    }
    std::vector<std::vector<Ready>> all;
    std::vector<ir::Expr*> loaded;
    for (const ir::Update& update : updates_) {
        std::vector<Ready>& of_points = all.emplace_back();
        for (const Point& point : points) of_points.push_back(ready(update, point));
        // What a guard protects may not exist elsewhere.
        bool exists = true;
        const auto look = [&](const ir::Expr& root) {
            ir::for_each_node(root, [&](const ir::Expr& e) {
                const auto* read = ir::as<ir::Read>(e);
                if (read != nullptr)
                    exists = exists && exists_everywhere(program_.pipeline, program_.model, domain_, *read);
            });
        };
        if (update.guard) {
            look(update.value);
            for (const ir::Expr& index : update.indices) look(index);
        }
        for (Ready& one : of_points) {
            if (one.guard) loaded.push_back(&one.guard);
            if (!exists) continue;
            loaded.push_back(&one.value);
            for (ir::Expr& index : one.indices) loaded.push_back(&index);
        }
    }
    kernel::Body body;
    std::vector<ir::Expr> values;
    for (const ir::Expr* e : loaded) values.push_back(*e);
    PackWriter packs(program_, build_, rewriter_, kernel().layout == kernel::Layout::Wide ? fusion::kAccessBytes : 0);
    packs.load(body, values);
    has_packs_ = has_packs_ || packs.widest() > 0;
    for (std::size_t i = 0; i < loaded.size(); ++i) *loaded[i] = values[i];
    const bool guarded = std::any_of(updates_.begin(), updates_.end(), [](const ir::Update& u) { return u.guard; });
    if (plan_.table == Table::Region && !guarded && points.size() > 1) {
        perform_in_region(body, all);
    } else {
        for (std::vector<Ready>& updates : all) perform_all(body, updates, {}, false);
    }
    return body;
}

/// One point after the other, each only where there is one.
kernel::Body HistogramKernel::point_by_point() {
    kernel::Body body;
    kernel::Body* inner = &body;
    Point point;
    const std::vector<ir::Expr> thread = at_;
    for (std::size_t i = 0; i < domain_.size(); ++i) {
        ir::Expr& at = point[domain_[i].var];
        if (is_inner(i)) {
            inner = &build_.loop(*inner, name(i), domain_[i].lo, domain_[i].hi, constant(1), at);
            continue;
        }
        if (unit(i) > 1) {
            ir::Expr k;
            inner = &build_.loop(*inner, name(i) + "_k", constant(0), constant(unit(i)), constant(1), k);
            at_[i] = build_.define(*inner, name(i) + "_i", sum(thread[i], k));
        }
        inner = &KernelBuilder::guarded(*inner, inside(i, false));
        at = at_[i];
    }
    at_ = thread;
    for (const ir::Update& update : updates_) perform(*inner, ready(update, point), {}, false);
    return body;
}

// ------------------------------------------------------------------------------------------------------------- updates

/// A name for a value, the same for equal ones, so that what asks for it again does not compute it again.
ir::Expr HistogramKernel::named(kernel::Body& body, const ir::Expr& value, const char* name, Names& names) {
    if (ir::as_int(value) || ir::as<ir::Variable>(value) != nullptr) return value;
    const auto [known, is_new] = names.emplace(rewriter_.unique(value), nullptr);
    if (is_new) {
        const ir::VarId var = build_.variable(name, Type::Int32);
        add(body, kernel::Define{var, value});
        known->second = rewriter_.unique(ir::variable(var, Type::Int32));
    }
    return known->second;
}

void HistogramKernel::name_indices(kernel::Body& body, Ready& update, Names& names) {
    for (ir::Expr& index : update.indices) index = named(body, index, "index", names);
}

/// Where the target lies in what the block has of the table, and whether it does (null: that is certain).
HistogramKernel::Cell HistogramKernel::cell_of(kernel::Body& body, const Ready& update, Names& names) {
    // As unsigned numbers: what lies before is far behind.
    const auto is_below = [&](const ir::Expr& a, std::int64_t n) {
        return rewriter_.unique(ir::binary(BinaryOp::Lt, rewriter_.unique(ir::cast(Type::UInt32, a)),
                                           rewriter_.unique(ir::int_constant(Type::UInt32, n))));
    };
    Cell result{constant(0), {}};
    for (std::size_t d = 0; d < box_.size(); ++d) {
        const bool moves = plan_.dims[d].moves;
        ir::Expr place =
            rewriter_.unique(difference(update.indices[d], moves ? begin_[d] : rewriter_.instance(box_[d].lo, {})));
        if (moves) {
            place = named(body, place, "place", names);
            result.found.push_back(is_below(place, plan_.extents[d]));
        }
        result.cell = sum(product(result.cell, constant(plan_.extents[d])), place);
    }
    if (plan_.parts > 1) {
        result.cell = named(body, rewriter_.unique(difference(result.cell, part_)), "cell", names);
        result.found = {is_below(result.cell, plan_.cells)};
    }
    return result;
}

void HistogramKernel::update_shared(kernel::Body& body, const ir::Expr& cell, const ir::Expr& value) {
    std::vector<ir::Expr> element{rewriter_.instance(cell, {})};
    if (copy_) element.push_back(copy_);
    add(body, kernel::Atomic{kShared, std::move(element), op_, value});
}

/// `within`: its target certainly lies in what the block has of the table.
void HistogramKernel::perform(kernel::Body& outer, const Ready& update, Names names, bool within) {
    kernel::Body& body = KernelBuilder::guarded(outer, update.guard);
    const auto to_table = [&](kernel::Body& where, const Ready& what) {
        add(where, kernel::Atomic{target_, what.indices, op_, what.value, false, often_same_});
    };
    if (!in_shared()) return to_table(body, update);
    Ready with_names = update;
    if (plan_.table == Table::Region || plan_.first_rows > 0) name_indices(body, with_names, names);
    const Cell cell = cell_of(body, with_names, names);
    if (cell.found.empty() || within) return update_shared(body, cell.cell, with_names.value);
    auto& branch = add(body, kernel::If{all_of(cell.found), {}, {}, kernel::If::Uniform::Lane});
    update_shared(branch.then, cell.cell, with_names.value);
    if (plan_.parts == 1) to_table(branch.otherwise, with_names);
}

/// The updates at all points of the thread, in a region: what nearly all of them have in common is asked once.
void HistogramKernel::perform_in_region(kernel::Body& body, std::vector<std::vector<Ready>>& all) {
    Names names;
    std::set<ir::Expr> asked;
    ir::Expr found;
    for (std::vector<Ready>& updates : all) {
        for (Ready& update : updates) {
            name_indices(body, update, names);
            for (const ir::Expr& one : cell_of(body, update, names).found) {
                if (asked.insert(one).second) found = both(found, one);
            }
        }
    }
    auto& branch = add(body, kernel::If{found, {}, {}, kernel::If::Uniform::Lane});
    branch.otherwise = point_by_point();
    for (std::vector<Ready>& updates : all) perform_all(branch.then, updates, names, true);
}

void HistogramKernel::perform_all(kernel::Body& body, std::vector<Ready>& updates, Names names, bool within) {
    if (plan_.merge && perform_merged(body, updates, names, within)) return;
    for (const Ready& update : updates) perform(body, update, names, within);
}

/// One update where all points of the thread have one target; false where that is not for asking.
bool HistogramKernel::perform_merged(kernel::Body& body, std::vector<Ready>& updates, Names& names, bool within) {
    if (updates.size() < 2 || updates.front().guard) return false;
    for (Ready& update : updates) name_indices(body, update, names);
    std::set<std::pair<ir::Expr, ir::Expr>> asked;
    ir::Expr same;
    for (std::size_t i = 1; i < updates.size(); ++i) {
        for (std::size_t d = 0; d < box_.size(); ++d) {
            const ir::Expr& a = updates.front().indices[d];
            const ir::Expr& b = updates[i].indices[d];
            if (ir::structurally_equal(a, b)) continue;
            if (ir::as_int(a) && ir::as_int(b)) return false;  // never
            if (asked.emplace(a, b).second) same = both(same, ir::binary(BinaryOp::Eq, a, b));
        }
    }
    Ready one = updates.front();
    const auto number = ir::as_int(one.value);
    const bool equal = std::all_of(updates.begin(), updates.end(),
                                   [&](const Ready& u) { return number && ir::as_int(u.value) == number; });
    if (equal && op_ == ir::ReduceOp::Sum) {
        const auto count = static_cast<std::int64_t>(updates.size());
        one.value = ir::binary(BinaryOp::Mul, one.value, ir::int_constant(stage_.type, count));
    } else if (!equal || op_ == ir::ReduceOp::Prod) {
        for (std::size_t i = 1; i < updates.size(); ++i)
            one.value = ir::binary(ir::fold_op(op_), one.value, updates[i].value);
    }
    if (!same) {
        perform(body, one, names, within);
        return true;
    }
    auto& branch = add(body, kernel::If{same, {}, {}, kernel::If::Uniform::Lane});
    perform(branch.then, one, names, within);
    for (const Ready& update : updates) perform(branch.otherwise, update, names, within);
    return true;
}

}  // namespace pipec::codegen
