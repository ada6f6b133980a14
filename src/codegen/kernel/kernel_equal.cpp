#include "codegen/kernel/kernel_equal.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "codegen/emit/cuda/cuda_kernel.h"
#include "codegen/expr/strides.h"
#include "codegen/kernel/kernel_flow.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

namespace {

using ir::Source;

/// What decides the type of an array's view: sources with equal ones have the same type in C++.
auto view_of(const kernel::Program& program, Source source) {
    const auto index = static_cast<std::size_t>(source.index);
    const bool is_input = source.kind == Source::Kind::Input;
    const ir::Type type = is_input ? program.pipeline.inputs.at(index).type : program.pipeline.stages.at(index).type;
    const bool is_buffer = is_input || program.pipeline.stages.at(index).output >= 0;
    return std::tuple{is_input, is_buffer, type, known_strides(program.pipeline, program.model, source)};
}

ir::Type element_type(const kernel::Program& program, Source source) {
    const auto index = static_cast<std::size_t>(source.index);
    return source.kind == Source::Kind::Input ? program.pipeline.inputs.at(index).type
                                              : program.pipeline.stages.at(index).type;
}

/// What the names of variables and arrays have no part in.
class ShapeHash {
public:
    void add(std::size_t part) {
        hash_ = (hash_ ^ part) * 0x9e3779b97f4a7c15U;
        hash_ ^= hash_ >> 29U;
    }
    void add(const ir::Expr& e) { add(of(e)); }
    [[nodiscard]] std::size_t hash() const { return hash_; }

private:
    std::size_t of(const ir::Expr& e) {
        if (const auto known = known_.find(e.get()); known != known_.end()) return known->second;
        ShapeHash shape;
        shape.add(e->value.index() << 8U | static_cast<std::size_t>(e->type));
        if (const auto* n = ir::as<ir::Binary>(e)) shape.add(static_cast<std::size_t>(n->op));
        if (const auto* n = ir::as<ir::IntConstant>(e)) shape.add(static_cast<std::size_t>(n->value));
        if (const auto* n = ir::as<ir::FloatConstant>(e)) shape.add(std::bit_cast<std::uint64_t>(n->value));
        if (const auto* n = ir::as<ir::Call>(e)) shape.add(static_cast<std::size_t>(n->fn));
        ir::for_each_child(*e, [&](const ir::Expr& operand) { shape.add(of(operand)); });
        return known_.emplace(e.get(), shape.hash()).first->second;
    }

    std::size_t hash_ = 0;
    std::unordered_map<const ir::Node*, std::size_t> known_;
};

class Comparison {
public:
    /// `part_bytes`: b stores in parts of at most so many; 0 where it does as a.
    Comparison(const kernel::Program& program, const kernel::Kernel& a, const kernel::Kernel& b, int part_bytes = 0)
        : program_(program), a_(a), b_(b), part_bytes_(part_bytes) {}

