// The walk from outputs to inputs; see isl_inference.h.
#include "poly/isl_inference.h"

#include <fmt/format.h>
#include <isl/aff.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/build.h"
#include "ir/print.h"
#include "ir/visit.h"
#include "poly/diagnostics.h"
#include "poly/isl_affine_limits.h"
#include "poly/isl_to_ir.h"
#include "poly/stage_ranges.h"

namespace pipec::poly {

namespace {

/// Pieces of a bound, and of all bounds of a stage together, that are still worth computing.
constexpr int kMostPiecesOfBound = 6, kMostPiecesOfBox = 64;
/// Bounds of which a launch computes the maximum.
constexpr std::size_t kFewBounds = 4;

int piece_count(const isl::pw_aff& value) {
    return isl_pw_aff_n_piece(value.get());
}

/// The index of one dimension of a source, in sets of one dimension.
constexpr Name kIndex{Name::Kind::Variable, -1};

/// What readers need of one source: per dimension { [index] } as parameter kIndex, and, in exact mode, the points over
/// the source's own variables.
struct Need {
    std::vector<isl::set> dims;
    std::optional<isl::set> points;
};

/// Reads of one source that ask the same of one of its dimensions.
struct Query {
    std::size_t dim;
    int guard;
    isl::pw_aff value;
    std::vector<const Access*> users;
};

/// The accesses of one stage to one source, with equal questions asked once.
struct SourceQueries {
    ir::Source source;
    bool is_write;
    std::vector<Query> queries;
    std::vector<const Access*> accesses;  ///< distinct in some dimension or guard
};

std::vector<SourceQueries> group(const IslContext& isl, const StageAccesses& found) {
    std::vector<SourceQueries> result;
    struct Known {
        std::map<std::tuple<std::size_t, int, std::uint32_t>, std::vector<std::size_t>>
            queries;                                                  ///< by isl's hash, too
        std::set<std::pair<int, std::vector<std::size_t>>> accesses;  ///< guards, and queries by dimension
    };
    std::vector<Known> known;  // by source
    for (const Access& access : found.accesses) {
        isl.next_part();
        auto entry = std::find_if(result.begin(), result.end(), [&](const SourceQueries& s) {
            return s.source == access.source && s.is_write == access.is_write;
        });
        if (entry == result.end()) {
            result.push_back({access.source, access.is_write, {}, {}});
            known.emplace_back();
            entry = result.end() - 1;
        }
        auto& [queries, accesses] = known[static_cast<std::size_t>(entry - result.begin())];
        std::vector<std::size_t> asks;  // queries, by dimension
        for (std::size_t d = 0; d < access.values.size(); ++d) {
            const isl::pw_aff& value = access.values[d];
            auto& alike = queries[{d, access.guard, isl_pw_aff_get_hash(value.get())}];
            const auto same = std::ranges::find_if(
                alike, [&](std::size_t q) { return entry->queries[q].value.plain_is_equal(value); });
            asks.push_back(same == alike.end() ? entry->queries.size() : *same);
            if (same != alike.end()) {
                entry->queries[*same].users.push_back(&access);
            } else {
                alike.push_back(entry->queries.size());
                entry->queries.push_back({d, access.guard, value, {&access}});
            }
        }
        // Two accesses may agree with others dimension by dimension and yet be new as a whole.
        if (accesses.emplace(access.guard, std::move(asks)).second) entry->accesses.push_back(&access);
    }
    return result;
}

/// A stage that was looked at: kept for messages about what it reads.
struct LookedAt {
    StageDomain domain;
    StageAccesses found;
};

/// A read of some stage, by one that was looked at.
struct Asked {
    std::size_t reader;
    const Access* access;
};

/// The stage whose accesses are looked at.
struct Reader {
    const ir::Stage& stage;
    const StageDomain& domain;
    const StageAccesses& found;
    /// Guards with the opaque values projected out: what they say about dimensions and sizes.
    std::vector<std::optional<isl::set>> plain_guards;
};

bool has_kind(const std::vector<Name>& names, Name::Kind kind) {
    return std::any_of(names.begin(), names.end(), [&](Name n) { return n.kind == kind; });
}

class Inferer {
public:
    Inferer(IslContext& isl, const ir::Pipeline& pipeline, const SizeContext& sizes, DomainMode mode,
            const std::set<const ir::Node*>& wrapping, const KnownBoxes& known)
        : isl_(isl),
          pipeline_(pipeline),
          sizes_(sizes),
          mode_(mode),
          known_(known),
          values_(isl, pipeline, sizes, known),
          stage_needs_(pipeline.stages.size()),
          input_needs_(pipeline.inputs.size()) {
        for (const ir::Node* operand : wrapping) values_.affine.may_wrap(operand);
        for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
            stage_needs_[s].dims.assign(pipeline.stages[s].dims.size(), isl.nothing());
        }
        for (std::size_t i = 0; i < pipeline.inputs.size(); ++i) {
            input_needs_[i].dims.assign(pipeline.inputs[i].rank(), isl.nothing());
        }
        result_.domains.resize(pipeline.stages.size());
        readers_.resize(pipeline.stages.size());
        asked_.resize(pipeline.stages.size());
        looked_at_.resize(pipeline.stages.size());
        blind_.assign(pipeline.stages.size(), false);
        too_large_.assign(pipeline.stages.size(), false);
    }

