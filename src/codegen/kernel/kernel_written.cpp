// All threads go through a statement together. Between two barriers their order is open, which SharedCells judges:
// what no barrier orders is not taken to be ordered. Where whole blocks or warps branch on the unknown, both ways are
// followed and then only what both have in common is certain.
#include "codegen/kernel/kernel_written.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "codegen/kernel/kernel_flow.h"
#include "codegen/kernel/lane_value.h"
#include "codegen/kernel/shared_cells.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen::kernel {

using ir::Type;

namespace {

using Certain = SharedCells::Certain;

struct Exhausted {};

class Walk {
public:
    Walk(const Kernel& kernel, std::int64_t budget)
        : kernel_(kernel),
          threads_(static_cast<std::size_t>(kernel.block[0]) * static_cast<std::size_t>(kernel.block[1]) *
                   static_cast<std::size_t>(kernel.block[2])),
          budget_(budget),
          cells_(kernel) {}

    Written run() {
        for (const Argument& argument : kernel_.arguments) values_[argument.var] = fresh();
        for (const Special& special : kernel_.specials) values_[special.var] = of_special(special.id);
        try {
            walk(kernel_.body, intern(std::vector<Certain>(threads_, Certain::Yes)));
        } catch (const Exhausted&) {
            result_.complete = false;
        }
        return std::move(result_);
    }

private:
    /// By thread, how certain it is that it comes by; interned, so that equal ones have equal addresses.
    using Active = const std::vector<Certain>*;
    using Values = std::unordered_map<ir::VarId, LaneValue>;

    // ---------------------------------------------------------------------------------------------------- who comes by

    Active intern(std::vector<Certain> threads) { return &*actives_.insert(std::move(threads)).first; }
    static Certain certain(Active active, std::size_t thread) { return (*active)[thread]; }
    static bool nobody(Active active) {
        return std::all_of(active->begin(), active->end(), [](Certain c) { return c == Certain::No; });
    }
    /// Those for whom the condition is `truth`. Where that is not known: `open`, at most.
    Active where(Active active, const LaneValue& condition, bool truth, Certain open = Certain::Maybe) {
        std::vector<Certain> threads = *active;
        for (std::size_t t = 0; t < threads_; ++t) {
            const std::int64_t c = condition->at(t);
            if (c == kUnknown)
                threads[t] = std::min(threads[t], open);
            else if ((c != 0) != truth)
                threads[t] = Certain::No;
        }
        return intern(std::move(threads));
    }

    // ---------------------------------------------------------------------------------------------------------- values

    LaneValue fresh() { return lane_unknown(unknowns_++); }

    [[nodiscard]] LaneValue of_special(Special::Id id) {
        const auto x = static_cast<std::size_t>(kernel_.block[0]), y = static_cast<std::size_t>(kernel_.block[1]);
        std::vector<std::int64_t> numbers(threads_);
        for (std::size_t t = 0; t < threads_; ++t) {
            std::size_t n = 0;
            switch (id) {
                case Special::Id::ThreadX: n = t % x; break;
                case Special::Id::ThreadY: n = t / x % y; break;
                case Special::Id::ThreadZ: n = t / (x * y); break;
                default: return fresh();
            }
            numbers[t] = static_cast<std::int64_t>(n);
        }
        return lane_numbers(std::move(numbers));
    }

    void spend(std::size_t numbers) {
        budget_ -= static_cast<std::int64_t>(numbers) + 4;
        if (budget_ < 0) throw Exhausted{};
    }

    bool reads_shared(const ir::Expr& e) {
        if (const auto found = reads_shared_.find(e.get()); found != reads_shared_.end()) return found->second;
        const auto* read = ir::as<ir::Read>(e);
        bool result = read != nullptr && is_local(read->source);
        for (const ir::Expr& child : ir::children(e)) result = result || reads_shared(child);
        return reads_shared_[e.get()] = result;
    }

