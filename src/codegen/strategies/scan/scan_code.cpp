#include "codegen/strategies/scan/scan_code.h"

#include <fmt/format.h>

#include <set>

#include "codegen/expr/strides.h"
#include "codegen/expr/uniform_values.h"
#include "codegen/kernel/shared_memory.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

using ir::BinaryOp;
using ir::Type;

ir::Expr nothing(Type type) {
    return type == Type::Bool ? ir::bool_constant(false) : ir::constant(type, 0);
}

ScanCode::ScanCode(kernel::Program& program, const ScanMembers& members, const ir::Expr& definition)
    : program_(program),
      members_(members),
      index_(members.scan),
      stage_(program.pipeline.stages.at(static_cast<std::size_t>(index_))),
      domain_(program.model.domains.at(static_cast<std::size_t>(index_))),
      scan_(static_cast<std::size_t>(stage_.scan->dim)),
      rewriter_(program.pipeline, program.fast_math),
      build_(program.pipeline, rewriter_) {
    for (std::size_t d = 0; d < stage_.dims.size(); ++d) rewriter_.index(stage_.dims[d].var, domain_.box[d]);
    const ir::Expr& as_defined = definition ? definition : std::get<ir::Pure>(stage_.definition).value;
    const ir::Expr value = ordered(rewriter_.instance(as_defined, {}));
    if (domain_.guard) guard_ = rewriter_.instance(domain_.guard, {});
    // A thread computes coefficients once, not for each of its points, and they stay out of shared memory.
    UniformValues uniform(build_, build_.kernel.body,
                          [this](const ir::Expr& e) { return is_of_others(e) && is_certain(e); });
    std::vector<ScanReader> readers = find_readers();
    for (ScanReader& reader : readers) reader.value = uniform.replaced(reader.value);
    definition_ = uniform.replaced(value);
    terms_ = scan_terms(program.pipeline, stage_, index_, definition_, std::move(readers),
                        [this](const ir::Expr& term) { return is_certain(term); });
    order_ = memory_order(program.pipeline,
                          {ir::Source::Kind::Stage, members_.stores(index_) ? index_ : members_.stored.front()});
    for (const int d : order_) {
        if (static_cast<std::size_t>(d) != scan_) line_dims_.push_back(static_cast<std::size_t>(d));
    }
    for (const poly::Interval& box : domain_.box) extents_.push_back(constant_extent(box.lo, box.hi));
}

/// The members that read the scan, over its dimensions' variables.
std::vector<ScanReader> ScanCode::find_readers() {
    std::vector<ScanReader> result;
    for (const int index : members_.readers) {
        const ir::Stage reader = program_.pipeline.stages.at(static_cast<std::size_t>(index));
        Rewriter::Bindings dims;
        for (std::size_t d = 0; d < reader.dims.size(); ++d)
            dims[reader.dims[d].var] = ir::variable(stage_.dims[d].var, Type::Int32);
        const ir::Expr exists = part_of_domain(reader, index, dims);
        if (!refusal_.empty()) return {};
        const ir::VarId own = ir::new_variable(program_.pipeline, reader.name, reader.type);
        const ir::Expr value = rewriter_.instance(std::get<ir::Pure>(reader.definition).value, dims);
        result.push_back({index, own, value, exists});
    }
    return result;
}

/// Which of the scan's points a reader has; null where it has all. Refuses where it may have others.
ir::Expr ScanCode::part_of_domain(const ir::Stage& reader, int index, const Rewriter::Bindings& dims) {
    const poly::Domain domain = program_.model.domains.at(static_cast<std::size_t>(index));
    const ir::Expr guard = domain.guard ? rewriter_.instance(domain.guard, dims) : nullptr;
    ir::Expr exists = guard;
    const auto refuse = [&] {
        refusal_ = fmt::format("`{}` has points that `{}` may not have", reader.name, stage_.name);
        return nullptr;
    };
    if (guard_) {
        if (!guard || !ir::structurally_equal(guard, guard_)) return refuse();
        exists = nullptr;
    }
    for (std::size_t d = 0; d < reader.dims.size(); ++d) {
        const ir::Expr x = ir::variable(stage_.dims[d].var, Type::Int32);
        const auto [lo, hi] = domain.box[d];
        const auto before = distance(domain_.box[d].lo, lo), behind = distance(hi, domain_.box[d].hi);
        if (!before || !behind || *before < 0 || *behind < 0) return refuse();
        if (*before > 0) exists = both(exists, ir::binary(BinaryOp::Ge, x, rewriter_.instance(lo, {})));
        if (*behind > 0) exists = both(exists, ir::binary(BinaryOp::Lt, x, rewriter_.instance(hi, {})));
    }
    return exists;
}

