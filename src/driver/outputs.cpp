#include "driver/outputs.h"

#include <fmt/format.h>

#include <filesystem>

#include "driver/cpu_option.h"
#include "driver/gpu_option.h"
#include "frontend/parse.h"
#include "fusion/schedule_json.h"
#include "ir/print.h"
#include "support/unicode.h"

namespace pipec::driver {
namespace {

namespace fs = std::filesystem;

std::string with_extension(const std::string& path, const char* extension) {
    return fs::path(path).replace_extension(extension).string();
}

/// The name of the program without its directory and extension.
std::string stem_of(const std::string& input) {
    return input == "-" ? "stdin" : fs::path(input).stem().string();
}

/// `header` as an #include in a file at `source` finds it.
std::string include_name(const std::string& source, const std::string& header) {
    if (source == "-") return fs::path(header).filename().string();
    const fs::path from = fs::absolute(source).lexically_normal().parent_path();
    return fs::absolute(header).lexically_normal().lexically_relative(from).string();
}

bool same_file(const std::string& a, const std::string& b) {
    std::error_code error;
    return a == b || fs::equivalent(a, b, error) ||
           fs::weakly_canonical(fs::absolute(a), error) == fs::weakly_canonical(fs::absolute(b), error);
}

/// The pieces' texts with an empty line between them.
template <class Piece, class ToText>
std::string joined(const std::vector<Piece>& pieces, ToText to_text) {
    std::string result;
    for (std::size_t i = 0; i < pieces.size(); ++i) result += (i > 0 ? "\n" : "") + to_text(i);
    return result;
}

const char* code_extension(fusion::Platform platform) {
    return platform == fusion::Platform::Cuda ? ".cu" : ".cpp";
}

std::string_view program_name(const Compilation& compilation) {
    return compilation.sources.name(compilation.checked.program.main.id);
}

std::string code_text(const std::string& include_name, const Compilation& c) {
    return compiler::code_text(program_name(c), include_name, c.checked, c.lowered, c.sources, c.origin,
                               c.host_schedules, c.windows);
}

std::string header_text(const std::string& stem, const Compilation& c) {
    return compiler::header_text(program_name(c), stem, c.checked, c.origin, c.windows);
}

std::string main_text(const Options& options, const OutputPaths& paths, const std::string& stem,
                      const Compilation& compilation) {
    const Program& program = compilation.checked.program;
    const auto& pipelines = compilation.checked.pipelines;
    switch (options.emit) {
        case Emit::Nothing:
        case Emit::Object: return {};
        case Emit::Tokens: return dump_tokens(compilation.sources, program.main.id);
        case Emit::Ast: return ast::to_string(program.main, compilation.sources);
        case Emit::Pipeline: {
            const auto& definitions = compilation.checked.definitions;
            return joined(definitions, [&](std::size_t i) { return ir::to_string(definitions[i]); });
        }
        case Emit::Domains:
            return joined(pipelines, [&](std::size_t i) {
                return poly::to_string(pipelines[i], compilation.checked.models.at(i));
            });
        case Emit::Schedule:
            return fusion::to_json(
                compilation.host_schedules ? *compilation.host_schedules : compilation.scheduled.schedules, pipelines);
        case Emit::Plan: return *compilation.plans;
        case Emit::Header: return header_text(stem, compilation);
        case Emit::Kernel:
            return joined(compilation.lowered->programs,
                          [&](std::size_t i) { return codegen::kernel::to_string(compilation.lowered->programs[i]); });
        case Emit::Host:
        case Emit::Cuda:
        case Emit::Code: return code_text(paths.include_name, compilation);
    }
    return {};
}

/// The program, its imports and its schedule.
std::vector<std::string> files_read(const Options& options, const Program& program) {
    std::vector<std::string> read;
    if (options.input != "-") read.push_back(options.input);
    read.insert(read.end(), program.dependencies.begin(), program.dependencies.end());
    const compiler::ScheduleRequest& request = options.schedule.request;
    if (request.file) read.push_back(request.file->name);
    if (request.model.profile) read.push_back(request.model.profile->name);
    if (const auto gpu = gpu_file_of(options.schedule.gpu)) read.push_back(*gpu);
    if (const auto cpu = cpu_file_of(options.cpu)) read.push_back(*cpu);
    return read;
}

/// `path` in a string literal of C.
std::string literal(const std::string& path) {
    std::string result = "\"";
    for (const char c : path) {
        if (c == '"' || c == '\\') result += '\\';
        result += c;
    }
    return result + "\"";
}

/// A file name as make reads it.
std::string escaped_for_make(const std::string& path) {
    std::string result;
    for (std::size_t i = 0; i < path.size(); ++i) {
        if (path[i] == '$') result += '$';
        if (path[i] == '#') result += '\\';
        if (path[i] == ' ') {
            // Backslashes right before an escaped blank must be doubled.
            for (std::size_t j = i; j > 0 && path[j - 1] == '\\'; --j) result += '\\';
            result += '\\';
        }
        result += path[i];
    }
    return result;
}

}  // namespace

bool writes_code(Emit emit) {
    return emit == Emit::Code || emit == Emit::Object || emit == Emit::Host || emit == Emit::Cuda ||
           emit == Emit::Header;
}

OutputPaths plan_outputs(const Options& options) {
    OutputPaths paths;
    const std::string stem = stem_of(options.input);
    const char* code = code_extension(options.platform);
    if (options.emit == Emit::Code || options.emit == Emit::Object) {
        const char* object = options.object.shared ? ".so" : ".o";
        paths.main = options.output.value_or(stem + (options.emit == Emit::Code ? code : object));
        paths.header = options.header.value_or(paths.main == "-" ? "" : with_extension(paths.main, ".h"));
        if (options.emit == Emit::Object && options.object.keep) paths.kept_code = with_extension(paths.main, code);
    } else if (options.emit != Emit::Nothing) {
        paths.main = options.output.value_or("-");
    }
    if (writes_code(options.emit) && options.emit != Emit::Header) {
        const std::string beside = paths.main == "-" ? stem + ".h" : with_extension(paths.main, ".h");
        const bool named = !paths.header.empty() && paths.header != "-";
        paths.include_name = include_name(paths.main, named ? paths.header : beside);
    }

    if (options.dependencies.write) {
        const bool has_file = !paths.main.empty() && paths.main != "-";
        if (!has_file && (!options.dependencies.file || options.dependencies.targets.empty())) {
            throw BadPaths("where no file is written, `-MMD` needs `-MF` and `-MT`");
        }
        paths.dependencies = options.dependencies.file.value_or(has_file ? with_extension(paths.main, ".d") : "");
    }

    const std::vector<std::string> all{paths.main, paths.header, paths.kept_code, paths.dependencies};
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (!all[i].empty() && !all[j].empty() && same_file(all[i], all[j])) {
                throw BadPaths(fmt::format("`{}` would hold two results", all[i]));
            }
        }
    }
    return paths;
}

