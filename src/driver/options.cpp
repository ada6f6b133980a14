#include "driver/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string_view>

#include "driver/command_line.h"
#include "driver/cpu_option.h"
#include "driver/gpu_option.h"
#include "driver/option_checks.h"
#include "driver/response_files.h"
#include "driver/warnings.h"
#include "runner/options.h"
#include "support/diagnostic_registry.h"
#include "support/unicode.h"

namespace pipec::driver {
namespace {

using fusion::Platform;

/// The values of an option that is one of a few words.
template <class T>
using Choices = std::vector<std::pair<std::string_view, T>>;

const Choices<Emit> kEmit{{"tokens", Emit::Tokens},   {"ast", Emit::Ast},           {"pipeline", Emit::Pipeline},
                          {"domains", Emit::Domains}, {"schedule", Emit::Schedule}, {"plan", Emit::Plan},
                          {"kernel", Emit::Kernel},   {"host", Emit::Host},         {"cuda", Emit::Cuda},
                          {"header", Emit::Header}};
const Choices<Platform> kPlatform{{"cuda", Platform::Cuda}, {"host", Platform::Host}};
const Choices<int> kOptimize{{"0", 0}, {"1", 1}, {"2", 2}, {"3", 3}};
const Choices<Color> kColor{{"auto", Color::Auto}, {"always", Color::Always}, {"never", Color::Never}};
const Choices<DiagnosticsFormat> kFormat{{"text", DiagnosticsFormat::Text}, {"json", DiagnosticsFormat::Json}};

constexpr Platform kDefaultPlatform = Platform::Cuda;

/// What a value is called here that other compilers have.
std::string elsewhere(std::string_view value) {
    if (value == "cpu" || value == "c" || value == "c++" || value == "cpp" || value == "x86" || value == "openmp") {
        return "host";
    }
    if (value == "gpu" || value == "cu" || value == "nvidia") return "cuda";
    return value == "asm" || value == "ptx" ? "kernel" : value == "ir" ? "pipeline" : "";
}

template <class T>
T choose(const Choices<T>& choices, std::string_view option, const std::string& value) {
    std::vector<std::string> names;
    for (const auto& [name, meaning] : choices) {
        if (name == value) return meaning;
        names.emplace_back(name);
    }
    auto meant = elsewhere(value);
    if (std::ranges::find(names, meant) == names.end()) meant = closest_name(value, names).value_or("");
    throw BadOption(fmt::format("`{}` is not a value of `{}`; {}there are: {}", value, option,
                                meant.empty() ? "" : fmt::format("did you mean `{}`? ", meant),
                                fmt::join(names, ", ")));
}

unsigned long positive_integer(std::string_view option, const std::string& value) {
    unsigned long number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size() || number == 0) {
        throw BadOption(fmt::format("`{}` is not a value of `{}`: it must be a positive integer", value, option));
    }
    return number;
}

std::string list_diagnostics() {
    std::string result;
    for (const DiagnosticInfo& info : all_diagnostics()) {
        result += fmt::format("{:7} {}\n", info.severity == Severity::Error ? "error" : "warning", info.id);
    }
    return result;
}

Finished refuse(std::string_view message) {
    return {kExitUsage, fmt::format("pipec: error: {}\nTry `pipec --help`.\n", printable(message))};
}

/// Every name that options of `app` go by, for suggestions.
std::vector<std::string> option_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) names.push_back(classic_name("--" + name));
    }
    return names;
}

Finished refuse_unknown_option(const std::string& option, const CLI::App& app) {
    const std::string name = option.substr(0, option.find('='));
    const auto close = closest_name(name, option_names(app));
    return refuse(fmt::format("unknown option `{}`{}", name, close ? fmt::format("; did you mean `{}`?", *close) : ""));
}

/// `--MF: 1 required FILE missing` with the spelling that the person used.
std::string with_classic_names(const std::string& message) {
    const std::size_t colon = std::min(message.find(':'), message.size());
    return classic_name(message.substr(0, colon)) + message.substr(colon);
}

/// sm_90, compute_90, sm_90a.
bool is_architecture(std::string_view name) {
    const std::size_t prefix = name.starts_with("sm_") ? 3 : name.starts_with("compute_") ? 8 : 0;
    name.remove_prefix(prefix);
    const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
    const std::string_view variant = name.substr(digits);
    return prefix > 0 && digits > 0 && digits < 5 && (variant.empty() || variant == "a" || variant == "f");
}

