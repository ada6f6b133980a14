// What was meant by a name that means nothing: names of other languages, of the standard library, and close ones.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>
#include <utility>

#include "frontend/elaborate_syntax.h"
#include "frontend/elaborator.h"
#include "frontend/foreign_names.h"
#include "frontend/parse.h"
#include "frontend/stdlib.h"
#include "ir/build.h"

namespace pipec::elab {

std::string example_indices(std::size_t rank) {
    std::string example;
    for (std::size_t i = 0; i < rank; ++i) {
        example += std::string(i > 0 ? ", " : "") +
                   (rank <= 3 ? std::string(1, "cyx"[i + (3 - rank)]) : fmt::format("i{}", i));
    }
    return example;
}

/// What a function's stages are defined over, or what they read: `..k, y, x` planes, or `c, ..k` points whose channels
/// come first.
enum class Works { Otherwise, OnPlanes, OnFirst };

/// Of a stage `m(..k)`, which combines points, as its reads tell.
static Works works(const ast::Expr& value, const std::string& splice) {
    const std::vector<const ast::Call*> reads = calls_with_splice(value, splice);
    if (reads.empty()) return Works::Otherwise;
    const std::vector<ast::Expr>& args = reads.front()->args;
    const auto is_splice = [](const ast::Expr& arg) { return std::holds_alternative<ast::SpliceRef>(arg->value); };
    if (args.size() == 3 && is_splice(args[0])) return Works::OnPlanes;
    return args.size() == 2 && is_splice(args[1]) ? Works::OnFirst : Works::Otherwise;
}

static Works works(const ast::Block& body) {
    for (const ast::Statement& statement : body) {
        const auto* definition = std::get_if<ast::Definition>(&statement.value);
        if (definition == nullptr || !definition->dims) continue;
        const std::vector<ast::DimPattern>& dims = *definition->dims;
        if (dims.size() == 3 && dims[0].splice) return Works::OnPlanes;
        if (dims.size() == 2 && dims[1].splice) return Works::OnFirst;
        if (dims.size() == 1 && dims[0].splice) return works(definition->value, dims[0].name.text);
    }
    return Works::Otherwise;
}

void Elaborator::note_interleaved(const ast::Fn& fn, const ast::Block& body, const Scope& scope) {
    constexpr Int128 kMostChannels = 4;
    if (!files_.is_standard_library(fn.name.range.file)) return;
    const Works how = works(body);
    if (how == Works::Otherwise) return;
    // The call that the user wrote, of a function that may have called others.
    const auto call = std::ranges::find_if(instance_->calls,
                                           [&](SourceRange range) { return !files_.is_standard_library(range.file); });
    if (call == instance_->calls.end()) return;
    const std::string& callee = instance_->callees[static_cast<std::size_t>(call - instance_->calls.begin())];
    for (const ast::FnParam& param : fn.params) {
        const auto symbol = scope.names.find(param.name.text);
        const auto* image = symbol == scope.names.end() ? nullptr : symbol->second->value.as<Image>();
        if (image == nullptr || image->rank < 3) continue;
        const Bounds bounds = bounds_of(*image);
        const auto extent = [&](std::size_t dim) -> std::optional<Int128> {
            const auto& [lo, hi] = bounds[dim];
            if (!lo || !ir::as_int(lo) || !ir::as_int(hi)) return std::nullopt;
            return Int128{*ir::as_int(hi)} - *ir::as_int(lo) + 1;
        };
        const auto channels = extent(image->rank - 1);
        if (!channels || *channels < 2 || *channels > kMostChannels || extent(image->rank - 2) || extent(0)) continue;
        const bool input = image->source.kind == ir::Source::Kind::Input;
        const std::string name =
            input ? p_.inputs[static_cast<std::size_t>(image->source.index)].name : stage_of(*image).name;
        Instance* const inside = std::exchange(instance_, nullptr);  // how the library goes on says nothing here
        Report r = report(diag::InterleavedImage, *call, callee,
                          how == Works::OnPlanes ? "rows and columns from the last two dimensions"
                                                 : "channels from the first dimension",
                          name, to_string(*channels));
        instance_ = inside;
        const auto& library = files_.library();
        const bool has_other = std::ranges::any_of(library, [&](const auto& file) {
            return std::ranges::find(file.second, callee + "_yxc") != file.second.end();
        });
        if (has_other) r.note(fmt::format("`{}_yxc` takes them from the two before the last", callee));
        r.note(
            fmt::format("`channels_first({})` is that image with the channels before rows and columns, "
                        "`channels_last` the way back (import \"layout\")",
                        name));
        if (input && image->rank == 3) {
            const ir::Buffer& buffer = p_.inputs[static_cast<std::size_t>(image->source.index)];
            r.note(buffer.range, fmt::format("or let the program count the channels first, with the same memory: "
                                             "`{}: {}[{}, ...] order(1, 2, 0)`",
                                             name, ir::name(buffer.type), to_string(*channels)));
        }
        return;
    }
}

bool Elaborator::foreign_name(Report& r, const Scope* scope, const std::string& name, SourceRange range) {
    const auto foreign = pipec::foreign_name(name);
    if (!foreign) return false;
    if (foreign->name.empty()) {
        r.note(foreign->note);
    } else if (foreign->import.empty() || find(scope, foreign->name, range) != nullptr) {
        r.suggest(range, foreign->name);
    } else {
        r.note(fmt::format("the standard library has `{}`: add import \"{}\"", foreign->name, foreign->import));
    }
    return true;
}

bool Elaborator::variable_elsewhere(const Scope* scope, const std::string& name) const {
    for (; scope != nullptr && scope->instance == nullptr; scope = scope->parent) {
    }
    if (scope == nullptr) return false;
    // Statements are declared in the order of the text: what follows an `if` is not there yet.
    if (name == "x" || name == "y") return true;
    return std::ranges::any_of(scope->instance->definitions, [&](const Symbol* symbol) {
        return symbol->stage != nullptr && symbol->stage->dims &&
               std::ranges::any_of(*symbol->stage->dims,
                                   [&](const ast::DimPattern& dim) { return dim.name.text == name; });
    });
}

void Elaborator::unknown_name(const Scope* scope, const std::string& name, SourceRange range) {
    // In a loop or a function the same place is met many times; what was meant is looked for once.
    const bool known = files_.reported.contains(place_of(diag::UnknownName, range));
    const bool variable = !outside_points_.advice.empty() && variable_elsewhere(scope, name);
    if (variable && !known && std::exchange(outside_points_.told, true)) return;  // of `img(y, x)`, `y` says it all
    Report r = report(diag::UnknownName, range, name);
    if (known) return;
    std::vector<std::string> candidates;
    for (const Scope* s = scope; s != nullptr; s = s->parent) {
        for (const auto& [candidate, symbol] : s->names) candidates.push_back(candidate);
        if (s->kind != Scope::Kind::File) continue;
        for (const Scope* imported : s->imports) {
            for (const auto& [candidate, symbol] : imported->names) candidates.push_back(candidate);
        }
    }
    for (const std::string& builtin : builtin_names()) candidates.push_back(builtin);
    if (variable) {
        r.note(std::string(outside_points_.advice));
        return;
    }
    const auto& library = files_.library();
    const auto in_library = std::ranges::find_if(
        library, [&](const auto& file) { return std::ranges::find(file.second, name) != file.second.end(); });
    if (in_library != library.end()) {
        r.note("the standard library has `" + name + "`: add import \"" + in_library->first + "\"");
    } else if (foreign_name(r, scope, name, range)) {
        return;
    } else if (const auto type = foreign_type(name)) {
        r.suggest(range, std::string(ir::name(*type)));
    } else if (const auto close = closest_name(name, candidates)) {
        r.suggest(range, *close);
        if (const Symbol* meant = find(scope, *close, range)) r.note(meant->range, "`" + *close + "` is defined here");
    } else {
        for (const auto& [file, names] : library) {
            const auto library_name = closest_name(name, names);
            if (!library_name) continue;
            r.note("did you mean the standard library's `" + *library_name + "`? add import \"" + file + "\"");
            return;
        }
        list_names(r, name, range);
    }
}

/// What there is: sizes for what looks like one, images for what is called.
void Elaborator::list_names(Report& r, const std::string& name, SourceRange range) const {
    const auto list = [](const auto& of) {
        std::string text;
        for (const auto& one : of) text += fmt::format("{}`{}`", text.empty() ? "" : ", ", one.name);
        return text;
    };
    const std::string sizes = list(p_.sizes);
    const bool upper = std::ranges::all_of(name, [](unsigned char c) { return std::isupper(c) != 0 || c == '_'; });
    static const std::set<std::string_view> kWords = {"height", "width", "rows", "cols", "columns", "nrows", "ncols"};
    const std::string_view after = std::string_view(files_.sources.text(range.file)).substr(range.end);
    if ((upper || kWords.contains(name)) && !sizes.empty()) {
        r.note("the sizes of this pipeline are " + sizes);
    } else if (after.starts_with("(") && !p_.inputs.empty()) {
        r.note(fmt::format("the input{} of this pipeline {} {}", p_.inputs.size() == 1 ? "" : "s",
                           p_.inputs.size() == 1 ? "is" : "are", list(p_.inputs)));
    }
}

}  // namespace pipec::elab
