// Extents, explicit ranges, `where`, and solving for the sizes; see isl_sizes.h.
#include "poly/isl_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "ir/build.h"
#include "ir/parameter_sizes.h"
#include "ir/print.h"
#include "ir/visit.h"
#include "poly/diagnostics.h"
#include "poly/isl_to_ir.h"

namespace pipec::poly {

namespace {

/// Bounds of parameters that are farther away are those of their types.
constexpr long kFarthestBound = 1L << 62;
constexpr FloatRange kEveryNumber{-kInfinity, kInfinity, false};

std::vector<Name> all_sizes(const ir::Pipeline& pipeline) {
    std::vector<Name> result;
    for (std::size_t i = 0; i < pipeline.sizes.size(); ++i) {
        result.push_back({Name::Kind::Size, static_cast<int>(i)});
    }
    return result;
}

/// The parts of a condition that all hold where it does.
void for_each_part(const ir::Expr& condition, const std::function<void(const ir::Expr&)>& visit) {
    const auto* n = ir::as<ir::Binary>(condition);
    if (n == nullptr || n->op != ir::BinaryOp::And) return visit(condition);
    for_each_part(n->a, visit);
    for_each_part(n->b, visit);
}

/// What `1 <= s`, or another comparison of a parameter in extents with a constant, says of the parameter.
struct ParameterLimit {
    std::size_t size;
    IntRange range;
};
std::optional<ParameterLimit> parameter_limit(const ir::Pipeline& pipeline, const ir::Expr& comparison) {
    const auto* n = ir::as<ir::Binary>(comparison);
    if (n == nullptr) return std::nullopt;
    const bool swapped = ir::as<ir::SizeRef>(n->a) == nullptr;
    const auto* size = ir::as<ir::SizeRef>(swapped ? n->b : n->a);
    const auto limit = ir::as_int(swapped ? n->a : n->b);
    if (size == nullptr || !limit || !ir::parameter_of(pipeline, static_cast<std::size_t>(size->index)))
        return std::nullopt;
    ParameterLimit result{static_cast<std::size_t>(size->index), {-kIndexLimit, kIndexLimit}};
    switch (n->op) {
        case ir::BinaryOp::Eq: result.range = {*limit, *limit}; break;
        case ir::BinaryOp::Lt:
        case ir::BinaryOp::Le:
        case ir::BinaryOp::Gt:
        case ir::BinaryOp::Ge: {
            const bool strict = n->op == ir::BinaryOp::Lt || n->op == ir::BinaryOp::Gt;
            const bool above = (n->op == ir::BinaryOp::Lt || n->op == ir::BinaryOp::Le) == swapped;
            (above ? result.range.lo : result.range.hi) = *limit + (!strict ? 0 : above ? 1 : -1);
            break;
        }
        default: return std::nullopt;
    }
    return result;
}

/// What `where` says of sizes by constants alone, of parameters: products with one of few values are affine.
std::vector<IntRange> parameter_ranges(const ir::Pipeline& pipeline) {
    std::vector<IntRange> result(pipeline.sizes.size(), IntRange{-kIndexLimit, kIndexLimit});
    for (const ir::Expr& condition : pipeline.where) {
        for_each_part(condition, [&](const ir::Expr& part) {
            const auto limit = parameter_limit(pipeline, part);
            if (!limit) return;
            IntRange& range = result[limit->size];
            const IntRange both{std::max(range.lo, limit->range.lo), std::min(range.hi, limit->range.hi)};
            if (both.lo <= both.hi) range = both;
        });
    }
    return result;
}

class ContextBuilder {
public:
    ContextBuilder(const IslContext& isl, const ir::Pipeline& pipeline, Diagnostics& diags, bool is_accepted)
        : isl_(isl),
          pipeline_(pipeline),
          diags_(diags),
          is_accepted_(is_accepted),
          any_(pipeline, std::vector<IntRange>(pipeline.sizes.size(), IntRange{-kIndexLimit, kIndexLimit})),
          limits_(isl, any_, Integers::Exact),
          ranges_(pipeline, parameter_ranges(pipeline)),
          affine_(isl, ranges_, Integers::Exact),
          conditions_(isl.everything()) {
        context_.assumed = context_.bounded = isl.everything();
        for (const Name name : all_sizes(pipeline)) {
            const isl::pw_aff size = isl.value(name);
            context_.bounded = context_.bounded.intersect(size.gt_set(isl.constant(-kIndexLimit)))
                                   .intersect(size.lt_set(isl.constant(kIndexLimit)));
        }
    }

