#include "codegen/emit/host/host_strip.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "codegen/emit/c/c_types.h"
#include "codegen/expr/strides.h"
#include "ir/build.h"
#include "ir/reduction.h"
#include "ir/visit.h"

namespace pipec::codegen {

namespace {

using ir::BinaryOp;

/// Elements of memory from one point to the next that vectors are still loaded across.
constexpr std::int64_t kNear = 4;

bool has_reduction(const ir::Expr& e) {
    return ir::any_node(e, [](const ir::Expr& node) { return ir::as<ir::Reduce>(node) != nullptr; });
}

/// What `var` is multiplied with in a sum; nothing where `e` is none.
std::optional<std::int64_t> factor(const ir::Expr& e, ir::VarId var) {
    if (const auto* variable = ir::as<ir::Variable>(e)) return variable->id == var ? 1 : 0;
    if (!ir::any_node(e,
                      [&](const ir::Expr& n) { return ir::as<ir::Variable>(n) && ir::as<ir::Variable>(n)->id == var; }))
        return 0;
    const auto* n = ir::as<ir::Binary>(e);
    if (n == nullptr) return std::nullopt;
    if (n->op == BinaryOp::Add || n->op == BinaryOp::Sub) {
        const auto a = factor(n->a, var), b = factor(n->b, var);
        if (!a || !b) return std::nullopt;
        return n->op == BinaryOp::Add ? *a + *b : *a - *b;
    }
    const auto by = n->op == BinaryOp::Mul ? ir::as_int(n->b) : std::nullopt;
    const auto of = by ? factor(n->a, var) : std::nullopt;
    return of ? std::optional(*of * *by) : std::nullopt;
}

/// At most one block of terms.
bool is_short(const ir::Range& range) {
    const auto end = ir::as_int(range.hi), begin = ir::as_int(range.lo);
    if (begin && end) return *end - *begin <= ir::kBlockTerms;
    const auto* n = ir::as<ir::Binary>(range.hi);
    if (n == nullptr || n->op != BinaryOp::Min || begin != 0) return false;
    return std::min(ir::as_int(n->a).value_or(INT64_MAX), ir::as_int(n->b).value_or(INT64_MAX)) <= ir::kBlockTerms;
}

class StripFinder {
public:
    StripFinder(ir::Pipeline& pipeline, std::set<ir::VarId> lanes) : pipeline_(pipeline), lanes_(std::move(lanes)) {}

    /// The reductions that `roots` evaluate, as loops; `roots` become what is left.
    bool find(std::vector<ir::Expr>& roots, std::vector<ir::Expr>& uniform, std::vector<Strip::Loop>& loops) {
        std::vector<ir::Expr> open;
        for (ir::Expr& root : roots) {
            root = known(root);
            if (!collect(root, open)) return false;
        }
        std::erase_if(open, [&](const ir::Expr& e) {
            if (depends_on_lane(e)) return false;
            uniform.push_back(e);
            return true;
        });
        while (!open.empty()) {
            const auto first = std::ranges::find_if(open, [&](const ir::Expr& e) { return needs_none(e, open); });
            if (first == open.end()) return false;
            std::vector<ir::Expr> together{*first};
            for (const ir::Expr& e : open) {
                if (e != *first && needs_none(e, open) && same_ranges(*first, e)) together.push_back(e);
            }
            if (!add_loop(together, loops)) return false;
            std::erase_if(open, [&](const ir::Expr& e) { return std::ranges::count(together, e) > 0; });
        }
        for (ir::Expr& root : roots) root = known(root);
        return true;
    }

    /// Vectors of points are loaded from one place, or from places that are the same for all.
    [[nodiscard]] bool reads_near(const ir::Expr& term) const {
        return !ir::any_node(term, [&](const ir::Expr& node) {
            const auto* read = ir::as<ir::Read>(node);
            if (read == nullptr || !depends_on_lane(node)) return false;
            const std::vector<int> order = memory_order(pipeline_, read->source);
            const ir::Expr& innermost = read->indices.at(static_cast<std::size_t>(order.back()));
            if (!depends_on_lane(innermost)) return !ir::as_int(innermost).has_value();
            return std::ranges::any_of(
                lanes_, [&](ir::VarId lane) { return std::abs(factor(innermost, lane).value_or(1)) > kNear; });
        });
    }

private:
    [[nodiscard]] bool depends_on_lane(const ir::Expr& e) const {
        return ir::any_node(e, [&](const ir::Expr& node) {
            const auto* variable = ir::as<ir::Variable>(node);
            return variable != nullptr && lanes_.count(variable->id) > 0;
        });
    }