    bool same() {
        return a_.layout == b_.layout && a_.block == b_.block &&
               (part_bytes_ > 0 || a_.least_blocks == b_.least_blocks) && a_.load_cache == b_.load_cache &&
               a_.least_grid == b_.least_grid && a_.least_extent == b_.least_extent &&
               a_.shares_reductions == b_.shares_reductions && same_parameters() &&
               all(a_.shared, b_.shared,
                   [](const auto& x, const auto& y) {
                       return std::tie(x.type, x.extents, x.offset, x.pitch) ==
                              std::tie(y.type, y.extents, y.offset, y.pitch);
                   }) &&
               all(a_.specials, b_.specials,
                   [&](const auto& x, const auto& y) { return x.id == y.id && declare(x.var, y.var); }) &&
               same(a_.body, b_.body);
    }

private:
    template <class T, class F>
    static bool all(const std::vector<T>& a, const std::vector<T>& b, const F& f) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end(), f);
    }

    bool same_parameters() {
        const KernelParameters a = parameters_of(program_, a_), b = parameters_of(program_, b_);
        const auto take_places = [&](Source x, Source y) {
            return view_of(program_, x) == view_of(program_, y) && places_.emplace(x, y).first->second == y &&
                   taken_.emplace(y, x).first->second == x;
        };
        return a.sizes == b.sizes && a.params == b.params && all(a.reads, b.reads, take_places) &&
               all(a.writes, b.writes, take_places) && all(a.arguments, b.arguments, [&](const auto& x, const auto& y) {
                   return x.least == y.least && x.divides == y.divides && x.repetition == y.repetition &&
                          declare(x.var, y.var);
               });
    }

    /// From here on one variable is the other.
    bool declare(ir::VarId a, ir::VarId b) {
        const auto type = [&](ir::VarId var) {
            return program_.pipeline.variables.at(static_cast<std::size_t>(var)).type;
        };
        return type(a) == type(b) && to_b_.emplace(a, b).first->second == b && to_a_.emplace(b, a).first->second == a;
    }
    bool same(ir::VarId a, ir::VarId b) const {
        const auto found = to_b_.find(a);
        return found == to_b_.end() ? a == b && !to_a_.contains(b) : found->second == b;
    }
    bool same(Source a, Source b) const {
        const auto found = places_.find(a);
        return found == places_.end() ? a == b : found->second == b;
    }

    bool same(const ir::Expr& a, const ir::Expr& b) {
        if (!a || !b) return !a && !b;
        if (a->type != b->type || a->value.index() != b->value.index()) return false;
        if (!equal_.emplace(a.get(), b.get()).second) return true;  // has been compared, or everything ends
        const std::vector<ir::Expr> parts_a = ir::children(a), parts_b = ir::children(b);
        const auto rest = [&] {
            return all(parts_a, parts_b, [&](const auto& x, const auto& y) { return same(x, y); });
        };
        if (const auto* n = ir::as<ir::Variable>(a)) return same(n->id, ir::as<ir::Variable>(b)->id);
        if (const auto* n = ir::as<ir::Read>(a)) return same(n->source, ir::as<ir::Read>(b)->source) && rest();
        if (const auto* n = ir::as<ir::Let>(a)) return declare(n->var, ir::as<ir::Let>(b)->var) && rest();
        if (const auto* n = ir::as<ir::Reduce>(a)) {
            const auto* m = ir::as<ir::Reduce>(b);
            return n->op == m->op && n->place == m->place &&
                   all(n->ranges, m->ranges, [&](const auto& x, const auto& y) { return declare(x.var, y.var); }) &&
                   rest();
        }
        // What is left has operands and constants only: with a's operands, b would be a.
        std::size_t next = 0;
        if (parts_a.size() != parts_b.size()) return false;
        const ir::Expr like_a = ir::map_children(b, [&](const ir::Expr&) { return parts_a[next++]; });
        return ir::same_node(*a, *like_a) && rest();
    }

    bool same(const std::vector<ir::Expr>& a, const std::vector<ir::Expr>& b) {
        return all(a, b, [&](const auto& x, const auto& y) { return same(x, y); });
    }

    bool same(const kernel::Body& a, const kernel::Body& b) {
        auto y = b.begin();
        for (const kernel::Stmt& x : a) {
            const auto* whole = std::get_if<kernel::Store>(&x.value);
            if (part_bytes_ > 0 && whole != nullptr && whole->values.size() > 1 &&
                whole->array.kind != Source::Kind::Local) {
                if (!same_in_parts(*whole, y, b.end())) return false;
            } else if (y == b.end() || !same(x, *y++)) {
                return false;
            }
        }
        return y == b.end();
    }
    bool same(const kernel::Stmt& a, const kernel::Stmt& b) {
        return a.value.index() == b.value.index() &&
               std::visit([&](const auto& s) { return same_stmt(s, std::get<std::decay_t<decltype(s)>>(b.value)); },
                          a.value);
    }

    /// From `part` on stand stores that make up the whole one.
    bool same_in_parts(const kernel::Store& whole, kernel::Body::const_iterator& part,
                       kernel::Body::const_iterator end) {
        const std::size_t count = whole.values.size();
        const std::size_t bytes = static_cast<std::size_t>(ir::bytes(element_type(program_, whole.array)));
        const std::size_t step = std::min(count, static_cast<std::size_t>(part_bytes_) / bytes);
        for (std::size_t first = 0; first < count; first += step, ++part) {
            const auto* n = part == end ? nullptr : std::get_if<kernel::Store>(&part->value);
            if (n == nullptr || n->guard || whole.guard || n->values.size() != step) return false;
            if (!same(whole.array, n->array) || !begins_at(whole, static_cast<std::int64_t>(first), *n)) return false;
            for (std::size_t i = 0; i < step; ++i) {
                if (!same(whole.values[first + i], n->values[i])) return false;
            }
        }
        return true;
    }

    /// b's store begins with element `number` of a's.
    bool begins_at(const kernel::Store& whole, std::int64_t number, const kernel::Store& part) {
        const std::vector<std::int64_t> strides = known_strides(program_.pipeline, program_.model, whole.array);
        std::int64_t distance = 0;
        for (std::size_t d = 0; d < whole.indices.size(); ++d) {
            const auto [from, begin] = with_constant(whole.indices[d]);
            const auto [to, end] = with_constant(part.indices[d]);
            if (!same(from, to) || (begin != end && strides[d] == 0)) return false;
            distance += (end - begin) * strides[d];
        }
        return distance == number;
    }

    /// An index as a sum; null is 0.
    static std::pair<ir::Expr, std::int64_t> with_constant(const ir::Expr& e) {
        if (const auto value = ir::as_int(e)) return {nullptr, *value};
        const auto* n = ir::as<ir::Binary>(e);
        const auto constant = n == nullptr ? std::nullopt : ir::as_int(n->b);
        if (constant && n->op == ir::BinaryOp::Add) return {n->a, *constant};
        if (constant && n->op == ir::BinaryOp::Sub) return {n->a, -*constant};
        return {e, 0};
    }

    bool same_stmt(const kernel::Define& a, const kernel::Define& b) {
        return a.index == b.index && same(a.value, b.value) && declare(a.var, b.var);
    }
    bool same_stmt(const kernel::Variable& a, const kernel::Variable& b) {
        return same(a.value, b.value) && declare(a.var, b.var);
    }
    bool same_stmt(const kernel::Assign& a, const kernel::Assign& b) {
        return same(a.var, b.var) && same(a.value, b.value);
    }
    bool same_stmt(const kernel::Load& a, const kernel::Load& b) {
        return a.ahead == b.ahead && same(a.array, b.array) && same(a.indices, b.indices) &&
               all(a.vars, b.vars, [&](ir::VarId x, ir::VarId y) { return declare(x, y); });
    }
    bool same_stmt(const kernel::Store& a, const kernel::Store& b) {
        return same(a.array, b.array) && same(a.indices, b.indices) && same(a.values, b.values) &&
               same(a.guard, b.guard);
    }
    bool same_stmt(const kernel::Atomic& a, const kernel::Atomic& b) {
        return a.op == b.op && a.exclusive == b.exclusive && a.often_same == b.often_same && same(a.array, b.array) &&
               same(a.indices, b.indices) && same(a.value, b.value);
    }
    bool same_stmt(const kernel::Shuffle& a, const kernel::Shuffle& b) {
        return a.from == b.from && same(a.value, b.value) && same(a.amount, b.amount) && declare(a.var, b.var);
    }
    bool same_stmt(const kernel::Barrier& a, const kernel::Barrier& b) { return a.scope == b.scope; }
    bool same_stmt(const kernel::Copy& a, const kernel::Copy& b) {
        return a.count == b.count && same(a.to, b.to) && same(a.to_indices, b.to_indices) && same(a.from, b.from) &&
               same(a.from_indices, b.from_indices);
    }
    bool same_stmt(const kernel::Commit&, const kernel::Commit&) { return true; }
    bool same_stmt(const kernel::Wait& a, const kernel::Wait& b) { return a.pending == b.pending; }
    bool same_stmt(const kernel::For& a, const kernel::For& b) {
        return a.unroll == b.unroll && same(a.lo, b.lo) && same(a.hi, b.hi) && same(a.step, b.step) &&
               declare(a.var, b.var) && same(a.body, b.body);
    }
    bool same_stmt(const kernel::If& a, const kernel::If& b) {
        return a.uniform == b.uniform && a.same_points == b.same_points && same(a.condition, b.condition) &&
               same(a.then, b.then) && same(a.otherwise, b.otherwise);
    }
    bool same_stmt(const kernel::Remark&, const kernel::Remark&) { return true; }

    const kernel::Program& program_;
    const kernel::Kernel &a_, &b_;
    const int part_bytes_;
    std::map<Source, Source> places_, taken_;  ///< of a in b, and of b in a
    std::map<ir::VarId, ir::VarId> to_b_, to_a_;
    std::set<std::pair<const ir::Node*, const ir::Node*>> equal_;
};

}  // namespace

