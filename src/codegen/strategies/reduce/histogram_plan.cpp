#include "codegen/strategies/reduce/histogram_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <unordered_map>

#include "codegen/expr/pack.h"
#include "codegen/expr/strides.h"
#include "codegen/kernel/kernel_build.h"
#include "codegen/strategies/reduce/update_facts.h"
#include "fusion/histogram_facts.h"
#include "ir/build.h"
#include "ir/certain_reads.h"
#include "ir/unique_nodes.h"
#include "ir/visit.h"
#include "plan/lane_patches.h"

namespace pipec::codegen {

using ir::BinaryOp;
using Shape = fusion::HistogramShape;

namespace {

/// What a thread loads at once of all that it reads of a row, and its points.
constexpr std::int64_t kRowBytes = 64, kThreadPoints = 16;
/// Straight-line code of more nodes would not fit into the instruction cache.
constexpr std::int64_t kLargestBody = 4000;
/// Points of a region.
constexpr std::int64_t kRegionPoints = 32 * 1024, kLongestRegion = 4096;
/// A region must have so many points for each of the cells that it brings to the table.
constexpr std::int64_t kPointsOfCell = 2;
constexpr std::int64_t kUnknownSpread = INT32_MAX;

/// How far the values of an index lie apart at the points of a region, and along which variables it grows and falls.
/// Nothing that is wrong here makes wrong code: what is elsewhere goes to the table itself.
class IndexSpread {
public:
    struct Of {
        bool known = true;  ///< what it reads is the same in all of the region
        std::int64_t spread = 0;
        /// Those in both: one or the other, as a factor says that is no constant (the slope of a shear).
        std::set<ir::VarId> grows, falls;
        [[nodiscard]] bool varies() const { return !grows.empty() || !falls.empty(); }
    };

    /// The points of a region along each of the loops' variables. `ranges`: of these variables.
    IndexSpread(std::map<ir::VarId, std::int64_t> lengths, poly::ValueRanges& ranges)
        : lengths_(std::move(lengths)), ranges_(ranges) {}

    Of of(const ir::Expr& e) {
        if (const auto found = known_.find(e.get()); found != known_.end()) return found->second;
        return known_.emplace(e.get(), compute(e)).first->second;
    }

private:
    static Of unknown() {
        Of result;
        result.known = false;
        return result;
    }
    static Of turned(Of a) {
        std::swap(a.grows, a.falls);
        return a;
    }
    static Of both(const Of& a, const Of& b, std::int64_t spread) {
        Of result = a;
        result.known = a.known && b.known;
        result.spread = std::min(spread, kUnknownSpread);
        result.grows.insert(b.grows.begin(), b.grows.end());
        result.falls.insert(b.falls.begin(), b.falls.end());
        return result;
    }

    Of compute(const ir::Expr& e) {
        if (const auto* var = ir::as<ir::Variable>(e)) {
            if (const auto let = lets_.find(var->id); let != lets_.end()) return let->second;
            const auto length = lengths_.find(var->id);
            if (length == lengths_.end()) return unknown();
            if (length->second <= 1) return {};
            return {true, length->second - 1, {var->id}, {}};
        }
        if (ir::is_uniform(e)) return {};
        if (const auto* let = ir::as<ir::Let>(e)) {
            lets_[let->var] = of(let->value);
            ranges_.bind(let->var, let->value);
            return of(let->body);
        }
        if (const auto* cast = ir::as<ir::Cast>(e)) return of(cast->a);
        if (const auto* read = ir::as<ir::Read>(e)) return all_the_same(read->indices);
        if (const auto* call = ir::as<ir::Call>(e)) {
            using ir::Builtin;
            const bool rounds = call->fn == Builtin::Floor || call->fn == Builtin::Ceil || call->fn == Builtin::Round ||
                                call->fn == Builtin::Trunc;
            return rounds ? of(call->args.front()) : all_the_same(call->args);
        }
        const auto* n = ir::as<ir::Binary>(e);
        if (n == nullptr) return unknown();
        const Of a = of(n->a), b = of(n->b);
        switch (n->op) {
            case BinaryOp::Add: return both(a, b, a.spread + b.spread);
            case BinaryOp::Sub: return both(a, turned(b), a.spread + b.spread);
            case BinaryOp::Min:
            case BinaryOp::Max: return both(a, b, std::max(a.spread, b.spread));
            case BinaryOp::Mul: return a.varies() ? scaled(a, b, n->b) : scaled(b, a, n->a);
            case BinaryOp::Div: return divided(a, b, number(n->b));
            case BinaryOp::Shr: {
                const auto bits = ir::as_int(n->b);
                if (!bits || *bits < 0 || *bits > 30) return unknown();
                return divided(a, b, static_cast<double>(1U << *bits));
            }
            default: return unknown();
        }
    }

