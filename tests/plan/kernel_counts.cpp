#include "kernel_counts.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "fusion/evaluate.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "support/integers.h"

namespace pipec::testing {

namespace {

using namespace codegen::kernel;
using ir::BinaryOp;

/// The value of what depends on data, or has no integer value.
constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();
/// Blocks that are tried until one lies in the interior.
constexpr std::int64_t kTrials = 64;

/// Thrown where a tile is not of the interior.
struct AtEdge {};

std::int64_t binary(BinaryOp op, std::int64_t a, std::int64_t b) {
    switch (op) {
        case BinaryOp::And: return a == 0 || b == 0 ? 0 : a == kUnknown || b == kUnknown ? kUnknown : 1;
        case BinaryOp::Or:
            return (a != 0 && a != kUnknown) || (b != 0 && b != kUnknown) ? 1
                   : a == kUnknown || b == kUnknown                       ? kUnknown
                                                                          : 0;
        default: break;
    }
    if (a == kUnknown || b == kUnknown) return kUnknown;
    switch (op) {
        case BinaryOp::Add: return a + b;
        case BinaryOp::Sub: return a - b;
        case BinaryOp::Mul: return a * b;
        case BinaryOp::Div: return b == 0 ? kUnknown : floor_quotient(a, b);
        case BinaryOp::Mod: return b == 0 ? kUnknown : a - b * floor_quotient(a, b);
        case BinaryOp::Min: return std::min(a, b);
        case BinaryOp::Max: return std::max(a, b);
        case BinaryOp::BitAnd: return a & b;
        case BinaryOp::BitOr: return a | b;
        case BinaryOp::Eq: return a == b;
        case BinaryOp::Ne: return a != b;
        case BinaryOp::Lt: return a < b;
        case BinaryOp::Le: return a <= b;
        case BinaryOp::Gt: return a > b;
        case BinaryOp::Ge: return a >= b;
        default: return kUnknown;
    }
}

class Follower {
public:
    Follower(const Kernel& kernel, const std::vector<std::int64_t>& sizes, std::int64_t block)
        : kernel_(kernel),
          sizes_(sizes),
          threads_(static_cast<std::size_t>(kernel.block[0]) * static_cast<std::size_t>(kernel.block[1]) *
                   static_cast<std::size_t>(kernel.block[2])) {
        for (const Argument& argument : kernel.arguments) {
            values_[argument.var] = {argument.value ? fusion::evaluate(argument.value, sizes).value_or(kUnknown)
                                                    : std::int64_t{0}};
        }
        for (const Special& special : kernel.specials) values_[special.var] = of_special(special.id, block);
    }

    /// Throws AtEdge, also where the kernel has the same code for all tiles, with guards or without.
    KernelCounts run() {
        walk(kernel_.body, std::vector<bool>(threads_, true));
        if (!in_interior_) throw AtEdge{};
        return std::move(counts_);
    }

private:
    /// One number for all threads, or one for each.
    using Numbers = std::vector<std::int64_t>;
    using Active = std::vector<bool>;

    static std::int64_t at(const Numbers& numbers, std::size_t thread) {
        return numbers.size() == 1 ? numbers[0] : numbers[thread];
    }

    [[nodiscard]] Numbers of_special(Special::Id id, std::int64_t block) const {
        const auto x = static_cast<std::size_t>(kernel_.block[0]), y = static_cast<std::size_t>(kernel_.block[1]);
        Numbers numbers;
        for (std::size_t t = 0; t < threads_; ++t) {
            switch (id) {
                case Special::Id::ThreadX: numbers.push_back(static_cast<std::int64_t>(t % x)); break;
                case Special::Id::ThreadY: numbers.push_back(static_cast<std::int64_t>(t / x % y)); break;
                case Special::Id::ThreadZ: numbers.push_back(static_cast<std::int64_t>(t / (x * y))); break;
                case Special::Id::BlockX: return {block};
                default: return {kUnknown};
            }
        }
        return numbers;
    }

    template <class F>
    Numbers map(const Numbers& a, const Numbers& b, const F& f) const {
        Numbers result(std::max(a.size(), b.size()));
        for (std::size_t i = 0; i < result.size(); ++i) result[i] = f(at(a, i), at(b, i));
        return result;
    }

    Numbers evaluate(const ir::Expr& e) {
        if (e->type != ir::Type::Int32 && e->type != ir::Type::Bool) return {kUnknown};
        if (const auto known = memo_.find(e.get()); known != memo_.end()) return known->second;
        Numbers value{kUnknown};
        if (const auto* constant = ir::as<ir::IntConstant>(e)) {
            value = {constant->value};
        } else if (const auto* variable = ir::as<ir::Variable>(e)) {
            if (const auto found = values_.find(variable->id); found != values_.end()) value = found->second;
        } else if (const auto* size = ir::as<ir::SizeRef>(e)) {
            value = {sizes_.at(static_cast<std::size_t>(size->index))};
        } else if (const auto* unary = ir::as<ir::Unary>(e)) {
            value = evaluate(unary->a);
            for (std::int64_t& v : value) {
                const bool known = v != kUnknown && unary->op != ir::UnaryOp::BitNot;
                v = !known ? kUnknown : unary->op == ir::UnaryOp::Neg ? -v : v == 0;
            }
        } else if (const auto* n = ir::as<ir::Binary>(e)) {
            value = map(evaluate(n->a), evaluate(n->b),
                        [&](std::int64_t a, std::int64_t b) { return binary(n->op, a, b); });
        } else if (const auto* cast = ir::as<ir::Cast>(e)) {
            value = evaluate(cast->a);
        } else if (const auto* select = ir::as<ir::Select>(e); select != nullptr && select->otherwise) {
            const Numbers condition = evaluate(select->cond), otherwise = evaluate(select->otherwise);
            value = map(condition, evaluate(select->then), [](std::int64_t c, std::int64_t v) {
                return c == kUnknown ? kUnknown : c != 0 ? v : std::numeric_limits<std::int64_t>::max();
            });
            value = map(value, otherwise, [](std::int64_t v, std::int64_t other) {
                return v == std::numeric_limits<std::int64_t>::max() ? other : v;
            });
        }
        memo_.emplace(e.get(), value);
        return value;
    }

