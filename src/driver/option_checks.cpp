#include "driver/option_checks.h"

#include <fmt/format.h>

#include <filesystem>

namespace pipec::driver {

using fusion::Platform;

std::optional<Platform> platform_of_name(const std::string& path) {
    const std::string extension = std::filesystem::path(path).extension().string();
    if (extension == ".cu") return Platform::Cuda;
    if (extension == ".cpp" || extension == ".cc" || extension == ".cxx") return Platform::Host;
    return std::nullopt;
}

namespace {

/// The option about CUDA's compiler that is given.
std::optional<std::string> first_for_nvcc(const ObjectOptions& object) {
    if (!object.architectures.empty()) return "-arch";
    if (!object.nvcc.empty()) return "--nvcc";
    if (!object.nvcc_flags.empty()) return "-Xnvcc";
    return std::nullopt;
}

/// Options that have no meaning for the target.
void check_platform(const Options& o) {
    if (o.platform == Platform::Cuda) {
        if (!o.cpu.empty()) throw BadOption("`--cpu` is for the target host");
        return;
    }
    ScheduleOptions of_gpus = o.schedule;
    of_gpus.request.file.reset();
    std::optional<std::string> given = first_given(of_gpus);
    if (o.pin) given = "--pin";
    if (o.object.fast_math) given = "-ffast-math";
    if (!given && o.emit == Emit::Object) given = first_for_nvcc(o.object);
    if (given) throw BadOption(fmt::format("`{}` is for the target cuda", *given));
}

/// Options about objects, where there is one.
void check_object(const Options& o) {
    const ObjectOptions& object = o.object;
    if (o.emit == Emit::Code && o.output) {
        const std::string extension = std::filesystem::path(*o.output).extension().string();
        if (extension == ".o") throw BadOption(fmt::format("`{}` is the name of an object: `-c` makes one", *o.output));
        if (extension == ".so") {
            throw BadOption(fmt::format("`{}` is the name of a shared object: `-shared` makes one", *o.output));
        }
    }
    if (o.emit != Emit::Object) {
        if (const auto given = first_for_nvcc(object)) {
            throw BadOption(fmt::format("`{}` is for objects: it needs `-c` or `-shared`", *given));
        }
        if (!object.cxx.empty() || !object.cxx_flags.empty() || object.keep || object.print_only || object.verbose) {
            throw BadOption("`--cxx`, `-Xcxx`, `--keep`, `-v` and `-###` are for objects: they need `-c` or `-shared`");
        }
        return;
    }
    if (o.output == "-") throw BadOption("an object is not written to standard output");
    if (o.output && platform_of_name(*o.output)) {
        throw BadOption(fmt::format("`{}` is the name of code; with `{}` an object is written", *o.output,
                                    object.shared ? "-shared" : "-c"));
    }
}

/// Options about schedules, where code or a check of it asks for one.
void check_schedule(const Options& o) {
    if (!o.cpu.empty() && !uses_schedule(o.emit)) {
        throw BadOption("`--cpu` is for code, and for `--emit schedule`");
    }
    if (o.pin && o.emit != Emit::Schedule) throw BadOption("`--pin` is for `--emit schedule`");
    const auto given = first_given(o.schedule);
    if (!given) return;
    if (!uses_schedule(o.emit)) throw BadOption(fmt::format("`{}` is for code, and for `--emit schedule`", *given));
    if (const auto wrong = inconsistency(o.schedule)) throw BadOption(*wrong);
}

/// Options that name something of one file, where there are several.
void check_several(const Options& o, const std::vector<std::string>& files) {
    std::optional<std::string> of_one;
    if (o.output) of_one = "-o";
    if (o.header) of_one = "--header";
    if (o.dependencies.file) of_one = "-MF";
    if (!o.dependencies.targets.empty()) of_one = "-MT";
    if (o.diagnostics_format == DiagnosticsFormat::Json) of_one = "--diagnostics-format json";
    if (of_one) throw BadOption(fmt::format("`{}` and `{}`: `{}` is for one file", files[0], files[1], *of_one));
    for (const std::string& name : files) {
        if (name.empty()) throw BadOption("a file name is empty");
        if (name == "-") throw BadOption("standard input is compiled alone");
    }
}

}  // namespace

void check_consistency(const Options& o, const std::vector<std::string>& files) {
    if (files.empty()) throw BadOption("no input file");
    if (files.size() > 1) check_several(o, files);
    for (const std::string& name :
         {o.input, o.output.value_or("x"), o.header.value_or("x"), o.dependencies.file.value_or("x")}) {
        if (name.empty()) throw BadOption("a file name is empty");
    }
    const bool code = o.emit == Emit::Code || o.emit == Emit::Object;
    if (o.header && !code) throw BadOption("`--header` is for compilations that write code");
    if (o.output && o.emit == Emit::Nothing) throw BadOption("`-o` and `-fsyntax-only` exclude each other");
    if (code && o.input == "-" && !o.output) {
        throw BadOption("the program comes from standard input: `-o` must say where the result goes");
    }
    const DependencyOptions& d = o.dependencies;
    if (!d.write && (d.file || !d.targets.empty() || d.phony_targets)) {
        throw BadOption("`-MF`, `-MT` and `-MP` need `-MMD` or `-MD`");
    }
    if (o.windows && !code && o.emit != Emit::Host && o.emit != Emit::Cuda && o.emit != Emit::Header) {
        throw BadOption("`--windows` is for code");
    }
    if (o.phases && !o.windows) throw BadOption("`--phases` needs `--windows`");
    check_platform(o);
    check_schedule(o);
    check_object(o);
}

}  // namespace pipec::driver
