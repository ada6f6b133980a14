// From the root to the leaves: a node's places are known once all that use it have passed on theirs.
#include "poly/places.h"

#include <algorithm>
#include <unordered_set>

#include "ir/visit.h"

namespace pipec::poly {

namespace {

bool divides(const ir::Expr& e) {
    const auto* binary = ir::as<ir::Binary>(e);
    return ir::as<ir::Select>(e) != nullptr || ir::as<ir::Reduce>(e) != nullptr ||
           (binary != nullptr && ir::is_logical(binary->op));
}

/// Users before operands. Without recursion: sums of thousands of terms are deep.
std::vector<ir::Expr> users_first(const ir::Expr& root) {
    std::vector<ir::Expr> result;
    std::unordered_set<const ir::Node*> seen;
    std::vector<std::pair<ir::Expr, bool>> stack{{root, false}};
    while (!stack.empty()) {
        const auto [e, operands_done] = stack.back();
        stack.pop_back();
        if (operands_done) {
            result.push_back(e);
        } else if (seen.insert(e.get()).second) {
            stack.emplace_back(e, true);
            ir::for_each_child(*e, [&](const ir::Expr& operand) { stack.emplace_back(operand, false); });
        }
    }
    std::reverse(result.begin(), result.end());
    return result;
}

}  // namespace

Places::Places(const ir::Expr& root) {
    bool divided = false;
    ir::for_each_node(root, [&](const ir::Expr& e) { divided = divided || divides(e); });
    if (!divided) return;
    meet(root, 0);
    for (const ir::Expr& e : users_first(root)) {
        std::set<int>& places = of_.at(e.get());
        unite(places);
        pairs_ += places.size();
        for (const int place : std::vector<int>(places.begin(), places.end())) pass_on(e, place);
    }
}

int Places::of(const ir::Expr& e, int place) const {
    if (of_.empty()) return place;
    const std::set<int>& places = of_.at(e.get());
    while (places.count(place) == 0) place = outer_.at(static_cast<std::size_t>(place));
    return place;
}

int Places::inside(const void* what, int place) {
    const auto [known, is_new] = inside_.try_emplace({what, place}, static_cast<int>(outer_.size()));
    if (is_new) outer_.insert(outer_.end(), 2, place);
    return known->second;
}

void Places::pass_on(const ir::Expr& e, int place) {
    const auto* binary = ir::as<ir::Binary>(e);
    if (const auto* select = ir::as<ir::Select>(e)) {
        meet(select->cond, place);
        meet(select->then, inside(select->cond, true, place));
        if (select->otherwise) meet(select->otherwise, inside(select->cond, false, place));
    } else if (binary != nullptr && ir::is_logical(binary->op)) {
        meet(binary->a, place);
        meet(binary->b, inside(binary->a, binary->op == ir::BinaryOp::And, place));
    } else if (const auto* reduce = ir::as<ir::Reduce>(e)) {
        for (const ir::Range& loop : reduce->ranges) {
            meet(loop.lo, place);
            meet(loop.hi, place);
            place = inside(loop, place);
        }
        meet(reduce->body, place);
    } else {
        ir::for_each_child(*e, [&](const ir::Expr& operand) { meet(operand, place); });
    }
}

void Places::unite(std::set<int>& places) const {
    if (places.size() == 1) return;
    const auto outer = [&](int place) { return outer_[static_cast<std::size_t>(place)]; };
    const bool many = pairs_ + places.size() > kMostPairs;
    std::set<int> left;
    while (!places.empty()) {  // the innermost first: the place around a place has a lower number
        const int place = *places.rbegin();
        places.erase(place);
        // Pairs are (1, 2), (3, 4), ...
        const bool both = place > 0 && place % 2 == 0 && places.erase(place - 1) > 0;
        if (both || (many && !places.empty()))
            places.insert(outer(place));
        else
            left.insert(place);
    }
    for (const int place : left) {
        int around = outer(place);
        while (around >= 0 && left.count(around) == 0) around = outer(around);
        if (around < 0) places.insert(place);
    }
}

}  // namespace pipec::poly
