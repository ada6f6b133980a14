#include "codegen/emit/host/host_strip.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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
/// Terms of a chain, at most, between a load of a total and its store.
constexpr std::int64_t kTogether = 8;

/// A function that is a call for each point, so that vectors gain nothing.
bool calls_library(const ir::Expr& e) {
    return ir::any_node(e, [](const ir::Expr& node) {
        const auto* call = ir::as<ir::Call>(node);
        return call != nullptr && ir::is_library_function(call->fn);
    });
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
    if (n->op != BinaryOp::Mul) return std::nullopt;
    const auto left = ir::as_int(n->a), right = ir::as_int(n->b);
    const auto of = right ? factor(n->a, var) : left ? factor(n->b, var) : std::nullopt;
    return of ? std::optional(*of * (right ? *right : *left)) : std::nullopt;
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
    StripFinder(ir::Pipeline& pipeline, std::set<ir::VarId> lanes, Chains chains)
        : pipeline_(pipeline), lanes_(std::move(lanes)), chains_(std::move(chains)) {}

    [[nodiscard]] bool has_chains() const { return !chains_.empty(); }
    [[nodiscard]] bool one_by_one() const { return has_chains() && one_by_one_; }

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
            std::vector<int> order = memory_order(pipeline_, read->source);
            std::ranges::reverse(order);
            for (const int dim : order) {  // from the innermost one outward; behind constants, as the colours of pixels
                const ir::Expr& index = read->indices.at(static_cast<std::size_t>(dim));
                if (!depends_on_lane(index)) {
                    if (!ir::as_int(index)) return true;
                    continue;
                }
                return std::ranges::any_of(
                    lanes_, [&](ir::VarId lane) { return std::abs(factor(index, lane).value_or(1)) > kNear; });
            }
            return false;
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
    bool collect(const ir::Expr& root, std::vector<ir::Expr>& found) const {
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
                for (const ir::Expr& before : starts(e)) stack.push_back(before);
                continue;
            }
            if (select != nullptr && select->otherwise) {
                if (ir::has_reduction(select->then) || ir::has_reduction(select->otherwise)) return false;
                stack.push_back(select->cond);
            } else if (binary != nullptr && ir::is_logical(binary->op)) {
                if (ir::has_reduction(binary->b)) return false;
                stack.push_back(binary->a);
            } else {
                std::vector<ir::Expr> operands = evaluated_operands(e);
                stack.insert(stack.end(), operands.rbegin(), operands.rend());
            }
        }
        return true;
    }

    /// What the terms of a chain are combined with.
    [[nodiscard]] std::vector<ir::Expr> starts(const ir::Expr& reduction) const {
        std::vector<ir::Expr> result;
        const auto chain = chains_.find(reduction);
        if (chain == chains_.end()) return result;
        for (const ir::Expr& e : {chain->second.start, chain->second.first_place}) {
            if (e) result.push_back(e);
        }
        return result;
    }

    /// None of the others is a part of it.
    [[nodiscard]] bool needs_none(const ir::Expr& e, const std::vector<ir::Expr>& others) const {
        const auto is_other = [&](const ir::Expr& node) { return node != e && std::ranges::count(others, node) > 0; };
        return !ir::any_node(e, is_other) &&
               std::ranges::none_of(starts(e), [&](const ir::Expr& start) { return ir::any_node(start, is_other); });
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
            ir::Expr result = ir::has_reduction(node) ? ir::map_children(node, replace) : node;
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
        Strip::Loop loop{first.ranges, {}, {}, {}, {}, 1};
        for (const ir::Range& range : loop.ranges) {
            for (const ir::Expr& end : {range.lo, range.hi}) {
                if (depends_on_lane(end) || ir::has_reduction(end)) return false;
            }
        }
        std::vector<ir::Expr> terms;
        std::vector<std::size_t> total_of;
        for (const ir::Expr& e : reductions) {
            const auto& n = *ir::as<ir::Reduce>(e);
            const ir::Expr term = ir::substitute(n.body, variables_like(first, n));
            const ir::Expr start = add_chain(e, loop);
            const auto is_same = [&](std::size_t i) {
                const Strip::Total& total = loop.totals[i];
                const bool starts_same =
                    start && total.start ? ir::structurally_equal(start, total.start) : start == total.start;
                return starts_same && ir::fold_op(total.op) == ir::fold_op(n.op) &&
                       ir::structurally_equal(terms[i], term);
            };
            std::size_t i = 0;
            while (i < terms.size() && !is_same(i)) ++i;
            total_of.push_back(i);
            if (i < terms.size()) continue;
            const bool in_blocks =
                !chains_.contains(e) && ir::depends_on_blocks(n.op, term->type) && !is_short(n.ranges.front());
            if (in_blocks && n.ranges.size() > 1) return false;
            loop.totals.push_back({n.op, {}, start, {}, {}, in_blocks});
            terms.push_back(term);
        }
        if (!find(terms, loop.uniform, loop.inner)) return false;
        const bool is_chain = std::ranges::all_of(reductions, [&](const ir::Expr& e) { return chains_.contains(e); });
        if (is_chain && loop.uniform.empty() && loop.inner.empty())
            loop.together = terms_together(first.ranges.front());
        for (std::size_t i = 0; i < terms.size(); ++i) {
            const bool near = reads_near(terms[i]);
            if (!is_chain && !near) return false;
            one_by_one_ = one_by_one_ || !near || calls_library(terms[i]);
            loop.totals[i].term = terms[i];
        }
        if (is_chain && !one_by_one_ && loop.uniform.empty() && loop.inner.empty())
            loop.together = terms_together(first.ranges.front());
        for (std::size_t i = 0; i < reductions.size(); ++i) {
            const auto& n = *ir::as<ir::Reduce>(reductions[i]);
            Strip::Total& total = loop.totals[total_of[i]];
            std::optional<ir::VarId> place;
            if (ir::gives_place(n.op)) {
                known_[reductions[i]] = result(reductions[i], place);
                total.places.push_back(place_of(reductions[i], variables_like(first, n)));
                total.places.back().value = *place;
            } else {
                known_[reductions[i]] = result(reductions[i], total.value);
            }
        }
        loops.push_back(std::move(loop));
        return true;
    }

    /// What a reduction has besides where it is a chain; gives what its terms are combined with.
    ir::Expr add_chain(const ir::Expr& reduction, Strip::Loop& loop) const {
        const auto chain = chains_.find(reduction);
        if (chain == chains_.end()) return nullptr;
        for (const Chain::Table& table : chain->second.tables) {
            const auto same = [&](const Chain::Table& other) { return other.variable == table.variable; };
            if (std::ranges::none_of(loop.tables, same)) loop.tables.push_back(table);
        }
        return chain->second.start ? known(chain->second.start) : nullptr;
    }

    Strip::Total::Place place_of(const ir::Expr& reduction, const std::map<ir::VarId, ir::Expr>& like_first) const {
        const auto chain = chains_.find(reduction);
        if (chain != chains_.end())
            return {ir::substitute(chain->second.place, like_first), known(chain->second.first_place), -1};
        const auto& n = *ir::as<ir::Reduce>(reduction);
        const ir::Range& range = n.ranges[static_cast<std::size_t>(n.place)];
        const ir::Expr here = ir::substitute(ir::variable(range.var, ir::Type::Int32), like_first);
        return {here, ir::substitute(range.lo, like_first), -1};
    }

    static std::int64_t terms_together(const ir::Range& range) {
        const std::int64_t count = *ir::as_int(range.hi) - *ir::as_int(range.lo);
        std::int64_t together = kTogether;
        while (count % together != 0) --together;
        return together;
    }

    ir::Pipeline& pipeline_;
    std::set<ir::VarId> lanes_;
    Chains chains_;
    bool one_by_one_ = false;
    std::unordered_map<ir::Expr, ir::Expr> known_;  ///< what stands for a reduction
    mutable std::unordered_map<ir::Expr, ir::Expr> replaced_;
};