    std::optional<SizeContext> build() {
        const std::size_t errors = diags_.error_count();
        for (const ir::Buffer& buffer : pipeline_.inputs) context_.inputs.push_back(extents(buffer));
        for (const ir::Output& output : pipeline_.outputs) extents(output.buffer);
        for (const ir::Expr& condition : pipeline_.where) assume(condition);
        if (diags_.error_count() > errors) return std::nullopt;
        find_ranges();
        if (!is_accepted_) require_bounded_parameters();
        for (const ir::Stage& stage : pipeline_.stages) context_.stages.push_back(explicit_bounds(stage));
        if (diags_.error_count() > errors) return std::nullopt;
        return std::move(context_);
    }

private:
    /// An expression over sizes as an affine function, or an error that shows the part that is not.
    std::optional<isl::pw_aff> affine(const ir::Expr& e, const std::string& what) {
        isl::pw_aff value = affine_.exact_integer(e).value;
        for (const Name name : names_in(value)) {
            if (name.kind == Name::Kind::Size) continue;
            const ir::Expr& part = name.kind == Name::Kind::Opaque ? affine_.opaque(name.index) : e;
            // Extents share nodes: a part that several of them have is reported once.
            if (!told_.insert(part).second) return std::nullopt;
            // `part` may be a node of another condition or extent: it is shown where it stands in this one.
            SourceRange place = e->range;
            ir::for_each_node(e, [&](const ir::Expr& node) {
                if (node->range.valid() && ir::structurally_equal(node, part)) place = node->range;
            });
            auto report = diags_.report(diag::NonAffineBound, place, what, ir::to_string(pipeline_, part));
            const auto* n = ir::as<ir::Binary>(part);
            if (n != nullptr && !ir::is_comparison(n->op)) {
                report.note(
                    "sizes can be multiplied and divided by constants, and by parameters to which `where` leaves at "
                    "most four values; what is found otherwise can be a "
                    "size or parameter of its own, which the caller gives");
            }
            return std::nullopt;
        }
        return value;
    }

    std::vector<Bounds> extents(const ir::Buffer& buffer) {
        std::vector<Bounds> result;
        for (std::size_t d = 0; d < buffer.rank(); ++d) {
            isl_.next_part();
            const ir::Expr& e = buffer.extents[d];
            const auto value = affine(e, fmt::format("extent {} of `{}`", d, buffer.name));
            if (!value) continue;
            const isl::set before = context_.assumed, before_bounded = context_.bounded;
            context_.assumed = before.intersect(value->ge_set(isl_.constant(1))).coalesce();
            context_.bounded =
                before_bounded.intersect(context_.assumed).intersect(value->lt_set(isl_.constant(kIndexLimit)));
            if (context_.bounded.is_empty() && !before_bounded.is_empty()) {
                const bool never_positive = context_.assumed.is_empty();
                diags_.report(diag::UnsatisfiableWhere, e->range,
                              fmt::format("extent {} of `{}`, `{}`, is never {}", d, buffer.name,
                                          ir::to_string(pipeline_, e), never_positive ? "at least 1" : "below 2^30"));
            }
            result.push_back({isl_.constant(0), *value, ir::int_constant(ir::Type::Int32, 0), e});
        }
        return result;
    }

