// The table of names (names.h): a walk over the syntax trees with the scopes and the look-up of elaboration. Which part
// of the syntax opens a scope is said here once more, without evaluating anything; names_test.cpp compares the table
// with what elaboration finds.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "frontend/elaborate_syntax.h"
#include "frontend/elaborator.h"
#include "frontend/names.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::elab {

using ir::overloaded;

class NameCollector {
public:
    NameCollector(const Program& program, const SourceManager& sources)
        : program_(program), sources_(sources), files_(program, sources), elaborator_(files_, ignored_) {}

    NameTable run() && {
        declare_file(program_.main);
        for (const Program::Imported& imported : program_.files) declare_file(imported.file);
        walk_file(program_.main);
        for (const Program::Imported& imported : program_.files) walk_file(imported.file);
        std::ranges::sort(table_.uses, {}, [](const NameUse& u) { return std::pair(u.range.file, u.range.begin); });
        const auto same = std::ranges::unique(table_.uses, {}, &NameUse::range);
        table_.uses.erase(same.begin(), same.end());
        for (const auto& [file, imports] : program_.resolved_imports) {
            for (const int i : imports) {
                if (i >= 0) table_.imports[file].push_back(program_.files[static_cast<std::size_t>(i)].file.id);
            }
        }
        return std::move(table_);
    }

private:
    // ---------------------------------------------------------------------------------------------- declarations
    int add(const ast::Name& name, NameKind kind, SourceRange whole, SourceRange scope, const Symbol* symbol) {
        const int index = static_cast<int>(table_.declarations.size());
        Declaration declaration;
        declaration.name = name.text;
        declaration.kind = kind;
        declaration.range = name.range;
        declaration.whole = whole;
        declaration.scope = scope;
        table_.declarations.push_back(std::move(declaration));
        if (symbol != nullptr) declared_.emplace(symbol, index);
        return index;
    }

    Symbol* declare(Scope* scope, const ast::Name& name, NameKind kind, SourceRange whole, SourceRange visible) {
        Symbol* symbol = elaborator_.declare(scope, name, Symbol::Kind::Value);
        add(name, kind, whole, visible, symbol);
        return symbol;
    }
    /// In a scope of its own.
    Scope* declare_inner(Scope* scope, const ast::Name& name, NameKind kind, SourceRange whole, SourceRange visible) {
        Scope* inner = files_.new_scope(Scope::Kind::Expression, scope);
        declare(inner, name, kind, whole, visible);
        return inner;
    }

    void declare_file(const ast::File& file) {
        const auto size = static_cast<std::uint32_t>(sources_.text(file.id).size());
        const SourceRange all{file.id, 0, size};
        Scope* scope = files_.scope_of(file.id);
        for (const ast::Item& item : file.items) {
            const auto known = [&](const ast::Name& name) -> const Symbol* {
                const auto found = scope->names.find(name.text);
                return found != scope->names.end() && found->second->range == name.range ? found->second : nullptr;
            };
            std::visit(overloaded{
                           [&](const ast::Fn& fn) {
                               const int i = add(fn.name, NameKind::Function, item.range, all, known(fn.name));
                               Declaration& made = table_.declarations[static_cast<std::size_t>(i)];
                               made.of_file = true;
                               made.doc = fn.doc;
                               for (const ast::FnParam& p : fn.params) {
                                   const bool preset = p.default_value != nullptr;
                                   made.arguments.push_back(
                                       p.name.text +
                                       (preset ? " = " + std::string(sources_.text(p.default_value->range)) : ""));
                               }
                           },
                           [&](const ast::Const& c) {
                               const int i = add(c.name, NameKind::Const, item.range, all, known(c.name));
                               table_.declarations[static_cast<std::size_t>(i)].of_file = true;
                           },
                           [&](const ast::Pipeline& p) {
                               const int i = add(p.name, NameKind::Pipeline, item.range, {}, nullptr);
                               table_.declarations[static_cast<std::size_t>(i)].doc = p.doc;
                           },
                           [](const ast::Import&) {},
                       },
                       item.value);
        }
    }

