// The values of a scan, found by induction; see stage_ranges.h.
//
// `if x == 0 then 0 else min(n(y, x - 1) + 1, 17)` is in 0..17: what it gives is there, if what it reads of itself is.
// A range is guessed (from the values that do not depend on the scan, growing as the definition asks for, then by leaps
// to constants that occur in it), and counts if the definition gives nothing outside of it. Integers that wrap give all
// values of their type, which is in no smaller range.
#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ir/visit.h"
#include "poly/range_arithmetic.h"
#include "poly/stage_ranges.h"

namespace pipec::poly {

namespace {

/// Definitions that are looked at, and the rounds of it; leaps to ends that occur in it begin after the first ones.
constexpr std::int64_t kMostNodes = 2000;
constexpr int kMostRounds = 16, kRoundsOfSteps = 2;

bool is_within(const ValueRange& inner, const ValueRange& outer) {
    if (const auto* i = std::get_if<IntRange>(&inner)) {
        const auto& o = std::get<IntRange>(outer);
        return i->lo >= o.lo && i->hi <= o.hi;
    }
    const auto &i = std::get<FloatRange>(inner), &o = std::get<FloatRange>(outer);
    return i.lo >= o.lo && i.hi <= o.hi && (o.nan || !i.nan);
}

class Induction {
public:
    Induction(ValueRanges& ranges, const ir::Stage& stage, int index)
        : ranges_(ranges),
          self_{ir::Source::Kind::Stage, index},
          value_(std::get<ir::Pure>(stage.definition).value),
          all_(type_range_of(stage.type)) {}

    ValueRange run() {
        if (ir::node_count(value_) > kMostNodes) return given(all_);
        const std::optional<ValueRange> first = without_scan(value_);
        const bool floats = std::holds_alternative<FloatRange>(all_);
        ValueRange range = first ? *first : floats ? ValueRange(FloatRange{0, 0, false}) : ValueRange(IntRange{0, 0});
        note_ends();
        bool leapt = false;
        for (int round = 0; round < kMostRounds; ++round) {
            const ValueRange next = given(range);
            if (is_within(next, range)) return tightened(next);
            ValueRange wider = hull(range, next);
            // After a leap the definition may ask for a little more: `if n < 100 then n + 7`.
            leapt = round >= kRoundsOfSteps && !leapt;
            if (leapt) wider = leap(range, wider);
            if (wider == all_) break;
            range = wider;
        }
        return given(all_);
    }

private:
    /// What the definition gives where the scan has these values.
    ValueRange given(const ValueRange& values) {
        ranges_.know_last_stage_as(values);
        return ranges_.of(value_);
    }

    /// `range` is kept, and what it gives may be kept, too.
    ValueRange tightened(ValueRange range) {
        constexpr int kMostSteps = 3;
        for (int step = 0; step < kMostSteps; ++step) {
            const ValueRange next = given(range);
            if (next == range || !is_within(next, range)) break;
            range = next;
        }
        ranges_.know_last_stage_as(range);
        return range;
    }

    bool reads_scan(const ir::Expr& e) const {
        return ir::any_node(e, [&](const ir::Expr& node) {
            const auto* read = ir::as<ir::Read>(node);
            const auto* variable = ir::as<ir::Variable>(node);
            return (read != nullptr && read->source == self_) || (variable != nullptr && lets_.contains(variable->id));
        });
    }

    /// The range of the branches that do not read the scan; none where there is none.
    std::optional<ValueRange> without_scan(const ir::Expr& e) {
        if (const auto* let = ir::as<ir::Let>(e)) {
            ranges_.bind(let->var, let->value);
            if (reads_scan(let->value)) lets_.insert(let->var);
            return without_scan(let->body);
        }
        if (const auto* select = ir::as<ir::Select>(e)) {
            const auto a = without_scan(select->then);
            const auto b = select->otherwise ? without_scan(select->otherwise) : std::nullopt;
            return a && b ? hull(*a, *b) : a ? a : b;
        }
        return reads_scan(e) ? std::nullopt : std::optional(ranges_.of(e));
    }

    /// The ends of what occurs in the definition, with the numbers beside those of integers.
    void note_ends() {
        ranges_.know_last_stage_as(all_);
        ir::for_each_node(value_, [&](const ir::Expr& node) {
            if (node->type == ir::Type::Bool || ir::is_float(node->type) != std::holds_alternative<FloatRange>(all_)) {
                return;
            }
            const ValueRange range = ranges_.of(node);
            if (const auto* i = std::get_if<IntRange>(&range)) {
                for (const Wide end : {i->lo, i->hi}) {
                    for (const Wide near : {end - 1, end, end + 1}) ends_.push_back(near);
                }
            } else {
                const auto& f = std::get<FloatRange>(range);
                float_ends_.push_back(f.lo);
                float_ends_.push_back(f.hi);
            }
        });
        std::ranges::sort(ends_);
        std::ranges::sort(float_ends_);
    }

    /// `wider`, whose ends that are not those of `range` go on to the next one that occurs.
    ValueRange leap(const ValueRange& range, const ValueRange& wider) const {
        const auto ends_beyond = [](const auto& ends, const auto& before, auto now, const auto& most) {
            if (now.hi > before.hi) {
                const auto next = std::ranges::lower_bound(ends, now.hi);
                now.hi = next == ends.end() ? most.hi : std::min(*next, most.hi);
            }
            if (now.lo < before.lo) {
                const auto next = std::ranges::upper_bound(ends, now.lo);
                now.lo = next == ends.begin() ? most.lo : std::max(*std::prev(next), most.lo);
            }
            return now;
        };
        if (const auto* i = std::get_if<IntRange>(&range)) {
            return ends_beyond(ends_, *i, std::get<IntRange>(wider), std::get<IntRange>(all_));
        }
        return ends_beyond(float_ends_, std::get<FloatRange>(range), std::get<FloatRange>(wider),
                           std::get<FloatRange>(all_));
    }

    ValueRanges& ranges_;
    ir::Source self_;
    ir::Expr value_;
    ValueRange all_;
    std::set<ir::VarId> lets_;  ///< of what is read of the scan
    std::vector<Wide> ends_;
    std::vector<double> float_ends_;
};

}  // namespace

ValueRange scan_range(ValueRanges& ranges, const ir::Stage& stage, int index) {
    return Induction(ranges, stage, index).run();
}

}  // namespace pipec::poly