    /// The outermost reductions that `root` evaluates at every point; false where some are evaluated at some only.
    static bool collect(const ir::Expr& root, std::vector<ir::Expr>& found) {
        std::unordered_set<const ir::Node*> seen;
        std::vector<ir::Expr> stack{root};
        for (const ir::Expr& e : found) seen.insert(e.get());
        while (!stack.empty()) {
            const ir::Expr e = std::move(stack.back());
            stack.pop_back();
            if (!seen.insert(e.get()).second) continue;
            const auto* select = ir::as<ir::Select>(e);
            const auto* binary = ir::as<ir::Binary>(e);
            if (ir::as<ir::Let>(e) != nullptr) return false;
            if (ir::as<ir::Reduce>(e) != nullptr) {
                found.push_back(e);
                continue;
            }
            if (select != nullptr && select->otherwise) {
                if (has_reduction(select->then) || has_reduction(select->otherwise)) return false;
                stack.push_back(select->cond);
            } else if (binary != nullptr && ir::is_logical(binary->op)) {
                if (has_reduction(binary->b)) return false;
                stack.push_back(binary->a);
            } else {
                std::vector<ir::Expr> operands = evaluated_operands(e);
                stack.insert(stack.end(), operands.rbegin(), operands.rend());
            }
        }
        return true;
    }

    /// None of the others is a part of it.
    static bool needs_none(const ir::Expr& e, const std::vector<ir::Expr>& others) {
        return !ir::any_node(e,
                             [&](const ir::Expr& node) { return node != e && std::ranges::count(others, node) > 0; });
    }

    static bool same_ranges(const ir::Expr& a, const ir::Expr& b) {
        const auto &x = *ir::as<ir::Reduce>(a), &y = *ir::as<ir::Reduce>(b);
        if (x.ranges.size() != y.ranges.size()) return false;
        const std::map<ir::VarId, ir::Expr> like_a = variables_like(x, y);
        for (std::size_t i = 0; i < x.ranges.size(); ++i) {
            if (!ir::structurally_equal(x.ranges[i].lo, ir::substitute(y.ranges[i].lo, like_a))) return false;
            if (!ir::structurally_equal(x.ranges[i].hi, ir::substitute(y.ranges[i].hi, like_a))) return false;
        }
        return true;
    }

    static std::map<ir::VarId, ir::Expr> variables_like(const ir::Reduce& x, const ir::Reduce& y) {
        std::map<ir::VarId, ir::Expr> result;
        for (std::size_t i = 0; i < x.ranges.size(); ++i) {
            if (x.ranges[i].var != y.ranges[i].var)
                result.emplace(y.ranges[i].var, ir::variable(x.ranges[i].var, ir::Type::Int32));
        }
        return result;
    }

    ir::Expr known(const ir::Expr& e) const {
        const std::function<ir::Expr(const ir::Expr&)> replace = [&](const ir::Expr& node) -> ir::Expr {
            const auto found = known_.find(node);
            if (found != known_.end()) return found->second;
            const auto [memo, is_new] = replaced_.try_emplace(node);
            if (!is_new) return memo->second;
            ir::Expr result = has_reduction(node) ? ir::map_children(node, replace) : node;
            return replaced_[node] = result;
        };
        replaced_.clear();
        return replace(e);
    }

    ir::Expr result(const ir::Expr& reduction, std::optional<ir::VarId>& var) {
        if (!var) {
            var =
                ir::new_variable(pipeline_, std::string(ir::name(ir::as<ir::Reduce>(reduction)->op)), reduction->type);
            lanes_.insert(*var);
        }
        return ir::variable(*var, reduction->type);
    }