    /// A condition counts as far as it is affine in the sizes and parameters: what it says about other values is
    /// projected out.
    void assume(const ir::Expr& condition) {
        isl_.next_part();
        for_each_part(condition, [&](const ir::Expr& part) { narrow_floats(part); });
        // Where a parameter's range is known already, the comparison that says so is always true.
        bool is_limit = true;
        for_each_part(condition, [&](const ir::Expr& part) {
            is_limit = is_limit && parameter_limit(pipeline_, part).has_value();
        });
        AffineTranslator& translator = is_limit ? limits_ : affine_;
        isl::set set = translator.with_opaque_bounds(translator.launch_condition(condition));
        for_each_part(condition, [&](const ir::Expr& part) {
            if (!is_limit && parameter_limit(pipeline_, part)) set = set.intersect(limits_.launch_condition(part));
        });
        std::vector<Name> params = names_in(set);
        std::erase_if(params, [](Name n) { return n.kind == Name::Kind::Size; });
        conditions_ = conditions_.intersect(set);
        const std::string text = ir::to_string(pipeline_, condition);
        const std::vector<Name> mentioned = names_in(translator.condition(condition).value);
        const bool is_affine =
            std::all_of(mentioned.begin(), mentioned.end(), [](Name n) { return n.kind == Name::Kind::Size; });
        if (!is_accepted_ && is_affine && set.complement().is_empty()) {
            diags_.report(diag::RedundantWhere, condition->range, text);
        }
        const isl::set before = context_.bounded;
        context_.assumed = context_.assumed.intersect(project_out(isl_, set, params)).coalesce();
        context_.bounded = before.intersect(context_.assumed);
        const bool alone = set.is_empty();
        if (before.is_empty() || !(context_.bounded.is_empty() || conditions_.intersect(before).is_empty())) return;
        diags_.report(diag::UnsatisfiableWhere, condition->range,
                      alone ? fmt::format("`{}` is never true", text)
                      : context_.assumed.is_empty() || !context_.bounded.is_empty()
                          ? fmt::format("`{}` contradicts the conditions before it or an extent of at least 1", text)
                          : fmt::format("`{}` asks for a size or an extent of 2^30 or more", text));
    }

    /// Comparisons of float parameters with constants. One that holds is not of a NaN.
    void narrow_floats(const ir::Expr& comparison) {
        const auto* n = ir::as<ir::Binary>(comparison);
        if (n == nullptr) return;
        const bool swapped = ir::as<ir::FloatConstant>(n->a) != nullptr;
        const auto* param = ir::as<ir::ParamRef>(swapped ? n->b : n->a);
        const auto* limit = ir::as<ir::FloatConstant>(swapped ? n->a : n->b);
        if (param == nullptr || limit == nullptr || !ir::is_comparison(n->op) || n->op == ir::BinaryOp::Ne) return;
        const bool less = n->op == ir::BinaryOp::Lt || n->op == ir::BinaryOp::Le;
        const bool strict = n->op == ir::BinaryOp::Lt || n->op == ir::BinaryOp::Gt;
        const auto bound = [&](double side) {
            return strict ? neighbour(n->a->type, limit->value, side) : limit->value;
        };
        FloatRange& range = float_params_.try_emplace(param->index, kEveryNumber).first->second;
        if (n->op == ir::BinaryOp::Eq || less != swapped) range.hi = std::min(range.hi, bound(-kInfinity));
        if (n->op == ir::BinaryOp::Eq || less == swapped) range.lo = std::max(range.lo, bound(kInfinity));
    }

    /// The next value of a float type towards `side`; float16's are taken as they are.
    static double neighbour(ir::Type type, double value, double side) {
        if (type == ir::Type::Float64) return std::nextafter(value, side);
        if (type != ir::Type::Float32) return value;
        return static_cast<double>(std::nextafter(static_cast<float>(value), static_cast<float>(side)));
    }

