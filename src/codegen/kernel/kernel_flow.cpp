// Two walks over the statements. The first one finds for every variable whether all threads of the block, or all lanes
// of a warp, have the same value, and with that which control flow is uniform. The second one follows what was written
// to shared memory since the last barrier. What they accept, kernel_written.h looks into element by element.
#include "codegen/kernel/kernel_flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "codegen/kernel/kernel_written.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen::kernel {

std::vector<ir::Expr> expressions(const Stmt& stmt) {
    std::vector<ir::Expr> list;
    std::visit(ir::overloaded{
                   [&](const Define& s) { list = {s.value}; },
                   [&](const Variable& s) { list = {s.value}; },
                   [&](const Assign& s) { list = {s.value}; },
                   [&](const Load& s) { list = s.indices; },
                   [&](const Store& s) {
                       if (s.guard) list.push_back(s.guard);
                       list.insert(list.end(), s.indices.begin(), s.indices.end());
                       list.insert(list.end(), s.values.begin(), s.values.end());
                   },
                   [&](const Atomic& s) {
                       list = s.indices;
                       list.push_back(s.value);
                   },
                   [&](const Shuffle& s) {
                       list = {s.value, s.amount};
                   },
                   [&](const Copy& s) {
                       list = s.to_indices;
                       list.insert(list.end(), s.from_indices.begin(), s.from_indices.end());
                   },
                   [&](const For& s) {
                       list = {s.lo, s.hi, s.step};
                   },
                   [&](const If& s) { list = {s.condition}; },
                   [](const auto&) {},
               },
               stmt.value);
    return list;
}

namespace {

/// For following the threads of a kernel in every compilation: some tens of milliseconds.
constexpr std::int64_t kBudget = 10'000'000;

/// The widest group of threads that agree on a value, or on the way through the code.
enum class Same : std::uint8_t { Block, Warp, Lane };

Same join(Same a, Same b) {
    return std::max(a, b);
}

std::string_view name(Same scope) {
    return scope == Same::Block ? "block" : "warp";
}

// --------------------------------------------------------------------------------------------------------- uniformity

class Uniformity {
public:
    Uniformity(const ir::Pipeline& pipeline, const Kernel& kernel) : pipeline_(pipeline), kernel_(kernel) {}

    std::vector<std::string> run() {
        for (const Argument& argument : kernel_.arguments) variables_[argument.var] = Same::Block;
        for (const Special& special : kernel_.specials) variables_[special.var] = of_special(special.id);
        // What a loop assigns is seen by its next iteration: again, until nothing is found to be less uniform.
        do {
            changed_ = false;
            problems_.clear();
            walk(kernel_.body, Same::Block);
        } while (changed_);
        return std::move(problems_);
    }

private:
    /// 32 threads in the order of x, then y, then z make a warp.
    [[nodiscard]] bool rows_are_warps() const { return kernel_.block[0] % kWarp == 0; }
    [[nodiscard]] bool is_linear() const { return kernel_.block[1] == 1 && kernel_.block[2] == 1; }

    [[nodiscard]] Same of_special(Special::Id id) const {
        switch (id) {
            case Special::Id::ThreadX: return kernel_.block[0] == 1 ? Same::Block : Same::Lane;
            case Special::Id::ThreadY:
                return kernel_.block[1] == 1 ? Same::Block : rows_are_warps() ? Same::Warp : Same::Lane;
            case Special::Id::ThreadZ:
                return kernel_.block[2] == 1 ? Same::Block : rows_are_warps() ? Same::Warp : Same::Lane;
            default: return Same::Block;
        }
    }

    /// thread_x / 32: the number of the warp, in its row or in the block.
    [[nodiscard]] bool is_warp_number(const ir::Expr& e) const {
        const auto* quotient = ir::as<ir::Binary>(e);
        if (quotient == nullptr || quotient->op != ir::BinaryOp::Div) return false;
        const auto divisor = ir::as_int(quotient->b);
        const auto* var = ir::as<ir::Variable>(quotient->a);
        if (var == nullptr || divisor.value_or(0) <= 0 || *divisor % kWarp != 0) return false;
        return (rows_are_warps() || is_linear()) &&
               std::any_of(kernel_.specials.begin(), kernel_.specials.end(),
                           [&](const Special& s) { return s.var == var->id && s.id == Special::Id::ThreadX; });
    }

