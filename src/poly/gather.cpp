// By the form of the indices: sums with constants and floor divisions by constants, one inside of another.
#include "poly/gather.h"

#include <algorithm>
#include <map>

#include "ir/build.h"
#include "ir/visit.h"
#include "support/integers.h"

namespace pipec::poly {

using ir::BinaryOp;

namespace {

/// Larger numbers than these are no cells of an image; below them no sum of the code that is made wraps.
constexpr std::int64_t kLargest = std::int64_t{1} << 20;

/// floor((factor * variable + shift) / width), factor and width positive.
struct Form {
    ir::VarId var = -1;
    std::int64_t factor = 1, shift = 0, width = 1;
};

class Indices {
public:
    explicit Indices(const ir::Update& update) : update_(update) {}

    std::optional<Owner> owner(const ir::Expr& index) {
        const auto form = form_of(index);
        if (!form || form->width % form->factor != 0) return std::nullopt;
        // floor((a r + c) / (a b)) = floor((r + floor(c / a)) / b)
        const Owner owner{range_of(form->var), floor_quotient(form->shift, form->factor), form->width / form->factor};
        const bool fits = owner.shift > -kLargest && owner.shift < kLargest && owner.width < kLargest;
        return fits ? std::optional(owner) : std::nullopt;
    }

private:
    [[nodiscard]] std::size_t range_of(ir::VarId var) const {
        const auto found = std::find_if(update_.domain.begin(), update_.domain.end(),
                                        [&](const ir::Range& range) { return range.var == var; });
        return static_cast<std::size_t>(found - update_.domain.begin());
    }

    std::optional<Form> form_of(const ir::Expr& e) {
        if (const auto* var = ir::as<ir::Variable>(e)) {
            if (const auto let = lets_.find(var->id); let != lets_.end()) return form_of(let->second);
            return range_of(var->id) < update_.domain.size() ? std::optional(Form{var->id}) : std::nullopt;
        }
        if (const auto* let = ir::as<ir::Let>(e)) {
            lets_[let->var] = let->value;
            return form_of(let->body);
        }
        const auto* n = ir::as<ir::Binary>(e);
        if (n == nullptr) return std::nullopt;
        const bool commutes = n->op == BinaryOp::Add || n->op == BinaryOp::Mul;
        const bool swap = commutes && ir::as_int(n->a).has_value();
        const auto number = ir::as_int(swap ? n->a : n->b);
        if (!number || *number <= -kLargest * kLargest || *number >= kLargest * kLargest) return std::nullopt;
        const auto form = form_of(swap ? n->b : n->a);
        return form ? combined(n->op, *form, *number) : std::nullopt;
    }

    static std::optional<Form> combined(BinaryOp op, Form form, std::int64_t number) {
        switch (op) {
            case BinaryOp::Add: form.shift += number * form.width; break;
            case BinaryOp::Sub: form.shift -= number * form.width; break;
            case BinaryOp::Mul:
                if (number <= 0 || number >= kLargest || form.width != 1) return std::nullopt;
                form.factor *= number;
                form.shift *= number;
                break;
            case BinaryOp::Div:
                if (number <= 0 || number >= kLargest) return std::nullopt;
                form.width *= number;
                break;
            default: return std::nullopt;
        }
        const bool fits = form.factor < kLargest && form.width < kLargest && form.shift > -kLargest * kLargest &&
                          form.shift < kLargest * kLargest;
        return fits ? std::optional(form) : std::nullopt;
    }