    /// A value that everything it depends on is the same for in all of the region.
    Of all_the_same(const std::vector<ir::Expr>& operands) {
        for (const ir::Expr& operand : operands) {
            const Of one = of(operand);
            if (!one.known || one.varies()) return unknown();
        }
        return {};
    }

    static std::optional<double> number(const ir::Expr& e) {
        if (const auto* real = ir::as<ir::FloatConstant>(e)) return real->value;
        const auto integer = ir::as_int(e);
        return integer ? std::optional(static_cast<double>(*integer)) : std::nullopt;
    }

    /// The least and the greatest value of a factor. Sizes are positive, and data that nothing is known of are taken
    /// for sines.
    std::pair<double, double> factor_range(const ir::Expr& e) {
        if (const auto known = number(e)) return {*known, *known};
        const poly::ValueRange range = ranges_.of(e);
        double lo = -1, hi = 1;
        if (const auto* integer = std::get_if<poly::IntRange>(&range)) {
            lo = static_cast<double>(integer->lo), hi = static_cast<double>(integer->hi);
        } else if (const auto& real = std::get<poly::FloatRange>(range);
                   std::isfinite(real.lo) && std::isfinite(real.hi)) {
            constexpr double kUnknown = 1e30;  // floats of inputs
            if (std::max(-real.lo, real.hi) < kUnknown) lo = real.lo, hi = real.hi;
        }
        return {lo, hi};
    }

    Of scaled(Of a, const Of& factor, const ir::Expr& by) {
        if (!a.known || !factor.known || factor.varies()) return unknown();
        const auto [lo, hi] = factor_range(by);
        if (hi <= 0) a = turned(a);
        if (lo < 0 && hi > 0) a.grows.insert(a.falls.begin(), a.falls.end()), a.falls = a.grows;
        a.spread = up(std::max(std::abs(lo), std::abs(hi)) * static_cast<double>(a.spread));
        return a;
    }
    static Of divided(Of a, const Of& divisor, std::optional<double> by) {
        if (!a.known || !divisor.known || divisor.varies()) return unknown();
        if (by && *by <= 0) return unknown();
        // What is divided by the size of an image's part is taken to be nearly the same in a region.
        a.spread = by && a.spread < kUnknownSpread ? up(static_cast<double>(a.spread) / *by) : a.varies() ? 1 : 0;
        return a;
    }
    static std::int64_t up(double spread) {
        return static_cast<std::int64_t>(std::min(std::ceil(spread), static_cast<double>(kUnknownSpread)));
    }

    std::map<ir::VarId, std::int64_t> lengths_;
    poly::ValueRanges& ranges_;
    std::map<ir::VarId, Of> lets_;
    std::unordered_map<const ir::Node*, Of> known_;
};

class Planner {
public:
    Planner(const ir::Pipeline& pipeline, const poly::Model& model, const fusion::Gpu& gpu, int stage,
            const std::vector<ir::Update>& updates, const Shape& asked)
        : pipeline_(pipeline),
          model_(model),
          gpu_(gpu),
          updates_(updates),
          domain_(updates.front().domain),
          box_(model.domains.at(static_cast<std::size_t>(stage)).box),
          bytes_(ir::bytes(pipeline.stages.at(static_cast<std::size_t>(stage)).type)),
          asked_(asked),
          ranges_(pipeline, std::vector<poly::IntRange>(pipeline.sizes.size(), {1, poly::kIndexLimit})) {
        for (const ir::Range& range : domain_) ranges_.bind_index(range.var, range.lo, range.hi);
    }