    void find_ranges() {
        const isl::set tuple = as_tuple(isl_, context_.bounded, all_sizes(pipeline_));
        const bool none = context_.bounded.is_empty();
        for (std::size_t i = 0; i < pipeline_.sizes.size(); ++i) {
            if (none) {
                context_.ranges.push_back({-kIndexLimit, kIndexLimit});
                continue;
            }
            const isl::val least = tuple.dim_min_val(static_cast<int>(i));
            const isl::val greatest = tuple.dim_max_val(static_cast<int>(i));
            context_.ranges.push_back({to_long(least), to_long(greatest)});
        }
        for (std::size_t i = 0; i < pipeline_.params.size(); ++i) {
            const auto known = float_params_.find(static_cast<int>(i));
            const bool usable = known != float_params_.end() && known->second.lo <= known->second.hi;
            context_.params.push_back(usable ? known->second : type_range_of(pipeline_.params[i].type));
        }
        const isl::set known = conditions_.intersect(context_.bounded);
        for (const Name name : names_in(conditions_)) {
            if (name.kind != Name::Kind::Opaque || none) continue;
            const auto* param = ir::as<ir::ParamRef>(affine_.opaque(name.index));
            std::vector<Name> others = names_in(known);
            std::erase(others, name);
            const isl::set values = as_tuple(isl_, project_out(isl_, known, others), {name});
            if (values.is_empty()) continue;
            const isl::val least = values.dim_min_val(0), greatest = values.dim_max_val(0);
            IntRange& range = std::get<IntRange>(context_.params.at(static_cast<std::size_t>(param->index)));
            if (least.is_int() && least.abs().lt(isl::val(isl_.ctx(), kFarthestBound))) range.lo = to_long(least);
            if (greatest.is_int() && greatest.abs().lt(isl::val(isl_.ctx(), kFarthestBound)))
                range.hi = to_long(greatest);
        }
    }

    /// A parameter that bounds a range has limits that constants or other sizes give. The launch holds it against those
    /// of all sizes anyway, but what needs them was hardly meant.
    void require_bounded_parameters() {
        for (std::size_t i = 0; i < pipeline_.sizes.size(); ++i) {
            const auto param = ir::parameter_of(pipeline_, i);
            if (!param || context_.bounded.is_empty()) continue;
            isl::set known = context_.assumed;
            for (std::size_t j = 0; j < pipeline_.sizes.size(); ++j) {
                if (j == i) continue;
                const isl::pw_aff other = isl_.value({Name::Kind::Size, static_cast<int>(j)});
                known = known.intersect(other.gt_set(isl_.constant(-kIndexLimit)))
                            .intersect(other.lt_set(isl_.constant(kIndexLimit)));
            }
            const isl::set tuple = as_tuple(isl_, known, all_sizes(pipeline_));
            const int number = static_cast<int>(i);
            if (tuple.dim_min_val(number).is_int() && tuple.dim_max_val(number).is_int()) continue;
            const std::string& name = pipeline_.sizes[i].name;
            diags_.report(diag::UnboundedParameter, pipeline_.params[*param].range, name)
                .note(fmt::format("for example: where 0 <= {} <= 15", name));
        }
    }

    ExplicitBounds explicit_bounds(const ir::Stage& stage) {
        ExplicitBounds result;
        for (const ir::Dimension& dim : stage.dims) {
            result.emplace_back();
            if (!dim.is_explicit()) continue;
            isl_.next_part();
            const std::string& var = pipeline_.variables[static_cast<std::size_t>(dim.var)].name;
            const std::string what = fmt::format("the range of `{}`", var);
            const auto lo = affine(dim.lo, what);
            const auto hi = affine(dim.hi, what);
            if (!lo || !hi) continue;
            result.back() = Bounds{*lo, *hi, to_expr(*lo), to_expr(*hi)};  // `C - 1 + 1` becomes `C`
            if (is_accepted_ || stage.alone)
                continue;  // what is left of a reduction where a condition holds may be nothing
            const isl::set empty = admitted(context_, lo->ge_set(*hi));
            if (empty.is_empty()) continue;
            const std::string sizes = example_sizes(isl_, pipeline_, empty);
            auto report = diags_.report(diag::EmptyRange, dim.range, var, stage.name,
                                        sizes.empty() ? std::string("always") : "when " + sizes);
            if (const auto remedy = weakest_remedy(isl_, context_, empty)) {
                report.note(fmt::format("it is not when `{}`; add that to `where` if it is meant",
                                        ir::to_string(pipeline_, *remedy)));
            }
        }
        return result;
    }

