// Finding and parsing what a file imports, and what that imports in turn. See elaborate.h.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "frontend/diagnostics.h"
#include "frontend/elaborate.h"
#include "frontend/parse.h"
#include "frontend/stdlib.h"

namespace pipec {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStdlibPrefix = "<stdlib>/";
constexpr std::string_view kExtension = ".pipe";

/// A text that an import may mean.
struct Found {
    std::string name;  ///< for diagnostics; <stdlib>/NAME.pipe in the standard library
    std::string key;   ///< the same for every way to name the same file
    std::string text;
    bool on_disk;
};

/// One string for all spellings of a path.
std::string key_of(const fs::path& path) {
    std::error_code error;
    const fs::path canonical = fs::weakly_canonical(path, error);
    return error ? path.lexically_normal().string() : canonical.string();
}

/// The file's bytes, or why there are none.
std::optional<std::string> read(const fs::path& path, std::string& reason) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
        reason = "it is a directory";
        return std::nullopt;
    }
    errno = 0;
    std::ifstream stream(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(stream), {}};
    if (!stream.is_open() || stream.bad()) {
        reason = std::error_code(errno, std::generic_category()).message();
        return std::nullopt;
    }
    return text;
}

class Loader {
public:
    Loader(SourceManager& sources, const ImportOptions& options, Diagnostics& diags)
        : sources_(sources), options_(options), diags_(diags) {}

    Program load(FileId main) && {
        program_.main = parse(sources_, main, diags_);
        open_.push_back({key_of(fs::path(sources_.name(main))), main});
        resolve_imports(ast::File(program_.main));
        return std::move(program_);
    }

private:
    /// A file whose imports are being resolved.
    struct Open {
        std::string key;
        FileId file;
    };

    /// By value: the files of the program move as more are added.
    void resolve_imports(ast::File file) {
        std::vector<int> resolved;
        for (const ast::Item& item : file.items) {
            if (const auto* import = std::get_if<ast::Import>(&item.value))
                resolved.push_back(resolve(file.id, *import));
        }
        program_.resolved_imports.emplace_back(file.id, std::move(resolved));
    }

    /// Index of the imported file in the program; -1 where there is none or a cycle was cut.
    int resolve(FileId importer, const ast::Import& import) {
        std::optional<Found> found = find(importer, import);
        if (!found) return -1;
        const auto cycle = std::find_if(open_.begin(), open_.end(), [&](const Open& o) { return o.key == found->key; });
        if (cycle != open_.end()) {
            report_cycle(cycle - open_.begin(), import);
            return -1;
        }
        if (const auto known = index_.find(found->key); known != index_.end()) return known->second;

        const FileId file = sources_.add(found->name, std::move(found->text));
        const int index = static_cast<int>(program_.files.size());
        index_.emplace(found->key, index);
        program_.files.push_back({found->name, parse(sources_, file, diags_)});
        if (found->on_disk) program_.dependencies.push_back(found->name);
        open_.push_back({found->key, file});
        resolve_imports(program_.files.back().file);
        open_.pop_back();
        return index;
    }

    /// The first file in the order of the search; reports where there is none or it cannot be read.
    std::optional<Found> find(FileId importer, const ast::Import& import) {
        fs::path wanted(import.path);
        if (wanted.extension().empty()) wanted += kExtension;
        std::vector<std::string> looked;
        if (!sources_.name(importer).starts_with(kStdlibPrefix)) {
            for (const fs::path& directory : directories(importer, wanted)) {
                const fs::path path = (directory / wanted).lexically_normal();
                std::error_code error;
                if (!fs::exists(fs::symlink_status(path, error))) {
                    looked.push_back(path.string());
                    continue;
                }
                std::string reason;
                const auto open = options_.open_files.find(key_of(path));
                std::optional<std::string> text =
                    open != options_.open_files.end() ? std::optional(open->second) : read(path, reason);
                if (!text) {
                    diags_.report(diag::ImportUnreadable, import.path_range, path.string(), reason);
                    return std::nullopt;
                }
                return Found{path.string(), key_of(path), std::move(*text), true};
            }
        }
        const std::string stem = fs::path(wanted).replace_extension().string();
        if (wanted.extension() == kExtension) {
            if (const auto text = stdlib_file(stem)) {
                const std::string name = fmt::format("{}{}{}", kStdlibPrefix, stem, kExtension);
                return Found{name, name, std::string(*text), false};
            }
        }
        report_missing(import, stem, looked);
        return std::nullopt;
    }

    [[nodiscard]] std::vector<fs::path> directories(FileId importer, const fs::path& wanted) const {
        if (wanted.is_absolute()) return {fs::path()};
        std::vector<fs::path> result = {fs::path(sources_.name(importer)).parent_path()};
        result.insert(result.end(), options_.include_dirs.begin(), options_.include_dirs.end());
        return result;
    }

    void report_missing(const ast::Import& import, const std::string& stem, const std::vector<std::string>& looked) {
        auto report = diags_.report(diag::ImportNotFound, import.path_range, import.path);
        for (const std::string& path : looked) report.note(fmt::format("there is no file `{}`", path));
        std::vector<std::string> names;
        for (const std::string_view name : stdlib_names()) names.emplace_back(name);
        report.note(fmt::format("the standard library has {}", fmt::join(names, ", ")));
        if (const auto close = closest_name(stem, names))
            report.suggest(import.path_range, fmt::format("\"{}\"", *close));
    }

    void report_cycle(std::ptrdiff_t first, const ast::Import& import) {
        std::string chain;
        for (auto open = open_.begin() + first; open != open_.end(); ++open) {
            chain += fmt::format("`{}` imports ", sources_.name(open->file));
        }
        chain += fmt::format("`{}`", sources_.name((open_.begin() + first)->file));
        diags_.report(diag::ImportCycle, import.path_range, chain);
    }

    SourceManager& sources_;
    const ImportOptions& options_;
    Diagnostics& diags_;
    Program program_;
    std::map<std::string, int> index_;  ///< key of a file to its place in the program
    std::vector<Open> open_;
};

}  // namespace

Program load_program(SourceManager& sources, FileId main, const ImportOptions& options, Diagnostics& diags) {
    return Loader(sources, options, diags).load(main);
}

}  // namespace pipec
