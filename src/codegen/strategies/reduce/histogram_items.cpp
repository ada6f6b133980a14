// What a thread has of the points: its items, and where the first point of each of them is.
#include <algorithm>
#include <utility>

#include "codegen/strategies/reduce/histogram_code.h"

namespace pipec::codegen {

using ir::BinaryOp;
using ir::Type;

/// Where the points of a range begin: rounded down, so that the first point of each thread is a multiple of its
/// columns.
ir::Expr HistogramKernel::first_of(std::size_t range) {
    const ir::Expr& lo = domain_[range].lo;
    if (range != plan_.lane || plan_.columns == 1) return lo;
    const ir::Expr columns = constant(plan_.columns);
    return product(ir::binary(BinaryOp::Div, lo, columns), columns);
}

/// The next digit of a number, whose base is `count`.
ir::Expr HistogramKernel::take(kernel::Body& body, ir::Expr& rest, const ir::Expr& count, bool is_last,
                               const std::string& name) {
    if (ir::as_int(count) == 1) return constant(0);
    if (is_last) return rest;
    const ir::Expr divisor = build_.divisor(name, count);
    const ir::Expr digit = ir::binary(BinaryOp::Mod, rest, divisor);
    rest = build_.define(body, "rest", ir::binary(BinaryOp::Div, rest, divisor), 0);
    return digit;
}

void HistogramKernel::place(std::size_t range, kernel::Body& body, const ir::Expr& first, const ir::Expr& number) {
    const std::int64_t least = ir::as_int(first).value_or(-kernel::kVariableLimit + 1);
    at_[range] = build_.define(body, name(range), sum(first, product(number, constant(unit(range)))), least,
                               range == plan_.lane ? plan_.columns : 1);
}

kernel::Body& HistogramKernel::items(kernel::Body& body) {
    at_.assign(domain_.size(), nullptr);
    begin_.assign(box_.size(), nullptr);
    if (plan_.first_rows > 0) begin_[0] = rewriter_.instance(box_[0].lo, {});
    return plan_.table == Table::Region ? items_of_region(body) : items_of_all(body);
}

/// The loop of a thread over its items of the whole image.
kernel::Body& HistogramKernel::items_of_all(kernel::Body& body) {
    using Id = kernel::Special::Id;
    std::vector<std::pair<std::size_t, ir::Expr>> digits;  // from the fastest
    const auto add_digit = [&](std::size_t i) {
        digits.emplace_back(i, tile_count(first_of(i), domain_[i].hi, unit(i)));
    };
    add_digit(plan_.lane);
    for (std::size_t i = domain_.size(); i-- > 0;) {
        if (i != plan_.lane && !is_inner(i)) add_digit(i);
    }
    ir::Expr count = constant(1);
    std::int64_t inner = 1;
    for (const auto& digit : digits) count = count_product(count, digit.second);
    for (const std::size_t i : plan_.inner) inner *= *constant_extent(domain_[i].lo, domain_[i].hi);
    // A block has more points than cells, so that it pays to combine them.
    const std::int64_t points = plan_.threads * plan_.columns * plan_.rows * inner;
    const std::int64_t turns = in_shared() ? std::max<std::int64_t>(1, 2 * plan_.cells / points) : 1;
    const std::int64_t room = program_.target.gpu().sms * plan_.blocks;
    const ir::Expr blocks = ir::binary(BinaryOp::Min, ceil_div(count, plan_.threads * turns),
                                       constant(std::max<std::int64_t>(1, room / plan_.parts)));
    kernel().grid[0] = count_product(blocks, constant(plan_.parts));
    const bool one_block = ir::as_int(blocks) == 1;
    ir::Expr block = one_block && plan_.parts == 1 ? constant(0) : build_.special(Id::BlockX);
    ir::Expr step = one_block ? constant(1) : build_.special(Id::GridX);
    if (plan_.parts > 1) {
        const ir::Expr parts = constant(plan_.parts);
        part_ = build_.define(body, "part_first",
                              product(ir::binary(BinaryOp::Mod, block, parts), constant(plan_.cells)), 0);
        block = ir::binary(BinaryOp::Div, block, parts);
        step = one_block ? step : ir::binary(BinaryOp::Div, step, parts);
    }
    const ir::Expr threads = constant(plan_.threads);
    ir::Expr item;
    kernel::Body& inside = build_.loop(body, "item", sum(product(block, threads), thread()),
                                       build_.argument("items", count, 1), product(step, threads), item);
    for (std::size_t k = 0; k < digits.size(); ++k) {
        const auto& [i, n] = digits[k];
        const ir::Expr number = take(inside, item, n, k + 1 == digits.size(), name(i) + "_items");
        place(i, inside, build_.argument(name(i) + "_first", first_of(i)), number);
    }
    return inside;
}

/// The loop of a thread over its items of the block's region.
kernel::Body& HistogramKernel::items_of_region(kernel::Body& body) {
    region_.assign(domain_.size(), nullptr);
    const auto length = [&](std::size_t i) {
        return i == plan_.lane ? plan_.region_columns : plan_.row && i == *plan_.row ? plan_.region_rows : 1;
    };
    std::vector<std::size_t> order{plan_.lane};
    for (std::size_t i = domain_.size(); i-- > 0;) {
        if (i != plan_.lane && !is_inner(i)) order.push_back(i);
    }
    ir::Expr regions = constant(1), rest = build_.special(kernel::Special::Id::BlockX);
    for (std::size_t k = 0; k < order.size(); ++k) {
        const std::size_t i = order[k];
        const ir::Expr count = tile_count(first_of(i), domain_[i].hi, length(i));
        regions = count_product(regions, count);
        const ir::Expr number = take(body, rest, count, k + 1 == order.size(), name(i) + "_regions");
        const ir::Expr first = build_.argument(name(i) + "_first", first_of(i));
        const std::int64_t least = ir::as_int(first).value_or(-kernel::kVariableLimit + 1);
        region_[i] = build_.define(body, name(i) + "_region", sum(first, product(number, constant(length(i)))), least,
                                   i == plan_.lane ? plan_.columns : 1);
    }
    kernel().grid[0] = regions;
    reach(body);
    const std::int64_t across = plan_.region_columns / plan_.columns, down = plan_.region_rows / plan_.rows;
    ir::Expr item;
    kernel::Body& inside = build_.loop(body, "item", thread(), constant(across * down), constant(plan_.threads), item);
    for (const std::size_t i : order) {
        ir::Expr number = constant(0);
        if (i == plan_.lane)
            number = down == 1 ? item : ir::binary(BinaryOp::Mod, item, constant(across));
        else if (plan_.row && i == *plan_.row && down > 1)
            number = ir::binary(BinaryOp::Div, item, constant(across));
        place(i, inside, region_[i], number);
    }
    return inside;
}

/// What the region reaches first, in each dimension of the table.
void HistogramKernel::reach(kernel::Body& body) {
    for (std::size_t d = 0; d < box_.size(); ++d) {
        const HistogramPlan::Dimension& dim = plan_.dims[d];
        if (!dim.moves) continue;
        Point first;
        for (std::size_t i = 0; i < domain_.size(); ++i) {
            const bool falls = dim.falls.count(domain_[i].var) > 0 && dim.grows.count(domain_[i].var) == 0;
            first[domain_[i].var] = build_.define(body, "first_point", end_of_region(i, falls));
        }
        const auto cell = [&](const ir::Expr& value) {
            const ir::VarId var = build_.variable("first_cell", Type::Int32);
            add(body, kernel::Define{var, value});
            return ir::variable(var, Type::Int32);
        };
        const auto cell_at = [&](const Point& point) {
            return cell(rewriter_.instance(updates_.front().indices[d], point));
        };
        begin_[d] = cell_at(first);
        // Where it does one or the other, the region's other end may come first.
        ir::Expr before = begin_[d];
        for (std::size_t i = 0; i < domain_.size(); ++i) {
            const ir::VarId var = domain_[i].var;
            if (dim.falls.count(var) == 0 || dim.grows.count(var) == 0) continue;
            Point other = first;
            other[var] = build_.define(body, "last_point", end_of_region(i, true));
            const ir::Expr change = difference(cell_at(other), begin_[d]);
            before = sum(before, ir::binary(BinaryOp::Min, change, constant(0)));
        }
        if (before != begin_[d]) begin_[d] = cell(before);
    }
}

/// The region's first or last point along a range of the loops.
ir::Expr HistogramKernel::end_of_region(std::size_t i, bool last) {
    const ir::Range& range = domain_[i];
    if (!region_[i]) return last ? difference(range.hi, constant(1)) : range.lo;
    if (i != plan_.lane && !(plan_.row && i == *plan_.row)) return region_[i];
    // Only points that there are have a place in the table.
    if (!last) return ir::binary(BinaryOp::Max, region_[i], build_.argument(name(i) + "_begin", range.lo));
    const std::int64_t length = i == plan_.lane ? plan_.region_columns : plan_.region_rows;
    const ir::Expr end = build_.argument(name(i) + "_end", range.hi);
    return ir::binary(BinaryOp::Min, sum(region_[i], constant(length - 1)), difference(end, constant(1)));
}

}  // namespace pipec::codegen