    // ---------------------------------------------------------------------------------------------- uses
    void use(const Symbol* symbol, SourceRange range, bool definition = false) {
        const auto found = declared_.find(symbol);
        if (found != declared_.end()) table_.uses.push_back({range, found->second, definition});
    }

    void use_name(const std::string& name, SourceRange range, const Scope* scope, bool definition = false) {
        if (const Symbol* symbol = elaborator_.find(scope, name, range)) use(symbol, range, definition);
    }

    void call(const ast::Call& call, Scope* scope) {
        if (const auto* name = std::get_if<ast::NameRef>(&call.callee->value)) {
            if (const Symbol* symbol = elaborator_.find(scope, name->name, call.callee->range, call.args.size())) {
                use(symbol, call.callee->range);
            }
        } else {
            expr(call.callee, scope);
        }
        for (const ast::Expr& arg : call.args) expr(arg, scope);
    }

    void expr(const ast::Expr& e, Scope* scope) {
        if (e == nullptr) return;
        if (const auto* name = std::get_if<ast::NameRef>(&e->value)) {
            use_name(name->name, e->range, scope);
        } else if (const auto* called = std::get_if<ast::Call>(&e->value)) {
            call(*called, scope);
        } else if (const auto* splice = std::get_if<ast::SpliceRef>(&e->value)) {
            const SourceRange range{e->range.file, e->range.end - static_cast<std::uint32_t>(splice->name.size()),
                                    e->range.end};
            use_name(splice_key(splice->name), range, scope);
        } else if (const auto* let = std::get_if<ast::Let>(&e->value)) {
            for (const ast::LetBinding& b : let->bindings) {
                if (b.element == 0) expr(b.value, scope);
                const SourceRange visible{e->range.file, b.value->range.end, e->range.end};
                scope = declare_inner(scope, b.name, NameKind::Let, join(b.name.range, b.value->range), visible);
            }
            expr(let->body, scope);
        } else if (const auto* reduce = std::get_if<ast::Reduce>(&e->value)) {
            for (const ast::IndexRange& r : reduce->ranges) scope = index_range(r, scope, e->range);
            expr(reduce->body, scope);
        } else {
            for (const ast::Expr& child : children(e)) expr(child, scope);
        }
    }

    /// The variable is seen in what follows of `around`.
    Scope* index_range(const ast::IndexRange& r, Scope* scope, SourceRange around) {
        expr(r.range.lo, scope);
        expr(r.range.hi, scope);
        const SourceRange visible{around.file, r.range.range.end, around.end};
        return declare_inner(scope, r.name, NameKind::Variable, join(r.name.range, r.range.range), visible);
    }

    static std::string splice_key(const std::string& name) { return ".." + name; }

    // ---------------------------------------------------------------------------------------------- items
    void walk_file(const ast::File& file) {
        Scope* scope = files_.scope_of(file.id);
        for (const ast::Item& item : file.items) {
            if (const auto* constant = std::get_if<ast::Const>(&item.value)) expr(constant->value, scope);
            if (const auto* fn = std::get_if<ast::Fn>(&item.value)) function(*fn, scope, item.range);
            // What stands in the pipelines of other files nobody uses.
            if (const auto* p = std::get_if<ast::Pipeline>(&item.value); p != nullptr && &file == &program_.main) {
                pipeline(*p);
            }
        }
    }

    void function(const ast::Fn& fn, Scope* file, SourceRange whole) {
        Scope* scope = files_.new_scope(Scope::Kind::Body, file);
        const SourceRange visible{whole.file, fn.name.range.end, whole.end};
        for (const ast::FnParam& p : fn.params) {
            expr(p.default_value, scope);
            declare(scope, p.name, NameKind::Argument, p.name.range, visible);
        }
        if (const auto* value = std::get_if<ast::Expr>(&fn.body)) {
            expr(*value, scope);
        } else {
            body_ = scope;
            outputs_ = nullptr;
            body(std::get<ast::Block>(fn.body), whole);
        }
    }

