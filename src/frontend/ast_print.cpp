// The syntax tree as text: one line for a statement, indented by nesting, with its place; expressions in the language's
// own syntax, but with every operation in parentheses, so that precedence can be read off.
#include <fmt/format.h>

#include <iterator>

#include "frontend/ast.h"

namespace pipec::ast {

namespace {

template <class... Fs>
struct Overloaded : Fs... {
    using Fs::operator()...;
};

std::string text(const Expr& e);

std::string text(const std::vector<Expr>& list) {
    std::string out;
    for (const Expr& e : list) out += (out.empty() ? "" : ", ") + text(e);
    return out;
}

std::string text(const Range& range) {
    return fmt::format("{}{}{}", text(range.lo), range.inclusive ? "..=" : "..", text(range.hi));
}

std::string text(const std::vector<IndexRange>& ranges) {
    std::string out;
    for (const IndexRange& r : ranges) {
        out += fmt::format("{}{} in {}", out.empty() ? "" : ", ", r.name.text, text(r.range));
    }
    return out;
}

/// Shortest form that reads back as the same float, recognisable as one.
std::string text(double value) {
    std::string out = fmt::format("{}", value);
    if (out.find_first_not_of("0123456789") == std::string::npos) out += ".0";
    return out;
}

std::string text(const std::vector<LetBinding>& bindings) {
    std::string out;
    for (const LetBinding& b : bindings) {
        const bool first = b.element == 0, last = b.of == 0 || b.element + 1 == b.of;
        out += fmt::format("{}{}{}", out.empty() ? "" : ", ", b.of > 0 && first ? "[" : "", b.name.text);
        if (last) out += fmt::format("{} = {}", b.of > 0 ? "]" : "", text(b.value));
    }
    return out;
}

std::string text(const Expr& e) {
    return std::visit(
        Overloaded{
            [](const IntLiteral& v) { return fmt::format("{}", v.value); },
            [](const FloatLiteral& v) { return text(v.value); },
            [](const BoolLiteral& v) { return std::string(v.value ? "true" : "false"); },
            [](const NameRef& v) { return v.name; },
            [](const SpliceRef& v) { return ".." + v.name; },
            [](const TableLiteral& v) { return fmt::format("[{}]", text(v.elements)); },
            [](const Call& v) { return fmt::format("{}({})", text(v.callee), text(v.args)); },
            [](const Index& v) { return fmt::format("{}[{}]", text(v.base), text(v.index)); },
            [](const Cast& v) {
                return fmt::format(fmt::runtime(v.saturate ? "saturate<{}>({})" : "{}({})"), ir::name(v.type),
                                   text(v.operand));
            },
            [](const Unary& v) {
                const bool word = v.op == ir::UnaryOp::Not;
                return fmt::format("({}{}{})", ir::name(v.op), word ? " " : "", text(v.operand));
            },
            [](const Binary& v) { return fmt::format("({} {} {})", text(v.left), ir::name(v.op), text(v.right)); },
            [](const Comparison& v) {
                std::string out = text(v.operands.front());
                for (std::size_t i = 0; i < v.ops.size(); ++i) {
                    out += fmt::format(" {} {}", ir::name(v.ops[i]), text(v.operands[i + 1]));
                }
                return fmt::format("({})", out);
            },
            [](const If& v) {
                const std::string head = fmt::format("if {} then {}", text(v.cond), text(v.then));
                return v.otherwise ? fmt::format("({} else {})", head, text(v.otherwise)) : fmt::format("({})", head);
            },
            [](const Let& v) { return fmt::format("(let {} in {})", text(v.bindings), text(v.body)); },
            [](const Reduce& v) { return fmt::format("({}({}) {})", ir::name(v.op), text(v.ranges), text(v.body)); },
        },
        e->value);
}

class Printer {
public:
    explicit Printer(const SourceManager& sources) : sources_(sources) {}

    std::string print(const File& file) && {
        for (const Item& item : file.items) print(item);
        return std::move(out_);
    }

private:
    void line(SourceRange range, std::string_view content) {
        const LineColumn at = sources_.position(range.file, range.begin);
        fmt::format_to(std::back_inserter(out_), "{:<{}}{}  @{}:{}\n", "", 2 * indent_, content, at.line, at.column);
    }
    void note(std::string_view content) {
        fmt::format_to(std::back_inserter(out_), "{:<{}}{}\n", "", 2 * indent_, content);
    }
    template <class Body>
    void nested(const Body& body) {
        ++indent_;
        for (const auto& statement : body) print(statement);
        --indent_;
    }
    void doc(std::string_view text) {
        while (!text.empty()) {
            const std::size_t end = std::min(text.find('\n'), text.size());
            note(fmt::format("/// {}", text.substr(0, end)));
            text.remove_prefix(std::min(end + 1, text.size()));
        }
    }