    /// The value for the threads that come by, once its reads are looked into.
    LaneValue evaluate(const ir::Expr& e, Active active) {
        const bool number = e->type == Type::Int32 || e->type == Type::Bool;
        if ((!number && !reads_shared(e)) || nobody(active)) return unknown_value();
        const auto key = std::pair(e.get(), active);
        if (const auto found = memo_.find(key); found != memo_.end()) return found->second;
        LaneValue value = std::visit([&](const auto& n) { return of(n, e, active); }, e->value);
        if (!number) value = unknown_value();
        spend(value->numbers.size());
        memo_.emplace(key, value);
        return value;
    }

    LaneValue of(const ir::IntConstant& n, const ir::Expr&, Active) { return lane_number(n.value); }
    LaneValue of(const ir::Variable& n, const ir::Expr&, Active) {
        const auto found = values_.find(n.id);
        return found == values_.end() ? unknown_value() : found->second;
    }
    LaneValue of(const ir::SizeRef& n, const ir::Expr&, Active) {
        LaneValue& size = sizes_[n.index];
        if (!size) size = fresh();
        return size;
    }
    LaneValue of(const ir::Unary& n, const ir::Expr&, Active active) {
        const LaneValue a = evaluate(n.a, active);
        if (n.op == ir::UnaryOp::Not) return lane_not(a);
        return n.op == ir::UnaryOp::Neg ? lane_sum(lane_number(0), a, -1) : unknown_value();
    }
    LaneValue of(const ir::Binary& n, const ir::Expr& e, Active active) {
        const LaneValue a = evaluate(n.a, active);
        Active right = active;
        if (ir::is_logical(n.op)) right = where(active, a, n.op == ir::BinaryOp::And);
        const LaneValue b = evaluate(n.b, right);
        const bool numbers = n.a->type == Type::Int32 || n.a->type == Type::Bool;
        LaneValue value = numbers ? lane_binary(n.op, a, b) : unknown_value();
        // What sizes and tiles make together by division, say, is one more unknown, the same for all threads.
        const bool opaque = value->is_unknown() && e->type == Type::Int32 && a->is_uniform() && b->is_uniform();
        return opaque ? fresh() : value;
    }
    LaneValue of(const ir::Cast& n, const ir::Expr& e, Active active) {
        const LaneValue a = evaluate(n.a, active);
        return n.a->type == e->type ? a : unknown_value();
    }
    LaneValue of(const ir::Select& n, const ir::Expr&, Active active) {
        const LaneValue condition = evaluate(n.cond, active);
        if (!n.otherwise) return evaluate(n.then, active);
        const LaneValue then = evaluate(n.then, where(active, condition, true));
        return lane_select(condition, then, evaluate(n.otherwise, where(active, condition, false)));
    }
    LaneValue of(const ir::Read& n, const ir::Expr&, Active active) {
        std::vector<LaneValue> indices;
        for (const ir::Expr& index : n.indices) indices.push_back(evaluate(index, active));
        if (is_local(n.source)) read(n.source, indices, 1, active);
        return unknown_value();
    }
    LaneValue of(const ir::Let& n, const ir::Expr&, Active active) {
        values_[n.var] = evaluate(n.value, active);
        return evaluate(n.body, active);
    }
    LaneValue of(const ir::Reduce& n, const ir::Expr&, Active active) {
        iterate(n, 0, active);
        return unknown_value();
    }
    template <class Leaf>
    LaneValue of(const Leaf&, const ir::Expr& e, Active active) {
        for (const ir::Expr& child : ir::children(e)) evaluate(child, active);
        return unknown_value();
    }

    /// A reduction's points, where its bounds are known, or one that stands for all.
    void iterate(const ir::Reduce& reduce, std::size_t dim, Active active) {
        if (dim == reduce.ranges.size()) {
            evaluate(reduce.body, active);
            return;
        }
        const ir::Range& range = reduce.ranges[dim];
        const LaneValue lo = evaluate(range.lo, active), hi = evaluate(range.hi, active);
        if (!reads_shared(reduce.body)) return;
        auto outside = std::move(memo_);
        const LaneValue count = lane_sum(hi, lo, -1);
        const bool known = count->terms.empty() && count->is_uniform() && !lo->is_unknown();
        const std::int64_t iterations = known ? count->numbers[0] : 1;
        for (std::int64_t i = 0; i < iterations; ++i) {
            memo_.clear();
            values_[range.var] = known ? lane_sum(lo, lane_number(i)) : unknown_value();
            iterate(reduce, dim + 1, known ? active : where(active, unknown_value(), true));
        }
        memo_ = std::move(outside);
    }