    /// What is read from global memory depends on the indices alone: no kernel reads what it writes. Shared memory may
    /// hold something else by the time that the next lane reads it.
    Same of(const ir::Expr& e) {
        if (const auto found = memo_.find(e.get()); found != memo_.end()) return found->second;
        Same result = Same::Block;
        if (const auto* var = ir::as<ir::Variable>(e)) {
            const auto found = variables_.find(var->id);
            if (found != variables_.end()) result = found->second;
        } else if (is_warp_number(e)) {
            result = Same::Warp;
        } else {
            const auto* read = ir::as<ir::Read>(e);
            if (read != nullptr && read->source.kind == ir::Source::Kind::Local) result = Same::Lane;
            // Binders first: a body is as uniform as what its variables stand for.
            if (const auto* let = ir::as<ir::Let>(e)) variables_[let->var] = of(let->value);
            if (const auto* reduce = ir::as<ir::Reduce>(e)) {
                Same bounds = Same::Block;
                for (const ir::Range& r : reduce->ranges) {
                    bounds = join(bounds, join(of(r.lo), of(r.hi)));
                    variables_[r.var] = bounds;
                }
            }
            for (const ir::Expr& child : ir::children(e)) result = join(result, of(child));
        }
        memo_.emplace(e.get(), result);
        return result;
    }

    void set(ir::VarId var, Same value) {
        Same& known = variables_[var];
        if (value <= known) return;
        known = value;
        changed_ = true;
    }

    void collective(std::string_view what, Same needed, Same control) {
        if (control > needed)
            problems_.push_back(fmt::format("{} stands where not every lane of the {} comes by", what, name(needed)));
    }

    void walk(const Body& body, Same control) {
        for (const Stmt& stmt : body) {
            memo_.clear();  // variables may have changed
            std::visit([&](const auto& s) { visit(s, control); }, stmt.value);
        }
    }

    void visit(const Define& s, Same) { set(s.var, of(s.value)); }
    void visit(const Variable& s, Same) { set(s.var, of(s.value)); }
    /// Lanes that come by another way keep what they had.
    void visit(const Assign& s, Same control) { set(s.var, join(of(s.value), control)); }
    void visit(const Load& s, Same) {
        Same value = s.array.kind == ir::Source::Kind::Local ? Same::Lane : Same::Block;
        for (const ir::Expr& index : s.indices) value = join(value, of(index));
        for (const ir::VarId var : s.vars) set(var, value);
    }
    void visit(const Shuffle& s, Same control) {
        collective("a shuffle", Same::Warp, control);
        const bool from_one_lane = s.from == Shuffle::From::Index && of(s.amount) <= Same::Warp;
        set(s.var, from_one_lane ? Same::Warp : Same::Lane);
    }
    void visit(const Barrier& s, Same control) {
        if (s.scope == Barrier::Scope::Block)
            collective("a barrier of the block", Same::Block, control);
        else if (s.scope == Barrier::Scope::Step)
            collective("a wait for the step before", Same::Block, control);
        else
            collective("a barrier of the warp", Same::Warp, control);
    }
    void visit(const For& s, Same control) {
        set(s.var, join(of(s.lo), of(s.step)));
        walk(s.body, join(control, join(join(of(s.lo), of(s.hi)), of(s.step))));
    }
    void visit(const If& s, Same control) {
        Same inside = Same::Lane;
        if (s.uniform != If::Uniform::Lane) {
            const Same claimed = s.uniform == If::Uniform::Block ? Same::Block : Same::Warp;
            if (of(s.condition) > claimed)
                problems_.push_back(fmt::format("the condition `{}` is not the same in the whole {}",
                                                expression_text(pipeline_, s.condition, local_names()), name(claimed)));
            inside = join(control, claimed);
        }
        walk(s.then, inside);
        walk(s.otherwise, inside);
    }
    void visit(const Store&, Same) {}
    void visit(const Atomic&, Same) {}
    void visit(const Copy&, Same) {}
    void visit(const Commit&, Same) {}
    void visit(const Wait&, Same) {}
    void visit(const Remark&, Same) {}

    [[nodiscard]] std::vector<std::string> local_names() const {
        std::vector<std::string> names;
        for (const SharedArray& array : kernel_.shared) names.push_back(array.name);
        return names;
    }

    const ir::Pipeline& pipeline_;
    const Kernel& kernel_;
    std::map<ir::VarId, Same> variables_;
    std::unordered_map<const ir::Node*, Same> memo_;
    bool changed_ = false;
    std::vector<std::string> problems_;
};

// ------------------------------------------------------------------------------------------------------- shared memory

/// Follows for each shared array what happened to it. A loop's body is walked twice: its second iteration comes behind
/// its first one. It is the text that is followed: which thread wrote which element is not known, so even a thread that
/// reads back its own needs a barrier. Of copies it asks for a wait behind the first one only: others may be under way
/// while what came is read.
class SharedOrder {
public:
    explicit SharedOrder(const Kernel& kernel) : kernel_(kernel) {}