std::vector<std::string> architectures(const std::string& list) {
    std::vector<std::string> result;
    for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t end = std::min(list.find(',', begin), list.size());
        result.push_back(list.substr(begin, end - begin));
        begin = end + 1;
    }
    const auto is_set = [](const std::string& name) {
        return std::find(kArchitectureSets.begin(), kArchitectureSets.end(), name) != kArchitectureSets.end();
    };
    for (const std::string& name : result) {
        if (is_set(name) ? result.size() == 1 : is_architecture(name)) continue;
        throw BadOption(fmt::format("`{}` is not a value of `-arch`; it is {}, or a list like sm_80,sm_90", list,
                                    fmt::join(kArchitectureSets, ", ")));
    }
    return result;
}

/// The platform that a step of the compilation is about, if it is about one.
std::optional<Platform> platform_of_step(Emit emit) {
    switch (emit) {
        case Emit::Host: return Platform::Host;
        case Emit::Plan:
        case Emit::Kernel:
        case Emit::Cuda: return Platform::Cuda;
        default: return std::nullopt;
    }
}

/// What --target, --emit and the name of the output say, which must not contradict each other.
Platform choose_platform(const Options& o, const std::string& named, const std::string& step) {
    std::optional<Platform> result;
    if (!named.empty()) result = choose(kPlatform, "--target", named);
    const auto require = [&](std::optional<Platform> platform, const std::string& what) {
        if (!platform) return;
        if (result && *result != platform) throw BadOption(fmt::format("`--target {}` contradicts `{}`", named, what));
        result = platform;
    };
    require(platform_of_step(o.emit), "--emit " + step);
    if (o.emit == Emit::Code && o.output) require(platform_of_name(*o.output), "-o " + *o.output);
    return result.value_or(kDefaultPlatform);
}

/// What the command line says as text, or in parts.
struct Flags {
    std::vector<std::string> files;
    std::vector<std::string> warning_flags;
    std::string emit;
    std::string target;
    std::string architecture_list;
    std::string optimize = "3";
    bool object = false;
    bool pic = false;
    bool no_pic = false;
    std::string color = "auto";
    std::string format = "text";
    std::string max_operations = std::to_string(poly::Options{}.max_operations);
    bool syntax_only = false;
    bool no_warnings = false;
    bool list = false;
    bool gpus = false;
    bool version = false;
};

constexpr const char* kPipecTitle = "pipec compiles image-processing pipelines to CUDA and C++.";

