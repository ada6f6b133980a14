#include "ir/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/build.h"
#include "ir/parameter_sizes.h"
#include "ir/reduction.h"
#include "ir/scan.h"
#include "ir/visit.h"

namespace pipec::ir {

namespace {

class Verifier {
public:
    explicit Verifier(const Pipeline& pipeline, std::vector<LocalArray> locals = {})
        : p_(pipeline), locals_(std::move(locals)) {}

    std::vector<std::string> run() {
        for (const Buffer& b : p_.inputs) buffer(b);
        for (const Output& o : p_.outputs) buffer(o.buffer);
        for (const ScalarParameter& param : p_.params) {
            if (param.default_value) {
                check(param.default_value->type == param.type, "default of `{}` has another type", param.name);
            }
        }
        for (std::size_t i = 0; i < p_.sizes.size(); ++i) default_of_size(i);
        for (const Expr& e : p_.where) {
            check(e && e->type == Type::Bool, "a where condition is not Bool");
            if (!e) continue;
            if (!scoped(e, {})) continue;
            for_each_node(e, [&](const Expr& n) { check(!as<Read>(n), "a where condition reads an image"); });
        }
        names();
        for (current_ = 0; current_ < p_.stages.size(); ++current_) stage(p_.stages[current_]);
        for (std::size_t i = 0; i < p_.outputs.size(); ++i) output(i);
        return std::move(problems_);
    }

    /// One expression, which may read every stage.
    std::vector<std::string> run(const Expr& e, const std::set<VarId>& scope) {
        current_ = p_.stages.size();
        scoped(e, scope);
        return std::move(problems_);
    }

private:
    using Scope = std::set<VarId>;

    template <class... Args>
    void check(bool ok, fmt::format_string<const Args&...> format, const Args&... args) {
        if (!ok) problems_.push_back(fmt::format(format, args...));
    }

    void names() {
        std::set<std::string> seen;
        for (const Stage& s : p_.stages) check(seen.insert(s.name).second, "two stages are named `{}`", s.name);
    }

    void size_expr(const Expr& e, const std::string& what) {
        check(e && e->type == Type::Int32, "{} is not Int32", what);
        if (!e || !scoped(e, {})) return;
        for_each_node(e,
                      [&](const Expr& n) { check(!as<Read>(n) && !as<ParamRef>(n), "{} uses more than sizes", what); });
    }

    void default_of_size(std::size_t i) {
        const Expr& e = p_.sizes[i].default_value;
        if (!e) return;
        size_expr(e, "the default of `" + p_.sizes[i].name + "`");
        for_each_node(e, [&](const Expr& n) {
            const auto* size = as<SizeRef>(n);
            if (size == nullptr) return;
            const auto index = static_cast<std::size_t>(size->index);
            check(index < i || parameter_of(p_, index), "the default of `{}` uses a later size", p_.sizes[i].name);
        });
    }

    void buffer(const Buffer& b) {
        for (const Expr& e : b.extents) size_expr(e, "an extent of `" + b.name + "`");
        std::vector<int> order = b.order;
        std::sort(order.begin(), order.end());
        bool permutation = order.size() == b.extents.size();
        for (std::size_t i = 0; permutation && i < order.size(); ++i) permutation = order[i] == static_cast<int>(i);
        check(permutation, "the memory order of `{}` is no permutation", b.name);
    }

    void output(std::size_t i) {
        const Output& o = p_.outputs[i];
        const bool exists = o.stage >= 0 && o.stage < static_cast<int>(p_.stages.size());
        check(exists, "output `{}` has no stage", o.buffer.name);
        if (!exists) return;
        const Stage& s = p_.stages[static_cast<std::size_t>(o.stage)];
        check(s.output == static_cast<int>(i), "stage `{}` does not know that it is an output", s.name);
        check(s.type == o.buffer.type && s.dims.size() == o.buffer.rank(), "output `{}` and its stage differ", s.name);
        for (const Dimension& d : s.dims) check(d.is_explicit(), "output `{}` has an inferred dimension", s.name);
    }

    void stage(const Stage& s) {
        Scope scope;
        for (const Dimension& d : s.dims) {
            check((d.lo == nullptr) == (d.hi == nullptr), "`{}` has half a range", s.name);
            if (d.is_explicit()) {
                size_expr(d.lo, "a range of `" + s.name + "`");
                size_expr(d.hi, "a range of `" + s.name + "`");
            }
            check(dims_.insert(d.var).second, "variable {} is bound twice", d.var);
            bind(d.var, Type::Int32, scope);
        }
        if (const auto* pure = std::get_if<Pure>(&s.definition)) {
            value(pure->value, s.type, scope, s.name);
            if (s.scan) scan(s, pure->value);
            return;
        }
        check(!s.scan, "accumulate `{}` is a scan", s.name);
        const auto& acc = std::get<Accumulate>(s.definition);
        for (const Dimension& d : s.dims) check(d.is_explicit(), "accumulate `{}` has an inferred dimension", s.name);
        value(acc.init, s.type, scope, s.name);
        for (const Update& u : acc.updates) {
            Scope inner;
            bind_ranges(u.domain, inner);
            if (u.guard) value(u.guard, Type::Bool, inner, s.name);
            check(u.indices.size() == s.dims.size(), "an update of `{}` has the wrong rank", s.name);
            for (const Expr& index : u.indices) value(index, Type::Int32, inner, s.name);
            check(u.op < ReduceOp::Any, "an update of `{}` has no such operator", s.name);
            value(u.value, s.type, inner, s.name);
        }
    }

