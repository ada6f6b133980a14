#include "codegen/strategies/scan/scan_terms.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "codegen/kernel/kernel_build.h"
#include "ir/build.h"
#include "ir/scan.h"
#include "ir/visit.h"

namespace pipec::codegen {

namespace {

using ir::BinaryOp;

/// Null is true.
ir::Expr either(const ir::Expr& a, const ir::Expr& b) {
    return !a || !b ? nullptr : ir::binary(BinaryOp::Or, a, b);
}

/// A conversion to a type that takes more memory.
bool is_widening(const ir::Expr& e) {
    const auto* n = ir::as<ir::Cast>(e);
    return n != nullptr && ir::bytes(n->a->type) < ir::bytes(e->type);
}

}  // namespace

bool excludes(const ir::Expr& a, const ir::Expr& b) {
    if (!a || !b) return false;
    const auto is_not = [](const ir::Expr& e, const ir::Expr& of) {
        const auto* n = ir::as<ir::Unary>(e);
        return n != nullptr && n->op == ir::UnaryOp::Not && ir::structurally_equal(n->a, of);
    };
    return is_not(a, b) || is_not(b, a);
}

namespace {

class Splitter {
public:
    Splitter(ir::Pipeline& pipeline, const ir::Stage& stage, int index, const IsCertain& is_certain)
        : pipeline_(pipeline), stage_(stage), self_{ir::Source::Kind::Stage, index}, is_certain_(is_certain) {}

    ScanTerms split(const ir::Expr& value, std::vector<ScanReader> readers) {
        ScanTerms result;
        for (const ScanReader& reader : readers) members_[{ir::Source::Kind::Stage, reader.index}] = reader.own;
        // Values of other lines are no registers of the line's own.
        for (int k = 1; k <= stage_.scan->distance && !is_across(); ++k) {
            result.before.push_back(ir::new_variable(pipeline_, "before_" + std::to_string(k), stage_.type));
        }
        before_ = result.before;
        std::vector<Found> found = collect(value);
        for (Found& term : found) term.of_scan = true;
        for (const ScanReader& reader : readers) add(found, under(collect(reader.value), reader.exists));
        std::erase_if(found, [&](const Found& term) { return term.needed && left_.count(term.value.get()) > 0; });
        for (std::size_t i = 0; i < found.size(); ++i) {
            Found& term = found[i];
            const ir::VarId var = ir::new_variable(pipeline_, "term", term.value->type);
            replaced_[term.value.get()] = ir::variable(var, term.value->type);
            // Of two terms that are never needed both, one variable is either.
            for (std::size_t j = i + 1; j < found.size(); ++j) {
                if (found[j].of_scan != term.of_scan || found[j].value->type != term.value->type) continue;
                if (!excludes(term.needed, found[j].needed)) continue;
                replaced_[found[j].value.get()] = replaced_[term.value.get()];
                term.value = ir::select(term.needed, term.value, found[j].value);
                term.needed = nullptr;
                found.erase(found.begin() + static_cast<std::ptrdiff_t>(j));
                break;
            }
            result.terms.push_back({var, term.value, term.needed});
            if (term.of_scan) result.of_scan = result.terms.size();
        }
        result.value = replaced(value);
        if (!readers.empty()) result.own = ir::new_variable(pipeline_, stage_.name, stage_.type);
        members_[self_] = result.own;
        for (ScanReader& reader : readers) reader.value = replaced(reader.value);
        result.readers = std::move(readers);
        return result;
    }

private:
    struct Found {
        ir::Expr value;
        ir::Expr needed;
        bool of_scan = false;
        int facts = 0;  ///< about the scan's values, that it stands behind
    };

    bool is_across() const { return !stage_.scan->across.empty(); }

    bool is_member(ir::Source source) const { return source == self_ || members_.count(source) > 0; }

    bool is_recursive(const ir::Expr& e) {
        if (const auto known = recursive_.find(e.get()); known != recursive_.end()) return known->second;
        const auto* read = ir::as<ir::Read>(e);
        bool result = read != nullptr && is_member(read->source);
        ir::for_each_child(*e, [&](const ir::Expr& child) { result = is_recursive(child) || result; });
        return recursive_[e.get()] = result;
    }

    /// Whether a term is worth being computed apart: places and constants are computed again.
    static bool is_work(const ir::Expr& e) {
        bool result = false;
        ir::for_each_node(e, [&](const ir::Expr& node) {
            result = result || ir::as<ir::Read>(node) != nullptr || ir::as<ir::Call>(node) != nullptr ||
                     ir::as<ir::Reduce>(node) != nullptr;
        });
        return result;
    }

    /// What is certain where `e` is `value`, as far as it does not depend on the scan; null where nothing is.
    ir::Expr implied(const ir::Expr& e, bool value) {
        if (!is_recursive(e)) return value ? e : ir::unary(ir::UnaryOp::Not, e);
        if (const auto* n = ir::as<ir::Unary>(e); n != nullptr && n->op == ir::UnaryOp::Not) {
            return implied(n->a, !value);
        }
        const auto* n = ir::as<ir::Binary>(e);
        if (n == nullptr || n->op != (value ? BinaryOp::And : BinaryOp::Or)) return nullptr;
        return both(implied(n->a, value), implied(n->b, value));
    }

    static Found* find(std::vector<Found>& list, const ir::Expr& e) {
        const auto found = std::find_if(list.begin(), list.end(), [&](const Found& f) { return f.value == e; });
        return found == list.end() ? nullptr : &*found;
    }