    const IslContext& isl_;
    const ir::Pipeline& pipeline_;
    Diagnostics& diags_;
    bool is_accepted_;
    std::set<ir::Expr> told_;  ///< parts that are not affine and were reported
    ValueRanges any_;
    AffineTranslator limits_;  ///< of comparisons of a parameter with constants: no opaque values
    ValueRanges ranges_;
    AffineTranslator affine_;
    isl::set conditions_;  ///< what `where` says of sizes and parameters
    std::map<int, FloatRange> float_params_;
    SizeContext context_;
};

/// An extent as c * size + rest with rest over solved sizes; none when it is not of that form.
struct Candidate {
    int size;
    std::int64_t coefficient;
    ir::Expr rest;
};

std::optional<Candidate> candidate(const IslContext& isl, const isl::pw_aff& extent, const std::set<int>& solved) {
    if (!extent.isa_aff()) return std::nullopt;
    const isl::aff aff = extent.as_aff();
    std::optional<Candidate> result;
    for (const Name name : names_in(extent)) {
        if (name.kind != Name::Kind::Size) return std::nullopt;
        if (solved.contains(name.index)) continue;
        if (result) return std::nullopt;
        const isl::val c = coefficient(aff, name);
        if (!c.is_int() || !c.is_pos()) return std::nullopt;
        const isl::pw_aff rest = extent.sub(isl.value(name).scale(c));
        const std::vector<Name> left = names_in(rest);  // the size may also stand in a division
        if (std::find(left.begin(), left.end(), name) != left.end()) return std::nullopt;
        result = Candidate{name.index, to_long(c), to_expr(rest)};
    }
    return result;
}

}  // namespace

std::optional<SizeContext> size_context(const IslContext& isl, const ir::Pipeline& pipeline, Diagnostics& diags) {
    return ContextBuilder(isl, pipeline, diags, false).build();
}

std::optional<SizeContext> size_context(const IslContext& isl, const ir::Pipeline& pipeline) {
    Diagnostics none;
    return ContextBuilder(isl, pipeline, none, true).build();
}

ProgramValues::ProgramValues(const IslContext& isl, const ir::Pipeline& pipeline, const SizeContext& sizes,
                             const KnownBoxes& boxes)
    : ranges(pipeline, sizes.ranges, sizes.params), affine(isl, ranges, Integers::Wrapping, &pipeline) {
    ranges.believe_float_conditions();
    ranges.know_stages(boxes);
    for (const ir::Expr& condition : pipeline.where) affine.assume(condition);
}

isl::set admitted(const SizeContext& sizes, const isl::set& violation) {
    const isl::set possible = violation.intersect(sizes.assumed);
    return possible.is_empty() ? possible : possible.intersect(sizes.bounded);
}

std::vector<SizeSolution> solve_sizes(const ir::Pipeline& pipeline, const IslContext& isl) {
    ValueRanges ranges(pipeline, std::vector<IntRange>(pipeline.sizes.size(), IntRange{-kIndexLimit, kIndexLimit}));
    AffineTranslator affine(isl, ranges);
    std::vector<SizeSolution> result;
    std::set<int> solved;
    for (std::size_t i = 0; i < pipeline.sizes.size(); ++i) {
        if (!ir::parameter_of(pipeline, i)) continue;
        solved.insert(static_cast<int>(i));
        result.push_back({SizeSolution::From::Explicit, static_cast<int>(i), -1, -1, 1, nullptr});
    }
    // A launch may have to compute the default of a size that comes from an output.
    const auto default_known = [&](int size) {
        bool known = true;
        const ir::Expr& preset = pipeline.sizes[static_cast<std::size_t>(size)].default_value;
        if (!preset) return known;
        ir::for_each_node(preset, [&](const ir::Expr& node) {
            const auto* used = ir::as<ir::SizeRef>(node);
            known = known && (used == nullptr || solved.contains(used->index));
        });
        return known;
    };
    // The first extent that gives a size, in order of preference.
    const auto next = [&]() -> std::optional<SizeSolution> {
        for (const bool from_outputs : {false, true}) {
            for (const bool any_divisor : {false, true}) {
                const std::size_t count = from_outputs ? pipeline.outputs.size() : pipeline.inputs.size();
                for (std::size_t b = 0; b < count; ++b) {
                    const ir::Buffer& buffer = from_outputs ? pipeline.outputs[b].buffer : pipeline.inputs[b];
                    for (std::size_t d = 0; d < buffer.rank(); ++d) {
                        const auto c = candidate(isl, affine.integer(buffer.extents[d]).value, solved);
                        if (!c || (c->coefficient != 1 && !any_divisor)) continue;
                        if (from_outputs && !default_known(c->size)) continue;
                        return SizeSolution{from_outputs ? SizeSolution::From::Output : SizeSolution::From::Input,
                                            c->size,
                                            static_cast<int>(b),
                                            static_cast<int>(d),
                                            c->coefficient,
                                            c->rest};
                    }
                }
            }
        }
        return std::nullopt;
    };
    while (solved.size() < pipeline.sizes.size()) {
        if (auto solution = next()) {
            solved.insert(solution->size);
            result.push_back(*std::move(solution));
            continue;
        }
        // No extent gives one: the caller passes the last one declared, which may make others known. It is none with a
        // default, as the first of those could be solved.
        int last = static_cast<int>(pipeline.sizes.size()) - 1;
        while (solved.contains(last) || pipeline.sizes[static_cast<std::size_t>(last)].default_value) --last;
        solved.insert(last);
        result.push_back({SizeSolution::From::Explicit, last, -1, -1, 1, nullptr});
    }
    return result;
}

std::optional<ir::Expr> weakest_remedy(const IslContext& isl, const SizeContext& sizes, const isl::set& violation) {
    std::vector<Name> others;
    for (const Name name : names_in(violation)) {
        if (name.kind != Name::Kind::Size) others.push_back(name);
    }
    const isl::set bad = project_out(isl, violation, others);
    // What overflows is bad for large sizes, up to the largest ones: beyond these it would be good again.
    for (const isl::set& context : {sizes.assumed, sizes.bounded}) {
        const isl::set good = context.subtract(bad).coalesce();
        if (good.intersect(sizes.bounded).is_empty()) return std::nullopt;
        const isl::set remedy = good.gist(context).coalesce();
        if (remedy.n_basic_set() != 1) continue;
        ir::Expr e;
        try {
            e = to_condition(remedy);
        } catch (const NumberTooLarge&) {
            continue;  // C + 2 * R <= 2^31 + 1: no program can say it
        }
        const auto* comparison = ir::as<ir::Binary>(e);
        if (comparison && ir::is_comparison(comparison->op)) return e;
    }
    return std::nullopt;
}

std::string example_sizes(const IslContext& isl, const ir::Pipeline& pipeline, const isl::set& sizes) {
    const std::vector<Name> names = names_in(sizes);
    const auto point = least_point(isl, sizes, names);
    std::string result;
    for (std::size_t i = 0; point && i < names.size(); ++i) {
        result += fmt::format("{}{} = {}", i == 0 ? "" : ", ",
                              pipeline.sizes[static_cast<std::size_t>(names[i].index)].name, (*point)[i]);
    }
    return result;
}

}  // namespace pipec::poly
