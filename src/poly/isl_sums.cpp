// Numbers of terms from isl, terms from value ranges; see isl_sums.h.
#include "poly/isl_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "ir/build.h"
#include "ir/reduction.h"
#include "ir/visit.h"
#include "ir/widen.h"
#include "poly/diagnostics.h"
#include "poly/memory.h"
#include "poly/product_limits.h"

namespace pipec::poly {

namespace {

using ir::ReduceOp;
using ir::Type;

/// Totals end here: no type holds them.
constexpr Wide kFarthestTotal = Wide{1} << 100;

Wide power(Wide base, Wide exponent) {
    Wide result = 1;
    for (Wide i = 0; i < exponent && result < kFarthestTotal; ++i) result = saturated_product(result, base);
    return result;
}

/// All totals of at most `count` terms.
IntRange total_of(ReduceOp op, const IntRange& term, Wide count) {
    if (op == ReduceOp::Sum) {
        return {std::min<Wide>(0, saturated_product(term.lo, count)),
                std::max<Wide>(0, saturated_product(term.hi, count))};
    }
    const Wide most = std::max(term.lo < 0 ? -term.lo : term.lo, term.hi < 0 ? -term.hi : term.hi);
    const Wide reach = most <= 1 ? 1 : power(most, count);
    return {term.lo < 0 ? -reach : 0, reach};
}

/// Terms of which two are too many, as those of data in the whole range of the type.
bool reaches_end(const IntRange& term, Type type) {
    const IntRange ends = type_range(type);
    return term.hi >= ends.hi || (ir::is_signed_int(type) && term.lo <= ends.lo);
}

/// `v << k` of an unsigned type, k not a constant: bits that are put together, each in its place.
bool packs_bits(const ir::Expr& term) {
    const auto* n = ir::as<ir::Binary>(term);
    return n != nullptr && n->op == ir::BinaryOp::Shl && ir::is_unsigned_int(term->type) && !ir::as_int(n->b);
}

bool adds_up(ReduceOp op, Type type) {
    return ir::is_int(type) && (op == ReduceOp::Sum || op == ReduceOp::Prod);
}

bool has_sums(const ir::Stage& stage) {
    if (const auto* accumulate = std::get_if<ir::Accumulate>(&stage.definition)) {
        for (const ir::Update& update : accumulate->updates) {
            if (adds_up(update.op, stage.type)) return true;
        }
    }
    bool found = false;
    for (const ir::Expr& root : ir::expressions(stage)) {
        ir::for_each_node(root, [&](const ir::Expr& e) {
            const auto* reduce = ir::as<ir::Reduce>(e);
            found = found || (reduce != nullptr && adds_up(reduce->op, e->type));
        });
    }
    return found;
}

/// Unsigned ones are left alone: differences of them are right though they wrap, as those of integral images.
bool is_running_sum(const ir::Stage& stage) {
    return stage.scan && stage.scan->across.empty() && stage.type == Type::Int32;
}

/// The nodes that something needs in the type that they have: were they int64, it would not compile, or it is not known
/// whether it would.
class KeptTypes {
public:
    explicit KeptTypes(const ir::Expr& root) { visit(root, true); }
    [[nodiscard]] bool kept(const ir::Expr& e) const { return kept_.at(e.get()); }

private:
    void visit(const ir::Expr& e, bool keep) {
        const auto [known, is_new] = kept_.try_emplace(e.get(), keep);
        if (!is_new && (known->second || !keep)) return;
        known->second = keep;
        if (const auto* cast = ir::as<ir::Cast>(e)) {
            // int32 and uint32 meet in int64; there is nothing in which int32 and uint64 do.
            visit(cast->a, ir::is_signed_int(e->type) && !ir::is_signed_int(cast->a->type));
        } else if (const auto* binary = ir::as<ir::Binary>(e); binary != nullptr && binary->op <= ir::BinaryOp::Max) {
            visit(binary->a, keep);
            visit(binary->b, keep);
        } else if (binary != nullptr && ir::is_comparison(binary->op)) {
            visit(binary->a, false);
            visit(binary->b, false);
        } else if (const auto* reduce = ir::as<ir::Reduce>(e)) {
            for (const ir::Range& loop : reduce->ranges) {
                visit(loop.lo, true);
                visit(loop.hi, true);
            }
            visit(reduce->body, keep);
        } else {
            ir::for_each_child(*e, [&](const ir::Expr& operand) { visit(operand, true); });
        }
    }