    void pipeline(const ast::Pipeline& p) {
        Elaborator elaborator(files_, ignored_);
        elaborator.body_ = body_ = files_.new_scope(Scope::Kind::Body, files_.main());
        Instance instance;
        body_->instance = &instance;
        elaborator.declare_ports(p);
        const auto ports = [&](const std::vector<ast::Port>& list, bool outputs) {
            for (const ast::Port& port : list) {
                const NameKind kind = !port.extents ? NameKind::Parameter
                                      : outputs     ? NameKind::Output
                                                    : NameKind::Input;
                const auto found = body_->names.find(port.name.text);
                const bool known = found != body_->names.end() && found->second->range == port.name.range;
                add(port.name, kind, port.range, p.range, known ? found->second : nullptr);
            }
        };
        ports(p.inputs, false);
        ports(p.outputs, true);
        for (const auto& [name, symbol] : body_->names) {
            if (symbol->kind != Symbol::Kind::Size) continue;
            add({name, symbol->range}, NameKind::Size, symbol->range, p.range, symbol);
        }
        const auto shapes = [&](const std::vector<ast::Port>& list) {
            for (const ast::Port& port : list) {
                for (const ast::Expr& e : port.extents.value_or(std::vector<ast::Expr>{})) size_use(e);
                for (const ast::Expr& e : port.extent_defaults) size_use(e);
                for (const ast::Expr& e : port.order.value_or(std::vector<ast::Expr>{})) expr(e, files_.main());
                expr(port.default_value, files_.main());
            }
        };
        shapes(p.inputs);
        shapes(p.outputs);
        for (const ast::Expr& e : p.where) size_use(e);
        outputs_ = &p.outputs;
        body(p.body, p.range);
        body_->instance = nullptr;
    }
    /// The first name of a size is its declaration.
    void size_use(const ast::Expr& e) {
        if (e == nullptr) return;
        const std::size_t before = table_.uses.size();
        expr(e, body_);
        std::erase_if(table_.uses, [&, i = std::size_t{0}](const NameUse& u) mutable {
            return i++ >= before && u.range == table_.declarations[static_cast<std::size_t>(u.declaration)].range;
        });
    }

    // ---------------------------------------------------------------------------------------------- blocks
    void body(const ast::Block& statements, SourceRange whole) {
        declare_arrays(statements, whole);
        block(statements, body_, whole);
    }

    /// An array is declared by its first element, wherever that stands, and seen in the whole body.
    void declare_arrays(const ast::Block& statements, SourceRange whole) {
        const auto element = [&](const ast::Name& name, const std::vector<ast::Expr>& indices, SourceRange range) {
            if (indices.empty() || body_->names.contains(name.text)) return;
            declare(body_, name, NameKind::Array, range, whole);
        };
        for (const ast::Statement& s : statements) {
            std::visit(overloaded{
                           [&](const ast::Definition& d) { element(d.name, d.array_indices, s.range); },
                           [&](const ast::Accumulate& a) { element(a.name, a.array_indices, s.range); },
                           [&](const ast::For& f) { declare_arrays(*f.body, whole); },
                           [&](const ast::IfStatement& i) {
                               if (i.then) declare_arrays(*i.then, whole);
                               if (i.otherwise) declare_arrays(*i.otherwise, whole);
                           },
                           [](const auto&) {},
                       },
                       s.value);
        }
    }

    void block(const ast::Block& statements, Scope* scope, SourceRange visible) {
        for (const ast::Statement& s : statements) {
            std::visit(overloaded{
                           [&](const ast::Const& c) { declare(scope, c.name, NameKind::Const, s.range, visible); },
                           [&](const ast::LetStatement& l) {
                               for (const ast::LetBinding& b : l.bindings) {
                                   declare(scope, b.name, NameKind::Let, s.range, visible);
                               }
                           },
                           [&](const ast::Definition& d) { stage(d.name, d.array_indices, scope, s.range, visible); },
                           [&](const ast::Accumulate& a) { stage(a.name, a.array_indices, scope, s.range, visible); },
                           [](const auto&) {},
                       },
                       s.value);
        }
        for (const ast::Statement& s : statements) statement(s, scope);
    }