    Inference run() {
        for (std::size_t s = pipeline_.stages.size(); s-- > 0;) stage(s);
        for (std::size_t i = 0; i < input_needs_.size(); ++i) {
            isl_.begin_question(pipeline_.inputs[i].range,
                                fmt::format("what is read of `{}`", pipeline_.inputs[i].name));
            InputFootprint footprint;
            for (std::size_t d = 0; d < input_needs_[i].dims.size(); ++d) {
                const auto tight = tight_hull(input_needs_[i].dims[d]);
                const Bounds& b = tight && tight->lo_expr ? *tight : sizes_.inputs[i][d];
                footprint.box.push_back({b.lo_expr, b.hi_expr});
            }
            result_.footprints.push_back(std::move(footprint));
        }
        if (const StageRanges* found = values_.ranges.found_of_stages()) {
            result_.casts.insert(result_.casts.end(), found->casts.begin(), found->casts.end());
        }
        note_boxes();
        std::reverse(result_.findings.begin(), result_.findings.end());
        std::stable_sort(result_.findings.begin(), result_.findings.end(),
                         [](const Finding& a, const Finding& b) { return a.stage < b.stage; });
        return std::move(result_);
    }

private:
    /// What was found of domains, for another inference. A stage that is too large was not looked at: what it reads may
    /// be read elsewhere, too.
    void note_boxes() {
        result_.boxes.resize(pipeline_.stages.size());
        for (std::size_t s = pipeline_.stages.size(); s-- > 0;) {
            const ir::Stage& stage = pipeline_.stages[s];
            const std::vector<Interval>& box = result_.domains[s].box;
            if (!blind_[s] && box.size() == stage.dims.size()) result_.boxes[s] = box;
            if (!blind_[s] && !too_large_[s]) continue;
            for (const ir::Expr& e : ir::expressions(stage)) {
                ir::for_each_node(e, [&](const ir::Expr& node) {
                    const auto* read = ir::as<ir::Read>(node);
                    if (read == nullptr || read->source.kind != ir::Source::Kind::Stage) return;
                    blind_[static_cast<std::size_t>(read->source.index)] = true;
                });
            }
        }
    }