std::size_t shape_of(const kernel::Kernel& kernel) {
    ShapeHash shape;
    shape.add(static_cast<std::size_t>(kernel.layout));
    for (const int threads : kernel.block) shape.add(static_cast<std::size_t>(threads));
    kernel::for_each_stmt(kernel.body, [&](const kernel::Stmt& stmt) {
        if (std::holds_alternative<kernel::Remark>(stmt.value)) return;
        shape.add(stmt.value.index());
        for (const ir::Expr& e : kernel::expressions(stmt)) shape.add(e);
    });
    return shape.hash();
}

bool same_code(const kernel::Program& program, const kernel::Kernel& a, const kernel::Kernel& b) {
    return Comparison(program, a, b).same();
}

bool same_but_stores(const kernel::Program& program, const kernel::Kernel& wide, const kernel::Kernel& narrow) {
    const int bytes = store_bytes(program, narrow);
    return bytes > 0 && bytes < store_bytes(program, wide) && Comparison(program, wide, narrow, bytes).same();
}

int store_bytes(const kernel::Program& program, const kernel::Kernel& kernel) {
    int result = 0;
    kernel::for_each_stmt(kernel.body, [&](const kernel::Stmt& stmt) {
        const auto* n = std::get_if<kernel::Store>(&stmt.value);
        if (n == nullptr || n->array.kind == Source::Kind::Local || n->values.size() < 2) return;
        result = std::max(result, static_cast<int>(n->values.size()) * ir::bytes(element_type(program, n->array)));
    });
    return result;
}

}  // namespace pipec::codegen
