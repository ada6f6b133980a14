// Proofs about one stage and their messages; see isl_proofs.h.
#include "poly/isl_proofs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/build.h"
#include "ir/parameter_sizes.h"
#include "ir/print.h"
#include "ir/visit.h"
#include "poly/diagnostics.h"
#include "poly/isl_to_ir.h"

namespace pipec::poly {

namespace {

/// Appends those of `more` that are new.
void merge(std::vector<Name>& names, const std::vector<Name>& more) {
    for (const Name name : more) {
        if (!contains(names, name)) names.push_back(name);
    }
}

std::string size_bounds(const ir::Pipeline& pipeline, const std::string& what, const Bounds& b) {
    return fmt::format("{} <= {} < {}", ir::to_string(pipeline, b.lo_expr), what, ir::to_string(pipeline, b.hi_expr));
}

}  // namespace

/// Where the stage evaluates what stands under the guard.
isl::set StageProofs::points(int guard) const {
    return domain_.points.intersect(accesses_.guards[static_cast<std::size_t>(guard)]);
}

/// The points of a violation that a launch can have: it refuses sizes for which an index reaches 2^30.
isl::set StageProofs::possible(const isl::set& violation) const {
    isl::set result = admitted(sizes_, violation);
    if (result.is_empty()) return result;
    for (const ir::Dimension& dim : stage().dims) {
        const isl::pw_aff var = isl_.value({Name::Kind::Variable, dim.var});
        result =
            result.intersect(var.gt_set(isl_.constant(-kIndexLimit))).intersect(var.lt_set(isl_.constant(kIndexLimit)));
    }
    return result;
}

SourceRange StageProofs::place(SourceRange range) const {
    return range.valid() ? range : stage().range;
}

void StageProofs::add(SourceRange range, std::function<void(Diagnostics&)> report, const ir::Node* wraps) {
    const bool known = std::any_of(findings_.begin(), findings_.end(), [&](const Finding& f) {
        return f.range == range && (range.valid() || f.stage == stage_);
    });
    if (!known) findings_.push_back({range, stage_, wraps, std::move(report)});
}

/// The values of the relevant names in a small point of the violation: "x = 0, `v` = 256, R = 3".
std::string StageProofs::example(const isl::set& violation, std::vector<Name> relevant) const {
    // Small sizes first, then small indices.
    std::vector<Name> order = names_in(violation);
    merge(order, relevant);
    std::sort(order.begin(), order.end(), [](Name a, Name b) {
        const auto rank = [](Name n) {
            return n.kind == Name::Kind::Size ? 0 : n.kind == Name::Kind::Variable ? 1 : 2;
        };
        return std::pair(rank(a), a.index) < std::pair(rank(b), b.index);
    });
    const auto point = least_point(isl_, violation, order);
    if (!point) return "";
    std::string result;
    for (const Name::Kind kind : {Name::Kind::Variable, Name::Kind::Opaque, Name::Kind::Size}) {
        for (std::size_t i = 0; i < order.size(); ++i) {
            if (order[i].kind != kind || !contains(relevant, order[i])) continue;
            const auto index = static_cast<std::size_t>(order[i].index);
            const std::string name = kind == Name::Kind::Variable ? pipeline_.variables[index].name
                                     : kind == Name::Kind::Size
                                         ? pipeline_.sizes[index].name
                                         : "`" + ir::to_string(pipeline_, affine_.opaque(order[i].index)) + "`";
            const bool is_bool = kind == Name::Kind::Opaque && affine_.opaque(order[i].index)->type == ir::Type::Bool;
            const std::string value = is_bool ? ((*point)[i] != 0 ? "true" : "false") : std::to_string((*point)[i]);
            result += fmt::format("{}{} = {}", result.empty() ? "" : ", ", name, value);
        }
    }
    return result;
}

/// Where the ranges of the variables come from, and which calls made the stage.
std::vector<DiagnosticNote> StageProofs::context_notes(const std::vector<Name>& relevant,
                                                       const isl::set& violation) const {
    std::vector<DiagnosticNote> notes;
    bool traced = false;
    for (std::size_t d = 0; d < stage().dims.size(); ++d) {
        const ir::Dimension& dim = stage().dims[d];
        if (dim.is_explicit() || !contains(relevant, {Name::Kind::Variable, dim.var})) continue;
        const std::string& var = pipeline_.variables[static_cast<std::size_t>(dim.var)].name;
        notes.push_back({dim.range, fmt::format("what is read of `{}` needs {}", stage().name,
                                                size_bounds(pipeline_, var, domain_.box[d]))});
        if (std::exchange(traced, true)) continue;
        if (auto reads = isl_.attempt([&] { return needed_by_(d, violation); })) {
            notes.insert(notes.end(), reads->begin(), reads->end());
        }
    }
    for (const SourceRange call : stage().made_by) notes.push_back({call, "in the stage function called here"});
    return notes;
}

void StageProofs::prove_cases() {
    for (const Case& c : accesses_.cases) {
        isl_.begin_question(place(c.select->range), fmt::format("this `if` in `{}`", stage().name));
        const isl::set uncovered = possible(points(c.guard).intersect(c.uncovered));
        if (uncovered.is_empty()) continue;
        std::vector<Name> relevant = names_in(c.uncovered);
        merge(relevant, names_in(accesses_.guards[static_cast<std::size_t>(c.guard)]));
        const bool of_data = std::ranges::all_of(relevant, [](Name n) { return n.kind == Name::Kind::Opaque; });
        const std::string point = of_data ? "" : example(uncovered, relevant);
        const std::string when = of_data && !relevant.empty() ? "depends on data"
                                 : point.empty()              ? "is false"
                                                              : "is false when " + point;
        add(place(c.select->range),
            [range = place(c.select->range), when, notes = context_notes(relevant, uncovered)](Diagnostics& diags) {
                auto report = diags.report(diag::UncoveredIf, range, when);
                for (const DiagnosticNote& note : notes) report.note(note.range, note.message);
                report.note("`if c then a else b` has a value everywhere");
            });
    }
}

void StageProofs::prove_no_wrap() {
    for (const GuardedNoWrap& n : accesses_.no_wrap) no_wrap(n.obligation, n.guard);
    for (const Access& access : accesses_.accesses) {
        for (const int obligation : access.no_wrap) no_wrap(obligation, access.guard);
    }
}

void StageProofs::no_wrap(int obligation, int guard) {
    const NoWrap& n = affine_.obligation(obligation);
    isl_.begin_question(place(n.operand->range), fmt::format("the overflow of an index in `{}`", stage().name));
    const IntRange bounds = type_range(n.operand->type);
    const isl::set wraps = n.value.gt_set(isl_.constant(static_cast<long>(bounds.hi)))
                               .unite(n.value.lt_set(isl_.constant(static_cast<long>(bounds.lo))));
    const isl::set violation = possible(wraps.intersect(points(guard)));
    if (violation.is_empty()) return;
    const std::vector<Name> relevant = names_in(n.value);
    const std::string message = fmt::format("`{}` overflows {} when {}", ir::to_string(pipeline_, n.operand),
                                            ir::name(n.operand->type), example(violation, relevant));
    const auto remedy = isl_.attempt([&] { return weakest_remedy(isl_, sizes_, violation); }).value_or(std::nullopt);
    const std::string advice = remedy ? fmt::format("it does not when `{}`; add that to `where` if it is meant",
                                                    ir::to_string(pipeline_, *remedy))
                                      : "";
    add(
        place(n.operand->range),
        [range = place(n.operand->range), message, advice,
         notes = context_notes(relevant, violation)](Diagnostics& diags) {
            auto report = diags.report(diag::IndexOverflow, range, message);
            for (const DiagnosticNote& note : notes) report.note(note.range, note.message);
            if (!advice.empty()) report.note(advice);
        },
        n.operand.get());
}

/// `R == 1`, `R <= 2`: a condition that nobody means.
static bool pins_a_size(const ir::Pipeline& pipeline, const ir::Expr& condition) {
    const auto* n = ir::as<ir::Binary>(condition);
    const auto* size = n == nullptr ? nullptr : ir::as<ir::SizeRef>(n->a);
    if (size == nullptr || !ir::as_int(n->b)) return false;
    if (ir::parameter_of(pipeline, static_cast<std::size_t>(size->index))) return false;
    return n->op == ir::BinaryOp::Eq || n->op == ir::BinaryOp::Le || n->op == ir::BinaryOp::Lt;
}

/// The index, kept in bounds.
std::string StageProofs::clamped(const Access& access, std::size_t dim, const Bounds& bounds) const {
    return fmt::format("clamp({}, {}, {})", ir::to_string(pipeline_, access.indices[dim]),
                       ir::to_string(pipeline_, bounds.lo_expr),
                       ir::to_string(pipeline_, to_expr(bounds.hi.add_constant(-1))));
}

/// How the access would be in bounds.
std::string StageProofs::advice(const Access& access, std::size_t dim, const Bounds& bounds,
                                const isl::set& violation) const {
    std::vector<Name> opaques = names_in(access.values[dim]);
    std::erase_if(opaques, [](Name n) { return n.kind != Name::Kind::Opaque; });
    if (opaques.empty()) {
        const auto remedy =
            isl_.attempt([&] { return weakest_remedy(isl_, sizes_, violation); }).value_or(std::nullopt);
        if (!remedy) return "";
        if (stage().output >= 0 && pins_a_size(pipeline_, *remedy)) {
            return fmt::format("it is in bounds when `{}` only: give `{}` smaller extents",
                               ir::to_string(pipeline_, *remedy), stage().name);
        }
        return fmt::format("it is in bounds when `{}`; add that to `where` if it is meant",
                           ir::to_string(pipeline_, *remedy));
    }
    const bool of_parameters = std::all_of(opaques.begin(), opaques.end(), [&](Name n) {
        return ir::as<ir::ParamRef>(affine_.opaque(n.index)) != nullptr;
    });
    const std::string in_bounds = clamped(access, dim, bounds);
    for (const Name name : opaques) {
        const ir::Expr& value = affine_.opaque(name.index);
        const auto* n = ir::as<ir::Binary>(value);
        if (n == nullptr || ir::has_reads(value)) continue;
        const std::string text = ir::to_string(pipeline_, value);
        if (n->op == ir::BinaryOp::Mul)
            return fmt::format(
                "proofs follow products with constants, and know little of `{}`: `{}` would be in bounds", text,
                in_bounds);
        if (n->op != ir::BinaryOp::Div && n->op != ir::BinaryOp::Mod) continue;
        const auto* product = ir::as<ir::Binary>(n->a);
        if (product != nullptr && product->op == ir::BinaryOp::Mul && !affine_.fits_its_type(n->a))
            return fmt::format("more is known of `{}` where `{}` fits {}: limit it in `where`, or write `{}`", text,
                               ir::to_string(pipeline_, n->a), ir::name(n->a->type), in_bounds);
        return fmt::format("proofs follow quotients by constants, and know little of `{}`: `{}` would be in bounds",
                           text, in_bounds);
    }
    if (!of_parameters) return fmt::format("the index depends on data: `{}` would be in bounds", in_bounds);
    return fmt::format("the index depends on a parameter: bound `{}` in `where`, or write `{}`",
                       ir::to_string(pipeline_, affine_.opaque(opaques.front().index)), in_bounds);
}

/// What there is for points outside of an input; `clamped` is an index that never is.
static std::string border_advice(const ir::Buffer& input, std::size_t dim, const std::string& clamped) {
    // A last dimension of constant extent is the channels of an interleaved image.
    const bool interleaved = input.rank() >= 3 && ir::as<ir::IntConstant>(input.extents.back()) != nullptr;
    if (interleaved && dim + 1 == input.rank()) return "";
    if (dim + (interleaved ? 3 : 2) < input.rank()) {
        const bool channels = ir::as<ir::IntConstant>(input.extents[dim]) != nullptr;
        if (channels) return "";
        const std::string volume =
            dim + 3 == input.rank() && !interleaved
                ? fmt::format(", or read `clamp_to_edge_3d({})` (import \"boundary\")", input.name)
                : "";
        return fmt::format("`{}` would be in bounds{}", clamped, volume);
    }
    const std::string function = input.rank() == 1 ? "clamp_to_edge_1d"
                                 : interleaved     ? "clamp_to_edge_yxc"
                                                   : "clamp_to_edge";
    return fmt::format(
        "for points outside, give `{0}` a border and shift the indices into it, or read `{1}({0})` in its place "
        "(import \"boundary\")",
        input.name, function);
}

/// The indices in the order of the stage's dimensions, where they stand the other way round: of `img(x, y)`, read by a
/// stage of (y, x), they are `y, x`. Empty where they do not.
static std::string swapped_indices(const ir::Pipeline& pipeline, const ir::Stage& stage,
                                   const std::vector<ir::Expr>& indices) {
    const std::size_t rank = indices.size();
    if (rank < 2 || rank > stage.dims.size()) return "";
    // The last two: channels and the like may stand before them.
    const auto* first = ir::as<ir::Variable>(indices[rank - 2]);
    const auto* second = ir::as<ir::Variable>(indices[rank - 1]);
    const ir::VarId row = stage.dims[stage.dims.size() - 2].var;
    const ir::VarId column = stage.dims.back().var;
    if (first == nullptr || second == nullptr || first->id != column || second->id != row) return "";
    std::string text;
    for (std::size_t i = 0; i + 2 < rank; ++i) text += ir::to_string(pipeline, indices[i]) + ", ";
    return text + fmt::format("{}, {}", ir::to_string(pipeline, indices[rank - 1]),
                              ir::to_string(pipeline, indices[rank - 2]));
}

/// The indices in the order of the input's extents, where a stage with these extents in another order reads the input
/// at its own point: of `out(c, y, x) = img(c, y, x)` with an interleaved `img[R, C, 3]` they are `y, x, c`. Empty
/// where it does not, or two extents are the same.
static std::string indices_by_extents(const ir::Pipeline& pipeline, const ir::Stage& stage, const Access& access) {
    const ir::Buffer& input = pipeline.inputs[static_cast<std::size_t>(access.source.index)];
    const std::size_t rank = input.rank();
    if (stage.output < 0 || stage.dims.size() != rank) return "";
    bool moved = false;
    std::string text;
    for (std::size_t d = 0; d < rank; ++d) {
        const auto* index = ir::as<ir::Variable>(access.indices[d]);
        if (index == nullptr || index->id != stage.dims[d].var) return "";
        const auto has_extent = [&](const ir::Dimension& dim) {
            return ir::structurally_equal(dim.hi, input.extents[d]);
        };
        const auto found = std::ranges::find_if(stage.dims, has_extent);
        if (std::ranges::count_if(stage.dims, has_extent) != 1) return "";
        moved = moved || found - stage.dims.begin() != static_cast<std::ptrdiff_t>(d);
        text += (d > 0 ? ", " : "") + pipeline.variables[static_cast<std::size_t>(found->var)].name;
    }
    return moved ? text : "";
}

/// The points for which the access is.
isl::set StageProofs::out_of_bounds(const Access& access, std::size_t dim, const Bounds& bounds, Ends ends) const {
    const isl::pw_aff& value = access.values[dim];
    isl::set outside = isl_.nothing();
    if (ends.first) outside = outside.unite(value.lt_set(bounds.lo));
    if (ends.last) outside = outside.unite(value.ge_set(bounds.hi));
    return possible(affine_.with_opaque_bounds(outside).intersect(points(access.guard)));
}

void StageProofs::prove_in_bounds(const std::vector<const Access*>& accesses, std::size_t dim, const Bounds& bounds) {
    if (accesses.size() == 1) return prove_in_bounds(*accesses[0], dim, bounds, {}, {});
    const std::vector<const Access*> above(accesses.begin() + 1, accesses.end());
    const std::vector<const Access*> below(accesses.rbegin() + 1, accesses.rend());
    // In the order in which the walk found them, as other messages are.
    const bool upwards = accesses.front() < accesses.back();
    if (upwards) prove_in_bounds(*accesses.front(), dim, bounds, {true, false}, above);
    prove_in_bounds(*accesses.back(), dim, bounds, {false, true}, below);
    if (!upwards) prove_in_bounds(*accesses.front(), dim, bounds, {true, false}, above);
}

void StageProofs::prove_in_bounds(const Access& access, std::size_t dim, const Bounds& bounds, Ends ends,
                                  const std::vector<const Access*>& others) {
    const bool is_input = access.source.kind == ir::Source::Kind::Input;
    const auto source = static_cast<std::size_t>(access.source.index);
    const std::string& name = is_input ? pipeline_.inputs[source].name : pipeline_.stages[source].name;
    isl_.begin_question(place(access.range), fmt::format("this access to `{}`", name));

    const isl::pw_aff& value = access.values[dim];
    const isl::set violation = out_of_bounds(access, dim, bounds, ends);
    if (violation.is_empty()) return;

    std::vector<Name> relevant = names_in(value);
    std::vector<Name> shown = relevant;
    merge(shown, names_in(bounds.lo));
    merge(shown, names_in(bounds.hi));
    for (std::size_t d = 0; d < stage().dims.size(); ++d) {
        if (!contains(relevant, {Name::Kind::Variable, stage().dims[d].var})) continue;
        merge(shown, names_in(domain_.box[d].lo));
        merge(shown, names_in(domain_.box[d].hi));
    }

    // The range of a loop's variable may end at a parameter.
    const bool in_loop = std::ranges::any_of(relevant, [&](Name n) {
        return n.kind == Name::Kind::Variable &&
               std::ranges::none_of(stage().dims, [&](const ir::Dimension& d) { return d.var == n.index; });
    });
    for (const Name n : in_loop ? names_in(violation) : std::vector<Name>{}) {
        const bool size = n.kind == Name::Kind::Size;
        if (size && ir::parameter_of(pipeline_, static_cast<std::size_t>(n.index))) merge(shown, {n});
    }

    const ir::Expr& index = access.indices[dim];
    const std::string text = access.expr
                                 ? ir::to_string(pipeline_, access.expr)
                                 : ir::to_string(pipeline_, ir::read(access.source, stage().type, access.indices));
    // The value of the index at the example point: a further name that the point must give a value to.
    const Name result_name{Name::Kind::Opaque, 1'000'000};
    const isl::set with_value = violation.intersect(value.eq_set(isl_.value(result_name)));
    std::vector<Name> order = names_in(violation);
    merge(order, shown);
    std::sort(order.begin(), order.end(), [](Name a, Name b) {
        const auto rank = [](Name n) {
            return n.kind == Name::Kind::Size ? 0 : n.kind == Name::Kind::Variable ? 1 : 2;
        };
        return std::pair(rank(a), a.index) < std::pair(rank(b), b.index);
    });
    order.push_back(result_name);
    const auto point = least_point(isl_, with_value, order);
    const std::string index_text = ir::to_string(pipeline_, index);
    const std::string value_text = point ? std::to_string(point->back()) : "out of range";
    const std::string when = example(violation, shown);
    std::string message = fmt::format("`{}` is out of bounds: ", text);
    message += index_text == value_text ? fmt::format("index {} is {}", dim, value_text)
                                        : fmt::format("index {}, `{}`, is {}", dim, index_text, value_text);
    if (!when.empty()) message += " when " + when;

    std::vector<DiagnosticNote> notes;
    const SourceRange declared = is_input ? pipeline_.inputs[source].range : pipeline_.stages[source].range;
    notes.push_back(
        {declared, fmt::format("`{}` has {} in dimension {}", name, size_bounds(pipeline_, "index", bounds), dim)});
    if (stage().scan && access.source == ir::Source{ir::Source::Kind::Stage, stage_} &&
        dim == static_cast<std::size_t>(stage().scan->dim)) {
        const ir::Dimension& along = stage().dims[static_cast<std::size_t>(stage().scan->dim)];
        const ir::Expr one = ir::int_constant(ir::Type::Int32, 1);
        const ir::Expr first = stage().scan->step > 0 ? along.lo : ir::binary(ir::BinaryOp::Sub, along.hi, one);
        notes.push_back(
            {{},
             fmt::format("the first point of a line needs a value of its own: `if {} == {} then ... else ...`",
                         pipeline_.variables[static_cast<std::size_t>(along.var)].name,
                         ir::to_string(pipeline_, first))});
    }
    for (DiagnosticNote& note : context_notes(relevant, violation)) notes.push_back(std::move(note));
    const std::string in_order = swapped_indices(pipeline_, stage(), access.indices);
    const std::string permuted = is_input ? indices_by_extents(pipeline_, stage(), access) : "";
    const auto constant = ir::as_int(index);
    std::string how;
    if (!in_order.empty()) {
        how = fmt::format("rows come first: `{}({})`", name, in_order);
    } else if (!permuted.empty()) {
        how = fmt::format("the extents of `{}` are in another order: `{}({})`", stage().name, name, permuted);
    } else if (is_input && constant && *constant < 0) {
        how = fmt::format("indices do not count from the end: the last one is `{}`",
                          ir::to_string(pipeline_, to_expr(bounds.hi.add_constant(-1))));
    } else {
        how = advice(access, dim, bounds, violation);
    }
    const bool affine = std::ranges::none_of(relevant, [](Name n) { return n.kind == Name::Kind::Opaque; });
    if (how.empty() && is_input && affine && !relevant.empty()) {
        how = border_advice(pipeline_.inputs[source], dim, clamped(access, dim, bounds));
    }
    if (!how.empty()) notes.push_back({{}, how});
    constexpr std::size_t kMostOthers = 3;
    std::vector<SourceRange> told{place(access.range)};
    for (const Access* other : others) {
        if (told.size() > kMostOthers || std::ranges::find(told, other->range) != told.end()) continue;
        if (!other->range.valid()) continue;
        const auto also = isl_.attempt([&] { return !out_of_bounds(*other, dim, bounds, ends).is_empty(); });
        if (!also.value_or(false)) continue;
        told.push_back(other->range);
        notes.push_back({other->range, fmt::format("so is this read of `{}`", name)});
    }
    add(place(access.range), [range = place(access.range), message, notes](Diagnostics& diags) {
        auto report = diags.report(diag::OutOfBounds, range, message);
        for (const DiagnosticNote& note : notes) report.note(note.range, note.message);
    });
}

}  // namespace pipec::poly