    bool add_loop(const std::vector<ir::Expr>& reductions, std::vector<Strip::Loop>& loops) {
        const auto& first = *ir::as<ir::Reduce>(reductions.front());
        Strip::Loop loop{first.ranges, {}, {}, {}};
        for (const ir::Range& range : loop.ranges) {
            for (const ir::Expr& end : {range.lo, range.hi}) {
                if (depends_on_lane(end) || has_reduction(end)) return false;
            }
        }
        std::vector<ir::Expr> terms;
        std::vector<std::size_t> total_of;
        for (const ir::Expr& e : reductions) {
            const auto& n = *ir::as<ir::Reduce>(e);
            const ir::Expr term = ir::substitute(n.body, variables_like(first, n));
            std::size_t i = 0;
            while (i < terms.size() &&
                   !(ir::fold_op(loop.totals[i].op) == ir::fold_op(n.op) && ir::structurally_equal(terms[i], term))) {
                ++i;
            }
            total_of.push_back(i);
            if (i < terms.size()) continue;
            const bool in_blocks = ir::depends_on_blocks(n.op, term->type) && !is_short(n.ranges.front());
            if (in_blocks && n.ranges.size() > 1) return false;
            loop.totals.push_back({n.op, {}, {}, {}, in_blocks});
            terms.push_back(term);
        }
        if (!find(terms, loop.uniform, loop.inner)) return false;
        for (std::size_t i = 0; i < terms.size(); ++i) {
            if (!reads_near(terms[i])) return false;
            loop.totals[i].term = terms[i];
        }
        for (std::size_t i = 0; i < reductions.size(); ++i) {
            const auto& n = *ir::as<ir::Reduce>(reductions[i]);
            Strip::Total& total = loop.totals[total_of[i]];
            std::optional<ir::VarId> place;
            if (ir::gives_place(n.op)) {
                known_[reductions[i]] = result(reductions[i], place);
                total.places.push_back({static_cast<std::size_t>(n.place), *place});
            } else {
                known_[reductions[i]] = result(reductions[i], total.value);
            }
        }
        loops.push_back(std::move(loop));
        return true;
    }

    ir::Pipeline& pipeline_;
    std::set<ir::VarId> lanes_;
    std::unordered_map<ir::Expr, ir::Expr> known_;  ///< what stands for a reduction
    mutable std::unordered_map<ir::Expr, ir::Expr> replaced_;
};

void add_uses(Uses& uses, const std::vector<ir::Expr>& uniform, const std::vector<Strip::Loop>& loops) {
    for (const ir::Expr& e : uniform) uses.add(e);
    for (const Strip::Loop& loop : loops) {
        for (const ir::Range& range : loop.ranges) uses.add(range.lo), uses.add(range.hi);
        add_uses(uses, loop.uniform, loop.inner);
        for (const Strip::Total& total : loop.totals) uses.add(total.term);
    }
}

class StripWriter {
public:
    StripWriter(ExpressionWriter& writer, Writer& out, Names& names, Helpers& helpers, const Lanes& lanes)
        : writer_(writer), out_(out), names_(names), helpers_(helpers), lanes_(lanes) {}

    void find(const std::vector<ir::Expr>& uniform, const std::vector<Strip::Loop>& loops) {
        if (!uniform.empty()) static_cast<void>(writer_.values(uniform));
        for (const Strip::Loop& loop : loops) write(loop);
    }

    void each_lane(const std::function<void()>& body) {
        out_.line("PIPE_SIMD");
        for (const std::string& loop : lanes_.loops) writer_.begin_block(loop);
        for (const std::string& definition : lanes_.definitions) out_.line("{}", definition);
        body();
        for (std::size_t i = 0; i < lanes_.loops.size(); ++i) writer_.end_block();
    }

private:
    /// Where the totals of a loop are: arrays with an element for each point.
    struct Arrays {
        std::string total, tree, combine;
        std::vector<std::string> places;
    };

    [[nodiscard]] std::string at(const std::string& array) const { return fmt::format("{}[{}]", array, lanes_.number); }

    std::string identity(const Strip::Total& total) {
        return writer_.value(ir::identity(total.op, total.term->type)).text;
    }

    Arrays declare(const Strip::Total& total) {
        Arrays arrays;
        const std::string type(value_type(total.term->type));
        arrays.total = names_.add(total.value ? ir::name(total.op) : "best");
        out_.line("{} {}[{}];", type, arrays.total, lanes_.count);
        for (const Strip::Total::Place& place : total.places) {
            static_cast<void>(place);
            out_.line("int32_t {}[{}];", arrays.places.emplace_back(names_.add(ir::name(total.op))), lanes_.count);
        }
        if (!total.in_blocks) return arrays;
        arrays.tree = names_.add(arrays.total + "_tree");
        arrays.combine = names_.add("combine");
        out_.line("const auto {0} = []({1} a, {1} b) {{ return {2}; }};", arrays.combine, type,
                  writer_.fold(total.op, total.term->type, {"a"}, {"b"}).text);
        out_.line("{}<{}, {}> {}({});", helpers_.use("StripTree"), type, lanes_.count, arrays.tree, identity(total));
        return arrays;
    }

