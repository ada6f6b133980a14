#include "fusion/chosen_reads.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/build.h"
#include "ir/certain_reads.h"
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

/// The reads by data that are made whenever `e` is evaluated, but for those that tell another one's place; none where
/// there are too many.
std::vector<ir::Expr> reads_by_data(const ir::Expr& e) {
    std::vector<ir::Expr> found = ir::certain_reads({e});
    std::erase_if(found, [](const ir::Expr& read) { return !by_data(*ir::as<ir::Read>(read)); });
    if (found.size() > kMostReads) return {};
    std::vector<ir::Expr> places;
    for (const ir::Expr& read : found) {
        const std::vector<ir::Expr> inside = ir::certain_reads(ir::as<ir::Read>(read)->indices);
        places.insert(places.end(), inside.begin(), inside.end());
    }
    std::erase_if(found, [&](const ir::Expr& read) { return std::ranges::find(places, read) != places.end(); });
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
            std::vector<ir::Expr> own = reads_by_data(value);
            // Pairs are of one array: reads of another one stand in another place of the list.
            std::ranges::stable_sort(own, {}, [](const ir::Expr& read) { return ir::as<ir::Read>(read)->source; });
            reads.push_back(std::move(own));
            if (reads.back().empty() || reads.back().size() != reads.front().size()) return choice;
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
                // Indices that no data tell stay as they are: tilings and scans follow them.
                const auto is_first = [&](const ir::Expr& p) { return ir::structurally_equal(p, places.front()); };
                if (!std::ranges::all_of(places, ir::has_reads) && !std::ranges::all_of(places, is_first))
                    return choice;
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