    void stage(std::size_t index) {
        const ir::Stage& stage = pipeline_.stages[index];
        isl_.begin_question(stage.range, fmt::format("the domain of `{}`", stage.name));
        const auto domain = domain_of(index);
        if (!domain) return;
        for (std::size_t d = 0; d < stage.dims.size(); ++d) {
            values_.ranges.bind_index(stage.dims[d].var, domain->box[d].lo_expr, domain->box[d].hi_expr);
        }
        const LookedAt& looked = looked_at_[index].emplace(
            LookedAt{*domain, find_accesses(isl_, pipeline_, static_cast<int>(index), values_.affine, values_.ranges)});
        result_.casts.insert(result_.casts.end(), looked.found.casts.begin(), looked.found.casts.end());
        const NeededBy needed_by = [this, index](std::size_t dim, const isl::set& points) {
            return reads_that_ask(index, dim, points);
        };
        StageProofs proofs(isl_, pipeline_, sizes_, static_cast<int>(index), looked.domain, looked.found,
                           values_.affine, needed_by, result_.findings);
        proofs.prove_cases();
        proofs.prove_no_wrap();
        Reader reader{stage, looked.domain, looked.found, {}};
        reader.plain_guards.resize(looked.found.guards.size());
        for (const SourceQueries& queries : group(isl_, looked.found)) source(queries, reader, index, proofs);
    }

    /// See NeededBy: a read that asks for one of the points, then what asks its stage for the point that reads it.
    std::vector<DiagnosticNote> reads_that_ask(std::size_t stage, std::size_t dim, isl::set points) const {
        constexpr std::size_t kMostReads = 3;
        std::vector<DiagnosticNote> notes;
        while (notes.size() < kMostReads) {
            const Name var{Name::Kind::Variable, pipeline_.stages[stage].dims[dim].var};
            const isl::set wanted =
                only(only(points, {var}).intersect(isl_.value(var).eq_set(isl_.value(kIndex))), {kIndex});
            isl::set there = isl_.nothing();
            const auto asks = [&](const Asked& asked) {
                const LookedAt& by = *looked_at_[asked.reader];
                const isl::set reads = asked.access->values[dim].eq_set(isl_.value(kIndex));
                there = values_.affine.with_opaque_bounds(reads)
                            .intersect(by.found.guards[static_cast<std::size_t>(asked.access->guard)])
                            .intersect(by.domain.points)
                            .intersect(wanted);
                return !there.is_empty();
            };
            const auto found = std::find_if(asked_[stage].begin(), asked_[stage].end(), asks);
            if (found == asked_[stage].end()) return notes;
            notes.push_back({found->access->range,
                             fmt::format("this read of `{}` asks for that point", pipeline_.stages[stage].name)});
            // Its own index is another stage's doing where a domain that is inferred decides it.
            const std::vector<Name> names = names_in(found->access->values[dim]);
            const std::vector<ir::Dimension>& dims = pipeline_.stages[found->reader].dims;
            const auto next = std::find_if(dims.begin(), dims.end(), [&](const ir::Dimension& d) {
                return !d.is_explicit() && contains(names, {Name::Kind::Variable, d.var});
            });
            if (next == dims.end()) return notes;
            stage = found->reader;
            dim = static_cast<std::size_t>(next - dims.begin());
            points = there;
        }
        return notes;
    }

    /// The hull of { [index] : need }. For sizes where nothing is needed it is empty in exact mode; in box mode it may
    /// be anything, for the sake of simple bounds. Without expressions where a number in it is too large.
    Bounds hull(const isl::set& need) {
        if (const auto tight = tight_hull(need)) return *tight;
        return loose_hull(need, kFewBounds);
    }

    /// The maximum of at most `few` bounds.
    Bounds loose_hull(const isl::set& need, std::size_t few) {
        return bounds(loose_extremum(need, false, few), loose_extremum(need, true, few).add_constant(1));
    }

    /// None where that is too expensive to find, or to compute for a launch.
    std::optional<Bounds> tight_hull(const isl::set& need) {
        return isl_
            .attempt([&]() -> std::optional<Bounds> {
                isl::pw_aff lo = isl_.constant(0), hi = isl_.constant(0);
                if (!need.is_disjoint(sizes_.assumed)) {
                    lo = extremum(need, false, std::nullopt);
                    const auto empty = mode_ == DomainMode::Exact ? std::optional(lo.add_constant(-1)) : std::nullopt;
                    hi = extremum(need, true, empty).add_constant(1);
                }
                if (piece_count(lo) > kMostPiecesOfBound || piece_count(hi) > kMostPiecesOfBound) return std::nullopt;
                return bounds(lo, hi);
            })
            .value_or(std::nullopt);
    }