void declare(CLI::App& app, Options& options, Flags& flags) {
    app.formatter(std::make_shared<HelpFormatter>());
    app.allow_extras();
    app.add_option("file.pipe", flags.files, "The program; `-` is standard input")->type_name("");
    app.set_help_flag("-h,--help", "Print this help");
    app.add_flag("--version", flags.version, "Print the version");
    app.add_flag("--list-diagnostics", flags.list, "Print the id of every warning and error");
    app.add_flag("--list-gpus", flags.gpus, "Print the GPUs that --gpu knows");

    const auto one = [](CLI::Option* option) { return option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast); };
    const std::string output_group = "Output";
    one(app.add_option("-o,--output", options.output,
                       "Where the result goes; `-` is standard output. Default: the program's name with .cu, .cpp, .o "
                       "or .so, in the current directory"))
        ->type_name("FILE")
        ->group(output_group);
    one(app.add_option("--header", options.header,
                       "Where the header goes. Default: the result's name with .h; with `-o -` none"))
        ->type_name("FILE")
        ->group(output_group);
    one(app.add_option("--target", flags.target, "What the code runs on: cuda, or host (C++ with OpenMP)"))
        ->type_name("NAME")
        ->group(output_group);
    app.add_flag("--fsyntax-only", flags.syntax_only, "Check the program and write nothing")->group(output_group);
    one(app.add_option("--emit", flags.emit,
                       "Write one step instead of the code and the header, to standard output unless -o is given: "
                       "tokens, ast, pipeline (checked and typed), domains, schedule, plan (tiles, threads and memory "
                       "of each kernel), kernel, host (the code), cuda "
                       "(the code), header"))
        ->type_name("STEP")
        ->group(output_group);
    app.add_flag("--pin", options.pin,
                 "With --emit schedule: write what was decided about all that the schedule leaves open")
        ->group(output_group);
    app.add_flag("--deterministic", options.deterministic,
                 "Equal inputs give equal bits also where that makes a pipeline slow; the host's code is always so")
        ->group(output_group);

    app.add_flag("--windows", options.windows,
                 "Write functions for parts of images, too: which windows of the inputs windows of the outputs need, "
                 "and a launch of such windows")
        ->group(output_group);
    app.add_flag("--phases", options.phases,
                 "With --windows: for a pipeline with statistics of whole images write its phases, too, each of which "
                 "can be computed in windows")
        ->group(output_group);
    app.add_flag(
           "--ffast-math", options.object.fast_math,
           "For cuda: count with floats as if they were real numbers, none of them infinite or NaN; results differ "
           "in the last places. -fno-fast-math, the default, undoes it")
        ->group(output_group);

    add_schedule_options(app, options.schedule, kUsualGpu, "Fusion and tiling, for cuda");
    add_cpu_option(app, options.cpu, "Fusion and tiling, for the host (with --schedule)");

    const std::string object_group = "Objects";
    ObjectOptions& o = options.object;
    app.add_flag("-c", flags.object, "Compile the code with nvcc or, for the host, the C++ compiler")
        ->group(object_group);
    app.add_flag("--shared", o.shared, "The same, to a shared object")->group(object_group);
    one(app.add_option("--arch", flags.architecture_list,
                       "Which GPUs: sm_N or compute_N, several with commas between, native, all or all-major. Default: "
                       "the GPUs that are here, otherwise sm_75,sm_80,sm_90"))
        ->type_name("LIST")
        ->group(object_group);
    one(app.add_option("-O", flags.optimize, "Optimisation of the compiler that is called, 0 to 3; default 3"))
        ->type_name("N")
        ->group(object_group);
    app.add_flag("-g", o.debug, "Information for debuggers and profilers")->group(object_group);
    app.add_flag("--fPIC", flags.pic, "Code that may stand in a shared object; the default")->group(object_group);
    app.add_flag("--fno-PIC", flags.no_pic, "Code for a program only")->group(object_group);
    one(app.add_option("--nvcc", o.nvcc, "The CUDA compiler"))->type_name("COMMAND")->group(object_group);
    one(app.add_option("--cxx", o.cxx, "The C++ compiler; for cuda the one that nvcc calls"))
        ->type_name("COMMAND")
        ->group(object_group);
    app.add_option("--Xnvcc", o.nvcc_flags, "An argument for nvcc, after pipec's; may be repeated")
        ->type_name("ARG")
        ->allow_extra_args(false)
        ->group(object_group);
    app.add_option("--Xcxx", o.cxx_flags, "An argument for the C++ compiler, after pipec's; may be repeated")
        ->type_name("ARG")
        ->allow_extra_args(false)
        ->group(object_group);
    app.add_flag("--keep,--save-temps", o.keep, "Keep the code, beside the object")->group(object_group);
    app.add_flag("-v", o.verbose, "Print the command before it runs")->group(object_group);
    app.add_flag("--###", o.print_only, "Print the command and run nothing")->group(object_group);

    const std::string input_group = "Imports and analysis";
    app.add_option("-I", options.include_dirs,
                   "Search DIR for imports, after the program's own directory; may be repeated")
        ->type_name("DIR")
        ->allow_extra_args(false)
        ->group(input_group);
    one(app.add_option("--max-analysis-operations", flags.max_operations,
                       "Bound on the work of one question of the bounds analysis; default " + flags.max_operations))
        ->type_name("N")
        ->group(input_group);

    const std::string message_group = "Messages";
    app.add_option("--warning", flags.warning_flags, "Switch warnings, see below")
        ->type_name("")
        ->allow_extra_args(false)
        ->group(message_group);
    app.add_flag("-w", flags.no_warnings, "No warnings")->group(message_group);
    one(app.add_option("--color", flags.color,
                       "auto (where standard error is a terminal and NO_COLOR is not set), always or never"))
        ->type_name("WHEN")
        ->group(message_group);
    one(app.add_option("--diagnostics-format", flags.format, "text, or json: one document on standard error"))
        ->type_name("FORMAT")
        ->group(message_group);

    const std::string dependency_group = "Rules for make";
    DependencyOptions& d = options.dependencies;
    app.add_flag("--MMD", d.write, "Write a rule: the outputs depend on the program, its imports and its schedule")
        ->group(dependency_group);
    app.add_flag("--MD", d.write, "The same (the standard library is part of the compiler)")->group(dependency_group);
    one(app.add_option("--MF", d.file, "Where the rule goes. Default: the output's name with .d"))
        ->type_name("FILE")
        ->group(dependency_group);
    app.add_option("--MT", d.targets, "The rule's target instead of the outputs; may be repeated")
        ->type_name("TARGET")
        ->allow_extra_args(false)
        ->group(dependency_group);
    app.add_flag("--MP", d.phony_targets, "Add an empty rule for each import, so that one may be deleted")
        ->group(dependency_group);
}

}  // namespace