    void write(const Strip::Loop& loop) {
        std::vector<Arrays> arrays;
        for (const Strip::Total& total : loop.totals) arrays.push_back(declare(total));
        const auto begin = [&](bool blocks) {
            each_lane([&] {
                for (std::size_t i = 0; i < loop.totals.size(); ++i) {
                    if (loop.totals[i].in_blocks != blocks) continue;
                    out_.line("{} = {};", at(arrays[i].total), identity(loop.totals[i]));
                    for (std::size_t p = 0; p < arrays[i].places.size(); ++p) {
                        const ir::Range& range = loop.ranges[loop.totals[i].places[p].range];
                        out_.line("{} = {};", at(arrays[i].places[p]), writer_.value(range.lo).text);
                    }
                }
            });
        };
        const auto is_in_blocks = [](const Strip::Total& total) { return total.in_blocks; };
        const bool blocks = std::ranges::any_of(loop.totals, is_in_blocks);
        if (!std::ranges::all_of(loop.totals, is_in_blocks)) begin(false);
        if (blocks) {
            writer_.begin_blocks(loop.ranges.front(), "", [&] { begin(true); });
        } else {
            for (const ir::Range& range : loop.ranges) writer_.begin_loop(range);
        }
        find(loop.uniform, loop.inner);
        each_lane([&] { add_terms(loop, arrays); });
        if (blocks) {
            writer_.end_block();
            for (std::size_t i = 0; i < loop.totals.size(); ++i) {
                if (loop.totals[i].in_blocks)
                    out_.line("{}.add({}, {});", arrays[i].tree, arrays[i].total, arrays[i].combine);
            }
            writer_.end_block();
        } else {
            for (std::size_t i = 0; i < loop.ranges.size(); ++i) writer_.end_loop();
        }
        for (std::size_t i = 0; i < loop.totals.size(); ++i) {
            const Strip::Total& total = loop.totals[i];
            if (total.in_blocks) out_.line("{}.total({}, {});", arrays[i].tree, arrays[i].total, arrays[i].combine);
            if (total.value) writer_.bind(*total.value, at(arrays[i].total));
            for (std::size_t p = 0; p < total.places.size(); ++p)
                writer_.bind(total.places[p].value, at(arrays[i].places[p]));
        }
    }

    void add_terms(const Strip::Loop& loop, const std::vector<Arrays>& arrays) {
        for (std::size_t i = 0; i < loop.totals.size(); ++i) {
            const Strip::Total& total = loop.totals[i];
            const ir::Type type = total.term->type;
            const std::string so_far = at(arrays[i].total);
            Text next = writer_.value(total.term);
            if (total.places.empty()) {
                out_.line("{} = {};", so_far, writer_.fold(total.op, type, {so_far}, next).text);
                continue;
            }
            const std::string term = names_.add("term"), better = names_.add("better");
            out_.line("const {} {} = {};", value_type(type), term, next.text);
            const bool least = ir::fold_op(total.op) == BinaryOp::Min;
            out_.line("const bool {} = {} {} {};", better, term, least ? "<" : ">", so_far);
            for (std::size_t p = 0; p < total.places.size(); ++p) {
                const ir::Range& range = loop.ranges[total.places[p].range];
                out_.line("{0} = {1} ? {2} : {0};", at(arrays[i].places[p]), better,
                          writer_.value(ir::variable(range.var, ir::Type::Int32)).text);
            }
            out_.line("{0} = {1} ? {2} : {0};", so_far, better, term);
        }
    }

    ExpressionWriter& writer_;
    Writer& out_;
    Names& names_;
    Helpers& helpers_;
    const Lanes& lanes_;
};

}  // namespace

Uses Strip::uses() const {
    Uses result;
    add_uses(result, uniform, loops);
    result.add(value);
    return result;
}

std::optional<Strip> find_strip(ir::Pipeline& pipeline, const ir::Expr& value, const std::set<ir::VarId>& lanes) {
    StripFinder finder(pipeline, lanes);
    Strip strip;
    std::vector<ir::Expr> roots{value};
    if (!finder.find(roots, strip.uniform, strip.loops) || strip.loops.empty()) return std::nullopt;
    strip.value = roots.front();
    return strip;
}

void write_strip(ExpressionWriter& writer, Writer& out, Names& names, Helpers& helpers, const Strip& strip,
                 const Lanes& lanes, const std::function<void()>& store) {
    StripWriter strips(writer, out, names, helpers, lanes);
    strips.find(strip.uniform, strip.loops);
    strips.each_lane(store);
}

}  // namespace pipec::codegen