    std::unordered_map<const ir::Node*, bool> kept_;
};

bool contains(SourceRange outer, SourceRange inner) {
    return outer.valid() && inner.valid() && outer.file == inner.file && outer.begin <= inner.begin &&
           inner.end <= outer.end;
}

/// The sizes for which no extent is above kUsualExtent, where that can be.
SizeContext usual_sizes(const IslContext& isl, const ir::Pipeline& pipeline, SizeContext sizes) {
    ValueRanges ranges(pipeline, sizes.ranges);
    AffineTranslator affine(isl, ranges, Integers::Exact);
    const auto limit = [&](const isl::pw_aff& extent) {
        const isl::set limited = sizes.bounded.intersect(extent.le_set(isl.constant(kUsualExtent)));
        if (!limited.is_empty()) sizes.bounded = limited;
    };
    const auto limit_buffer = [&](const ir::Buffer& buffer) {
        for (const ir::Expr& extent : buffer.extents) limit(affine.integer(extent).value);
    };
    for (const ir::Buffer& input : pipeline.inputs) limit_buffer(input);
    for (const ir::Output& output : pipeline.outputs) limit_buffer(output.buffer);
    std::vector<Name> names;
    for (std::size_t i = 0; i < pipeline.sizes.size(); ++i) names.push_back({Name::Kind::Size, static_cast<int>(i)});
    const isl::set tuple = as_tuple(isl, sizes.bounded, names);
    for (std::size_t i = 0; i < names.size(); ++i) {
        sizes.ranges[i] = {to_long(tuple.dim_min_val(static_cast<int>(i))),
                           to_long(tuple.dim_max_val(static_cast<int>(i)))};
    }
    return sizes;
}

/// Goes through the stages in their order. What a stage reads is a variable that takes all values of what is read, and
/// so is each of its reductions.
class Sums {
public:
    Sums(IslContext& isl, const ir::Pipeline& pipeline, const SizeContext& sizes, const std::vector<Domain>& domains,
         Diagnostics& diags)
        : isl_(isl),
          pipeline_(pipeline),
          sizes_(usual_sizes(isl, pipeline, sizes)),
          domains_(domains),
          diags_(diags),
          values_(isl, pipeline, sizes_),
          points_(sizes_.bounded),
          next_variable_(static_cast<ir::VarId>(pipeline.variables.size())) {
        for (std::size_t i = 0; i < sizes.ranges.size(); ++i) {
            smaller_.push_back(sizes_.ranges[i].hi < sizes.ranges[i].hi);
        }
    }

    void run() {
        for (std::size_t s = 0; s < pipeline_.stages.size(); ++s) {
            stage_ = &pipeline_.stages[s];
            isl_.begin_question(stage_->range, "sums in `" + stage_->name + "`");
            stand_ins_.push_back(new_variable(stage_->type));
            ValueRange range = type_range_of(stage_->type);
            try {
                range = values_of(domains_[s]);
            } catch (const isl::exception& failure) {  // too expensive: no warning
                rethrow_exhaustion(failure);
            }
            values_.ranges.bind(id_of(stand_ins_.back()), range);
        }
    }

private:
    ir::Expr new_variable(Type type) { return ir::variable(next_variable_++, type); }
    static ir::VarId id_of(const ir::Expr& variable) { return ir::as<ir::Variable>(variable)->id; }

    ValueRange values_of(const Domain& domain) {
        points_ = sizes_.bounded;
        const bool sums = has_sums(*stage_);
        for (std::size_t d = 0; d < stage_->dims.size(); ++d) {
            const ir::Range dim{stage_->dims[d].var, domain.box[d].lo, domain.box[d].hi};
            values_.ranges.bind_index(dim.var, dim.lo, dim.hi);
            if (sums) points_ = points_.intersect(inside(dim, dim.var, {}));
        }
        if (const auto* pure = std::get_if<ir::Pure>(&stage_->definition)) {
            const ir::Expr value = visit(pure->value);
            return is_running_sum(*stage_) ? running_sum(value) : values_.ranges.of(value);
        }
        const auto& accumulate = std::get<ir::Accumulate>(stage_->definition);
        visit(accumulate.init);
        for (const ir::Update& u : accumulate.updates) update(u);
        // Totals of neighbouring cells exclude each other, as the counts of a histogram do: of a sum of them, the
        // largest totals would say nothing.
        return type_range_of(stage_->type);
    }