    Bounds bounds(const isl::pw_aff& lo, const isl::pw_aff& hi) {
        // Back through ir, which writes nested divisions as one.
        try {
            const ir::Expr lo_expr = keep(to_expr(lo)), hi_expr = keep(to_expr(hi));
            const auto written = [&](const ir::Expr& e, const isl::pw_aff& bound) {
                const isl::pw_aff value = values_.affine.integer(e).value;
                return has_opaque(value) ? bound : value;  // too many pieces for proofs about the program
            };
            return {written(lo_expr, lo), written(hi_expr, hi), lo_expr, hi_expr};
        } catch (const NumberTooLarge&) {
            return {lo, hi, nullptr, nullptr};
        }
    }

    isl::pw_aff extremum(const isl::set& need, bool greatest, const std::optional<isl::pw_aff>& outside) {
        // Sizes below 2^30 matter only to the bounds of data; without them isl's numbers stay small.
        for (const isl::set& context : {sizes_.assumed, sizes_.bounded}) {
            if (auto affine = affine_extremum(isl_, need, kIndex, greatest, context, outside)) return *affine;
        }
        const isl::set tuple = as_tuple(isl_, need.intersect(sizes_.bounded).coalesce(), {kIndex});
        const isl::pw_aff value =
            isl::manage(greatest ? isl_set_dim_max(tuple.copy(), 0) : isl_set_dim_min(tuple.copy(), 0));
        return simplify(isl_, value, sizes_.bounded, outside);
    }

    /// A bound that no index in `need` is beyond: the outermost one of its convex parts, each of which gives any of its
    /// own. Of many, a function that is farther out than all.
    isl::pw_aff loose_extremum(const isl::set& need, bool greatest, std::size_t few) {
        isl_.next_part();
        const auto parts = bounds_of_parts(isl_, need, kIndex, greatest);
        const auto of_positive_sizes = [&](const isl::pw_aff& bound) {
            const std::vector<Name> names = names_in(bound);
            return std::all_of(names.begin(), names.end(), [&](Name n) {
                return n.kind == Name::Kind::Size && sizes_.ranges[static_cast<std::size_t>(n.index)].lo >= 0;
            });
        };
        if (parts.size() > few && std::all_of(parts.begin(), parts.end(), of_positive_sizes)) {
            return beyond_all(isl_, parts, greatest);
        }
        isl::pw_aff result = parts.empty() ? isl_.constant(0) : parts.front();
        for (const isl::pw_aff& one : parts) result = greatest ? result.max(one) : result.min(one);
        return result;
    }

    /// Expressions that are remembered by their address must stay alive.
    ir::Expr keep(ir::Expr e) {
        kept_.push_back(e);
        return e;
    }

    isl::set interval(const ir::Dimension& dim, const Bounds& b) const {
        const isl::pw_aff var = isl_.value({Name::Kind::Variable, dim.var});
        return var.ge_set(b.lo).intersect(var.lt_set(b.hi));
    }

    /// Pieces of bounds multiply: where that makes too many, inferred dimensions get bounds of one.
    void simplify_box(std::vector<Bounds>& box, const ExplicitBounds& given, const Need& need) {
        int all = 1;
        for (const Bounds& b : box) all = std::min(all * piece_count(b.lo) * piece_count(b.hi), kMostPiecesOfBox + 1);
        if (all <= kMostPiecesOfBox) return;
        for (std::size_t d = 0; d < box.size(); ++d) {
            if (!given[d] && piece_count(box[d].lo) * piece_count(box[d].hi) > 1) box[d] = loose_hull(need.dims[d], 1);
        }
    }

