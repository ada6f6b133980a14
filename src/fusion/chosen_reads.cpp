#include "fusion/chosen_reads.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fusion/conditions.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "ir/without_lets.h"

namespace pipec::fusion {

namespace {

/// Cases of one choice, and reads of each, that are looked at. With more of them the places take as long as the reads.
constexpr std::size_t kMostCases = 16, kMostReads = 8;

bool is_choice(const ir::Expr& e) {
    const auto* n = ir::as<ir::Select>(e);
    return n != nullptr && n->otherwise != nullptr;
}

bool by_data(const ir::Read& read) {
    return std::any_of(read.indices.begin(), read.indices.end(), ir::has_reads);
}

/// The reads by data that are made whenever `e` is evaluated, each once: those of all cases and loops stay out. Nothing
/// where there are too many, or where one tells another's place.
std::optional<std::vector<ir::Expr>> certain_reads(const ir::Expr& e) {
    std::vector<ir::Expr> found;
    std::set<const ir::Node*> seen;
    std::vector<ir::Expr> stack{e};
    while (!stack.empty()) {
        const ir::Expr node = std::move(stack.back());
        stack.pop_back();
        if (!seen.insert(node.get()).second || ir::as<ir::Reduce>(node) != nullptr) continue;
        if (const auto* choice = ir::as<ir::Select>(node)) {
            stack.push_back(choice->cond);
            continue;
        }
        if (const auto* logic = ir::as<ir::Binary>(node); logic != nullptr && ir::is_logical(logic->op)) {
            stack.push_back(logic->a);
            continue;
        }
        const auto* read = ir::as<ir::Read>(node);
        if (read != nullptr && by_data(*read)) {
            found.push_back(node);
            continue;
        }
        std::vector<ir::Expr> operands = ir::children(node);
        stack.insert(stack.end(), operands.rbegin(), operands.rend());
    }
    if (found.size() > kMostReads) return std::nullopt;
    return found;
}

class Choosing {
public:
    ir::Expr walk(const ir::Expr& e) {
        if (!e) return e;
        if (const auto known = known_.find(e); known != known_.end()) return known->second;
        const ir::Expr result =
            is_choice(e) ? of_choice(e) : ir::map_children(e, [&](const ir::Expr& child) { return walk(child); });
        known_.emplace(e, result);
        return result;
    }

private:
    /// The same choice with a value for each case, from left to right.
    static ir::Expr rebuilt(const ir::Expr& choice, const std::vector<ir::Expr>& values, std::size_t& next) {
        if (!is_choice(choice)) return values[next++];
        const auto& n = *ir::as<ir::Select>(choice);
        ir::Expr then = rebuilt(n.then, values, next);
        ir::Expr otherwise = rebuilt(n.otherwise, values, next);
        if (then == otherwise || ir::structurally_equal(then, otherwise)) return then;
        return ir::select(n.cond, std::move(then), std::move(otherwise), choice->range);
    }
    static ir::Expr rebuilt(const ir::Expr& choice, const std::vector<ir::Expr>& values) {
        std::size_t next = 0;
        return rebuilt(choice, values, next);
    }

    static bool cases_of(const ir::Expr& e, std::vector<ir::Expr>& cases) {
        if (!is_choice(e)) {
            cases.push_back(e);
            return cases.size() <= kMostCases;
        }
        const auto& n = *ir::as<ir::Select>(e);
        return ir::has_reads(n.cond) && cases_of(n.then, cases) && cases_of(n.otherwise, cases);
    }

    ir::Expr of_choice(const ir::Expr& e) {
        // First what the cases themselves choose.
        const ir::Expr choice = ir::map_children(e, [&](const ir::Expr& child) { return walk(child); });
        std::vector<ir::Expr> cases;
        if (!is_choice(choice) || !cases_of(choice, cases)) return choice;
        std::vector<std::vector<ir::Expr>> reads;
        for (const ir::Expr& value : cases) {
            auto own = certain_reads(value);
            if (!own || own->empty()) return choice;
            // Pairs are of one array: reads of another one stand in another place of the list.
            std::stable_sort(own->begin(), own->end(), [](const ir::Expr& a, const ir::Expr& b) {
                return ir::as<ir::Read>(a)->source < ir::as<ir::Read>(b)->source;
            });
            reads.push_back(std::move(*own));
            if (reads.back().size() != reads.front().size()) return choice;
        }
        std::vector<std::unordered_map<const ir::Node*, ir::Expr>> chosen(cases.size());
        for (std::size_t r = 0; r < reads.front().size(); ++r) {
            const auto& first = *ir::as<ir::Read>(reads.front()[r]);
            std::vector<ir::Expr> indices;
            for (std::size_t d = 0; d < first.indices.size(); ++d) {
                std::vector<ir::Expr> places;
                for (const std::vector<ir::Expr>& of_case : reads) {
                    const auto& read = *ir::as<ir::Read>(of_case[r]);
                    if (read.source != first.source) return choice;
                    places.push_back(read.indices[d]);
                }
                indices.push_back(rebuilt(choice, places));
            }
            const ir::Expr read = ir::read(first.source, reads.front()[r]->type, std::move(indices), choice->range);
            for (std::size_t i = 0; i < cases.size(); ++i) chosen[i].emplace(reads[i][r].get(), read);
        }
        for (std::size_t i = 0; i < cases.size(); ++i) cases[i] = with(cases[i], chosen[i]);
        return rebuilt(choice, cases);
    }

    static ir::Expr with(const ir::Expr& e, std::unordered_map<const ir::Node*, ir::Expr>& known) {
        if (const auto found = known.find(e.get()); found != known.end()) return found->second;
        ir::Expr result = ir::map_children(e, [&](const ir::Expr& child) { return with(child, known); });
        known.emplace(e.get(), result);
        return result;
    }

    std::unordered_map<ir::Expr, ir::Expr> known_;
};

}  // namespace

ir::Pipeline chosen_reads(ir::Pipeline pipeline) {
    ir::WithoutLets lets;  // what a let names is a part of a place
    Choosing choosing;
    for (ir::Stage& stage : pipeline.stages) {
        auto* pure = std::get_if<ir::Pure>(&stage.definition);
        if (pure == nullptr) continue;
        const ir::Expr value = lets.of(pure->value);
        if (ir::Expr chosen = choosing.walk(value); chosen != value) pure->value = std::move(chosen);
    }
    return pipeline;
}

}  // namespace pipec::fusion
