// The walk: evaluates expressions, remembers stages' values, runs accumulates, checks every access.
#include "reference/interpreter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <optional>
#include <span>
#include <unordered_map>

#include "ir/parameter_sizes.h"
#include "ir/reduction.h"
#include "ir/visit.h"
#include "reference/exact.h"
#include "reference/numeric.h"
#include "support/big_stack.h"

namespace pipec::reference {

namespace {

using Point = std::vector<std::int64_t>;

constexpr std::size_t kStackBytes = std::size_t{512} << 20;
constexpr std::size_t kStackReserve = std::size_t{1} << 20;

struct PointHash {
    std::size_t operator()(const Point& point) const {
        std::uint64_t h = 0;
        for (const std::int64_t i : point) h = (h ^ static_cast<std::uint64_t>(i)) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
        return h;
    }
};

/// A half-open box of points.
struct Box {
    Point lo, hi;

    [[nodiscard]] bool contains(const Point& point) const {
        for (std::size_t d = 0; d < lo.size(); ++d) {
            if (point[d] < lo[d] || point[d] >= hi[d]) return false;
        }
        return true;
    }
};

/// Calls `f(point)` for the points of a box in lexicographic order.
template <class F>
void for_each_point(const Box& box, const F& f) {
    for (std::size_t d = 0; d < box.lo.size(); ++d) {
        if (box.lo[d] >= box.hi[d]) return;
    }
    Point point = box.lo;
    while (true) {
        f(point);
        std::size_t d = point.size();
        while (d > 0 && ++point[d - 1] == box.hi[d - 1]) --d, point[d] = box.lo[d];
        if (d == 0) return;
    }
}

/// What is known of a stage's values so far.
struct StageState {
    /// The explicit ranges; unset dimensions are those whose domain is inferred.
    std::vector<std::optional<std::pair<std::int64_t, std::int64_t>>> ranges;
    std::unordered_map<Point, Value, PointHash> values;
    bool accumulated = false;  ///< of an accumulate: `values` is complete
};

class Interpreter {
public:
    /// For expressions over sizes alone.
    explicit Interpreter(std::vector<std::int64_t> sizes) : sizes_(std::move(sizes)) {}

    Interpreter(const ir::Pipeline& pipeline, const Arguments& arguments);

    std::map<std::string, Array> run();
    Value eval(const ir::Expr& e);
    /// Of a condition of `where`, an extent or an explicit range.
    std::int64_t eval_exactly(const ir::Expr& e) const;

private:
    Value eval_node(const ir::Node& node);
    Value eval_read(const ir::Read& read);
    Value eval_call(const ir::Call& call);
    Value eval_select(const ir::Select& select);
    Value eval_binary(const ir::Binary& binary);
    Value eval_reduce(const ir::Reduce& reduce, ir::Type type);
    Value eval_place(const ir::Reduce& reduce);
    std::int64_t eval_index(const ir::Expr& e) { return eval(e).i; }

    /// Runs `body` for every point of the nest of loops, outermost first.
    template <class F>
    void for_each_in(std::span<const ir::Range> ranges, const F& body);

    Value input_at(int index, const Point& point) const;
    Value stage_at(int index, const Point& point);
    Value compute(const ir::Stage& stage, StageState& state, const Point& point);
    void scan_up_to(int index, const Point& point);
    void accumulate(int index, const ir::Accumulate& definition);
    void update(const ir::Stage& stage, StageState& state, const ir::Update& update);