    /// Fills in the stage's Domain. None when no point of the stage is needed.
    std::optional<StageDomain> domain_of(std::size_t index) {
        const ir::Stage& stage = pipeline_.stages[index];
        const ExplicitBounds& given = sizes_.stages[index];
        Need& need = stage_needs_[index];
        StageDomain domain{{}, isl_.everything(), true};
        bool inferred = false, needed = true;
        std::vector<Name> explicit_dims;
        for (std::size_t d = 0; d < stage.dims.size(); ++d) {
            if (given[d]) {
                domain.box.push_back(*given[d]);
                explicit_dims.push_back({Name::Kind::Variable, stage.dims[d].var});
            } else {
                inferred = true;
                needed = needed && !need.dims[d].is_empty();
                domain.box.push_back(hull(need.dims[d]));
                if (!domain.box.back().lo_expr) {
                    too_large_[index] = true;
                    unbounded(stage, stage.dims[d], index);
                    return std::nullopt;
                }
            }
        }
        simplify_box(domain.box, given, need);
        for (std::size_t d = 0; d < stage.dims.size(); ++d) {
            isl_.begin_question(stage.range, fmt::format("the domain of `{}`", stage.name));  // one for each dimension
            const auto within = [&] { return domain.points.intersect(interval(stage.dims[d], domain.box[d])); };
            auto points = isl_.attempt(within);
            if (!points) {
                if (!given[d]) domain.box[d] = loose_hull(need.dims[d], 1);
                points = within();
            }
            domain.points = *points;
        }
        Domain& out = result_.domains[index];
        for (const Bounds& b : domain.box) out.box.push_back({b.lo_expr, b.hi_expr});
        if (!needed) return std::nullopt;
        const isl::set fits = launchable(domain);
        if (fits.is_disjoint(sizes_.bounded)) {
            too_large_[index] = true;
            never_fits(stage, domain, index);
            return std::nullopt;
        }
        out.may_be_too_large = !sizes_.bounded.is_subset(fits);
        if (!within_known(domain, index)) result_.within_known = false;
        if (mode_ == DomainMode::Exact && inferred && need.points) {
            const isl::set wanted = project_out(isl_, *need.points, explicit_dims).coalesce();
            const isl::set box = domain.points.intersect(sizes_.assumed);
            domain.is_box = box.is_subset(wanted);
            if (!domain.is_box) {
                domain.points = domain.points.intersect(wanted).coalesce();
                out.guard = to_condition(isl::manage(isl_set_compute_divs(domain.points.copy())).gist(box).coalesce());
            }
        }
        return domain;
    }

    /// Whether the domain lies where stage_ranges took it to lie.
    bool within_known(const StageDomain& domain, std::size_t index) {
        if (index >= known_.size() || !known_[index]) return true;
        const std::vector<ir::Dimension>& dims = pipeline_.stages[index].dims;
        for (std::size_t d = 0; d < dims.size(); ++d) {
            const Interval& known = (*known_[index])[d];
            const Bounds& found = domain.box[d];
            const bool same =
                ir::structurally_equal(known.lo, found.lo_expr) && ir::structurally_equal(known.hi, found.hi_expr);
            if (dims[d].is_explicit() || same) continue;
            const Bounds bounds{values_.affine.integer(known.lo).value, values_.affine.integer(known.hi).value,
                                known.lo, known.hi};
            if (!domain.points.intersect(sizes_.bounded).is_subset(interval(dims[d], bounds))) return false;
        }
        return true;
    }

    /// The sizes for which a launch takes the domain.
    isl::set launchable(const StageDomain& domain) const {
        isl::set fits = isl_.everything();
        for (const Bounds& b : domain.box) fits = fits.intersect(launchable(b));
        return fits;
    }
    isl::set launchable(const Bounds& b) const {
        return b.lo.gt_set(isl_.constant(-kIndexLimit)).intersect(b.hi.lt_set(isl_.constant(kIndexLimit)));
    }