/// `to` - `from`, where that is a constant.
std::optional<std::int64_t> ScanCode::distance(const ir::Expr& from, const ir::Expr& to) {
    const ir::Expr begin = rewriter_.instance(from, {}), end = rewriter_.instance(to, {});
    if (ir::structurally_equal(begin, end)) return 0;
    auto sum = rewriter_.linear(end);
    const auto less = rewriter_.linear(begin);
    if (!sum || !less) return std::nullopt;
    sum->add(*less, -1);
    return sum->terms.empty() ? std::optional(sum->constant) : std::nullopt;
}

/// Each index is a dimension's variable plus a constant, and between the array's bounds at all points of the scan.
bool ScanCode::always_exists(const ir::Read& read) {
    std::vector<poly::Interval> box;
    if (read.source.kind == ir::Source::Kind::Stage) {
        const poly::Domain& domain = program_.model.domains.at(static_cast<std::size_t>(read.source.index));
        if (domain.guard) return false;
        box = domain.box;
    } else if (read.source.kind == ir::Source::Kind::Input) {
        for (const ir::Expr& extent : program_.pipeline.inputs.at(static_cast<std::size_t>(read.source.index)).extents)
            box.push_back({constant(0), extent});
    } else {
        return false;
    }
    for (std::size_t i = 0; i < box.size(); ++i) {
        const auto index = rewriter_.linear(read.indices[i]);
        if (!index || index->terms.size() > 1) return false;
        ir::Expr least = constant(index->constant), last = least;
        if (!index->terms.empty()) {
            const auto* variable = ir::as<ir::Variable>(index->terms.front().first);
            const auto dim = std::ranges::find_if(stage_.dims, [&](const ir::Dimension& d) {
                return variable != nullptr && d.var == variable->id && index->terms.front().second == 1;
            });
            if (dim == stage_.dims.end()) return false;
            const poly::Interval& of = domain_.box[static_cast<std::size_t>(dim - stage_.dims.begin())];
            least = sum(of.lo, least);
            last = sum(difference(of.hi, constant(1)), last);
        }
        const auto before = distance(box[i].lo, least), behind = distance(last, box[i].hi);
        if (!before || !behind || *before < 0 || *behind < 1) return false;
    }
    return true;
}

bool ScanCode::is_certain(const ir::Expr& term) {
    return ir::is_total(term) && !ir::any_node(term, [&](const ir::Expr& e) {
               const auto* read = ir::as<ir::Read>(e);
               return read != nullptr && !always_exists(*read);
           });
}

/// Nothing in it is computed by this kernel.
bool ScanCode::is_of_others(const ir::Expr& e) const {
    return !ir::any_node(e, [&](const ir::Expr& node) {
        const auto* read = ir::as<ir::Read>(node);
        if (read == nullptr || read->source.kind != ir::Source::Kind::Stage) return false;
        return read->source.index == index_ || std::ranges::count(members_.readers, read->source.index) > 0;
    });
}

std::int64_t ScanCode::term_nodes(bool with_readers) const {
    std::int64_t nodes = 0;
    for (std::size_t t = 0; t < (with_readers ? terms_.terms.size() : terms_.of_scan); ++t)
        nodes += ir::node_count(terms_.terms[t].value);
    for (const ScanReader& reader : terms_.readers) nodes += with_readers ? ir::node_count(reader.value) : 0;
    return nodes;
}

std::vector<std::size_t> ScanCode::reader_terms() const {
    std::set<ir::VarId> used;
    for (const ScanReader& reader : terms_.readers) {
        ir::for_each_node(reader.value, [&](const ir::Expr& e) {
            if (const auto* variable = ir::as<ir::Variable>(e)) used.insert(variable->id);
        });
    }
    std::vector<std::size_t> result;
    for (std::size_t t = 0; t < terms_.terms.size(); ++t) {
        if (used.count(terms_.terms[t].var) > 0) result.push_back(t);
    }
    return result;
}

