#include "fusion/long_lines.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "fusion/conditions.h"
#include "fusion/group_facts.h"
#include "fusion/made_stages.h"
#include "ir/associative.h"
#include "ir/build.h"
#include "ir/linear_sum.h"
#include "ir/scan.h"
#include "ir/visit.h"

namespace pipec::fusion {

namespace {

using ir::BinaryOp;
using ir::Type;

/// With up to so many lines most multiprocessors would have no block.
constexpr double kFewLines = 16;

ir::Expr int32(std::int64_t value) {
    return ir::int_constant(Type::Int32, value);
}

/// Of the points of a line, `restart` holds at the one that a scan begins with, and at no other.
bool restarts_at_first(const ir::Expr& restart, const Place& line, bool forward) {
    Places others{line};
    std::map<ir::VarId, ir::Expr> fixed;
    for (const ir::Expr& condition : conjuncts(restart, false)) {
        if (!narrow(others, fixed, condition)) return false;
    }
    const auto& [var, lo, hi, never_empty] = others.front();
    return ir::constant_difference(lo, line.lo) == (forward ? 1 : 0) &&
           ir::constant_difference(line.hi, hi) == (forward ? 0 : 1);
}

class LongLines {
public:
    LongLines(const ir::Pipeline& pipeline, const poly::Model& model, bool fast_math)
        : made_({pipeline, model}), sizes_(usual_sizes(pipeline)), fast_math_(fast_math) {
        // Lengths of lines of inputs, a sound or a sequence. Those of an image's rows, or of a list of points, are
        // mostly so short that the launches of two more kernels take longer.
        for (std::size_t i = 0; i < pipeline.sizes.size(); ++i) {
            if (is_length(pipeline, static_cast<int>(i))) lengths_.insert(static_cast<int>(i));
        }
    }

    Inlined run() {
        return made_.with_changed([&](ir::Stage& stage, const poly::Domain& domain) {
            if (!stage.scan || domain.guard || stage.scan->distance != 1 || !stage.scan->across.empty()) return;
            if (!is_long(domain.box, static_cast<std::size_t>(stage.scan->dim))) return;
            in_blocks(stage, domain.box);
        });
    }

private:
    /// Every input that has the size has it as its innermost extent, and few lines.
    [[nodiscard]] bool is_length(const ir::Pipeline& pipeline, int size) const {
        bool found = false;
        for (const ir::Buffer& input : pipeline.inputs) {
            double lines = 1;
            for (std::size_t d = 0; d < input.extents.size(); ++d) {
                const ir::Expr& extent = input.extents[d];
                if (!ir::uses_size(extent, size)) {
                    lines *= usual_extent(int32(0), extent, sizes_);
                } else if (static_cast<int>(d) != input.order.back()) {
                    return false;
                } else {
                    found = true;
                }
            }
            const bool has =
                std::ranges::any_of(input.extents, [&](const ir::Expr& e) { return ir::uses_size(e, size); });
            if (has && lines > kFewLines) return false;
        }
        return found;
    }

    [[nodiscard]] bool is_long(std::vector<poly::Interval> box, std::size_t dim) const {
        const bool follows = std::ranges::any_of(lengths_, [&](int size) { return ir::uses_size(box[dim].hi, size); });
        if (!follows || !ir::as_int(box[dim].lo)) return false;
        box.erase(box.begin() + static_cast<std::ptrdiff_t>(dim));
        return usual_points(box, sizes_) <= kFewLines;
    }