    /// The finding that no launch can compute the stage.
    void never_fits(const ir::Stage& stage, const StageDomain& domain, std::size_t index) {
        const auto reason = std::find_if(domain.box.begin(), domain.box.end(),
                                         [&](const Bounds& b) { return launchable(b).is_disjoint(sizes_.bounded); });
        const auto d =
            static_cast<std::size_t>((reason == domain.box.end() ? domain.box.begin() : reason) - domain.box.begin());
        const ir::Dimension& dim = stage.dims[d];
        too_large(
            stage, dim, index,
            fmt::format("`{}` is too large for every size: `{}` runs from `{}` to `{}`, and an index must be below "
                        "2^30 in magnitude",
                        stage.name, pipeline_.variables[static_cast<std::size_t>(dim.var)].name,
                        ir::to_string(pipeline_, domain.box[d].lo_expr),
                        ir::to_string(pipeline_, last(domain.box[d].hi_expr))));
    }

    /// The last index before an end.
    static ir::Expr last(const ir::Expr& end) {
        return ir::binary(ir::BinaryOp::Sub, end, ir::int_constant(ir::Type::Int32, 1));
    }

    /// The finding that a range does not fit int32.
    void unbounded(const ir::Stage& stage, const ir::Dimension& dim, std::size_t index) {
        too_large(stage, dim, index,
                  fmt::format("the range of `{}` in `{}` does not fit 32-bit integers",
                              pipeline_.variables[static_cast<std::size_t>(dim.var)].name, stage.name));
    }

    void too_large(const ir::Stage& stage, const ir::Dimension& dim, std::size_t index, const std::string& message) {
        const SourceRange range = dim.range.valid() ? dim.range : stage.range;
        std::vector<SourceRange> readers;  // a reduction that is written out reads many times at one place
        for (const SourceRange reader : readers_[index]) {
            if (std::ranges::find(readers, reader) == readers.end()) readers.push_back(reader);
        }
        const bool stated = dim.is_explicit();
        result_.findings.push_back(
            {range, static_cast<int>(index), nullptr, [message, range, readers, stated](Diagnostics& diags) {
                 auto report = diags.report(diag::UnboundedDomain, range, message);
                 if (stated) return;
                 for (const SourceRange reader : readers) report.note(reader, "it is read here");
                 report.note(
                     "bound the index, for example with `clamp`; or what it follows, in `where`: parameters, and "
                     "sizes, as in `R <= 16384`; or give an explicit range");
             }});
    }

    void source(const SourceQueries& queries, Reader& reader, std::size_t reader_index, StageProofs& proofs) {
        const bool is_input = queries.source.kind == ir::Source::Kind::Input;
        const auto index = static_cast<std::size_t>(queries.source.index);
        // What a scan reads of itself lies in its line, all of which is computed; there is nothing that it needs more.
        const bool is_self = !is_input && index == reader_index;
        Need& need = is_input ? input_needs_[index] : stage_needs_[index];
        const std::string& name = is_input ? pipeline_.inputs[index].name : pipeline_.stages[index].name;

        std::vector<isl::set> asked(need.dims.size(), isl_.nothing());
        for (const Query& query : queries.queries) {
            isl_.begin_question(query.users[0]->range, fmt::format("this access to `{}`", name));
            asked[query.dim] = asked[query.dim].unite(values(query, reader)).coalesce();
        }
        for (std::size_t d = 0; d < need.dims.size(); ++d) {
            const std::optional<Bounds> bounds = is_input ? sizes_.inputs[index][d] : sizes_.stages[index][d];
            if (bounds) prove(queries, d, *bounds, asked[d], proofs);
            if (!queries.is_write && !is_self) need.dims[d] = need.dims[d].unite(asked[d]).coalesce();
        }
        if (!is_input && !queries.is_write && !is_self) {
            // The places that read it, for messages; the first few do.
            for (const Access* access : queries.accesses) {
                if (readers_[index].size() < 3 && access->range.valid()) readers_[index].push_back(access->range);
                asked_[index].push_back({reader_index, access});
            }
        }
        if (mode_ != DomainMode::Exact || is_input || queries.is_write || is_self) return;
        for (const Access* access : queries.accesses) {
            isl_.begin_question(access->range, fmt::format("this access to `{}`", name));
            const isl::set points = image(*access, reader, pipeline_.stages[index]);
            need.points = need.points ? need.points->unite(points).coalesce() : points;
        }
    }