    std::vector<std::string> run() {
        arrays_.assign(kernel_.shared.size(), {});
        walk(kernel_.body);
        return std::move(problems_);
    }

private:
    struct State {
        bool written = false;
        bool stored = false;  ///< since the last barrier, by a Store
        bool dirty = false;   ///< since the last barrier, at all
        bool copied = false;  ///< a copy into it was begun
    };
    using States = std::vector<State>;

    void problem(const std::string& text) {
        if (std::find(problems_.begin(), problems_.end(), text) == problems_.end()) problems_.push_back(text);
    }
    [[nodiscard]] const std::string& name(std::size_t array) const { return kernel_.shared[array].name; }

    void read(std::size_t array) {
        if (kernel_.shared[array].ring) return;
        if (!arrays_[array].written)
            problem(
                fmt::format("shared array `{}` is read before {}", name(array),
                            arrays_[array].copied ? "a wait for what is copied to it" : "anything is written to it"));
        else if (arrays_[array].dirty)
            problem(fmt::format("shared array `{}` is read without a barrier after it was written", name(array)));
    }

    void walk(const Body& body) {
        for (const Stmt& stmt : body) {
            for (const ir::Expr& root : expressions(stmt)) {
                ir::for_each_node(root, [&](const ir::Expr& e) {
                    const auto* n = ir::as<ir::Read>(e);
                    if (n != nullptr && n->source.kind == ir::Source::Kind::Local)
                        read(static_cast<std::size_t>(n->source.index));
                });
            }
            std::visit([&](const auto& s) { visit(s); }, stmt.value);
        }
    }

    void visit(const Load& s) {
        if (s.array.kind == ir::Source::Kind::Local) read(static_cast<std::size_t>(s.array.index));
    }
    void visit(const Store& s) {
        if (s.array.kind != ir::Source::Kind::Local) return;
        State& state = arrays_[static_cast<std::size_t>(s.array.index)];
        state.written = state.stored = state.dirty = true;
    }
    void visit(const Copy& s) { arrays_[static_cast<std::size_t>(s.to.index)].copied = true; }
    void visit(const Wait&) {
        for (State& state : arrays_) state.written = state.written || state.copied;
    }
    void visit(const Atomic& s) {
        if (s.array.kind != ir::Source::Kind::Local) return;
        const auto array = static_cast<std::size_t>(s.array.index);
        if (!arrays_[array].written)
            problem(fmt::format("shared array `{}` is updated before anything is written to it", name(array)));
        else if (arrays_[array].stored)
            problem(fmt::format("shared array `{}` is updated without a barrier after it was stored", name(array)));
        arrays_[array].dirty = true;
    }
    void visit(const Barrier& s) {
        if (s.scope == Barrier::Scope::Step) return;
        for (State& state : arrays_) state.stored = state.dirty = false;
    }
    void visit(const For& s) {
        // What an iteration reads may be what earlier ones wrote, further down: whether they did is for each element to
        // say.
        for_each_stmt(s.body, [&](const Stmt& stmt) {
            const auto* store = std::get_if<Store>(&stmt.value);
            if (store != nullptr && store->array.kind == ir::Source::Kind::Local)
                arrays_[static_cast<std::size_t>(store->array.index)].written = true;
        });
        walk(s.body);
        walk(s.body);
    }
    void visit(const If& s) {
        const States before = arrays_;
        walk(s.then);
        States then = std::move(arrays_);
        arrays_ = before;
        walk(s.otherwise);
        for (std::size_t i = 0; i < arrays_.size(); ++i) {
            arrays_[i].written = arrays_[i].written || then[i].written;
            arrays_[i].stored = arrays_[i].stored || then[i].stored;
            arrays_[i].dirty = arrays_[i].dirty || then[i].dirty;
            arrays_[i].copied = arrays_[i].copied || then[i].copied;
        }
    }
    template <class Other>
    void visit(const Other&) {}

    const Kernel& kernel_;
    States arrays_;
    std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> verify_flow(const ir::Pipeline& pipeline, const Kernel& kernel) {
    std::vector<std::string> problems = Uniformity(pipeline, kernel).run();
    std::vector<std::string> shared = SharedOrder(kernel).run();
    problems.insert(problems.end(), shared.begin(), shared.end());
    if (!problems.empty()) return problems;
    return follow_shared_memory(kernel, kBudget).problems;
}

}  // namespace pipec::codegen::kernel