    static void add(std::vector<Found>& list, const std::vector<Found>& more) {
        for (const Found& term : more) {
            if (Found* known = find(list, term.value))
                *known = {term.value,
                          excludes(known->needed, term.needed) ? nullptr : either(known->needed, term.needed),
                          known->of_scan, std::max(known->facts, term.facts)};
            else
                list.push_back(term);
        }
    }

    /// `list` where `condition` (may be null) holds.
    static std::vector<Found> under(std::vector<Found> list, const ir::Expr& condition) {
        for (Found& term : list) term.needed = both(condition, term.needed);
        return list;
    }

    /// How many facts about the scan's own values hold where `e` is `value`, that proofs make no more of than that they
    /// hold: comparisons of floats. Nothing where proofs may know more than `implied` says.
    std::optional<int> opaque_facts(const ir::Expr& e, bool value) {
        if (!is_recursive(e)) return 0;
        if (const auto* n = ir::as<ir::Unary>(e); n != nullptr && n->op == ir::UnaryOp::Not) {
            return opaque_facts(n->a, !value);
        }
        const auto* n = ir::as<ir::Binary>(e);
        if (n == nullptr) return std::nullopt;
        if (ir::is_comparison(n->op)) return ir::is_float(n->a->type) ? std::optional(1) : std::nullopt;
        if (n->op != (value ? BinaryOp::And : BinaryOp::Or)) return std::nullopt;
        const auto a = opaque_facts(n->a, value), b = opaque_facts(n->b, value);
        return a && b ? std::optional(*a + *b) : std::nullopt;
    }

    /// `terms` where `condition` is `value`. One fact that says nothing of places cannot be why a term is in bounds;
    /// several may exclude each other, and then anything is. Terms that may be out of bounds elsewhere stay where they
    /// are.
    std::vector<Found> behind(const ir::Expr& condition, bool value, std::vector<Found> terms) {
        const auto facts = opaque_facts(condition, value);
        std::erase_if(terms, [&](Found& term) {
            term.facts += facts.value_or(2);
            const bool stays = facts != 0 && term.facts > 1 && !is_certain_(term.value);
            if (stays) left_.insert(term.value.get());
            return stays;
        });
        return under(std::move(terms), implied(condition, value));
    }

    /// The terms of an expression, each once.
    const std::vector<Found>& collect(const ir::Expr& e) {
        if (const auto known = found_.find(e.get()); known != found_.end()) return known->second;
        std::vector<Found> result;
        const auto* select = ir::as<ir::Select>(e);
        const auto* binary = ir::as<ir::Binary>(e);
        if (!is_recursive(e)) {
            // What is kept for a whole slice is kept in its narrow type.
            if (is_across() && is_widening(e)) return collect(ir::as<ir::Cast>(e)->a);
            if (is_work(e)) result.push_back({e, nullptr});
        } else if (select != nullptr && select->otherwise) {
            add(result, collect(select->cond));
            std::vector<Found> then = collect(select->then), otherwise = collect(select->otherwise);
            // What both branches need, as they may all of the new values, is needed whatever the condition is.
            for (Found& term : then) {
                Found* other = find(otherwise, term.value);
                if (other == nullptr || term.needed || other->needed) continue;
                add(result, {term});
                term.value = other->value = nullptr;
            }
            const auto is_added = [](const Found& term) { return term.value == nullptr; };
            std::erase_if(then, is_added);
            std::erase_if(otherwise, is_added);
            add(result, behind(select->cond, true, std::move(then)));
            add(result, behind(select->cond, false, std::move(otherwise)));
        } else if (binary != nullptr && ir::is_logical(binary->op)) {
            add(result, collect(binary->a));
            add(result, behind(binary->a, binary->op == BinaryOp::And, collect(binary->b)));
        } else if (ir::as<ir::Reduce>(e) == nullptr) {  // what is in its loop depends on the loop
            for (const ir::Expr& child : ir::children(e)) add(result, collect(child));
        }
        return found_[e.get()] = std::move(result);
    }

    ir::Expr replaced(const ir::Expr& e) {
        if (const auto known = replaced_.find(e.get()); known != replaced_.end()) return known->second;
        if (!is_recursive(e) && !(is_across() && is_widening(e))) return e;
        const auto* read = ir::as<ir::Read>(e);
        ir::Expr result;
        if (const auto own = read == nullptr ? members_.end() : members_.find(read->source); own != members_.end()) {
            result = ir::variable(own->second, e->type);
        } else if (read != nullptr && read->source == self_ && !is_across()) {
            const auto k = static_cast<std::size_t>(ir::scan_distance(stage_, *read) - 1);
            result = ir::variable(before_.at(k), stage_.type);
        } else {
            result = ir::map_children(e, [&](const ir::Expr& child) { return child ? replaced(child) : child; });
        }
        return replaced_[e.get()] = result;
    }

    ir::Pipeline& pipeline_;
    const ir::Stage& stage_;
    const ir::Source self_;
    std::vector<ir::VarId> before_;
    /// What stands for reads at the point itself: of the scan, where readers are replaced.
    std::map<ir::Source, ir::VarId> members_;
    const IsCertain& is_certain_;
    std::set<const ir::Node*> left_;  ///< terms that stay, somewhere, behind a condition on the scan's values
    // By node of the value, which outlives this.
    std::unordered_map<const ir::Node*, bool> recursive_;
    std::unordered_map<const ir::Node*, std::vector<Found>> found_;
    std::unordered_map<const ir::Node*, ir::Expr> replaced_;
};

}  // namespace

ScanTerms scan_terms(ir::Pipeline& pipeline, const ir::Stage& stage, int index, const ir::Expr& value,
                     std::vector<ScanReader> readers, const IsCertain& is_certain) {
    return Splitter(pipeline, stage, index, is_certain).split(value, std::move(readers));
}

}  // namespace pipec::codegen