    std::optional<HistogramPlan> run() {
        if (!deal_out()) return std::nullopt;
        choose_columns();
        choose_table();
        p_.merge = asked_[Shape::Merge] != 0 ? asked_[Shape::Merge] == 2 : p_.copies < plan::kMostCopies;
        return std::move(p_);
    }

private:
    [[nodiscard]] std::optional<std::int64_t> extent(std::size_t range) const {
        return constant_extent(domain_[range].lo, domain_[range].hi);
    }

    /// What each of the loops' ranges is for.
    bool deal_out() {
        if (domain_.empty()) return false;
        std::vector<bool> is_inner(domain_.size(), false);
        std::int64_t inner = 1;
        for (std::size_t i = domain_.size(); i-- > 1;) {
            const auto n = extent(i);
            if (!n || *n < 1 || inner * *n > plan::kInnerPoints) break;
            inner *= *n;
            is_inner[i] = true;
        }
        inner *= take_channels(is_inner, plan::kInnerPoints / inner);
        std::vector<std::size_t> outer;
        for (std::size_t i = 0; i < domain_.size(); ++i) {
            if (is_inner[i]) {
                p_.inner.push_back(i);
                continue;
            }
            if (!is_size_arithmetic(domain_[i].lo) || !is_size_arithmetic(domain_[i].hi)) return false;
            outer.push_back(i);
        }
        p_.lane = along_memory(outer);
        std::erase(outer, p_.lane);
        if (!outer.empty()) p_.row = across_memory(outer);
        inner_points_ = inner;
        return true;
    }

    /// One thread takes all channels of an interleaved pixel, whatever the order of the program's loops: any short
    /// range along which reads are adjacent in memory. Returns the number of its points, at most `most`.
    std::int64_t take_channels(std::vector<bool>& is_inner, std::int64_t most) const {
        std::vector<std::size_t> ranges;
        for (std::size_t i = 0; i < domain_.size(); ++i) {
            if (!is_inner[i]) ranges.push_back(i);
        }
        if (ranges.size() < 2) return 1;
        const std::size_t side_by_side = along_memory(ranges);
        const auto n = extent(side_by_side);
        if (!n || *n < 1 || *n > most) return 1;
        is_inner[side_by_side] = true;
        return *n;
    }

    [[nodiscard]] std::vector<ir::Expr> roots() const {
        std::vector<ir::Expr> result;
        for (const ir::Update& update : updates_) {
            if (update.guard) result.push_back(update.guard);
            result.push_back(update.value);
            result.insert(result.end(), update.indices.begin(), update.indices.end());
        }
        return result;
    }

    /// Of these ranges the one along which most of what is read lies side by side; where that is nothing, the innermost
    /// one.
    [[nodiscard]] std::size_t along_memory(const std::vector<std::size_t>& ranges) const {
        return most_used(ranges, [&](const ir::Read& read) {
            const std::vector<int> order = memory_order(pipeline_, read.source);
            for (auto d = order.rbegin(); d != order.rend(); ++d) {
                const ir::Expr& index = read.indices[static_cast<std::size_t>(*d)];
                std::vector<std::size_t> found;
                for (const std::size_t i : ranges) {
                    if (uses(index, domain_[i].var)) found.push_back(i);
                }
                if (!found.empty()) return found;
            }
            return std::vector<std::size_t>{};
        });
    }