    // -------------------------------------------------------------------------------------------------------- accesses

    void problem(const std::string& what, std::size_t array) {
        // The first one of an array says enough.
        if (reported_.insert({array, what.find("is read") != std::string::npos}).second)
            result_.problems.push_back("shared array " + what);
    }

    /// Calls f(element, certain) for the elements that a thread may access: `count` adjacent ones, from those on whose
    /// indices up to dimension d make `base`.
    template <class F>
    void elements(std::size_t array, const std::vector<LaneValue>& indices, std::int64_t count, std::size_t thread,
                  Certain sure, const F& f, std::size_t d = 0, std::int64_t base = 0) {
        const SharedArray& shared = kernel_.shared[array];
        if (d == shared.extents.size()) {
            for (std::int64_t i = 0; i < count && base + i < cells_.size(array); ++i) f(base + i, sure);
            return;
        }
        const std::int64_t at = indices[d]->at(thread), extent = shared.extents[d];
        if (at == kUnknown) {
            for (std::int64_t i = 0; i < extent; ++i)
                elements(array, indices, count, thread, Certain::Maybe, f, d + 1, base * extent + i);
        } else if (at >= 0 && at < extent) {
            elements(array, indices, count, thread, sure, f, d + 1, base * extent + at);
        } else if (sure == Certain::Yes) {
            problem(fmt::format("`{}` has no element {} in dimension {}, which thread {} asks for", shared.name, at, d,
                                thread),
                    array);
        }
    }

    void read(ir::Source source, const std::vector<LaneValue>& indices, std::int64_t count, Active active) {
        const auto array = static_cast<std::size_t>(source.index);
        Written::Reads& reads = result_.reads[way_];
        for (std::size_t t = 0; t < threads_; ++t) {
            if (certain(active, t) == Certain::No) continue;
            // One of the elements that a thread may mean is what it reads: it is proved if all of them are.
            bool proved = true;
            elements(array, indices, count, t, certain(active, t), [&](std::int64_t element, Certain sure) {
                spend(1);
                const auto result = cells_.read(array, element, static_cast<int>(t), sure);
                proved = proved && result == SharedCells::Result::Proved;
                if (result == SharedCells::Result::Wrong) problem(cells_.problem(), array);
            });
            ++(proved ? reads.proved : reads.unproved);
        }
    }

    void visit(const Load& s, Active active) {
        std::vector<LaneValue> indices;
        for (const ir::Expr& index : s.indices) indices.push_back(evaluate(index, active));
        if (is_local(s.array)) read(s.array, indices, static_cast<std::int64_t>(s.vars.size()), active);
    }

    void visit(const Store& s, Active active) {
        if (s.guard) active = where(active, evaluate(s.guard, active), true);
        std::vector<LaneValue> indices;
        for (const ir::Expr& index : s.indices) indices.push_back(evaluate(index, active));
        for (const ir::Expr& value : s.values) evaluate(value, active);
        if (!is_local(s.array)) return;
        const auto array = static_cast<std::size_t>(s.array.index);
        for (std::size_t t = 0; t < threads_; ++t) {
            if (certain(active, t) == Certain::No) continue;
            const auto count = static_cast<std::int64_t>(s.values.size());
            elements(array, indices, count, t, certain(active, t), [&](std::int64_t element, Certain sure) {
                spend(1);
                if (!cells_.write(array, element, static_cast<int>(t), sure)) problem(cells_.problem(), array);
            });
        }
    }

    void visit(const Copy& s, Active active) {
        std::vector<LaneValue> indices;
        for (const ir::Expr& index : s.to_indices) indices.push_back(evaluate(index, active));
        for (const ir::Expr& index : s.from_indices) evaluate(index, active);
        const auto array = static_cast<std::size_t>(s.to.index);
        for (std::size_t t = 0; t < threads_; ++t) {
            if (certain(active, t) == Certain::No) continue;
            const auto count = static_cast<std::int64_t>(s.count);
            elements(array, indices, count, t, certain(active, t), [&](std::int64_t element, Certain sure) {
                spend(1);
                if (!cells_.copy(array, element, static_cast<int>(t), sure)) problem(cells_.problem(), array);
            });
        }
    }