    /// Those for whom the condition is `truth`.
    Active where(const Active& active, const Numbers& condition, bool truth) {
        Active result = active;
        for (std::size_t t = 0; t < threads_; ++t) {
            if (!active[t]) continue;
            const std::int64_t c = at(condition, t);
            if (c == kUnknown) counts_.by_data = true;
            result[t] = c == kUnknown ? truth : (c != 0) == truth;
        }
        return result;
    }
    static std::int64_t count(const Active& active) { return std::count(active.begin(), active.end(), true); }

    void walk(const Body& body, const Active& active) {
        if (count(active) == 0) return;
        for (const Stmt& stmt : body) {
            memo_.clear();
            std::visit([&](const auto& s) { visit(s, active); }, stmt.value);
        }
    }

    void define(ir::VarId var, const ir::Expr& value) { values_[var] = evaluate(value); }
    void visit(const Define& s, const Active&) { define(s.var, s.value); }
    void visit(const codegen::kernel::Variable& s, const Active&) { define(s.var, s.value); }
    void visit(const Assign& s, const Active&) { values_[s.var] = {kUnknown}; }
    void visit(const Shuffle& s, const Active& active) {
        counts_.shuffles += active.front() ? 1 : 0;
        // The number of the warp comes from lane 0, and is the same in all of them.
        const bool same = s.from == Shuffle::From::Index && ir::as_int(s.amount).value_or(-1) == 0;
        values_[s.var] = same ? evaluate(s.value) : Numbers{kUnknown};
    }
    void visit(const Barrier& s, const Active& active) {
        (s.scope == Barrier::Scope::Block ? counts_.block_barriers : counts_.warp_barriers) += active.front() ? 1 : 0;
    }
    void visit(const Store& s, const Active& active) {
        const Active writes = s.guard ? where(active, evaluate(s.guard), true) : active;
        const auto elements = count(writes) * static_cast<std::int64_t>(s.values.size());
        auto& counted = s.array.kind == ir::Source::Kind::Local ? counts_.shared_elements : counts_.stage_elements;
        counted[s.array.index] += elements;
    }
    void visit(const For& s, const Active& active) {
        const Numbers lo = evaluate(s.lo), hi = evaluate(s.hi), step = evaluate(s.step);
        if (step.size() != 1 || step[0] < 1 || std::count(lo.begin(), lo.end(), kUnknown) > 0 ||
            std::count(hi.begin(), hi.end(), kUnknown) > 0) {
            counts_.by_data = true;
            return;
        }
        for (Numbers i = lo;; i = map(i, step, [](std::int64_t a, std::int64_t b) { return a + b; })) {
            Active more = active;
            for (std::size_t t = 0; t < threads_; ++t) more[t] = active[t] && at(i, t) < at(hi, t);
            if (count(more) == 0) return;
            values_[s.var] = i;
            walk(s.body, more);
        }
    }
    void visit(const If& s, const Active& active) {
        const Active then = where(active, evaluate(s.condition), true);
        // Whole thread groups branch where tiles exist, and where they lie in the interior. Steps of a march follow.
        if (s.uniform != If::Uniform::Lane && !in_interior_) {
            if (count(then) != count(active)) throw AtEdge{};
            in_interior_ = !s.otherwise.empty();
            walk(s.then, active);
            return;
        }
        walk(s.then, then);
        walk(s.otherwise, where(active, evaluate(s.condition), false));
    }
    template <class Other>
    void visit(const Other&, const Active&) {}  // loads, copies, updates

    const Kernel& kernel_;
    const std::vector<std::int64_t>& sizes_;
    const std::size_t threads_;
    std::unordered_map<ir::VarId, Numbers> values_;
    std::unordered_map<const ir::Node*, Numbers> memo_;  ///< of the statement
    bool in_interior_ = false;
    KernelCounts counts_;
};

}  // namespace

std::optional<KernelCounts> count_interior(const codegen::kernel::Kernel& kernel,
                                           const std::vector<std::int64_t>& sizes, int most_blocks) {
    std::int64_t blocks = 1;
    for (const ir::Expr& of : kernel.grid) blocks *= of ? fusion::evaluate(of, sizes).value_or(0) : 1;
    const auto stored = [](const KernelCounts& counts) {
        return std::accumulate(counts.stage_elements.begin(), counts.stage_elements.end(), std::int64_t{0},
                               [](std::int64_t sum, const auto& elements) { return sum + elements.second; });
    };
    std::optional<KernelCounts> most;
    // From the middle of the grid on.
    for (std::int64_t trial = 0; trial < std::min(kTrials, blocks) && most_blocks > 0; ++trial) {
        try {
            KernelCounts counts = Follower(kernel, sizes, (blocks / 2 + trial) % blocks).run();
            if (!most || stored(counts) > stored(*most)) most = std::move(counts);
            --most_blocks;
        } catch (const AtEdge&) {
            continue;
        }
    }
    return most;
}

}  // namespace pipec::testing