    /// All queries of a dimension at once first: only when that fails, each by itself, to see which is to blame.
    void prove(const SourceQueries& queries, std::size_t dim, const Bounds& bounds, const isl::set& asked,
               StageProofs& proofs) {
        const isl::pw_aff index = isl_.value(kIndex);
        const isl::set outside = index.lt_set(bounds.lo).unite(index.ge_set(bounds.hi));
        if (admitted(sizes_, outside.intersect(asked)).is_empty()) return;
        for (const Neighbours& row : neighbours(queries, dim)) {
            std::vector<const Access*> accesses;
            for (const Neighbour& one : row) accesses.push_back(one.query->users[0]);
            proofs.prove_in_bounds(accesses, dim, bounds);
        }
    }

    /// Queries under one guard whose indices are constants apart, by these.
    struct Neighbour {
        isl::val offset;
        const Query* query;
    };
    using Neighbours = std::vector<Neighbour>;
    std::vector<Neighbours> neighbours(const SourceQueries& queries, std::size_t dim) const {
        std::vector<Neighbours> result;
        for (const Query& query : queries.queries) {
            if (query.dim != dim) continue;
            std::optional<isl::val> offset;
            const auto row = std::ranges::find_if(result, [&](const Neighbours& known) {
                const Query& first = *known.front().query;
                if (first.guard != query.guard) return false;
                const isl::pw_aff apart = query.value.sub(first.value);
                if (!apart.isa_aff() || !names_in(apart).empty() || apart.as_aff().involves_locals()) return false;
                offset = apart.as_aff().constant_val();
                return true;
            });
            if (row == result.end()) {
                result.push_back({{isl::val(isl_.ctx(), 0), &query}});
            } else {
                row->push_back({*offset, &query});
            }
        }
        for (Neighbours& row : result) {
            std::ranges::stable_sort(row, [](const Neighbour& a, const Neighbour& b) { return a.offset.lt(b.offset); });
        }
        return result;
    }

    /// { [index] : exists v in domain, guard : index = value(v) }, or more: dimensions that neither the value nor the
    /// guard mentions count as non-empty when the domain is a box.
    isl::set values(const Query& query, Reader& reader) {
        const std::vector<Name> names = names_in(query.value);
        const bool depends_on_data = has_kind(names, Name::Kind::Opaque);
        const isl::set& guard = depends_on_data ? reader.found.guards[static_cast<std::size_t>(query.guard)]
                                                : plain_guard(reader, query.guard);
        if (auto simple = simple_values(query, names, reader, guard)) return *simple;
        isl::set set = values_.affine.with_opaque_bounds(query.value.eq_set(isl_.value(kIndex))).intersect(guard);
        if (!reader.domain.is_box) return only(set.intersect(reader.domain.points), {kIndex});
        const std::vector<Name> involved = names_in(set);
        for (std::size_t d = 0; d < reader.stage.dims.size(); ++d) {
            if (contains(involved, {Name::Kind::Variable, reader.stage.dims[d].var})) {
                set = set.intersect(interval(reader.stage.dims[d], reader.domain.box[d]));
            }
        }
        return only(std::move(set), {kIndex});
    }

    const isl::set& plain_guard(Reader& reader, int guard) {
        auto& known = reader.plain_guards[static_cast<std::size_t>(guard)];
        if (known) return *known;
        const isl::set& full = reader.found.guards[static_cast<std::size_t>(guard)];
        std::vector<Name> opaques = names_in(full);
        std::erase_if(opaques, [](Name n) { return n.kind != Name::Kind::Opaque; });
        return known.emplace(project_out(isl_, full, opaques).coalesce());
    }