void protect_inputs(const OutputPaths& paths, const Options& options, const Program& program) {
    const std::vector<std::string> read = files_read(options, program);
    for (const std::string& result : {paths.main, paths.header, paths.kept_code, paths.dependencies}) {
        if (result.empty() || result == "-") continue;
        for (const std::string& file : read) {
            if (same_file(result, file)) throw BadPaths(fmt::format("`{}` would be overwritten", printable(file)));
        }
    }
}

compiler::Phase last_phase(Emit emit) {
    switch (emit) {
        case Emit::Tokens:
        case Emit::Ast: return compiler::Phase::Parse;
        case Emit::Pipeline: return compiler::Phase::Elaborate;
        default: return compiler::Phase::Analyze;
    }
}

std::string object_source_name(const Options& options, const OutputPaths& paths) {
    return fs::path(paths.main).stem().string() + code_extension(options.platform);
}

NativeSource object_source(const OutputPaths& paths, const Options& options, const Compilation& compilation) {
    const std::string stem = fs::path(paths.main).stem().string();
    NativeSource result{object_source_name(options, paths), {}, stem + ".h", {}};
    result.source = code_text(result.header_name, compilation);
    result.header = header_text(stem, compilation);
    if (!paths.kept_code.empty()) {
        const std::string kept = fs::absolute(paths.kept_code).lexically_normal().string();
        result.source = fmt::format("#line 1 {}\n{}", literal(kept), result.source);
    }
    return result;
}

std::vector<OutputFile> make_outputs(const Options& options, const OutputPaths& paths, const Compilation& compilation) {
    const std::string stem = stem_of(options.input);
    std::vector<OutputFile> files;
    if (!paths.main.empty() && options.emit != Emit::Object) {
        files.push_back({paths.main, main_text(options, paths, stem, compilation)});
    }
    if (!paths.header.empty()) {
        const std::string base = paths.header == "-" ? stem : stem_of(paths.header);
        files.push_back({paths.header, header_text(base, compilation)});
    }
    if (!paths.kept_code.empty()) {
        files.push_back({paths.kept_code, code_text(paths.include_name, compilation)});
    }
    if (!paths.dependencies.empty()) {
        std::vector<std::string> targets = options.dependencies.targets;
        if (targets.empty()) {
            for (const std::string& path : {paths.main, paths.header, paths.kept_code}) {
                if (!path.empty() && path != "-") targets.push_back(escaped_for_make(path));
            }
        }
        files.push_back({paths.dependencies, dependency_rule(targets, files_read(options, compilation.checked.program),
                                                             options.dependencies.phony_targets)});
    }
    return files;
}

std::string dependency_rule(const std::vector<std::string>& targets, const std::vector<std::string>& files,
                            bool phony_targets) {
    std::string rule = fmt::format("{}:", fmt::join(targets, " "));
    for (const std::string& file : files) rule += " \\\n  " + escaped_for_make(file);
    rule += "\n";
    for (std::size_t i = 1; phony_targets && i < files.size(); ++i) {
        rule += fmt::format("\n{}:\n", escaped_for_make(files[i]));
    }
    return rule;
}

}  // namespace pipec::driver