    [[nodiscard]] static std::vector<bool> those_who_come(Active active) {
        std::vector<bool> threads;
        for (const Certain c : *active) threads.push_back(c == Certain::Yes);
        return threads;
    }
    void visit(const Commit&, Active active) {
        spend(cells_.touched());
        cells_.commit(those_who_come(active));
    }
    void visit(const Wait& s, Active active) {
        spend(cells_.touched());
        cells_.wait(those_who_come(active), s.pending);
    }

    void visit(const Atomic& s, Active active) {
        std::vector<LaneValue> indices;
        for (const ir::Expr& index : s.indices) indices.push_back(evaluate(index, active));
        evaluate(s.value, active);
        if (!is_local(s.array)) return;
        const auto array = static_cast<std::size_t>(s.array.index);
        // Which element it is depends on data, mostly, and then each thread has the same to say.
        const bool alike = !s.exclusive && std::all_of(indices.begin(), indices.end(), [](const LaneValue& index) {
            return index->numbers.size() <= 1;
        });
        Written::Reads& reads = result_.reads[way_];
        for (std::size_t t = 0; t < threads_; ++t) {
            if (certain(active, t) == Certain::No) continue;
            bool proved = true;
            elements(array, indices, 1, t, certain(active, t), [&](std::int64_t element, Certain sure) {
                spend(1);
                const auto result = s.exclusive ? cells_.update_own(array, element, static_cast<int>(t), sure)
                                                : cells_.update(array, element, alike ? -1 : static_cast<int>(t), sure);
                proved = proved && result == SharedCells::Result::Proved;
                if (result == SharedCells::Result::Wrong) problem(cells_.problem(), array);
            });
            ++(proved ? reads.proved : reads.unproved);
            if (alike) break;
        }
    }

    // ------------------------------------------------------------------------------------------------------ statements

    void walk(const Body& body, Active active) {
        if (nobody(active)) return;
        for (const Stmt& stmt : body) {
            memo_.clear();  // variables and memory have changed
            std::visit([&](const auto& s) { visit(s, active); }, stmt.value);
        }
    }

    void visit(const Define& s, Active active) { values_[s.var] = evaluate(s.value, active); }
    void visit(const Variable& s, Active active) { values_[s.var] = evaluate(s.value, active); }
    void visit(const Assign& s, Active active) {
        const LaneValue value = evaluate(s.value, active);
        LaneValue& known = values_[s.var];
        std::vector<std::int64_t> comes(threads_);
        for (std::size_t t = 0; t < threads_; ++t) {
            const Certain c = certain(active, t);
            comes[t] = c == Certain::Maybe ? kUnknown : c == Certain::Yes ? 1 : 0;
        }
        known = lane_select(lane_numbers(std::move(comes)), value, known ? known : unknown_value());
    }
    void visit(const Shuffle& s, Active active) {
        const LaneValue value = evaluate(s.value, active);
        const LaneValue amount = evaluate(s.amount, active);
        if (s.from != Shuffle::From::Index) return;
        std::vector<std::int64_t> received(threads_, kUnknown);
        for (std::size_t t = 0; t < threads_; ++t) {
            const std::int64_t lane = amount->at(t);
            const std::size_t other = t / kWarp * kWarp + static_cast<std::size_t>(std::max<std::int64_t>(lane, 0));
            if (lane >= 0 && other < threads_) received[t] = value->at(other);
        }
        values_[s.var] = lane_numbers(std::move(received));
        for (std::size_t t = 0; t < threads_; ++t) {
            const std::int64_t lane = amount->at(t);
            if (certain(active, t) != Certain::Yes || lane == kUnknown || (lane >= 0 && lane < kWarp)) continue;
            result_.problems.push_back(fmt::format("a shuffle asks for lane {}", lane));
            return;
        }
    }
    void visit(const Barrier& s, Active active) {
        spend(cells_.touched());
        if (s.scope == Barrier::Scope::Block) return cells_.block_barrier();
        if (s.scope == Barrier::Scope::Step) return;
        std::vector<bool> warps(threads_ / kWarp + 1, false);
        for (std::size_t t = 0; t < threads_; ++t) {
            if (certain(active, t) != Certain::No) warps[t / kWarp] = true;
        }
        cells_.warp_barrier(warps);
    }
    void visit(const Remark&, Active) {}