    /// What a scan can reach that adds to its value before: found from how far its value moves when that one does.
    ValueRange running_sum(const ir::Expr& value) {
        const ir::VarId self = id_of(stand_ins_.back());
        const auto from = [&](Wide start) {
            values_.ranges.bind(self, IntRange{start, start});
            return values_.ranges.integer(value);
        };
        constexpr Wide kStep = Wide{1} << 28;
        const IntRange first = from(0), up = from(kStep), down = from(-kStep);
        const bool grows = from(2 * kStep).hi - up.hi == kStep, falls = down.lo - from(-2 * kStep).lo == kStep;
        values_.ranges.bind(self, type_range_of(stage_->type));
        if (!grows || !falls) return type_range_of(stage_->type);
        const ir::Dimension& along = stage_->dims[static_cast<std::size_t>(stage_->scan->dim)];
        const Wide count = values_.ranges.integer(ir::widened(along.hi)).hi - values_.ranges.integer(along.lo).lo;
        const IntRange term{down.lo + kStep, std::max(up.hi - kStep, down.lo + kStep)};
        const IntRange sum = total_of(ReduceOp::Sum, term, count);
        const IntRange total{std::min(sum.lo, first.lo), std::max(sum.hi, first.hi)};
        if (fits(total, stage_->type)) return total;
        if (!reaches_end(term, stage_->type) && first_at(stage_->range)) {
            auto report = warn(stage_->range, fmt::format("`{}`", stage_->name), ReduceOp::Sum, stage_->type, term,
                               count, {{along.var, along.lo, along.hi}});
            report.note(fmt::format("`{}` would hold it as int64", stage_->name));
        }
        return type_range_of(stage_->type);
    }

    /// The expression with what it reads and adds up replaced; reductions in it are looked at on the way.
    ir::Expr visit(const ir::Expr& root) {
        const KeptTypes kept(root);
        kept_ = &kept;
        ir::Expr result = replaced(root);
        kept_ = nullptr;
        return result;
    }

    ir::Expr replaced(const ir::Expr& e) {
        if (const auto known = replaced_.find(e); known != replaced_.end()) return known->second;
        const auto* read = ir::as<ir::Read>(e);
        const auto* reduce = ir::as<ir::Reduce>(e);
        ir::Expr result;
        if (reduce != nullptr) {
            result = reduction(e, *reduce);
        } else {
            if (const auto* let = ir::as<ir::Let>(e)) values_.ranges.bind(let->var, replaced(let->value));
            result = ir::map_children(e, [&](const ir::Expr& operand) { return replaced(operand); });
            if (read != nullptr && read->source.kind == ir::Source::Kind::Stage) {
                result = stand_ins_[static_cast<std::size_t>(read->source.index)];
            }
        }
        replaced_.emplace(e, result);
        return result;
    }

    ir::Expr reduction(const ir::Expr& e, const ir::Reduce& n) {
        const isl::set outer = points_;
        const auto count = enter(n.ranges, {});
        const ir::Expr body = replaced(n.body);
        points_ = outer;
        const ir::Expr result = new_variable(e->type);
        ValueRange range = ir::gives_place(n.op) ? values_.ranges.of(e) : type_range_of(e->type);
        if (ir::is_int(e->type) && count && !ir::gives_place(n.op)) {
            const IntRange term = values_.ranges.integer(body);
            IntRange total = adds_up(n.op, e->type) ? total_of(n.op, term, *count) : IntRange(type_range(e->type));
            // Few terms may have ranges of their own: bits that are put together, each in its place.
            if (!fits(total, e->type) && n.op == ReduceOp::Sum) total = sum_of_terms(n, body).value_or(total);
            if (fits(total, e->type)) {
                range = total;
            } else if (!reaches_end(term, e->type) && !packs_bits(body) && first_at(e->range)) {
                auto report =
                    warn(e->range, fmt::format("`{}`", ir::name(n.op)), n.op, e->type, term, *count, n.ranges);
                widen(report, e, n, total);
            }
        }
        values_.ranges.bind(id_of(result), range);
        return result;
    }

    std::optional<IntRange> sum_of_terms(const ir::Reduce& n, const ir::Expr& body) {
        const std::vector<ir::Expr> terms = ir::terms_at(n.ranges, body, kMostTermNodes);
        if (terms.empty()) return std::nullopt;
        IntRange sum{0, 0};
        for (const ir::Expr& each : terms) {
            const IntRange range = values_.ranges.integer(each);
            sum = {sum.lo + range.lo, sum.hi + range.hi};
        }
        return sum;
    }