    /// Of these ranges, those without the lane's, the one along which most of what is read is an image.
    [[nodiscard]] std::size_t across_memory(const std::vector<std::size_t>& ranges) const {
        return most_used(ranges, [&](const ir::Read& read) {
            const auto follows = [&](std::size_t i) {
                return std::ranges::any_of(read.indices,
                                           [&](const ir::Expr& index) { return uses(index, domain_[i].var); });
            };
            std::vector<std::size_t> found;
            for (const std::size_t i : ranges) {
                if (follows(p_.lane) && follows(i)) found.push_back(i);
            }
            return found;
        });
    }

    /// Of these ranges the one that most reads ask for, those of arrays that grow with the sizes before tables; the
    /// innermost one where none does.
    [[nodiscard]] std::size_t most_used(const std::vector<std::size_t>& ranges,
                                        const std::function<std::vector<std::size_t>(const ir::Read&)>& asks) const {
        std::map<std::size_t, int> of_images, of_tables;
        for (const ir::Expr& root : roots()) {
            ir::for_each_node(root, [&](const ir::Expr& e) {
                const auto* read = ir::as<ir::Read>(e);
                if (read == nullptr) return;
                for (const std::size_t i : asks(*read)) ++(is_table(read->source) ? of_tables : of_images)[i];
            });
        }
        std::map<std::size_t, int>& votes = of_images.empty() ? of_tables : of_images;
        std::size_t best = ranges.back();
        for (const auto& [range, count] : votes) {
            if (count > votes[best]) best = range;
        }
        return best;
    }
    /// An array of the same size whatever the program's are.
    [[nodiscard]] bool is_table(const ir::Source& source) const {
        const auto i = static_cast<std::size_t>(source.index);
        if (source.kind == ir::Source::Kind::Stage) return constant_cells(model_.domains.at(i).box).has_value();
        return std::ranges::all_of(pipeline_.inputs.at(i).extents,
                                   [](const ir::Expr& extent) { return ir::as_int(extent).has_value(); });
    }
    static bool uses(const ir::Expr& e, ir::VarId var) {
        bool found = false;
        ir::for_each_node(e, [&](const ir::Expr& n) {
            const auto* variable = ir::as<ir::Variable>(n);
            found = found || (variable != nullptr && variable->id == var);
        });
        return found;
    }

    void choose_columns() {
        std::int64_t narrowest = plan::kHistogramAccess, all = 0, nodes = 0;
        // What the guard names is read once, as code does.
        ir::UniqueExpressions unique;
        std::vector<ir::Expr> evaluated;
        for (const ir::Expr& root : roots()) {
            nodes += ir::node_count(root);
            evaluated.push_back(unique.get(root));
        }
        for (const ir::Expr& read : ir::certain_reads(evaluated)) {
            narrowest = std::min<std::int64_t>(narrowest, ir::bytes(read->type));
            all += ir::bytes(read->type);
        }
        p_.rows = p_.row && asked_[Shape::Rows] > 0 ? asked_[Shape::Rows] : 1;
        p_.columns = all == 0 ? plan::kInnerPoints : plan::kHistogramAccess / narrowest;
        const auto fits = [&] {
            const std::int64_t points = p_.columns * inner_points_;
            const auto across = extent(p_.lane);
            return points <= kThreadPoints && (p_.columns == 1 || all * p_.columns <= kRowBytes) &&
                   nodes * points * p_.rows <= kLargestBody && (!across || p_.columns <= *across);
        };
        while (p_.columns > 1 && !fits()) p_.columns /= 2;
        while (p_.rows > 1 && nodes * p_.columns * inner_points_ * p_.rows > kLargestBody) p_.rows /= 2;
        loaded_ = all * p_.columns * p_.rows * inner_points_;
        p_.has_registers = loaded_ <= kRowBytes;
    }