    const ir::Pipeline* pipeline_ = nullptr;
    std::vector<std::int64_t> sizes_;
    std::vector<Value> params_;
    std::vector<const Array*> inputs_;
    std::vector<StageState> stages_;
    /// The value of every binder that is in scope. One slot each is enough: binders are unique and no stage depends on
    /// itself (of a scan, what a point reads is there already), so that no binder is ever live twice.
    std::vector<Value> variables_;
    const void* stack_base_ = nullptr;
};

Interpreter::Interpreter(const ir::Pipeline& pipeline, const Arguments& arguments)
    : pipeline_(&pipeline), variables_(pipeline.variables.size()) {
    for (const ir::ScalarParameter& param : pipeline.params) {
        const auto found = arguments.params.find(param.name);
        if (found == arguments.params.end() && !param.default_value) {
            throw Error(fmt::format("parameter `{}` is missing", param.name));
        }
        const Value value = found == arguments.params.end() ? eval(param.default_value) : found->second;
        if (value.type != param.type) throw Error(fmt::format("parameter `{}` has another type", param.name));
        params_.push_back(value);
    }
    sizes_.resize(pipeline.sizes.size());
    for (std::size_t i = 0; i < pipeline.sizes.size(); ++i) {
        if (const auto param = ir::parameter_of(pipeline, i)) sizes_[i] = params_[*param].i;
    }
    for (std::size_t i = 0; i < pipeline.sizes.size(); ++i) {
        if (ir::parameter_of(pipeline, i)) continue;
        const ir::SizeParameter& size = pipeline.sizes[i];
        const auto found = arguments.sizes.find(size.name);
        if (found == arguments.sizes.end() && !size.default_value) {
            throw Error(fmt::format("size `{}` is missing", size.name));
        }
        sizes_[i] = found == arguments.sizes.end() ? eval_exactly(size.default_value) : found->second;
    }
    for (const ir::Buffer& input : pipeline.inputs) {
        const auto found = arguments.inputs.find(input.name);
        if (found == arguments.inputs.end()) throw Error(fmt::format("input `{}` is missing", input.name));
        const Array& array = found->second;
        if (array.type != input.type) throw Error(fmt::format("input `{}` has another type", input.name));
        Point extents;
        for (const ir::Expr& extent : input.extents) extents.push_back(eval_exactly(extent));
        if (array.extents != extents) {
            throw Error(fmt::format("input `{}` has extents [{}], not [{}]", input.name, fmt::join(array.extents, ", "),
                                    fmt::join(extents, ", ")));
        }
        inputs_.push_back(&array);
    }
    for (const ir::Stage& stage : pipeline.stages) {
        StageState& state = stages_.emplace_back();
        for (const ir::Dimension& dim : stage.dims) {
            auto& range = state.ranges.emplace_back();
            if (dim.is_explicit()) range.emplace(eval_exactly(dim.lo), eval_exactly(dim.hi));
        }
    }
}

std::map<std::string, Array> Interpreter::run() {
    const char here = 0;
    stack_base_ = &here;
    for (std::size_t i = 0; i < pipeline_->where.size(); ++i) {
        if (eval_exactly(pipeline_->where[i]) == 0)
            throw Error(fmt::format("condition {} of `where` does not hold", i + 1));
    }
    std::map<std::string, Array> results;
    for (const ir::Output& output : pipeline_->outputs) {
        Box box;
        for (const ir::Expr& extent : output.buffer.extents) {
            box.lo.push_back(0);
            box.hi.push_back(eval_exactly(extent));
            if (box.hi.back() < 1) throw Error(fmt::format("output `{}` has an empty dimension", output.buffer.name));
        }
        Array array(output.buffer.type, box.hi);
        std::size_t next = 0;  // the points' order is the array's
        for_each_point(box, [&](const Point& point) { array.set(next++, stage_at(output.stage, point)); });
        results.emplace(output.buffer.name, std::move(array));
    }
    return results;
}

Value Interpreter::eval(const ir::Expr& e) {
    if (stack_base_ != nullptr && stack_used_since(stack_base_) > kStackBytes - kStackReserve) {
        throw Error("the pipeline is too deep to be interpreted");
    }
    Value value = eval_node(*e);
    if (value.type != e->type) throw std::logic_error("an expression's value has not the expression's type");
    return value;
}

std::int64_t Interpreter::eval_exactly(const ir::Expr& e) const {
    const auto leaf = [&](const ir::Expr& n) {
        if (const auto* size = ir::as<ir::SizeRef>(n)) {
            return Value{ir::Type::Int64, sizes_.at(static_cast<std::size_t>(size->index)), 0};
        }
        return params_.at(static_cast<std::size_t>(std::get<ir::ParamRef>(n->value).index));
    };
    return evaluate_exactly(e, leaf).i;
}

Value Interpreter::eval_node(const ir::Node& node) {
    return std::visit(
        ir::overloaded{
            [&](const ir::IntConstant& c) { return integer(node.type, c.value); },
            [&](const ir::FloatConstant& c) { return real(node.type, c.value); },
            [&](const ir::Variable& v) { return variables_.at(static_cast<std::size_t>(v.id)); },
            [&](const ir::SizeRef& s) { return integer(node.type, sizes_.at(static_cast<std::size_t>(s.index))); },
            [&](const ir::ParamRef& p) { return params_.at(static_cast<std::size_t>(p.index)); },
            [&](const ir::Unary& u) { return evaluate(u.op, eval(u.a)); },
            [&](const ir::Binary& b) { return eval_binary(b); },
            [&](const ir::Cast& c) { return cast(node.type, eval(c.a), c.saturate); },
            [&](const ir::Call& c) { return eval_call(c); },
            [&](const ir::Select& s) { return eval_select(s); },
            [&](const ir::Read& r) { return eval_read(r); },
            [&](const ir::Let& l) {
                variables_.at(static_cast<std::size_t>(l.var)) = eval(l.value);
                return eval(l.body);
            },
            [&](const ir::Reduce& r) { return eval_reduce(r, node.type); },
        },
        node.value);
}

Value Interpreter::eval_binary(const ir::Binary& binary) {
    const Value a = eval(binary.a);
    if (binary.op == ir::BinaryOp::And && a.i == 0) return a;
    if (binary.op == ir::BinaryOp::Or && a.i != 0) return a;
    return evaluate(binary.op, a, eval(binary.b));
}

Value Interpreter::eval_call(const ir::Call& call) {
    std::vector<Value> args;
    for (const ir::Expr& arg : call.args) args.push_back(eval(arg));
    return evaluate(call.fn, args);
}

Value Interpreter::eval_select(const ir::Select& select) {
    if (eval(select.cond).i != 0) return eval(select.then);
    if (!select.otherwise) throw Error("an `if` without `else` does not hold");
    return eval(select.otherwise);
}

Value Interpreter::eval_reduce(const ir::Reduce& reduce, ir::Type type) {
    if (ir::gives_place(reduce.op)) return eval_place(reduce);
    const Value identity = reference::identity(reduce.op, type);
    // levels[k] combines results of levels[k - 1]; only the last one has more than a block of them.
    std::array<Value, 6> levels;
    levels.fill(identity);
    std::int64_t terms = 0;
    const bool blocks = ir::depends_on_blocks(reduce.op, type);
    for_each_in(reduce.ranges, [&] {
        levels[0] = fold(reduce.op, levels[0], eval(reduce.body));
        std::int64_t full = ++terms;
        for (std::size_t k = 0; blocks && k + 1 < levels.size() && full % ir::kBlockTerms == 0; ++k) {
            full /= ir::kBlockTerms;
            levels[k + 1] = fold(reduce.op, levels[k + 1], levels[k]);
            levels[k] = identity;
        }
    });
    for (std::size_t k = 0; k + 1 < levels.size(); ++k) levels[k + 1] = fold(reduce.op, levels[k + 1], levels[k]);
    return levels.back();
}

Value Interpreter::eval_place(const ir::Reduce& reduce) {
    const ir::Range& range = reduce.ranges.at(static_cast<std::size_t>(reduce.place));
    Value best = reference::identity(reduce.op, reduce.body->type);
    Value place = integer(ir::Type::Int32, eval_index(range.lo));
    for_each_in(reduce.ranges, [&] {
        const Value term = eval(reduce.body);
        if (evaluate(ir::better_op(reduce.op), term, best).i == 0) return;
        best = term;
        place = variables_.at(static_cast<std::size_t>(range.var));
    });
    return place;
}

template <class F>
void Interpreter::for_each_in(std::span<const ir::Range> ranges, const F& body) {
    if (ranges.empty()) return body();
    const ir::Range& range = ranges.front();
    const std::int64_t lo = eval_index(range.lo);
    const std::int64_t hi = eval_index(range.hi);
    for (std::int64_t i = lo; i < hi; ++i) {
        variables_.at(static_cast<std::size_t>(range.var)) = integer(ir::Type::Int32, i);
        for_each_in(ranges.subspan(1), body);
    }
}

Value Interpreter::eval_read(const ir::Read& read) {
    Point point;
    for (const ir::Expr& index : read.indices) point.push_back(eval_index(index));
    return read.source.kind == ir::Source::Kind::Input ? input_at(read.source.index, point)
                                                       : stage_at(read.source.index, point);
}

Value Interpreter::input_at(int index, const Point& point) const {
    const Array& array = *inputs_.at(static_cast<std::size_t>(index));
    if (point.size() != array.extents.size()) throw std::logic_error("a read with a wrong number of indices");
    std::int64_t linear = 0;
    for (std::size_t d = 0; d < point.size(); ++d) {
        if (point[d] < 0 || point[d] >= array.extents[d]) {
            const std::string& name = pipeline_->inputs.at(static_cast<std::size_t>(index)).name;
            throw Error(fmt::format("`{}({})` is outside of the input's extents [{}]", name, fmt::join(point, ", "),
                                    fmt::join(array.extents, ", ")));
        }
        linear = linear * array.extents[d] + point[d];
    }
    return array.get(static_cast<std::size_t>(linear));
}

Value Interpreter::stage_at(int index, const Point& point) {
    const ir::Stage& stage = pipeline_->stages.at(static_cast<std::size_t>(index));
    StageState& state = stages_.at(static_cast<std::size_t>(index));
    if (point.size() != stage.dims.size()) throw std::logic_error("a read with a wrong number of indices");
    for (std::size_t d = 0; d < point.size(); ++d) {
        const auto& range = state.ranges[d];
        if (range && (point[d] < range->first || point[d] >= range->second)) {
            throw Error(fmt::format("`{}({})` is outside of the stage's range {}..{} in dimension {}", stage.name,
                                    fmt::join(point, ", "), range->first, range->second, d));
        }
    }
    if (const auto* definition = std::get_if<ir::Accumulate>(&stage.definition)) {
        if (!state.accumulated) accumulate(index, *definition);
        return state.values.at(point);
    }
    if (const auto known = state.values.find(point); known != state.values.end()) return known->second;
    if (!stage.scan) return compute(stage, state, point);
    scan_up_to(index, point);
    return state.values.at(point);
}

Value Interpreter::compute(const ir::Stage& stage, StageState& state, const Point& point) {
    for (std::size_t d = 0; d < point.size(); ++d) {
        variables_.at(static_cast<std::size_t>(stage.dims[d].var)) = integer(ir::Type::Int32, point[d]);
    }
    const Value value = eval(std::get<ir::Pure>(stage.definition).value);
    if (value.type != stage.type) throw std::logic_error("a stage's value has not the stage's type");
    state.values.emplace(point, value);
    return value;
}

/// Computes the slices of the point's line up to its own, from the line's beginning: a point then finds what it reads.
void Interpreter::scan_up_to(int index, const Point& point) {
    const ir::Stage& stage = pipeline_->stages.at(static_cast<std::size_t>(index));
    StageState& state = stages_.at(static_cast<std::size_t>(index));
    const auto dim = static_cast<std::size_t>(stage.scan->dim);
    Box slice;
    for (std::size_t d = 0; d < point.size(); ++d) {
        const bool whole = d == dim || stage.scan->is_across(d);
        const auto range = whole ? state.ranges[d] : std::pair(point[d], point[d] + 1);
        if (!range) throw std::logic_error("a scan along or across a dimension that has no range");
        slice.lo.push_back(range->first);
        slice.hi.push_back(range->second);
    }
    const std::int64_t step = stage.scan->step, first = step > 0 ? slice.lo[dim] : slice.hi[dim] - 1;
    const auto go_to = [&](std::int64_t place) { slice.lo[dim] = place, slice.hi[dim] = place + 1; };
    // Slices are computed as a whole, one after the other.
    std::int64_t place = point[dim];
    const auto is_there = [&] { return state.values.contains(slice.lo); };
    for (go_to(place); place != first && !is_there(); go_to(place)) place -= step;
    if (is_there()) place += step;
    for (; place != point[dim] + step; place += step) {
        go_to(place);
        for_each_point(slice, [&](const Point& at) { compute(stage, state, at); });
    }
}

void Interpreter::accumulate(int index, const ir::Accumulate& definition) {
    const ir::Stage& stage = pipeline_->stages.at(static_cast<std::size_t>(index));
    StageState& state = stages_.at(static_cast<std::size_t>(index));
    Box box;
    for (const auto& range : state.ranges) {
        if (!range) throw std::logic_error("an accumulate with a dimension that has no range");
        box.lo.push_back(range->first);
        box.hi.push_back(range->second);
    }
    for_each_point(box, [&](const Point& point) {
        for (std::size_t d = 0; d < point.size(); ++d) {
            variables_.at(static_cast<std::size_t>(stage.dims[d].var)) = integer(ir::Type::Int32, point[d]);
        }
        state.values[point] = eval(definition.init);
    });
    for (const ir::Update& u : definition.updates) update(stage, state, u);
    state.accumulated = true;
}

void Interpreter::update(const ir::Stage& stage, StageState& state, const ir::Update& update) {
    for_each_in(update.domain, [&] {
        if (update.guard && eval(update.guard).i == 0) return;
        Point target;
        for (const ir::Expr& i : update.indices) target.push_back(eval_index(i));
        const Value value = eval(update.value);
        const auto found = state.values.find(target);
        if (found == state.values.end()) {
            throw Error(fmt::format("the update of `{}({})` is outside of the stage's ranges", stage.name,
                                    fmt::join(target, ", ")));
        }
        found->second = fold(update.op, found->second, value);
    });
}

}  // namespace

std::int64_t evaluate_size_expr(const ir::Expr& e, const std::vector<std::int64_t>& sizes) {
    return Interpreter(sizes).eval_exactly(e);
}

std::map<std::string, Array> run(const ir::Pipeline& pipeline, const Arguments& arguments) {
    std::map<std::string, Array> results;
    run_on_big_stack(kStackBytes, [&] { results = Interpreter(pipeline, arguments).run(); });
    return results;
}

}  // namespace pipec::reference