    void update(const ir::Update& u) {
        const isl::set outer = points_;
        const auto count = enter(u.domain, u.indices);
        for (const ir::Expr& index : u.indices) visit(index);
        if (u.guard) visit(u.guard);
        const ir::Expr value = visit(u.value);
        points_ = outer;
        if (!adds_up(u.op, stage_->type) || !count) return;
        const IntRange term = values_.ranges.integer(value);
        const IntRange total = total_of(u.op, term, *count);
        if (fits(total, stage_->type) || reaches_end(term, stage_->type) || packs_bits(value)) return;
        if (!first_at(u.range)) return;
        auto report =
            warn(u.range, u.op == ReduceOp::Sum ? "`+=`" : "`*=`", u.op, stage_->type, term, *count, u.domain);
        if (const auto wider = wider_type(stage_->type, total)) {
            report.note(fmt::format("`{}` would hold it as {}", stage_->name, ir::name(*wider)));
        } else {
            report.note("no integer type holds it; float64 holds it rounded");
        }
    }

    /// From here on loops are those around what is looked at. The number of their points, or, with `targets`, of those
    /// that have the same targets as far as these are affine: no more than it is, or none where it is not known.
    std::optional<Wide> enter(const std::vector<ir::Range>& loops, const std::vector<ir::Expr>& targets) {
        // Two points of the loops, the second one in variables of its own. The first variables that they do not share
        // are that much apart at most; so are the next ones where the first are equal, and so on.
        std::map<ir::VarId, ir::Expr> second;
        isl::set both = points_;
        for (const ir::Range& loop : loops) {
            const ir::Expr other = new_variable(Type::Int32);
            values_.ranges.bind_index(loop.var, loop.lo, loop.hi);
            values_.ranges.bind_index(id_of(other), loop.lo, loop.hi);
            points_ = points_.intersect(inside(loop, loop.var, {}));
            both = both.intersect(inside(loop, loop.var, {})).intersect(inside(loop, id_of(other), second));
            second.emplace(loop.var, other);
        }
        for (const ir::Expr& target : targets) {
            const isl::pw_aff a = values_.affine.integer(target).value;
            if (has_opaque(names_in(a))) continue;
            both = both.intersect(a.eq_set(values_.affine.integer(ir::substitute(target, second)).value));
        }
        std::vector<Wide> counts;
        for (const ir::Range& loop : loops) {
            const isl::pw_aff a = isl_.value({Name::Kind::Variable, loop.var});
            const isl::pw_aff b = isl_.value({Name::Kind::Variable, id_of(second.at(loop.var))});
            const auto apart = largest(b.sub(a), both);
            if (!apart) return std::nullopt;
            counts.push_back(*apart + 1);
            both = both.intersect(a.eq_set(b));
        }
        return limited_product(pipeline_, loops, std::move(counts));
    }

    /// lo <= var < hi.
    isl::set inside(const ir::Range& loop, ir::VarId var, const std::map<ir::VarId, ir::Expr>& replacements) {
        const isl::pw_aff value = isl_.value({Name::Kind::Variable, var});
        const isl::pw_aff lo = values_.affine.integer(ir::substitute(loop.lo, replacements)).value;
        const isl::pw_aff hi = values_.affine.integer(ir::substitute(loop.hi, replacements)).value;
        return values_.affine.with_opaque_bounds(value.ge_set(lo).intersect(value.lt_set(hi)));
    }

    static bool has_opaque(const std::vector<Name>& names) {
        return std::any_of(names.begin(), names.end(), [](Name n) { return n.kind == Name::Kind::Opaque; });
    }

    /// -1 of nothing.
    std::optional<Wide> largest(const isl::pw_aff& value, const isl::set& points) const {
        const Name result{Name::Kind::Opaque, 1'000'000};
        const isl::set with_value = points.intersect(value.eq_set(isl_.value(result)));
        std::vector<Name> names = names_in(with_value);
        std::erase(names, result);
        names.insert(names.begin(), result);
        const isl::set tuple = as_tuple(isl_, with_value, names);
        if (tuple.is_empty()) return Wide{-1};
        const isl::val most = tuple.dim_max_val(0);
        if (!most.is_int()) return std::nullopt;
        return Wide{to_long(most)};
    }

    bool first_at(SourceRange range) { return !range.valid() || warned_.emplace(range.begin, range.file).second; }

    /// Whether a bound depends on an extent that `where` lets be larger than usual.
    [[nodiscard]] bool uses_usual_extents(const ir::Expr& bound) const {
        const bool any = std::find(smaller_.begin(), smaller_.end(), true) != smaller_.end();
        return any && ir::any_node(bound, [&](const ir::Expr& node) {
                   const auto* size = ir::as<ir::SizeRef>(node);
                   return ir::as<ir::Variable>(node) != nullptr ||
                          (size != nullptr && smaller_[static_cast<std::size_t>(size->index)]);
               });
    }