    const ir::Update& update_;
    std::map<ir::VarId, ir::Expr> lets_;
};

/// A variable owns the first dimension that it can.
std::vector<std::optional<Owner>> find_owners(const ir::Update& update) {
    std::vector<std::optional<Owner>> result;
    std::vector<bool> taken(update.domain.size(), false);
    for (const ir::Expr& index : update.indices) {
        auto owner = Indices(update).owner(index);
        if (owner && taken[owner->range]) owner.reset();
        if (owner) taken[owner->range] = true;
        result.push_back(owner);
    }
    return result;
}

/// Of 0..5 and, where k is a variable, k..k + 5.
std::optional<std::int64_t> extent(const ir::Range& range) {
    const auto* sum = ir::as<ir::Binary>(range.hi);
    if (sum != nullptr && sum->op == BinaryOp::Add && ir::structurally_equal(sum->a, range.lo))
        return ir::as_int(sum->b);
    const auto lo = ir::as_int(range.lo), hi = ir::as_int(range.hi);
    if (!lo || !hi) return std::nullopt;
    return std::max<std::int64_t>(0, *hi - *lo);
}

/// Points of a range that belong to one owner.
std::optional<std::int64_t> points_in(const ir::Update& update, const std::vector<std::optional<Owner>>& owners,
                                      std::size_t range) {
    auto count = extent(update.domain[range]);
    for (const std::optional<Owner>& owner : owners) {
        if (owner && owner->range == range) count = std::min(count.value_or(owner->width), owner->width);
    }
    return count;
}

}  // namespace

bool Gather::any() const {
    return std::find(owned.begin(), owned.end(), true) != owned.end();
}

void Gather::release(std::size_t dim) {
    owned[dim] = false;
    for (auto& of_update : owners) of_update[dim].reset();
}

Gather find_gather(const ir::Accumulate& accumulate) {
    Gather gather;
    for (const ir::Update& update : accumulate.updates) {
        gather.owners.push_back(find_owners(update));
        if (gather.owned.empty()) gather.owned.assign(update.indices.size(), true);
        for (std::size_t d = 0; d < gather.owned.size(); ++d) {
            gather.owned[d] = gather.owned[d] && gather.owners.back()[d].has_value();
        }
    }
    for (std::size_t d = 0; d < gather.owned.size(); ++d) {
        if (!gather.owned[d]) gather.release(d);
    }
    return gather;
}

std::optional<std::int64_t> points_of_owner(const ir::Accumulate& accumulate, const Gather& gather) {
    constexpr std::int64_t kMany = std::int64_t{1} << 40;
    std::int64_t total = 0;
    for (std::size_t u = 0; u < accumulate.updates.size(); ++u) {
        const std::vector<ir::Range>& domain = accumulate.updates[u].domain;
        std::int64_t points = 1;
        for (std::size_t i = 0; i < domain.size(); ++i) {
            const auto count = points_in(accumulate.updates[u], gather.owners[u], i);
            if (!count) return std::nullopt;
            points = std::min(kMany, points * std::min(kMany / points, *count));
            if (points == 0) break;
        }
        total = std::min(kMany, total + points);
    }
    return total;
}

std::size_t first_unrolled(const ir::Update& update, const std::vector<std::optional<Owner>>& owners) {
    constexpr std::int64_t kInnermost = 16, kAll = 64;
    std::int64_t points = 1;
    for (std::size_t i = update.domain.size(); i-- > 0;) {
        points *= points_in(update, owners, i).value_or(kAll + 1);
        if (points > (i + 1 == update.domain.size() ? kInnermost : kAll)) return i + 1;
    }
    return 0;
}

std::int64_t unrolled_points(const ir::Accumulate& accumulate, const Gather& gather) {
    std::int64_t least = INT64_MAX;
    for (std::size_t u = 0; u < accumulate.updates.size(); ++u) {
        const ir::Update& update = accumulate.updates[u];
        std::int64_t points = 1;
        for (std::size_t i = first_unrolled(update, gather.owners[u]); i < update.domain.size(); ++i) {
            points *= std::max<std::int64_t>(1, points_in(update, gather.owners[u], i).value_or(1));
        }
        least = std::min(least, points);
    }
    return accumulate.updates.empty() ? 1 : least;
}

}  // namespace pipec::poly