void ScanCode::store_point(kernel::Body& body, const std::vector<ir::Expr>& at, Rewriter::Bindings place,
                           const ir::Expr& own, const ir::Expr& exists) {
    if (members_.stores(index_)) add(body, kernel::Store{{ir::Source::Kind::Stage, index_}, at, {own}, exists});
    place[terms_.own] = own;
    for (const ScanReader& reader : terms_.readers) {
        const ir::Expr here = reader.exists ? both(exists, rewriter_.instance(reader.exists, place)) : exists;
        const ir::Expr value = rewriter_.instance(reader.value, place);
        const ir::VarId var =
            build_.variable(program_.pipeline.stages.at(static_cast<std::size_t>(reader.index)).name, value->type);
        // What a reader loads under conditions on the scan's value is no term: it may be out of bounds elsewhere.
        add(body,
            kernel::Define{var, here && ir::has_reads(value) ? ir::select(here, value, nothing(value->type)) : value});
        place[reader.own] = ir::variable(var, value->type);
        if (members_.stores(reader.index))
            add(body, kernel::Store{{ir::Source::Kind::Stage, reader.index}, at, {place[reader.own]}, here});
    }
}

ir::Expr ScanCode::add_arguments() {
    const poly::Interval& box = domain_.box[scan_];
    ir::Expr lines = constant(1);
    for (const std::size_t dim : line_dims_) {
        lines = count_product(lines, tile_count(domain_.box[dim].lo, domain_.box[dim].hi, 1));
    }
    lines_ = build_.argument("lines", lines, 1);
    length_ = build_.argument("length", tile_count(box.lo, box.hi, 1), 1);
    const bool forward = stage_.scan->step > 0;
    first_ = build_.argument(name(scan_) + "_first", forward ? box.lo : difference(box.hi, constant(1)));
    return lines;
}

/// `e` is `from` + `by`.
bool ScanCode::is_offset(const ir::Expr& e, const ir::Expr& from, std::int64_t by) {
    auto sum = rewriter_.linear(e);
    const auto end = rewriter_.linear(rewriter_.instance(from, {}));
    if (!sum || !end) return false;
    sum->add(*end, -1);
    return sum->terms.empty() && sum->constant == by;
}

/// Says `x == 0` and the like, which only the first point or the last one is, as a comparison with all others on one
/// side: chunks without that point then need no condition.
ir::Expr ScanCode::ordered(const ir::Expr& root) {
    const poly::Interval& box = domain_.box[scan_];
    const ir::VarId var = stage_.dims[scan_].var;
    const Rewriter::Hook hook = [&](const ir::Expr& e) -> ir::Expr {
        const auto* n = ir::as<ir::Binary>(e);
        if (n == nullptr || (n->op != BinaryOp::Eq && n->op != BinaryOp::Ne)) return e;
        const auto is_scan = [&](const ir::Expr& side) {
            const auto* variable = ir::as<ir::Variable>(side);
            return variable != nullptr && variable->id == var;
        };
        const ir::Expr& x = is_scan(n->a) ? n->a : n->b;
        const ir::Expr& place = is_scan(n->a) ? n->b : n->a;
        if (!is_scan(x)) return e;
        const bool equal = n->op == BinaryOp::Eq;
        if (is_offset(place, box.lo, 0)) return ir::binary(equal ? BinaryOp::Le : BinaryOp::Gt, x, place);
        if (is_offset(place, box.hi, -1)) return ir::binary(equal ? BinaryOp::Ge : BinaryOp::Lt, x, place);
        return e;
    };
    return rewriter_.instance(root, {}, hook);
}