    Diagnostics::Builder warn(SourceRange range, const std::string& what, ReduceOp op, Type type, const IntRange& term,
                              Wide count, const std::vector<ir::Range>& loops) {
        const IntRange total = total_of(op, term, count);
        const bool above = total.hi > type_range(type).hi;
        const Wide end = above ? total.hi : total.lo;
        const std::string reached = (end < 0 ? -end : end) < kFarthestTotal ? fmt::format("{}", end)
                                    : op == ReduceOp::Prod ? fmt::format("{}^{}", std::max(term.hi, -term.lo), count)
                                                           : std::string("even more than that");
        const std::string terms =
            term.lo == term.hi ? fmt::format("of {}", term.lo) : fmt::format("from {} to {}", term.lo, term.hi);
        auto report = diags_.report(diag::SumOverflow, range.valid() ? range : stage_->range, what,
                                    std::string(ir::name(type)), fmt::format("{} terms {}", count, terms), reached);
        const bool of_extents = std::any_of(loops.begin(), loops.end(), [&](const ir::Range& loop) {
            return uses_usual_extents(loop.lo) || uses_usual_extents(loop.hi);
        });
        if (of_extents) {
            report.note(fmt::format("for extents of at most {}; if they are smaller, say so in `where`", kUsualExtent));
        }
        for (const SourceRange call : stage_->made_by) report.note(call, "in the stage function called here");
        return report;
    }

    /// The narrowest type of the same signedness that holds it.
    static std::optional<Type> wider_type(Type type, const IntRange& total) {
        for (const Type wider : {Type::Int16, Type::UInt16, Type::Int32, Type::UInt32, Type::Int64, Type::UInt64}) {
            if (ir::is_unsigned_int(wider) == ir::is_unsigned_int(type) && fits(total, wider)) return wider;
        }
        return std::nullopt;
    }

    /// Whether the place is on the right side of the stage's own definition. In a function the type would be another
    /// one for all of its callers.
    [[nodiscard]] bool in_definition(SourceRange range) const {
        const auto before = [&](SourceRange left) { return left.file == range.file && left.end <= range.begin; };
        return stage_->made_by.empty() && before(stage_->range) &&
               std::none_of(pipeline_.stages.begin(), pipeline_.stages.end(), [&](const ir::Stage& other) {
                   return before(other.range) && other.range.begin > stage_->range.begin;
               });
    }

    /// How the reduction would be computed in a type that holds its total.
    void widen(Diagnostics::Builder& report, const ir::Expr& e, const ir::Reduce& n, const IntRange& total) const {
        const auto wider = wider_type(e->type, total);
        if (!wider) {
            report.note("no integer type holds it; `float64(...)` around its body gives it rounded");
            return;
        }
        const std::string cast(ir::name(*wider));
        const bool sure = contains(e->range, n.body->range) && in_definition(e->range) && !kept_->kept(e);
        if (sure) {
            const SourceRange body = n.body->range;
            report.suggest({body.file, body.begin, body.begin}, cast + "(")
                .suggest({body.file, body.end, body.end}, ")");
        } else {
            report.note(fmt::format("`{0}(...)` around its body makes it {0}, and what is computed from it too", cast));
        }
    }

    IslContext& isl_;
    const ir::Pipeline& pipeline_;
    SizeContext sizes_;
    const std::vector<Domain>& domains_;
    Diagnostics& diags_;
    ProgramValues values_;
    const ir::Stage* stage_ = nullptr;
    isl::set points_;  ///< of the stage and the loops around what is looked at
    ir::VarId next_variable_;
    std::vector<ir::Expr> stand_ins_;  ///< by stage
    std::unordered_map<ir::Expr, ir::Expr> replaced_;
    std::vector<bool> smaller_;        ///< sizes of which `where` admits more than is looked at
    const KeptTypes* kept_ = nullptr;  ///< of the expression that is looked at
    std::set<std::pair<std::uint32_t, FileId>> warned_;
};

}  // namespace

void warn_of_overflowing_sums(IslContext& isl, const ir::Pipeline& pipeline, const SizeContext& sizes,
                              const std::vector<Domain>& domains, Diagnostics& diags) {
    const auto adds = [](const ir::Stage& stage) { return has_sums(stage) || is_running_sum(stage); };
    if (std::none_of(pipeline.stages.begin(), pipeline.stages.end(), adds)) return;
    isl.begin_question(pipeline.range, "sums in `" + pipeline.name + "`");
    try {
        Sums(isl, pipeline, sizes, domains, diags).run();
    } catch (const isl::exception&) {  // too expensive: no warning
    }
}

}  // namespace pipec::poly