void describe_compilation(const AppVisitor& visit) {
    Options options;
    Flags flags;
    CLI::App app(kPipecTitle, "pipec");
    declare(app, options, flags);
    visit(app);
}

std::vector<std::string> words_of_option(std::string_view option) {
    const auto names = [](const auto& choices) {
        std::vector<std::string> words;
        for (const auto& choice : choices) words.emplace_back(choice.first);
        return words;
    };
    if (option == "--emit") return names(kEmit);
    if (option == "--target") return names(kPlatform);
    if (option == "-O") return names(kOptimize);
    if (option == "--color") return names(kColor);
    if (option == "--diagnostics-format") return names(kFormat);
    return {};
}

std::variant<Options, Finished> parse_options(int argc, const char* const* argv) {
    Options options;
    Flags flags;
    ObjectOptions& o = options.object;
    CLI::App app(kPipecTitle, "pipec");
    declare(app, options, flags);
    Arguments arguments = rewrite_classic(expand_response_files({argv + 1, argv + argc}));
    try {
        runner::parse(app, arguments.options);
    } catch (const CLI::CallForHelp&) {
        return Finished{kExitSuccess, app.help()};
    } catch (const CLI::ParseError& e) {
        return refuse(with_classic_names(e.what()));
    }
    for (const std::string& extra : app.remaining()) {
        if (extra.size() > 1 && extra[0] == '-') return refuse_unknown_option(extra, app);
        flags.files.push_back(extra);
    }
    flags.files.insert(flags.files.end(), arguments.files.begin(), arguments.files.end());
    if (flags.version) return Finished{kExitSuccess, "pipec " PIPEC_VERSION "\n"};
    if (flags.list) return Finished{kExitSuccess, list_diagnostics()};
    if (flags.gpus) return Finished{kExitSuccess, list_known_gpus()};
    try {
        if (!flags.emit.empty() && flags.syntax_only)
            throw BadOption("`--emit` and `-fsyntax-only` exclude each other");
        if (!flags.emit.empty()) options.emit = choose(kEmit, "--emit", flags.emit);
        if (flags.syntax_only) options.emit = Emit::Nothing;
        if (flags.object && o.shared) throw BadOption("`-c` and `-shared` exclude each other");
        if (flags.object || o.shared) {
            if (options.emit != Emit::Code) throw BadOption("an object is the result of a whole compilation");
            options.emit = Emit::Object;
        }
        o.pic = flags.pic || !flags.no_pic;
        o.optimize = choose(kOptimize, "-O", flags.optimize);
        if (!flags.architecture_list.empty()) o.architectures = architectures(flags.architecture_list);
        options.platform = choose_platform(options, flags.target, flags.emit);
        options.color = choose(kColor, "--color", flags.color);
        options.diagnostics_format = choose(kFormat, "--diagnostics-format", flags.format);
        options.analysis.max_operations = positive_integer("--max-analysis-operations", flags.max_operations);
        if (!flags.files.empty()) {
            options.input = flags.files.front();
            options.more_inputs.assign(flags.files.begin() + 1, flags.files.end());
        }
        check_consistency(options, flags.files);
    } catch (const BadOption& e) {
        return refuse(e.what());
    }
    options.unknown_warnings = apply_warning_flags(flags.warning_flags, options.warnings);
    options.warnings.none = flags.no_warnings;
    return options;
}

bool needs_kernels(Emit emit) {
    return emit == Emit::Code || emit == Emit::Object || emit == Emit::Kernel || emit == Emit::Cuda;
}

bool uses_schedule(Emit emit) {
    switch (emit) {
        case Emit::Code:
        case Emit::Object:
        case Emit::Nothing:
        case Emit::Schedule:
        case Emit::Plan:
        case Emit::Kernel:
        case Emit::Host:
        case Emit::Cuda: return true;
        default: return false;
    }
}

bool use_color(Color color) {
    if (color != Color::Auto) return color == Color::Always;
    const char* no_color = std::getenv("NO_COLOR");
    const char* term = std::getenv("TERM");
    return (no_color == nullptr || *no_color == '\0') && (term == nullptr || std::strcmp(term, "dumb") != 0) &&
           ::isatty(STDERR_FILENO) != 0;
}

}  // namespace pipec::driver