    void visit(const If& s, Active active) {
        const LaneValue condition = evaluate(s.condition, active);
        bool known = true;
        for (std::size_t t = 0; t < threads_; ++t) {
            known = known && (certain(active, t) == Certain::No || condition->at(t) != kUnknown);
        }
        if (known || s.uniform == If::Uniform::Lane) {
            walk(s.then, where(active, condition, true));
            walk(s.otherwise, where(active, condition, false));
            return;
        }
        const SharedCells before = cells_;
        const Values values = values_;
        follow("then", [&] { walk(s.then, where(active, condition, true, Certain::Yes)); });
        SharedCells then = std::exchange(cells_, before);
        const Values then_values = std::exchange(values_, values);
        follow("else", [&] { walk(s.otherwise, where(active, condition, false, Certain::Yes)); });
        join(then, then_values, s.uniform == If::Uniform::Warp);
    }

    template <class F>
    void follow(const std::string& branch, const F& f) {
        const std::string outside = std::exchange(way_, way_.empty() ? branch : way_ + " " + branch);
        f();
        way_ = outside;
    }

    void join(const SharedCells& cells, const Values& values, bool by_warp) {
        spend(2 * cells_.count());
        cells_.join(cells, by_warp);
        for (auto& [var, value] : values_) {
            const auto found = values.find(var);
            if (found == values.end() || found->second != value) value = unknown_value();
        }
    }

    void visit(const For& s, Active active) {
        const LaneValue lo = evaluate(s.lo, active), hi = evaluate(s.hi, active), step = evaluate(s.step, active);
        const LaneValue length = lane_sum(hi, lo, -1);
        const bool same_step = step->terms.empty() && step->is_uniform();
        bool known = same_step && step->numbers[0] > 0;
        for (std::size_t t = 0; t < threads_; ++t) {
            known = known && (certain(active, t) == Certain::No || length->at(t) != kUnknown);
        }
        if (!known) return iterate_unknown(s, lo, hi, active);
        for (std::int64_t i = 0;; i += step->numbers[0]) {
            const Active now = where(active, lane_binary(ir::BinaryOp::Gt, length, lane_number(i)), true);
            if (nobody(now)) return;
            values_[s.var] = lane_sum(lo, lane_number(i));
            walk(s.body, now);
        }
    }

    /// Two iterations stand for all: the second one comes behind another one.
    void iterate_unknown(const For& s, const LaneValue& lo, const LaneValue& hi, Active active) {
        for_each_stmt(s.body, [&](const Stmt& stmt) {
            if (const auto* assign = std::get_if<Assign>(&stmt.value)) values_[assign->var] = unknown_value();
        });
        const bool together = lo->is_uniform() && hi->is_uniform();
        if (!together) active = where(active, unknown_value(), true);
        for (int i = 0; i < 2; ++i) {
            const SharedCells before = cells_;
            const Values values = values_;
            values_[s.var] = together ? fresh() : unknown_value();
            walk(s.body, active);
            join(before, values, false);
        }
    }

    const Kernel& kernel_;
    const std::size_t threads_;
    std::int64_t budget_;
    SharedCells cells_;
    Values values_;
    std::map<int, LaneValue> sizes_;
    int unknowns_ = 0;
    std::set<std::vector<Certain>> actives_;
    std::map<std::pair<const ir::Node*, Active>, LaneValue> memo_;  ///< of the statement
    std::unordered_map<const ir::Node*, bool> reads_shared_;
    std::string way_;
    std::set<std::pair<std::size_t, bool>> reported_;
    Written result_;
};

}  // namespace

Written follow_shared_memory(const Kernel& kernel, std::int64_t budget) {
    if (kernel.shared.empty()) return {};
    return Walk(kernel, budget).run();
}

}  // namespace pipec::codegen::kernel