    void in_blocks(ir::Stage& stage, const std::vector<poly::Interval>& box) {
        auto& pure = std::get<ir::Pure>(stage.definition);
        const auto is_before = [](const ir::Expr& e) {
            const auto* read = ir::as<ir::Read>(e);
            return read != nullptr && read->source == ir::Source{ir::Source::Kind::Stage, kSelf};
        };
        const auto scan = ir::associative_scan(pure.value, is_before, fast_math_);
        // (Of extremes of floats NaN would have to be the identity, which a program can tell.)
        if (!scan || !scan->op || (ir::is_float(pure.value->type) && !fast_math_)) return;
        const auto dim = static_cast<std::size_t>(stage.scan->dim);
        const bool forward = stage.scan->step > 0;
        const auto& [lo, hi] = box[dim];
        const ir::Expr last = ir::binary(BinaryOp::Sub, hi, int32(1));
        const ir::VarId var = stage.dims[dim].var;
        if (!restarts_at_first(scan->restart, {var, lo, hi}, forward)) return;

        const ir::Expr length = ir::binary(BinaryOp::Sub, hi, lo);
        const ir::Expr blocks =
            ir::binary(BinaryOp::Div, ir::binary(BinaryOp::Add, length, int32(kLineBlock - 1)), int32(kLineBlock));
        const ir::VarId block = made_.variable_like(var, "_block"), term = made_.variable_like(var, "");
        Places lines;
        for (std::size_t d = 0; d < stage.dims.size(); ++d) {
            if (d != dim) lines.push_back({stage.dims[d].var, box[d].lo, box[d].hi, false});
        }
        lines.push_back({block, int32(0), blocks, false});
        Places points = lines;
        points.push_back({term, int32(0), int32(kLineBlock), true});
        // Points of the last block that lie beyond the line have the last one's term: nobody reads what comes of them.
        const ir::Expr place =
            ir::binary(BinaryOp::Add, ir::binary(BinaryOp::Mul, ir::variable(block, Type::Int32), int32(kLineBlock)),
                       ir::variable(term, Type::Int32));
        const ir::Expr at = forward ? ir::binary(BinaryOp::Min, ir::binary(BinaryOp::Add, place, lo), last)
                                    : ir::binary(BinaryOp::Max, ir::binary(BinaryOp::Sub, last, place), lo);
        const ir::Expr of_line = scan_of(stage, "line", ir::substitute(scan->term, {{var, at}}), points, *scan);
        const ir::Source line = ir::as<ir::Read>(of_line)->source;
        const ir::Expr total = ir::read(line, pure.value->type, indices(points, {{term, int32(kLineBlock - 1)}}));
        const ir::Source before = ir::as<ir::Read>(scan_of(stage, "before", total, lines, *scan))->source;

        const ir::Expr own = ir::variable(var, Type::Int32);
        const ir::Expr index = forward ? ir::binary(BinaryOp::Sub, own, lo) : ir::binary(BinaryOp::Sub, last, own);
        const ir::Expr own_block = ir::binary(BinaryOp::Div, index, int32(kLineBlock));
        const ir::Expr block_before = ir::binary(BinaryOp::Sub, own_block, int32(1));
        const ir::Expr so_far = ir::select(ir::binary(BinaryOp::Lt, index, int32(kLineBlock)), scan->identity,
                                           ir::read(before, pure.value->type, indices(lines, {{block, block_before}})));
        const ir::Expr here = ir::read(
            line, pure.value->type,
            indices(points, {{block, own_block}, {term, ir::binary(BinaryOp::Mod, index, int32(kLineBlock))}}));
        pure.value = ir::combined(*scan, so_far, here);
        stage.scan.reset();
    }

    static std::vector<ir::Expr> indices(const Places& places, const std::map<ir::VarId, ir::Expr>& values) {
        std::vector<ir::Expr> result;
        for (const Place& place : places) {
            const auto value = values.find(place.var);
            result.push_back(value == values.end() ? ir::variable(place.var, Type::Int32) : value->second);
        }
        return result;
    }

    /// A stage with the scan of `term` along the last of the places, from the first of its points; a read of it there.
    ir::Expr scan_of(const ir::Stage& from, std::string_view what, const ir::Expr& term, const Places& places,
                     const ir::AssociativeScan& like) {
        const ir::Expr read = made_.make_in_order(from, what, term, places, nullptr, from.range);
        const int number = ir::as<ir::Read>(read)->source.index;
        ir::Stage stage = made_.made(number);
        auto& pure = std::get<ir::Pure>(stage.definition);
        std::vector<ir::Expr> previous;
        for (const ir::Dimension& dim : stage.dims) previous.push_back(ir::variable(dim.var, Type::Int32));
        const ir::Expr at = previous.back();
        previous.back() = ir::binary(BinaryOp::Sub, at, int32(1));
        const ir::Expr so_far = ir::read({ir::Source::Kind::Stage, number}, term->type, std::move(previous));
        pure.value = ir::select(ir::binary(BinaryOp::Eq, at, int32(0)), pure.value,
                                ir::combined(like, so_far, pure.value), from.range);
        stage.scan = ir::find_scan(stage, number, pure.value).scan;
        stage.alone = false;
        made_.made(number) = std::move(stage);
        return read;
    }

    MadeStages made_;
    std::vector<std::int64_t> sizes_;
    std::set<int> lengths_;  ///< sizes: of lines of inputs
    const bool fast_math_;
};

}  // namespace

Inlined long_lines(const ir::Pipeline& pipeline, const poly::Model& model, bool fast_math) {
    const bool any =
        std::ranges::any_of(pipeline.stages, [](const ir::Stage& stage) { return stage.scan.has_value(); });
    return any ? LongLines(pipeline, model, fast_math).run() : Inlined{pipeline, model};
}

}  // namespace pipec::fusion
