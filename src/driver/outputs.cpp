#include "driver/outputs.h"

#include <fmt/format.h>

#include <filesystem>

#include "codegen/emit/cuda/cuda.h"
#include "codegen/emit/host/host.h"
#include "codegen/group_plans.h"
#include "driver/code_origin.h"
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

std::vector<codegen::Unit> units_of(const Compilation& compilation) {
    std::vector<codegen::Unit> units;
    for (std::size_t i = 0; i < compilation.pipelines.size(); ++i) {
        units.push_back({&compilation.pipelines[i], &compilation.models.at(i)});
    }
    return units;
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

codegen::CudaOptions cuda_options(const Options& options, const Compilation& compilation) {
    codegen::CudaOptions result;
    result.deterministic = options.deterministic;
    result.fast_math = options.object.fast_math;
    result.schedules = compilation.schedules;
    result.made = &compilation.made;
    result.target = compilation.target;
    result.origin = code_origin(options, compilation);
    return result;
}

std::string code_text(const Options& options, const std::string& include_name, const Compilation& compilation,
                      const SourceManager& sources) {
    const std::string_view program = sources.name(compilation.program.main.id);
    if (compilation.target.platform() == fusion::Platform::Host) {
        return codegen::host_source(program, include_name, units_of(compilation), sources,
                                    code_origin(options, compilation));
    }
    return codegen::cuda_source(program, include_name, units_of(compilation), sources,
                                cuda_options(options, compilation));
}

std::string main_text(const Options& options, const OutputPaths& paths, const std::string& stem,
                      const Compilation& compilation, const SourceManager& sources) {
    const auto& pipelines = compilation.pipelines;
    const std::string_view program = sources.name(compilation.program.main.id);
    switch (options.emit) {
        case Emit::Nothing:
        case Emit::Object: return {};
        case Emit::Tokens: return dump_tokens(sources, compilation.program.main.id);
        case Emit::Ast: return ast::to_string(compilation.program.main, sources);
        case Emit::Pipeline: return joined(pipelines, [&](std::size_t i) { return ir::to_string(pipelines[i]); });
        case Emit::Domains:
            return joined(pipelines,
                          [&](std::size_t i) { return poly::to_string(pipelines[i], compilation.models.at(i)); });
        case Emit::Schedule: return fusion::to_json(compilation.schedules, pipelines);
        case Emit::Plan: return codegen::plan_text(units_of(compilation), cuda_options(options, compilation));
        case Emit::Header:
            return codegen::header(program, stem, units_of(compilation), code_origin(options, compilation));
        case Emit::Kernel:
            return codegen::kernel_text(units_of(compilation), sources, cuda_options(options, compilation));
        case Emit::Host:
        case Emit::Cuda:
        case Emit::Code: return code_text(options, paths.include_name, compilation, sources);
    }
    return {};
}

/// The program, its imports and its schedule.
std::vector<std::string> files_read(const Options& options, const Program& program) {
    std::vector<std::string> read;
    if (options.input != "-") read.push_back(options.input);
    read.insert(read.end(), program.dependencies.begin(), program.dependencies.end());
    if (options.schedule.file) read.push_back(*options.schedule.file);
    if (const auto& profile = options.schedule.automatic.profile) read.push_back(*profile);
    if (const auto gpu = gpu_file_of(options.schedule.gpu)) read.push_back(*gpu);
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

Phase last_phase(Emit emit) {
    switch (emit) {
        case Emit::Tokens:
        case Emit::Ast: return Phase::Parse;
        case Emit::Pipeline: return Phase::Elaborate;
        default: return Phase::Analyze;
    }
}

std::string object_source_name(const Options& options, const OutputPaths& paths) {
    return fs::path(paths.main).stem().string() + code_extension(options.platform);
}

NativeSource object_source(const Options& options, const OutputPaths& paths, const Compilation& compilation,
                           const SourceManager& sources) {
    const std::string stem = fs::path(paths.main).stem().string();
    NativeSource result{object_source_name(options, paths), {}, stem + ".h", {}};
    result.source = code_text(options, result.header_name, compilation, sources);
    result.header = codegen::header(sources.name(compilation.program.main.id), stem, units_of(compilation),
                                    code_origin(options, compilation));
    if (!paths.kept_code.empty()) {
        const std::string kept = fs::absolute(paths.kept_code).lexically_normal().string();
        result.source = fmt::format("#line 1 {}\n{}", literal(kept), result.source);
    }
    return result;
}

void check_schedules(const Options& options, const Compilation& compilation, const SourceManager& sources) {
    const bool before_kernels =
        options.emit == Emit::Nothing || options.emit == Emit::Schedule || options.emit == Emit::Plan;
    if (!before_kernels) return;  // the others are made of the kernels
    codegen::kernel_text(units_of(compilation), sources, cuda_options(options, compilation));
}

std::vector<OutputFile> make_outputs(const Options& options, const OutputPaths& paths, const Compilation& compilation,
                                     const SourceManager& sources) {
    const std::string stem = stem_of(options.input);
    std::vector<OutputFile> files;
    if (!paths.main.empty() && options.emit != Emit::Object) {
        files.push_back({paths.main, main_text(options, paths, stem, compilation, sources)});
    }
    if (!paths.header.empty()) {
        const std::string base = paths.header == "-" ? stem : stem_of(paths.header);
        files.push_back({paths.header, codegen::header(sources.name(compilation.program.main.id), base,
                                                       units_of(compilation), code_origin(options, compilation))});
    }
    if (!paths.kept_code.empty()) {
        files.push_back({paths.kept_code, code_text(options, paths.include_name, compilation, sources)});
    }
    if (!paths.dependencies.empty()) {
        std::vector<std::string> targets = options.dependencies.targets;
        if (targets.empty()) {
            for (const std::string& path : {paths.main, paths.header, paths.kept_code}) {
                if (!path.empty() && path != "-") targets.push_back(escaped_for_make(path));
            }
        }
        files.push_back({paths.dependencies, dependency_rule(targets, files_read(options, compilation.program),
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