    void scan(const Stage& s, const Expr& e) {
        const bool known = s.scan->dim >= 0 && s.scan->dim < static_cast<int>(s.dims.size());
        check(known && s.dims[static_cast<std::size_t>(s.scan->dim)].is_explicit(), "scan `{}` has no range", s.name);
        const std::optional<Scan> found = known ? find_scan(s, static_cast<int>(current_), e).scan : std::nullopt;
        check(found && found->dim == s.scan->dim && found->step == s.scan->step &&
                  found->distance == s.scan->distance && found->across == s.scan->across,
              "scan `{}` reads itself in another way than it says", s.name);
    }

    void value(const Expr& e, Type type, const Scope& scope, const std::string& where) {
        check(e && e->type == type, "an expression of `{}` has the wrong type", where);
        if (e) scoped(e, scope);
    }

    void bind(VarId var, Type type, Scope& scope) {
        const bool known = var >= 0 && var < static_cast<VarId>(p_.variables.size());
        check(known, "variable {} is not in the table", var);
        if (!known) return;
        check(p_.variables[static_cast<std::size_t>(var)].type == type, "variable {} is bound with another type", var);
        check(scope.insert(var).second, "variable {} is bound twice", var);
    }

    void bind_ranges(const std::vector<Range>& ranges, Scope& scope) {
        for (const Range& r : ranges) {
            value(r.lo, Type::Int32, scope, "a range");
            value(r.hi, Type::Int32, scope, "a range");
            bind(r.var, Type::Int32, scope);
        }
    }

    /// Checks `e` with these variables bound; false where an operand is missing. A node that is shared between scopes
    /// is checked in the scope where it is met first: binders are unique, so that the others are as good.
    bool scoped(const Expr& e, const Scope& scope) {
        const std::size_t before = missing_;
        std::set<const Node*> seen;
        walk(e, scope, seen);
        return missing_ == before;
    }

    void walk(const Expr& e, const Scope& scope, std::set<const Node*>& seen) {
        if (!seen.insert(e.get()).second) return;
        const std::vector<Expr> operands = children(e);
        if (std::find(operands.begin(), operands.end(), nullptr) != operands.end()) {
            problems_.emplace_back("an operand is missing");
            ++missing_;
            return;
        }
        if (const auto* let = as<Let>(e)) {
            walk(let->value, scope, seen);
            Scope inner = scope;
            bind(let->var, let->value->type, inner);
            walk(let->body, inner, seen);
            check(e->type == let->body->type, "a let differs from its body");
            return;
        }
        if (const auto* reduce = as<Reduce>(e)) {
            Scope inner = scope;
            bind_ranges(reduce->ranges, inner);
            walk(reduce->body, inner, seen);
            const bool logical = reduce->op == ReduceOp::Any || reduce->op == ReduceOp::All;
            check(logical == (reduce->body->type == Type::Bool), "`{}` on {}", name(reduce->op),
                  name(reduce->body->type));
            if (gives_place(reduce->op)) {
                check(e->type == Type::Int32, "a place that is no int32");
                check(reduce->place >= 0 && reduce->place < static_cast<int>(reduce->ranges.size()),
                      "a place in a variable that is not there");
                return;
            }
            check(e->type == reduce->body->type, "a reduction differs from its body");
            check(reduce->ranges.size() <= 1 || !depends_on_order(reduce->op, e->type),
                  "a reduction of floats over several variables");
            return;
        }
        node(e, scope);
        for (const Expr& child : operands) walk(child, scope, seen);
    }

