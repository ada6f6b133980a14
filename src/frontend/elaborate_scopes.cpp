// Scopes and look-up: what a name means where it stands.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "frontend/elaborator.h"
#include "frontend/parse.h"
#include "frontend/stdlib.h"

namespace pipec::elab {

Files::Files(const Program& p, const SourceManager& s) : program(p), sources(s) {
    const auto make = [&](const ast::File& file) {
        Scope* scope = new_scope(Scope::Kind::File, nullptr);
        scope->file = &file;
        scopes_[file.id] = scope;
        for (const ast::Item& item : file.items) {
            if (const auto* fn = std::get_if<ast::Fn>(&item.value)) {
                Symbol* symbol = new_symbol(fn->name.text, fn->name.range, Symbol::Kind::Function);
                symbol->value = {Function{fn, scope}};
                scope->names.emplace(fn->name.text, symbol);
            } else if (const auto* constant = std::get_if<ast::Const>(&item.value)) {
                Symbol* symbol = new_symbol(constant->name.text, constant->name.range, Symbol::Kind::Const);
                symbol->expr = &constant->value;
                symbol->scope = scope;
                symbol->state = Symbol::State::Unvisited;
                scope->names.emplace(constant->name.text, symbol);
            }
        }
    };
    make(p.main);
    for (const Program::Imported& imported : p.files) make(imported.file);
    for (const auto& [file, imports] : p.resolved_imports) {
        const auto scope = scopes_.find(file);
        if (scope == scopes_.end()) continue;
        for (const int index : imports) {
            if (index < 0) continue;
            Scope* imported = scopes_.at(p.files[static_cast<std::size_t>(index)].file.id);
            if (std::ranges::find(scope->second->imports, imported) == scope->second->imports.end()) {
                scope->second->imports.push_back(imported);
            }
        }
    }
    main_ = scopes_.at(p.main.id);
}

Scope* Files::scope_of(FileId file) const {
    return scopes_.at(file);
}

Scope* Files::new_scope(Scope::Kind kind, Scope* parent) {
    Scope& scope = scope_storage_.emplace_back();
    scope.kind = kind;
    scope.parent = parent;
    if (parent != nullptr) scope.instance = parent->instance;
    return &scope;
}

Symbol* Files::new_symbol(std::string name, SourceRange range, Symbol::Kind kind) {
    Symbol& symbol = symbol_storage_.emplace_back();
    symbol.name = std::move(name);
    symbol.range = range;
    symbol.kind = kind;
    return &symbol;
}

bool Files::is_standard_library(FileId file) const {
    return std::ranges::any_of(program.files, [&](const Program::Imported& f) {
        return f.file.id == file && f.resolved.starts_with("<stdlib>");
    });
}

SourceRange Elaborator::told_of(SourceRange range) const {
    if (instance_ == nullptr || !range.valid() || !files_.is_standard_library(range.file)) return range;
    const auto call =
        std::ranges::find_if(instance_->calls, [&](SourceRange at) { return !files_.is_standard_library(at.file); });
    return call == instance_->calls.end() ? range : *call;
}

Elaborator::Report::~Report() {
    if (instance_ == nullptr) return;
    constexpr int kMostCalls = 4;
    int listed = 0;
    for (std::size_t i = 0; i < instance_->calls.size() && listed < kMostCalls; ++i) {
        if (i > 0 && instance_->calls[i] == instance_->calls[i - 1]) continue;  // recursion
        if (instance_->calls[i] == told_) continue;
        ++listed;
        builder_.note(instance_->calls[i], "in `" + instance_->callees[i] + "`, called here");
    }
}

void Elaborator::check_file(Scope* file) {
    std::map<std::string, SourceRange> seen;
    for (const ast::Item& item : file->file->items) {
        const ast::Name* name = nullptr;
        if (const auto* fn = std::get_if<ast::Fn>(&item.value)) name = &fn->name;
        if (const auto* constant = std::get_if<ast::Const>(&item.value)) name = &constant->name;
        if (const auto* pipeline = std::get_if<ast::Pipeline>(&item.value)) name = &pipeline->name;
        if (name == nullptr) continue;
        const auto [first, inserted] = seen.emplace(name->text, name->range);
        if (inserted) continue;
        report(diag::DuplicateDefinition, name->range, name->text).note(first->second, "first defined here");
    }
    for (const auto& [name, symbol] : file->names) {
        if (symbol->kind == Symbol::Kind::Const) demand(symbol, symbol->range);
    }
}

Symbol* Elaborator::declare(Scope* scope, const ast::Name& name, Symbol::Kind kind) {
    if (const auto found = scope->names.find(name.text); found != scope->names.end()) {
        Report r = report(diag::DuplicateDefinition, name.range, name.text);
        r.note(found->second->range, "first defined here");
        if (kind == Symbol::Kind::Stage && found->second->kind == Symbol::Kind::Stage) {
            r.note(
                "a stage is defined once: its parts are `if c then a else b`, and what is made of it has another name");
        }
        if (kind == Symbol::Kind::Let && found->second->output >= 0) {
            r.note(fmt::format("`let` names values; an output is defined without it: `{} = ...`", name.text));
            outputs_in_lets_.insert(found->second);
        }
        if (kind == Symbol::Kind::Const && found->second->kind == Symbol::Kind::Size) {
            r.note("a new name in an extent is a size; a constant that extents use stands before the pipeline");
        }
        return nullptr;
    }
    check_hiding(scope->parent, name);
    Symbol* symbol = files_.new_symbol(name.text, name.range, kind);
    symbol->scope = scope;
    symbol->instance = scope->instance;
    scope->names.emplace(name.text, symbol);
    return symbol;
}

void Elaborator::check_hiding(const Scope* scope, const ast::Name& name) {
    for (; scope != nullptr && scope->kind != Scope::Kind::File; scope = scope->parent) {
        const auto found = scope->names.find(name.text);
        if (found == scope->names.end()) continue;
        // A `let x` hides from each stage with an `x`, and is one mistake.
        const bool variable = found->second->kind == Symbol::Kind::Value;
        if (!variable && !hidden_.insert(found->second).second) return;
        Report r = report(diag::HiddenName, name.range, name.text);
        r.note(found->second->range, "the outer one is here");
        const std::string_view after = std::string_view(files_.sources.text(name.range.file)).substr(name.range.end);
        if (variable && after.starts_with(" in ")) {
            r.note("a value of all points is a stage without dimensions: `m() = max(y in 0..R, x in 0..C) img(y, x)`");
        }
        return;
    }
}

Symbol* Elaborator::bind(Scope* scope, const ast::Name& name, Value value) {
    Symbol* symbol = declare(scope, name, Symbol::Kind::Value);
    if (symbol == nullptr) return nullptr;
    symbol->value = std::move(value);
    record_value(*symbol);
    return symbol;
}

Symbol* Elaborator::find(const Scope* scope, const std::string& name, SourceRange range,
                         std::optional<std::size_t> arguments) {
    Symbol* symbol = look_up(scope, name, range, arguments);
    if (symbol != nullptr) record_use(name, range, *symbol);
    return symbol;
}

/// A function that can be called with so many arguments.
static bool takes(const Symbol& symbol, std::size_t arguments) {
    const auto* function = symbol.value.as<Function>();
    if (function == nullptr) return false;
    const auto& params = function->fn->params;
    const auto required = std::ranges::count(params, nullptr, &ast::FnParam::default_value);
    return static_cast<std::size_t>(required) <= arguments && arguments <= params.size();
}

Symbol* Elaborator::look_up(const Scope* scope, const std::string& name, SourceRange range,
                            std::optional<std::size_t> arguments) {
    for (; scope != nullptr; scope = scope->parent) {
        if (const auto found = scope->names.find(name); found != scope->names.end()) return found->second;
        if (scope->kind != Scope::Kind::File) continue;
        std::vector<Symbol*> imported;
        for (const Scope* file : scope->imports) {
            if (const auto found = file->names.find(name); found != file->names.end())
                imported.push_back(found->second);
        }
        if (imported.size() > 1 && arguments) {
            const auto fits = [&](const Symbol* symbol) { return takes(*symbol, *arguments); };
            if (std::ranges::count_if(imported, fits) == 1) return *std::ranges::find_if(imported, fits);
        }
        if (imported.size() > 1) {
            report(diag::AmbiguousName, range, name)
                .note(imported[0]->range, "one of them")
                .note(imported[1]->range, "the other");
        }
        if (!imported.empty()) return imported.front();
    }
    return nullptr;
}

const std::vector<std::pair<std::string, std::vector<std::string>>>& Files::library() {
    if (!library_.empty()) return library_;
    for (const std::string_view file : stdlib_names()) {
        SourceManager library_sources;
        Diagnostics ignored;
        const FileId id = library_sources.add(std::string(file), std::string(*stdlib_file(std::string(file))));
        std::vector<std::string> names;
        for (const ast::Item& item : parse(library_sources, id, ignored).items) {
            if (const auto* fn = std::get_if<ast::Fn>(&item.value)) names.push_back(fn->name.text);
            if (const auto* constant = std::get_if<ast::Const>(&item.value)) names.push_back(constant->name.text);
        }
        library_.emplace_back(file, std::move(names));
    }
    return library_;
}

}  // namespace pipec::elab