    static std::string target(const Name& name, const std::vector<Expr>& indices) {
        std::string out = name.text;
        for (const Expr& index : indices) out += fmt::format("[{}]", text(index));
        return out;
    }
    static std::string dims(const std::vector<DimPattern>& patterns) {
        std::string out;
        for (const DimPattern& d : patterns) {
            if (!out.empty()) out += ", ";
            out += (d.splice ? ".." : "") + d.name.text;
            if (d.range) out += " in " + text(*d.range);
        }
        return fmt::format("({})", out);
    }
    static std::string extents(const Port& p) {
        std::string out;
        for (std::size_t i = 0; i < p.extents->size(); ++i) {
            out += (i == 0 ? "" : ", ") + text((*p.extents)[i]);
            if (const Expr& preset = p.extent_defaults.at(i)) out += " = " + text(preset);
        }
        return out;
    }
    static std::string port(const Port& p) {
        std::string out = fmt::format("{}: {}", p.name.text, ir::name(p.type));
        if (p.extents) out += fmt::format("[{}]", extents(p));
        if (p.order) out += fmt::format(" order({})", text(*p.order));
        if (p.default_value) out += fmt::format(" = {}", text(p.default_value));
        return out;
    }

    void print(const Item& item) {
        std::visit(
            Overloaded{
                [&](const Import& v) { line(item.range, fmt::format("import \"{}\"", v.path)); },
                [&](const Const& v) { line(item.range, fmt::format("const {} = {}", v.name.text, text(v.value))); },
                [&](const Fn& v) { function(v, item.range); },
                [&](const Pipeline& v) { pipeline(v); },
            },
            item.value);
    }
    void function(const Fn& v, SourceRange range) {
        doc(v.doc);
        std::string params;
        for (const FnParam& p : v.params) {
            params += (params.empty() ? "" : ", ") + p.name.text;
            if (p.default_value) params += " = " + text(p.default_value);
        }
        const std::string head = fmt::format("fn {}({})", v.name.text, params);
        if (const auto* value = std::get_if<Expr>(&v.body)) {
            line(range, fmt::format("{} = {}", head, text(*value)));
        } else {
            line(range, head);
            nested(std::get<Block>(v.body));
        }
    }
    void pipeline(const Pipeline& v) {
        doc(v.doc);
        line(v.range, fmt::format("pipeline {}", v.name.text));
        ++indent_;
        for (const Port& p : v.inputs) line(p.range, "input " + port(p));
        for (const Port& p : v.outputs) line(p.range, "output " + port(p));
        for (const Expr& e : v.where) line(e->range, "where " + text(e));
        --indent_;
        nested(v.body);
    }

    void print(const Statement& s) {
        std::visit(Overloaded{
                       [&](const Definition& v) {
                           std::string left = target(v.name, v.array_indices);
                           if (v.dims) left += dims(*v.dims);
                           if (v.type) left += fmt::format(": {}", ir::name(*v.type));
                           line(s.range, fmt::format("{} = {}", left, text(v.value)));
                       },
                       [&](const Accumulate& v) {
                           line(s.range, fmt::format("accumulate {}{}: {} = {}", target(v.name, v.array_indices),
                                                     dims(v.dims), ir::name(v.type), text(v.init)));
                           nested(v.body);
                       },
                       [&](const LetStatement& v) { line(s.range, fmt::format("let {}", text(v.bindings))); },
                       [&](const Const& v) { line(s.range, fmt::format("const {} = {}", v.name.text, text(v.value))); },
                       [&](const For& v) {
                           line(s.range, fmt::format("for {} in {}", v.index.name.text, text(v.index.range)));
                           nested(*v.body);
                       },
                       [&](const IfStatement& v) { choice(v, s.range); },
                       [&](const Return& v) { line(s.range, fmt::format("return {}", text(v.value))); },
                   },
                   s.value);
    }
    void print(const AccStatement& s) {
        std::visit(Overloaded{
                       [&](const AccUpdate& v) {
                           line(s.range, fmt::format("{}({}) {} {}", target(v.target, v.array_indices), text(v.args),
                                                     update(v.op), text(v.value)));
                       },
                       [&](const AccFor& v) {
                           line(s.range, fmt::format("for {}", text(v.ranges)));
                           nested(*v.body);
                       },
                       [&](const AccIf& v) { choice(v, s.range); },
                       [&](const AccLet& v) { line(s.range, fmt::format("let {}", text(v.bindings))); },
                   },
                   s.value);
    }
    template <class If>
    void choice(const If& v, SourceRange range) {
        line(range, fmt::format("if {}", text(v.cond)));
        nested(*v.then);
        if (!v.otherwise) return;
        note("else");
        nested(*v.otherwise);
    }
    static std::string_view update(ir::ReduceOp op) {
        switch (op) {
            case ir::ReduceOp::Prod: return "*=";
            case ir::ReduceOp::Min: return "min=";
            case ir::ReduceOp::Max: return "max=";
            default: return "+=";
        }
    }

    const SourceManager& sources_;
    std::string out_;
    int indent_ = 0;
};

}  // namespace

std::string to_string(const File& file, const SourceManager& sources) {
    return Printer(sources).print(file);
}

}  // namespace pipec::ast