    /// A stage without indices: a declaration, or the definition of an output.
    void stage(const ast::Name& name, const std::vector<ast::Expr>& indices, Scope* scope, SourceRange whole,
               SourceRange visible) {
        if (!indices.empty()) return;
        if (is_output(name.text)) {
            use_name(name.text, name.range, body_, true);
        } else {
            declare(scope, name, NameKind::Stage, whole, visible);
        }
    }
    [[nodiscard]] bool is_output(const std::string& name) const {
        return outputs_ != nullptr &&
               std::ranges::any_of(*outputs_, [&](const ast::Port& p) { return p.name.text == name; });
    }

    void statement(const ast::Statement& s, Scope* scope) {
        std::visit(overloaded{
                       [&](const ast::Const& c) { expr(c.value, scope); },
                       [&](const ast::LetStatement& l) {
                           for (const ast::LetBinding& b : l.bindings) {
                               if (b.element == 0) expr(b.value, scope);
                           }
                       },
                       [&](const ast::Return& r) { expr(r.value, scope); },
                       [&](const ast::For& f) {
                           expr(f.index.range.lo, scope);
                           expr(f.index.range.hi, scope);
                           Scope* inner = files_.new_scope(Scope::Kind::Block, scope);
                           declare(inner, f.index.name, NameKind::Variable,
                                   join(f.index.name.range, f.index.range.range), s.range);
                           block(*f.body, inner, s.range);
                       },
                       [&](const ast::IfStatement& i) {
                           expr(i.cond, scope);
                           for (const auto& branch : {i.then, i.otherwise}) {
                               if (branch) block(*branch, files_.new_scope(Scope::Kind::Block, scope), s.range);
                           }
                       },
                       [&](const ast::Definition& d) {
                           target(d.name, d.array_indices, scope);
                           static const std::vector<ast::DimPattern> kNone;
                           Scope* inner = dimensions(d.dims ? *d.dims : kNone, scope, s.range);
                           expr(d.value, inner);
                       },
                       [&](const ast::Accumulate& a) {
                           target(a.name, a.array_indices, scope);
                           const SourceRange head{s.range.file, s.range.begin, a.init->range.end};
                           Scope* inner = dimensions(a.dims, scope, head);
                           expr(a.init, inner);
                           updates(a.body, scope, s.range);
                       },
                   },
                   s.value);
    }

    void target(const ast::Name& name, const std::vector<ast::Expr>& indices, Scope* scope) {
        for (const ast::Expr& index : indices) expr(index, scope);
        if (indices.empty()) return;
        const auto found = body_->names.find(name.text);
        if (found != body_->names.end() && found->second->range != name.range) {
            use(found->second, name.range, true);
        }
    }

    Scope* dimensions(const std::vector<ast::DimPattern>& dims, Scope* scope, SourceRange whole) {
        Scope* inner = files_.new_scope(Scope::Kind::Expression, scope);
        for (const ast::DimPattern& dim : dims) {
            if (dim.range) {
                expr(dim.range->lo, inner);
                expr(dim.range->hi, inner);
            }
            const SourceRange around = dim.range ? join(dim.name.range, dim.range->range) : dim.name.range;
            if (dim.splice) {
                Symbol* symbol =
                    elaborator_.declare(inner, {splice_key(dim.name.text), dim.name.range}, Symbol::Kind::Value);
                add(dim.name, NameKind::Splice, around, whole, symbol);
            } else {
                declare(inner, dim.name, NameKind::Variable, around, whole);
            }
        }
        return inner;
    }