    /// The common case without quantifier elimination: c * v + rest under no guard with v in a box, or no v at all.
    std::optional<isl::set> simple_values(const Query& query, const std::vector<Name>& names, const Reader& reader,
                                          const isl::set& guard) {
        if (!reader.domain.is_box || isl_set_plain_is_universe(guard.get()) != isl_bool_true) return std::nullopt;
        if (has_kind(names, Name::Kind::Opaque) || !query.value.isa_aff()) return std::nullopt;
        const isl::aff aff = query.value.as_aff();
        if (aff.involves_locals()) return std::nullopt;
        Bounds b{query.value, query.value.add_constant(1), nullptr, nullptr};
        bool has_variable = false;
        for (const Name name : names) {
            if (name.kind != Name::Kind::Variable) continue;
            const auto dim = std::find_if(reader.stage.dims.begin(), reader.stage.dims.end(),
                                          [&](const ir::Dimension& d) { return d.var == name.index; });
            if (has_variable || dim == reader.stage.dims.end()) return std::nullopt;
            has_variable = true;
            const Bounds& v = reader.domain.box[static_cast<std::size_t>(dim - reader.stage.dims.begin())];
            const isl::val c = coefficient(aff, name);
            const isl::pw_aff rest = query.value.sub(isl_.value(name).scale(c));
            const isl::pw_aff first = rest.add(v.lo.scale(c)), last = rest.add(v.hi.add_constant(-1).scale(c));
            b.lo = c.is_nonneg() ? first : last;
            b.hi = (c.is_nonneg() ? last : first).add_constant(1);
        }
        const isl::pw_aff index = isl_.value(kIndex);
        return index.ge_set(b.lo).intersect(index.lt_set(b.hi));
    }

    /// { p : exists v in domain, guard : p = indices(v) } over the source's own variables.
    isl::set image(const Access& access, const Reader& reader, const ir::Stage& source) {
        isl::set set = reader.domain.points.intersect(reader.found.guards[static_cast<std::size_t>(access.guard)]);
        std::vector<Name> dims;
        for (std::size_t d = 0; d < source.dims.size(); ++d) {
            dims.push_back({Name::Kind::Variable, source.dims[d].var});
            set = set.intersect(access.values[d].eq_set(isl_.value(dims.back())));
        }
        return only(values_.affine.with_opaque_bounds(set).intersect(sizes_.assumed), dims);
    }

    /// Projects out everything but sizes and `dims`.
    isl::set only(isl::set set, const std::vector<Name>& dims) const {
        std::vector<Name> others;
        for (const Name name : names_in(set)) {
            if (name.kind != Name::Kind::Size && !contains(dims, name)) others.push_back(name);
        }
        return project_out(isl_, std::move(set), others).coalesce();
    }

    IslContext& isl_;
    const ir::Pipeline& pipeline_;
    const SizeContext& sizes_;
    DomainMode mode_;
    const KnownBoxes& known_;
    ProgramValues values_;
    std::vector<Need> stage_needs_, input_needs_;
    std::vector<std::vector<SourceRange>> readers_;
    std::vector<std::vector<Asked>> asked_;  ///< of each stage
    std::vector<std::optional<LookedAt>> looked_at_;
    std::vector<bool> too_large_, blind_;  ///< stages that were not looked at; those of which a reader was not
    std::vector<ir::Expr> kept_;
    Inference result_;
};

}  // namespace

Inference infer(IslContext& isl, const ir::Pipeline& pipeline, const SizeContext& sizes, DomainMode mode,
                const std::set<const ir::Node*>& wrapping, const KnownBoxes& known) {
    return Inferer(isl, pipeline, sizes, mode, wrapping, known).run();
}

}  // namespace pipec::poly
