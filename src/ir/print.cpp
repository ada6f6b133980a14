#include "ir/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <unordered_map>
#include <utility>

#include "ir/build.h"
#include "ir/tree_size.h"
#include "ir/visit.h"

namespace pipec::ir {

namespace {

/// Binding strength, loosest first; the order of docs/language.md. A reduction takes the products to its right into
/// its body, so it binds looser than `*`.
enum Level { kOpen, kOr, kAnd, kNot, kCompare, kBitOr, kBitXor, kBitAnd, kShift, kAdd, kReduce, kMul, kUnary, kAtom };

Level level(BinaryOp op) {
    switch (op) {
        case BinaryOp::Or: return kOr;
        case BinaryOp::And: return kAnd;
        case BinaryOp::BitOr: return kBitOr;
        case BinaryOp::BitXor: return kBitXor;
        case BinaryOp::BitAnd: return kBitAnd;
        case BinaryOp::Shl:
        case BinaryOp::Shr: return kShift;
        case BinaryOp::Add:
        case BinaryOp::Sub: return kAdd;
        case BinaryOp::Mul:
        case BinaryOp::Div:
        case BinaryOp::Mod: return kMul;
        case BinaryOp::Min:
        case BinaryOp::Max: return kAtom;
        default: return kCompare;
    }
}

std::string float_text(Type type, double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    std::string text = type == Type::Float64 ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
}

/// Numbers for the operators that an expression shares, where it would be long with all of them written out: its first
/// place reads `{1: a * a}`, the others `{1}`.
class Sharing {
public:
    /// Forgets what was numbered before; nothing is numbered in an expression of up to kMost nodes.
    void start(const Expr& root) {
        numbers_.clear();
        count_ = 0;
        if (tree_size(root, kMost + 1) <= kMost) return;
        std::unordered_map<const Node*, int> users;
        for_each_node(root,
                      [&](const Expr& e) { for_each_child(*e, [&](const Expr& child) { ++users[child.get()]; }); });
        for_each_node(root, [&](const Expr& e) {
            if (users[e.get()] > 1 && !children(e).empty()) numbers_.emplace(e.get(), 0);
        });
    }

    /// 0 where `e` has no number; negative where it was printed before.
    int number(const Expr& e) {
        const auto found = numbers_.find(e.get());
        if (found == numbers_.end()) return 0;
        if (found->second != 0) return -found->second;
        return found->second = ++count_;
    }

private:
    static constexpr std::size_t kMost = 1000;

    std::unordered_map<const Node*, int> numbers_;
    int count_ = 0;
};

class Printer {
public:
    explicit Printer(const Pipeline& pipeline, const std::vector<std::string>& locals = {})
        : pipeline_(pipeline), locals_(locals) {}

    /// The text of `e`, in parentheses if it binds looser than `needed`.
    std::string print(const Expr& e, int needed = kOpen) const {
        const bool root = !std::exchange(inside_, true);
        if (root) sharing_.start(e);
        const int number = sharing_.number(e);
        if (number < 0) return fmt::format("{{{}}}", -number);
        auto [text, own] = std::visit([&](const auto& n) { return node(*e, n); }, e->value);
        if (root) inside_ = false;
        if (number > 0) return fmt::format("{{{}: {}}}", number, text);
        return own < needed ? "(" + text + ")" : text;
    }

    std::string list(const std::vector<Expr>& exprs) const {
        std::string result;
        for (const Expr& e : exprs) result += (result.empty() ? "" : ", ") + print(e);
        return result;
    }

    std::string ranges(const std::vector<Range>& ranges) const {
        std::string result;
        for (const Range& r : ranges) {
            const std::string lo = print(r.lo, kAdd);
            result += fmt::format("{}{} in {}..{}", result.empty() ? "" : ", ", variable(r.var), lo, print(r.hi, kAdd));
        }
        return result;
    }

    std::string variable(VarId id) const { return pipeline_.variables.at(static_cast<std::size_t>(id)).name; }

private:
    using Text = std::pair<std::string, int>;