    void updates(const ast::AccBlock& statements, Scope* scope, SourceRange around) {
        for (const ast::AccStatement& s : statements) {
            std::visit(overloaded{
                           [&](const ast::AccUpdate& u) {
                               use_name(u.target.text, u.target.range, scope, true);
                               for (const ast::Expr& e : u.array_indices) expr(e, scope);
                               for (const ast::Expr& e : u.args) expr(e, scope);
                               expr(u.value, scope);
                           },
                           [&](const ast::AccFor& f) {
                               Scope* inner = scope;
                               for (const ast::IndexRange& r : f.ranges) inner = index_range(r, inner, s.range);
                               updates(*f.body, inner, s.range);
                           },
                           [&](const ast::AccIf& i) {
                               expr(i.cond, scope);
                               if (i.then) updates(*i.then, scope, s.range);
                               if (i.otherwise) updates(*i.otherwise, scope, s.range);
                           },
                           [&](const ast::AccLet& l) {
                               for (const ast::LetBinding& b : l.bindings) {
                                   if (b.element == 0) expr(b.value, scope);
                                   const SourceRange visible{around.file, s.range.end, around.end};
                                   scope = declare_inner(scope, b.name, NameKind::Let, s.range, visible);
                               }
                           },
                       },
                       s.value);
        }
    }

    const Program& program_;
    const SourceManager& sources_;
    Diagnostics ignored_;
    Files files_;
    Elaborator elaborator_;
    NameTable table_;
    std::unordered_map<const Symbol*, int> declared_;
    Scope* body_ = nullptr;                            ///< that is walked
    const std::vector<ast::Port>* outputs_ = nullptr;  ///< of the pipeline that is walked
};

void Elaborator::record_use(const std::string& name, SourceRange range, const Symbol& symbol) {
    // Some look-ups are about a name that stands elsewhere, for a message.
    if (files_.record == nullptr || !range.valid() || text(range) != name) return;
    files_.record->uses.emplace(std::pair(range.file, range.begin), std::pair(symbol.range.file, symbol.range.begin));
}

namespace {

/// A value in a few words; none where there is nothing to say.
std::string value_text(const Value& value) {
    return std::visit(overloaded{
                          [](const UntypedInt& i) { return to_string(i.value); },
                          [](const UntypedFloat& f) { return fmt::format("{}", f.value); },
                          [](const Scalar& s) {
                              const auto number = ir::as_int(s.expr);
                              const std::string type(ir::name(s.expr->type));
                              return number ? fmt::format("{}({})", type, *number) : type;
                          },
                          [&](const Table&) {
                              std::string shape;
                              const auto extents = table_shape(value);
                              for (const std::size_t n : extents.value_or(std::vector<std::size_t>{})) {
                                  shape += fmt::format("{}{}", shape.empty() ? "" : " x ", n);
                              }
                              return "table" + (shape.empty() ? "" : " of " + shape);
                          },
                          [](const Image& i) { return fmt::format("{} image of rank {}", ir::name(i.type), i.rank); },
                          [](const Array&) { return std::string("array of stages"); },
                          [](const Function&) { return std::string("function"); },
                          [](const Poison&) { return std::string(); },
                      },
                      value.v);
}

}  // namespace

void Elaborator::record_value(const Symbol& symbol) {
    if (files_.record == nullptr || !symbol.range.valid()) return;
    std::vector<std::string>& values = files_.record->values[{symbol.range.file, symbol.range.begin}];
    if (values.size() >= ElaborationRecord::kMostValues) return;
    std::string text = value_text(symbol.value);
    if (!text.empty() && std::ranges::find(values, text) == values.end()) values.push_back(std::move(text));
}

}  // namespace pipec::elab

namespace pipec {

NameTable collect_names(const Program& program, const SourceManager& sources) {
    return elab::NameCollector(program, sources).run();
}

const std::vector<std::string>& builtin_function_names() {
    return elab::Elaborator::builtin_names();
}

}  // namespace pipec