    void choose_table() {
        using Table = HistogramPlan::Table;
        const auto cells = constant_cells(box_);
        const bool is_empty = cells && *cells < 1;
        const bool region = !is_empty && choose_region();
        static_cast<plan::HistogramTable&>(p_) = plan::make_histogram_table(
            {bytes_, cells, fusion::row_cells(box_), region ? std::optional(p_.cells) : std::nullopt, loaded_}, gpu_,
            asked_);
        if (p_.table == Table::Region) {
            p_.has_registers = p_.has_registers && !follows_columns();
            return;
        }
        p_.dims.assign(box_.size(), {});
        p_.extents.clear();
        if (p_.table != Table::Whole) return;
        for (const poly::Interval& interval : box_) {
            p_.extents.push_back(constant_extent(interval.lo, interval.hi).value_or(p_.first_rows));
        }
        if (p_.first_rows > 0) p_.dims[0].moves = true;
    }

    /// Points of a thread have targets of their own in dimensions that follow the lane: each takes registers.
    [[nodiscard]] bool follows_columns() const {
        if (p_.columns == 1) return false;
        for (std::size_t d = 0; d < box_.size(); ++d) {
            if (p_.dims[d].moves && uses(updates_.front().indices[d], domain_[p_.lane].var)) return true;
        }
        return false;
    }

    /// A region such that what its points reach is small; whether there is one.
    bool choose_region() {
        const auto at_most = [&](std::int64_t n, std::size_t range) {
            const auto length = extent(range).value_or(n);
            return std::min(n, static_cast<std::int64_t>(
                                   std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(1, length)))));
        };
        std::int64_t& width = p_.region_columns;
        std::int64_t& height = p_.region_rows;
        width = std::max(p_.columns, at_most(p_.row ? 512 : kRegionPoints, p_.lane));
        height = p_.row ? std::max(p_.rows, at_most(kRegionPoints / width, *p_.row)) : 1;
        if (asked_[Shape::RegionColumns] > 0) width = std::max<std::int64_t>(p_.columns, asked_[Shape::RegionColumns]);
        if (asked_[Shape::RegionRows] > 0 && p_.row)
            height = std::max<std::int64_t>(p_.rows, asked_[Shape::RegionRows]);
        if (asked_[Shape::RegionColumns] > 0 || asked_[Shape::RegionRows] > 0) return measure() && is_worth_it();
        while (measure() && p_.cells * bytes_ > plan::kRegionBytes) {
            // What shrinks more when it is halved; the other one grows where that costs nothing.
            const std::int64_t before = p_.cells;
            const auto with = [&](std::int64_t& length, std::int64_t least) {
                if (length / 2 < least) return before;
                length /= 2;
                const std::int64_t after = measure() ? p_.cells : before;
                length *= 2;
                return after;
            };
            const std::int64_t narrower = with(width, p_.columns), lower = with(height, p_.rows);
            if (narrower >= before && lower >= before) return false;
            std::int64_t& halved = lower <= narrower ? height : width;
            std::int64_t& other = lower <= narrower ? width : height;
            halved /= 2;
            measure();
            const std::int64_t smaller = p_.cells;
            if (other * 2 > kLongestRegion || (&other == &height && !p_.row)) continue;
            other *= 2;
            if (!measure() || p_.cells > smaller) other /= 2;
        }
        return measure() && is_worth_it();
    }
    [[nodiscard]] bool is_worth_it() const {
        const std::int64_t points = p_.region_columns * p_.region_rows * inner_points_;
        return p_.cells * bytes_ <= plan::table_room(gpu_) && points >= kPointsOfCell * p_.cells;
    }

    /// All updates have the same index in a dimension: what one of them reaches, they all do.
    [[nodiscard]] bool agree_in(std::size_t d) const {
        return std::ranges::all_of(updates_, [&](const ir::Update& update) {
            return ir::structurally_equal(update.indices[d], updates_.front().indices[d]);
        });
    }