    void node(const Expr& e, const Scope& scope) {
        std::visit(
            overloaded{
                [&](const IntConstant& n) {
                    check(!is_float(e->type), "an integer constant of type {}", name(e->type));
                    check(e->type == Type::Bool ? n.value == 0 || n.value == 1 : wrap_to(e->type, n.value) == n.value,
                          "the constant {} is no {}", n.value, name(e->type));
                },
                [&](const FloatConstant&) { check(is_float(e->type), "a float constant of type {}", name(e->type)); },
                [&](const Variable& n) {
                    check(scope.contains(n.id), "variable {} is used out of scope", n.id);
                    const bool known = n.id >= 0 && n.id < static_cast<VarId>(p_.variables.size());
                    check(known && p_.variables[static_cast<std::size_t>(n.id)].type == e->type,
                          "variable {} is used with another type", n.id);
                },
                [&](const ParamRef& n) {
                    const bool known = n.index >= 0 && n.index < static_cast<int>(p_.params.size());
                    check(known && p_.params[static_cast<std::size_t>(n.index)].type == e->type,
                          "parameter {} is used with another type", n.index);
                },
                [&](const Unary& n) { unary(e, n); },
                [&](const Binary& n) { binary(e, n); },
                [&](const Cast&) { check(e->type != Type::Bool, "a cast to bool"); },
                [&](const Select& n) {
                    check(n.cond && n.cond->type == Type::Bool, "a condition is not Bool");
                    check(n.then->type == e->type && (!n.otherwise || n.otherwise->type == e->type),
                          "the branches of a select differ");
                },
                [&](const Call& n) {
                    check(n.args.size() == static_cast<std::size_t>(arity(n.fn)), "`{}` has the wrong arity",
                          name(n.fn));
                    const bool of_ints =
                        is_of_halves(n.fn) ? e->type == Type::UInt32 : n.fn == Builtin::Abs && is_signed_int(e->type);
                    check(is_float(e->type) || n.fn == Builtin::IsNan || of_ints, "`{}` on integers", name(n.fn));
                    for (const Expr& a : n.args) {
                        check(n.fn == Builtin::IsNan ? is_float(a->type) : a->type == e->type,
                              "an argument of `{}` has the wrong type", name(n.fn));
                    }
                },
                [&](const Read& n) { read(e, n); },
                [&](const SizeRef& n) {
                    check(n.index >= 0 && n.index < static_cast<int>(p_.sizes.size()), "no size {}", n.index);
                    check(e->type == Type::Int32, "size {} is not Int32", n.index);
                },
                [](const auto&) {},
            },
            e->value);
    }

    void unary(const Expr& e, const Unary& n) {
        const Type operand = n.a->type;
        check(e->type == operand, "`{}` has the wrong type", name(n.op));
        const bool ok = n.op == UnaryOp::Not      ? operand == Type::Bool
                        : n.op == UnaryOp::BitNot ? is_int(operand)
                                                  : is_numeric(operand);
        check(ok, "`{}` on {}", name(n.op), name(operand));
    }

    void binary(const Expr& e, const Binary& n) {
        const Type operand = n.a->type;
        check(operand == n.b->type, "operands of `{}` differ", name(n.op));
        const Type result = is_comparison(n.op) || is_logical(n.op) ? Type::Bool : operand;
        check(e->type == result, "`{}` has the wrong type", name(n.op));
        const bool bool_allowed = is_logical(n.op) || n.op == BinaryOp::Eq || n.op == BinaryOp::Ne;
        check(operand != Type::Bool || bool_allowed, "`{}` on Bool", name(n.op));
        const bool integers_only = n.op == BinaryOp::Mod || (n.op >= BinaryOp::BitAnd && n.op <= BinaryOp::Shr);
        check(!integers_only || is_int(operand), "`{}` on floats", name(n.op));
    }

    void read(const Expr& e, const Read& n) {
        const auto index = static_cast<std::size_t>(n.source.index);
        std::string_view kind = "stage";
        std::size_t count = std::min(current_, p_.stages.size());
        if (current_ < p_.stages.size() && p_.stages[current_].scan) ++count;
        if (n.source.kind == Source::Kind::Input) kind = "input", count = p_.inputs.size();
        if (n.source.kind == Source::Kind::Local) kind = "local array", count = locals_.size();
        const bool exists = n.source.index >= 0 && index < count;
        check(exists, "a read of {} {} that does not stand before its reader", kind, n.source.index);
        if (!exists) return;
        LocalArray array;
        switch (n.source.kind) {
            case Source::Kind::Input: array = {p_.inputs[index].type, p_.inputs[index].rank()}; break;
            case Source::Kind::Stage: array = {p_.stages[index].type, p_.stages[index].dims.size()}; break;
            case Source::Kind::Local: array = locals_[index]; break;
        }
        check(n.indices.size() == array.rank, "a read has the wrong rank");
        check(e->type == array.type, "a read has the wrong type");
        for (const Expr& i : n.indices) check(i->type == Type::Int32, "an index is not Int32");
    }

    const Pipeline& p_;
    std::vector<LocalArray> locals_;
    std::size_t current_ = 0;
    std::size_t missing_ = 0;  ///< operands that are null
    Scope dims_;               ///< of all stages
    std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> verify(const Pipeline& pipeline) {
    return Verifier(pipeline).run();
}

std::vector<std::string> verify(const Pipeline& pipeline, const Expr& e, const std::set<VarId>& variables,
                                const std::vector<LocalArray>& locals) {
    return Verifier(pipeline, locals).run(e, variables);
}

}  // namespace pipec::ir