void add_uses(Uses& uses, const std::vector<ir::Expr>& uniform, const std::vector<Strip::Loop>& loops) {
    for (const ir::Expr& e : uniform) uses.add(e);
    for (const Strip::Loop& loop : loops) {
        for (const ir::Range& range : loop.ranges) uses.add(range.lo), uses.add(range.hi);
        add_uses(uses, loop.uniform, loop.inner);
        for (const Strip::Total& total : loop.totals) {
            uses.add(total.term);
            if (total.start) uses.add(total.start);
            for (const Strip::Total::Place& place : total.places) uses.add(place.here), uses.add(place.first);
        }
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
                    const ir::Expr& start = loop.totals[i].start;
                    out_.line("{} = {};", at(arrays[i].total),
                              start ? writer_.value(start).text : identity(loop.totals[i]));
                    for (std::size_t p = 0; p < arrays[i].places.size(); ++p) {
                        out_.line("{} = {};", at(arrays[i].places[p]),
                                  writer_.value(loop.totals[i].places[p].first).text);
                    }
                }
            });
        };
        const auto is_in_blocks = [](const Strip::Total& total) { return total.in_blocks; };
        const bool blocks = std::ranges::any_of(loop.totals, is_in_blocks);
        if (!std::ranges::all_of(loop.totals, is_in_blocks)) begin(false);
        const std::vector<std::string> tables = write_tables(loop);
        if (blocks) {
            const ExpressionWriter::Span block = writer_.begin_blocks(loop.ranges.front());
            begin(true);
            writer_.begin_points(loop.ranges.front(), block);
        } else if (loop.together > 1) {
            writer_.begin_loop(loop.ranges.front(), {ir::int_constant(ir::Type::Int32, loop.together), "", {}});
        } else {
            for (const ir::Range& range : loop.ranges) writer_.begin_loop(range);
        }
        if (loop.together > 1) {  // nothing is found for a term before its points
            each_lane([&] { add_several(loop, arrays, tables); });
        } else {
            bind_tables(loop, tables, variable(loop));
            find(loop.uniform, loop.inner);
            each_lane([&] { add_terms(loop, arrays); });
        }
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

    /// The name of the first range's variable.
    std::string variable(const Strip::Loop& loop) {
        return writer_.value(ir::variable(loop.ranges.front().var, ir::Type::Int32)).text;
    }

    std::vector<std::string> write_tables(const Strip::Loop& loop) {
        std::vector<std::string> names;
        for (const Chain::Table& table : loop.tables) {
            std::vector<std::string> values;
            for (const ir::Expr& value : table.values) values.push_back(writer_.value(value).text);
            names.push_back(names_.add("of_terms"));
            out_.line("static constexpr {} {}[] = {{{}}};", value_type(table.values.front()->type), names.back(),
                      fmt::join(values, ", "));
        }
        return names;
    }

    /// Names the constants of the term that has this number.
    void bind_tables(const Strip::Loop& loop, const std::vector<std::string>& tables, const std::string& number) {
        for (std::size_t i = 0; i < tables.size(); ++i) {
            const Chain::Table& table = loop.tables[i];
            const std::string name = names_.add("c");
            out_.line("const {} {} = {}[{}];", value_type(table.values.front()->type), name, tables[i], number);
            if (table.values.front()->type != ir::Type::Int32) {
                writer_.bind(table.variable, name);
                continue;
            }
            poly::IntRange range{*ir::as_int(table.values.front()), *ir::as_int(table.values.front())};
            for (const ir::Expr& value : table.values) {
                range.lo = std::min<poly::Wide>(range.lo, *ir::as_int(value));
                range.hi = std::max<poly::Wide>(range.hi, *ir::as_int(value));
            }
            writer_.bind(table.variable, name, range);
        }
    }

    /// Several terms one after the other, with the totals of a point in registers.
    void add_several(const Strip::Loop& loop, const std::vector<Arrays>& arrays,
                     const std::vector<std::string>& tables) {
        std::vector<Arrays> own;
        const auto local = [&](std::string_view type, const std::string& array) {
            std::string name = names_.add("so_far");
            out_.line("{} {} = {};", type, name, at(array));
            return name;
        };
        for (std::size_t i = 0; i < arrays.size(); ++i) {
            Arrays& names = own.emplace_back();
            names.total = local(value_type(loop.totals[i].term->type), arrays[i].total);
            for (const std::string& place : arrays[i].places) names.places.push_back(local("int32_t", place));
        }
        const ir::Range& range = loop.ranges.front();
        const std::string first = variable(loop);
        const std::int64_t end = *ir::as_int(range.hi);
        for (std::int64_t term = 0; term < loop.together; ++term) {
            writer_.begin_block("");
            const std::string number = names_.add("term");
            out_.line("[[maybe_unused]] const int32_t {} = {} + {};", number, first, term);
            writer_.bind(range.var, number, {0, end - 1});
            bind_tables(loop, tables, number);
            add_terms(loop, own, false);
            writer_.end_block();
        }
        for (std::size_t i = 0; i < arrays.size(); ++i) {
            out_.line("{} = {};", at(arrays[i].total), own[i].total);
            for (std::size_t p = 0; p < arrays[i].places.size(); ++p)
                out_.line("{} = {};", at(arrays[i].places[p]), own[i].places[p]);
        }
    }

    void add_terms(const Strip::Loop& loop, const std::vector<Arrays>& arrays, bool in_arrays = true) {
        const auto at = [&](const std::string& name) { return in_arrays ? this->at(name) : name; };
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
                out_.line("{0} = {1} ? {2} : {0};", at(arrays[i].places[p]), better,
                          writer_.value(total.places[p].here).text);
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

std::optional<Strip> find_strip(ir::Pipeline& pipeline, const ir::Expr& value, const std::set<ir::VarId>& lanes,
                                bool with_chains) {
    const auto with = [&](const ir::Expr& root, Chains chains) -> std::optional<Strip> {
        StripFinder finder(pipeline, lanes, std::move(chains));
        Strip strip;
        strip.has_chains = finder.has_chains();
        std::vector<ir::Expr> roots{root};
        if (!finder.find(roots, strip.uniform, strip.loops) || strip.loops.empty()) return std::nullopt;
        strip.value = roots.front();
        strip.one_by_one = finder.one_by_one();
        return strip;
    };
    if (auto chains = with_chains ? find_chains(pipeline, value, lanes) : std::nullopt) {
        if (auto strip = with(chains->value, std::move(chains->chains))) return strip;
    }
    return ir::has_reduction(value) ? with(value, {}) : std::nullopt;
}

void write_strip(ExpressionWriter& writer, Writer& out, Names& names, Helpers& helpers, const Strip& strip,
                 const Lanes& lanes, const std::function<void()>& store) {
    StripWriter strips(writer, out, names, helpers, lanes);
    strips.find(strip.uniform, strip.loops);
    strips.each_lane(store);
}

}  // namespace pipec::codegen