    /// What a region reaches; whether some dimension of that is less than the whole.
    bool measure() {
        std::map<ir::VarId, std::int64_t> lengths;
        for (std::size_t i = 0; i < domain_.size(); ++i) lengths[domain_[i].var] = 1;
        for (const std::size_t i : p_.inner) lengths[domain_[i].var] = *extent(i);
        lengths[domain_[p_.lane].var] = p_.region_columns;
        if (p_.row) lengths[domain_[*p_.row].var] = p_.region_rows;
        IndexSpread spread(lengths, ranges_);
        p_.dims.assign(box_.size(), {});
        p_.extents.assign(box_.size(), 1);
        p_.cells = 1;
        bool smaller = false;
        for (std::size_t d = 0; d < box_.size(); ++d) {
            const IndexSpread::Of of = spread.of(updates_.front().indices[d]);
            const auto whole = constant_extent(box_[d].lo, box_[d].hi);
            const bool moves = of.known && agree_in(d) && (!whole || of.spread + 1 < *whole);
            if (!moves && !whole) return false;
            p_.extents[d] = moves ? of.spread + 1 : std::max<std::int64_t>(1, *whole);
            p_.dims[d].moves = moves;
            if (moves) p_.dims[d].falls = of.falls, p_.dims[d].grows = of.grows;
            smaller = smaller || moves;
            p_.cells = std::min<std::int64_t>(p_.cells * p_.extents[d], kUnknownSpread);
        }
        return smaller;
    }

    const ir::Pipeline& pipeline_;
    const poly::Model& model_;
    const fusion::Gpu& gpu_;
    const std::vector<ir::Update>& updates_;
    const std::vector<ir::Range>& domain_;
    const std::vector<poly::Interval>& box_;
    const std::int64_t bytes_;
    const Shape asked_;
    poly::ValueRanges ranges_;
    std::int64_t inner_points_ = 1, loaded_ = 0;
    HistogramPlan p_;
};

}  // namespace

fusion::HistogramShape HistogramPlan::shape() const {
    Shape shape;
    const auto set = [&](Shape::Part part, std::int64_t value) { shape[part] = static_cast<int>(value); };
    set(Shape::Threads, threads);
    set(Shape::Rows, rows);
    set(Shape::Merge, merge ? 2 : 1);
    if (table != Table::Global) set(Shape::Copies, copies);
    set(Shape::Blocks, blocks);
    if (table == Table::Whole) set(Shape::Parts, parts);
    if (table == Table::Region) {
        set(Shape::RegionRows, region_rows);
        set(Shape::RegionColumns, region_columns);
    }
    return shape;
}

std::optional<HistogramPlan> plan_histogram(const ir::Pipeline& pipeline, const poly::Model& model,
                                            const fusion::Gpu& gpu, int stage, const std::vector<ir::Update>& updates,
                                            const fusion::HistogramShape& asked) {
    return Planner(pipeline, model, gpu, stage, updates, asked).run();
}

bool exists_everywhere(const ir::Pipeline& pipeline, const poly::Model& model, const std::vector<ir::Range>& domain,
                       const ir::Read& read) {
    const auto i = static_cast<std::size_t>(read.source.index);
    const bool is_stage = read.source.kind == ir::Source::Kind::Stage;
    if (is_stage && model.domains.at(i).guard) return false;
    for (std::size_t d = 0; d < read.indices.size(); ++d) {
        const ir::Expr lo = is_stage ? model.domains[i].box[d].lo : constant(0);
        const ir::Expr hi = is_stage ? model.domains[i].box[d].hi : pipeline.inputs.at(i).extents[d];
        const auto not_above = [](const ir::Expr& a, const ir::Expr& b) {
            const auto x = ir::as_int(a), y = ir::as_int(b);
            return x && y ? *x <= *y : ir::structurally_equal(a, b);
        };
        const auto* var = ir::as<ir::Variable>(read.indices[d]);
        if (const auto at = ir::as_int(read.indices[d])) {
            if (!not_above(lo, constant(*at)) || !not_above(constant(*at + 1), hi)) return false;
            continue;
        }
        const bool inside = var != nullptr && std::any_of(domain.begin(), domain.end(), [&](const ir::Range& r) {
                                return r.var == var->id && not_above(lo, r.lo) && not_above(r.hi, hi);
                            });
        if (!inside) return false;
    }
    return true;
}

}  // namespace pipec::codegen