bool ScanCode::is_first(const ir::Expr& e) {
    // What is written `if x > 0 then before else 0` restarts where not x > 0.
    const auto* negation = ir::as<ir::Unary>(e);
    const bool negated = negation != nullptr && negation->op == ir::UnaryOp::Not;
    const auto* n = ir::as<ir::Binary>(negated ? negation->a : e);
    const auto* variable = n == nullptr ? nullptr : ir::as<ir::Variable>(n->a);
    if (variable == nullptr || variable->id != stage_.dims[scan_].var) return false;
    BinaryOp op = n->op;
    if (negated) {
        switch (op) {
            case BinaryOp::Gt: op = BinaryOp::Le; break;
            case BinaryOp::Ge: op = BinaryOp::Lt; break;
            case BinaryOp::Lt: op = BinaryOp::Ge; break;
            case BinaryOp::Le: op = BinaryOp::Gt; break;
            case BinaryOp::Ne: op = BinaryOp::Eq; break;
            default: return false;
        }
    }
    const poly::Interval& box = domain_.box[scan_];
    const bool forward = stage_.scan->step > 0;
    const ir::Expr& end = forward ? box.lo : box.hi;
    const int first = forward ? 0 : -1;  // from the end
    // There are no points before it.
    if (op == BinaryOp::Eq || op == (forward ? BinaryOp::Le : BinaryOp::Ge)) return is_offset(n->b, end, first);
    if (op == (forward ? BinaryOp::Lt : BinaryOp::Gt)) return is_offset(n->b, end, first + stage_.scan->step);
    return false;
}

void ScanCode::add_shared(const std::string& called, Type type, std::vector<std::int64_t> extents) {
    std::int64_t offset = 0;
    if (!build_.kernel.shared.empty()) {
        const kernel::SharedArray& last = build_.kernel.shared.back();
        offset = align_shared(last.offset + bytes_of(last));
    }
    build_.kernel.shared.push_back({called, type, std::move(extents), offset, 0});
}

/// Sets the coordinates of a line. Returns where it exists.
ir::Expr ScanCode::line_place(kernel::Body& body, const ir::Expr& line, std::vector<ir::Expr>& at) {
    at.assign(stage_.dims.size(), nullptr);
    ir::Expr rest = line;
    for (std::size_t i = line_dims_.size(); i-- > 0;) {
        const std::size_t dim = line_dims_[i];
        const poly::Interval& box = domain_.box[dim];
        ir::Expr place = rest;
        if (i > 0) {
            const ir::Expr extent = build_.divisor(name(dim) + "_lines", tile_count(box.lo, box.hi, 1));
            place = ir::binary(BinaryOp::Mod, rest, extent);
            rest = build_.define(body, "line", ir::binary(BinaryOp::Div, rest, extent), 0);
        }
        at[dim] = build_.define(body, name(dim), sum(place, build_.argument(name(dim) + "_first", box.lo)));
    }
    ir::Expr exists = ir::binary(BinaryOp::Lt, line, lines_);
    return guard_ ? both(exists, rewriter_.instance(guard_, bindings(at))) : exists;
}

Rewriter::Bindings ScanCode::bindings(const std::vector<ir::Expr>& at) const {
    Rewriter::Bindings result;
    for (std::size_t d = 0; d < at.size(); ++d) {
        if (at[d]) result[stage_.dims[d].var] = at[d];
    }
    return result;
}

/// Of a point, in the scan's dimension.
ir::Expr ScanCode::coordinate(kernel::Body& body, const ir::Expr& position) {
    const bool forward = stage_.scan->step > 0;
    return build_.define(body, name(scan_), forward ? sum(first_, position) : difference(first_, position));
}

void ScanCode::find_recurrence_interior() {
    std::vector<bool> splits(stage_.dims.size(), false);
    splits[scan_] = true;
    interior_ = find_interior(rewriter_, stage_, domain_, terms_.value, nullptr, splits);
}

ir::Expr ScanCode::inside(const ir::Expr& from, const ir::Expr& last) {
    if (!interior_.simpler) return nullptr;
    const poly::Interval& inner = interior_.box[scan_];
    const bool forward = stage_.scan->step > 0;
    return both(
        ir::binary(BinaryOp::Ge, forward ? from : last, build_.argument(name(scan_) + "_inner_begin", inner.lo)),
        ir::binary(BinaryOp::Lt, forward ? last : from, build_.argument(name(scan_) + "_inner_end", inner.hi)));
}

ir::Expr ScanCode::term_value(const ScanTerm& term, const Rewriter::Bindings& at, const ir::Expr& exists) {
    const ir::Expr value = rewriter_.instance(term.value, at);
    const ir::Expr needed = term.needed ? both(exists, rewriter_.instance(term.needed, at)) : exists;
    return needed ? ir::select(needed, value, nothing(value->type)) : value;
}

}  // namespace pipec::codegen
