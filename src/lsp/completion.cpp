// Completion: names that can stand at a place, with their signatures; keywords, types, functions of the language; names
// of the standard library with the import that they need; files in imports.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "frontend/stdlib.h"
#include "lsp/features.h"

namespace pipec::lsp {

namespace {

namespace fs = std::filesystem;

enum ItemKind {
    FunctionItem = 3,
    FieldItem = 5,
    VariableItem = 6,
    KeywordItem = 14,
    FileItem = 17,
    ConstantItem = 21,
    TypeItem = 25
};

constexpr std::array kKeywords{"import", "const",  "fn",     "pipeline", "accumulate", "where", "let",
                               "in",     "for",    "if",     "then",     "else",       "and",   "or",
                               "not",    "return", "true",   "false",    "order",      "sum",   "prod",
                               "any",    "all",    "argmin", "argmax",   "saturate"};
constexpr std::array kTypes{"bool",   "int8",   "int16",  "int32",   "int64",   "uint8",
                            "uint16", "uint32", "uint64", "float16", "float32", "float64"};

int item_kind(NameKind kind) {
    switch (kind) {
        case NameKind::Function: return FunctionItem;
        case NameKind::Const:
        case NameKind::Size: return ConstantItem;
        case NameKind::Stage:
        case NameKind::Array:
        case NameKind::Input:
        case NameKind::Output: return FieldItem;
        default: return VariableItem;
    }
}

class Completion {
public:
    Completion(const View& view, std::size_t offset) : view_(view), offset_(offset) {}

    Json names(const Analysis* last_good) && {
        add_names(view_.analysis);
        if (last_good != nullptr) add_names(*last_good);
        for (const std::string& name : builtin_function_names()) {
            const BuiltinFunction* f = builtin_function(name);
            if (f == nullptr) continue;
            add(name, FunctionItem, fmt::format("{}({})", name, f->arguments), std::string(f->meaning), '2');
        }
        for (const char* keyword : kKeywords) add(keyword, KeywordItem, "", "", '3');
        for (const char* type : kTypes) add(type, TypeItem, "", "", '3');
        for (const auto& [name, library] : library_names()) {
            if (imported(library.file)) continue;
            Json* item = add(name, library.function ? FunctionItem : ConstantItem, library.signature, library.doc, '4');
            if (item == nullptr) continue;
            (*item)["labelDetails"] = {{"description", library.file}};
            (*item)["additionalTextEdits"] = {import_edit(view_, library.file)};
        }
        return {{"isIncomplete", false}, {"items", std::move(items_)}};
    }

    /// The files that `import "` can go on with.
    Json files(const std::vector<std::string>& include_dirs) && {
        for (const std::string_view file : stdlib_names())
            add(std::string(file), FileItem, "standard library", "", '1');
        std::vector<fs::path> directories{fs::path(view_.analysis.sources.name(view_.analysis.main)).parent_path()};
        directories.insert(directories.end(), include_dirs.begin(), include_dirs.end());
        for (const fs::path& directory : directories) {
            std::error_code error;
            constexpr int kMost = 500;
            int count = 0;
            for (fs::directory_iterator at(directory, error), end; !error && at != end && count < kMost;
                 at.increment(error), ++count) {
                if (at->path().extension() == ".pipe") add(at->path().stem().string(), FileItem, "", "", '0');
            }
        }
        return {{"isIncomplete", false}, {"items", std::move(items_)}};
    }

private:
    /// Null where the name is among the items already.
    Json* add(const std::string& name, int kind, const std::string& detail, const std::string& doc, char order) {
        if (!taken_.insert(name).second) return nullptr;
        Json item = {
            {"label", valid_utf8(name)}, {"kind", kind}, {"sortText", std::string(1, order) + valid_utf8(name)}};
        if (!detail.empty()) item["detail"] = valid_utf8(detail);
        if (!doc.empty()) item["documentation"] = {{"kind", "markdown"}, {"value", valid_utf8(doc)}};
        items_.push_back(std::move(item));
        return &items_.back();
    }

    void add_names(const Analysis& analysis) {
        const auto imports = analysis.names.imports.find(analysis.main);
        for (const Declaration& d : analysis.names.declarations) {
            const bool here = d.range.file == analysis.main && d.scope.begin <= offset_ && offset_ <= d.scope.end;
            const bool from_import = d.of_file && imports != analysis.names.imports.end() &&
                                     std::ranges::find(imports->second, d.range.file) != imports->second.end();
            if (d.kind == NameKind::Pipeline || !(here || from_import)) continue;
            if (d.range.file == analysis.main && d.range.begin <= offset_ && offset_ <= d.range.end) continue;
            add(d.name, item_kind(d.kind), signature(analysis, d), d.doc, from_import ? '1' : '0');
        }
    }

    bool imported(const std::string& file) {
        const auto imports = view_.analysis.names.imports.find(view_.analysis.main);
        if (imports == view_.analysis.names.imports.end()) return false;
        return std::ranges::any_of(imports->second, [&](FileId id) {
            return view_.analysis.sources.name(id) == fmt::format("<stdlib>/{}.pipe", file);
        });
    }

    const View& view_;
    std::size_t offset_;
    std::set<std::string> taken_;
    Json items_ = Json::array();
};

}  // namespace

Json completion(const View& view, std::size_t offset, const Analysis* last_good,
                const std::vector<std::string>& include_dirs) {
    const std::string_view text = view.analysis.text();
    offset = std::min(offset, text.size());
    const std::size_t newline = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
    const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
    std::string_view line = text.substr(begin, offset - begin);
    const bool quoted = std::ranges::count(line, '"') % 2 == 1;
    const std::size_t comment = line.find("//");
    if (quoted) {
        while (line.starts_with(' ')) line.remove_prefix(1);
        if (line.starts_with("import")) return Completion(view, offset).files(include_dirs);
        return {{"isIncomplete", false}, {"items", Json::array()}};
    }
    if (comment != std::string_view::npos) return {{"isIncomplete", false}, {"items", Json::array()}};
    return Completion(view, offset).names(last_good);
}

}  // namespace pipec::lsp