    static Text node(const Node& e, const IntConstant& n) {
        if (e.type == Type::Bool) return {n.value != 0 ? "true" : "false", kAtom};
        const std::string digits = e.type == Type::UInt64 ? fmt::format("{}", static_cast<std::uint64_t>(n.value))
                                                          : fmt::format("{}", n.value);
        if (e.type != Type::Int32) return {fmt::format("{}({})", name(e.type), digits), kAtom};
        return {digits, n.value < 0 ? kUnary : kAtom};
    }
    static Text node(const Node& e, const FloatConstant& n) {
        const std::string digits = float_text(e.type, n.value);
        if (e.type != Type::Float32) return {fmt::format("{}({})", name(e.type), digits), kAtom};
        return {digits, std::signbit(n.value) ? kUnary : kAtom};
    }
    Text node(const Node&, const Variable& n) const { return {variable(n.id), kAtom}; }
    Text node(const Node&, const SizeRef& n) const {
        return {pipeline_.sizes.at(static_cast<std::size_t>(n.index)).name, kAtom};
    }
    Text node(const Node&, const ParamRef& n) const {
        return {pipeline_.params.at(static_cast<std::size_t>(n.index)).name, kAtom};
    }
    Text node(const Node&, const Unary& n) const {
        if (n.op == UnaryOp::Not) return {"not " + print(n.a, kNot), kNot};
        return {std::string(name(n.op)) + print(n.a, kAtom), kUnary};
    }
    Text node(const Node&, const Binary& n) const {
        if (n.op == BinaryOp::Min || n.op == BinaryOp::Max) {
            return {fmt::format("{}({})", name(n.op), list({n.a, n.b})), kAtom};
        }
        const Level own = level(n.op);
        // Left-associative; comparisons chain, so an operand that is one needs parentheses on either side.
        const int left = own == kCompare ? own + 1 : own;
        const std::string a = print(n.a, left);  // first: what both share is written out here
        return {fmt::format("{} {} {}", a, name(n.op), print(n.b, own + 1)), own};
    }
    Text node(const Node& e, const Cast& n) const {
        const std::string to = n.saturate ? fmt::format("saturate<{}>", name(e.type)) : std::string(name(e.type));
        return {fmt::format("{}({})", to, print(n.a)), kAtom};
    }
    Text node(const Node&, const Call& n) const { return {fmt::format("{}({})", name(n.fn), list(n.args)), kAtom}; }
    Text node(const Node&, const Select& n) const {
        // An `if` without else inside `then` would take this else.
        const bool open = n.otherwise && (as<Select>(n.then) != nullptr || as<Let>(n.then) != nullptr);
        std::string text = "if " + print(n.cond);
        text += " then " + print(n.then, open ? kOpen + 1 : kOpen);
        if (n.otherwise) text += " else " + print(n.otherwise);
        return {text, kOpen};
    }
    Text node(const Node&, const Read& n) const {
        return {fmt::format("{}({})", source(n.source), list(n.indices)), kAtom};
    }
    Text node(const Node&, const Let& n) const {
        const std::string value = print(n.value);
        return {fmt::format("let {} = {} in {}", variable(n.var), value, print(n.body)), kOpen};
    }
    Text node(const Node&, const Reduce& n) const {
        const std::string over = ranges(n.ranges);
        const std::string text = fmt::format("{}({}) {}", name(n.op), over, print(n.body, kMul));
        if (!gives_place(n.op) || n.ranges.size() < 2) return {text, kReduce};
        return {fmt::format("({})[{}]", text, n.place), kAtom};
    }

    [[nodiscard]] const std::string& source(Source source) const {
        const auto index = static_cast<std::size_t>(source.index);
        if (source.kind == Source::Kind::Input) return pipeline_.inputs.at(index).name;
        if (source.kind == Source::Kind::Local) return locals_.at(index);
        return pipeline_.stages.at(index).name;
    }

    const Pipeline& pipeline_;
    std::vector<std::string> locals_;
    mutable Sharing sharing_;      ///< of the expression being printed
    mutable bool inside_ = false;  ///< of it
};

std::string buffer_text(const Pipeline& pipeline, const Buffer& b) {
    std::string text = fmt::format("{}: {}[{}]", b.name, name(b.type), extents_text(pipeline, b));
    bool row_major = true;
    for (std::size_t i = 0; i < b.order.size(); ++i) row_major = row_major && b.order[i] == static_cast<int>(i);
    if (!row_major) text += fmt::format(" order({})", fmt::join(b.order, ", "));
    return text;
}

std::string update_text(const Printer& printer, const Stage& stage, const Update& u) {
    const std::string_view op = u.op == ReduceOp::Sum    ? "+="
                                : u.op == ReduceOp::Prod ? "*="
                                : u.op == ReduceOp::Min  ? "min="
                                                         : "max=";
    std::string text = fmt::format("{}({}) {} {}", stage.name, printer.list(u.indices), op, printer.print(u.value));
    if (u.guard) text = fmt::format("if {} {{ {} }}", printer.print(u.guard), text);
    if (!u.domain.empty()) text = fmt::format("for {} {{ {} }}", printer.ranges(u.domain), text);
    return "    " + text + "\n";
}

std::string stage_text(const Printer& printer, const Stage& stage) {
    std::string dims;
    for (const Dimension& d : stage.dims) {
        dims += (dims.empty() ? "" : ", ") + printer.variable(d.var);
        if (d.is_explicit()) dims += fmt::format(" in {}..{}", printer.print(d.lo, kAdd), printer.print(d.hi, kAdd));
    }
    const auto* acc = std::get_if<Accumulate>(&stage.definition);
    std::string text =
        fmt::format("  {}{}({}): {} = {}", acc != nullptr ? "accumulate " : "", stage.name, dims, name(stage.type),
                    printer.print(acc ? acc->init : std::get<Pure>(stage.definition).value));
    if (acc == nullptr) return text + "\n";
    text += " {\n";
    for (const Update& u : acc->updates) text += update_text(printer, stage, u);
    return text + "  }\n";
}

}  // namespace

std::string to_string(const Pipeline& pipeline, const Expr& e) {
    return Printer(pipeline).print(e);
}

std::string to_string(const Pipeline& pipeline, const Expr& e, const std::vector<std::string>& locals) {
    return Printer(pipeline, locals).print(e);
}

/// The first extent of an output that is the size; null where there is none.
static const Expr* first_extent(const Pipeline& pipeline, int size) {
    for (const Output& output : pipeline.outputs) {
        for (const Expr& extent : output.buffer.extents) {
            const auto* ref = as<SizeRef>(extent);
            if (ref != nullptr && ref->index == size) return &extent;
        }
    }
    return nullptr;
}

std::string extents_text(const Pipeline& pipeline, const Buffer& buffer) {
    std::string text;
    for (const Expr& extent : buffer.extents) {
        text += (text.empty() ? "" : ", ") + to_string(pipeline, extent);
        const auto* size = as<SizeRef>(extent);
        if (size == nullptr || first_extent(pipeline, size->index) != &extent) continue;
        const Expr& preset = pipeline.sizes.at(static_cast<std::size_t>(size->index)).default_value;
        if (preset) text += " = " + to_string(pipeline, preset);
    }
    return text;
}

std::string to_string(const Pipeline& pipeline) {
    const Printer printer(pipeline);
    std::string ports;
    const auto add = [&](const std::string& port) { ports += (ports.empty() ? "" : ", ") + port; };
    for (const Buffer& b : pipeline.inputs) add(buffer_text(pipeline, b));
    for (const ScalarParameter& p : pipeline.params) {
        add(fmt::format("{}: {}", p.name, name(p.type)) +
            (p.default_value ? " = " + printer.print(p.default_value) : ""));
    }
    std::string text = fmt::format("pipeline {}({}) -> ", pipeline.name, ports);
    ports.clear();
    for (const Output& o : pipeline.outputs) add(buffer_text(pipeline, o.buffer));
    text += ports;
    if (!pipeline.where.empty()) text += " where " + printer.list(pipeline.where);
    text += " {\n";
    for (const Stage& stage : pipeline.stages) text += stage_text(printer, stage);
    return text + "}\n";
}

}  // namespace pipec::ir
