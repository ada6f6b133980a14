#include "driver/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "driver/warnings.h"
#include "support/diagnostic_registry.h"
#include "support/unicode.h"

namespace pipec::driver {
namespace {

// CLI11 knows `-x` and `--long`. The classic spellings of compilers are rewritten to long options before it parses and
// written back in the help.
struct Classic {
    std::string_view classic, cli;
    bool takes_value;
};
constexpr std::array kClassic{Classic{"-fsyntax-only", "--fsyntax-only", false},
                              Classic{"-MMD", "--MMD", false},
                              Classic{"-MD", "--MD", false},
                              Classic{"-MP", "--MP", false},
                              Classic{"-MF", "--MF", true},
                              Classic{"-MT", "--MT", true}};

/// `-MFx.d` and `-MF x.d` become `--MF=x.d` and `--MF x.d`, `-Wall` becomes `--W=all`. Arguments after `--` stay.
std::vector<std::string> rewrite_classic(const std::vector<std::string>& arguments) {
    std::vector<std::string> result;
    bool only_files = false;
    for (const std::string& argument : arguments) {
        const auto classic = std::find_if(kClassic.begin(), kClassic.end(), [&](const Classic& c) {
            return argument == c.classic || (c.takes_value && argument.starts_with(c.classic));
        });
        if (only_files || argument.size() < 2 || argument[0] != '-') {
            result.push_back(argument);
        } else if (argument == "--") {
            only_files = true;
            result.push_back(argument);
        } else if (classic != kClassic.end()) {
            const std::string value = argument.substr(classic->classic.size());
            result.push_back(std::string(classic->cli) + (value.empty() ? "" : "=" + value));
        } else if (argument.starts_with("-W") && argument.size() > 2) {
            result.push_back("--W=" + argument.substr(2));
        } else {
            result.push_back(argument);
        }
    }
    return result;
}

/// CLI11's help with the classic spellings.
class Formatter : public CLI::Formatter {
public:
    std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
        std::string name = CLI::Formatter::make_option_name(option, is_positional);
        for (const Classic& c : kClassic) {
            if (name == c.cli) return std::string(c.classic);
        }
        return name == "--W" ? "-W<flag>" : name;
    }
    std::string make_usage(const CLI::App*, std::string) const override {
        return "Usage: pipec [options] file.pipe\n       pipec run [options] file.pipe\n";
    }
};

constexpr std::string_view kFooter = R"(
Warnings are on unless switched off: -W<id> and -Wno-<id> switch one, -w all of them;
-Werror and -Werror=<id> make errors of them, -Wno-error and -Wno-error=<id> undo that.
Every message ends with its id in brackets; `pipec --list-diagnostics` prints all of them.

Exit codes: 0 success, 1 the program has errors, 2 wrong command line, 3 a file could not be
read or written, 4 a defect of the compiler. Where it is not 0, no output file is changed.

Examples:
  pipec blur.pipe                        write blur.cpp and blur.h into this directory
  pipec blur.pipe -o build/blur.cpp      the same into build/
  pipec -fsyntax-only blur.pipe          check only
  pipec --emit domains blur.pipe         show where each stage is computed
  pipec -MMD -MF blur.d blur.pipe        also write a rule for make with the files imported
  pipec run blur.pipe --in img=a.png --out out=b.png
                                         compile and run on images (see `pipec run --help`))";

const std::map<std::string, Emit> kEmit{{"tokens", Emit::Tokens},   {"ast", Emit::Ast},   {"pipeline", Emit::Pipeline},
                                        {"domains", Emit::Domains}, {"host", Emit::Host}, {"header", Emit::Header}};

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
        for (const std::string& name : option->get_lnames()) {
            const auto classic =
                std::find_if(kClassic.begin(), kClassic.end(), [&](const Classic& c) { return c.cli == "--" + name; });
            names.push_back(classic == kClassic.end() ? "--" + name : std::string(classic->classic));
        }
    }
    return names;
}

Finished refuse_unknown_option(const std::string& option, const CLI::App& app) {
    const std::string name = option.substr(0, option.find('='));
    const auto close = closest_name(name, option_names(app));
    return refuse(fmt::format("unknown option `{}`{}", name, close ? fmt::format("; did you mean `{}`?", *close) : ""));
}

/// What a file name may not be; the reason, or nothing.
std::optional<std::string> check_consistency(const Options& o, const std::vector<std::string>& files) {
    if (files.empty()) return "no input file";
    if (files.size() > 1) {
        return fmt::format("`{}` and `{}`: one file is compiled at a time", files[0], files[1]);
    }
    for (const std::string& name :
         {o.input, o.output.value_or("x"), o.header.value_or("x"), o.dependencies.file.value_or("x")}) {
        if (name.empty()) return "a file name is empty";
    }
    if (o.header && o.emit != Emit::Code && o.emit != Emit::Host) {
        return "`--header` needs an output that includes it";
    }
    if (o.emit == Emit::Nothing && o.output) return "`-o` and `-fsyntax-only` exclude each other";
    if (o.emit == Emit::Code && o.input == "-" && !o.output) return "reading from standard input needs `-o`";
    const DependencyOptions& d = o.dependencies;
    if (!d.write && (d.file || !d.targets.empty() || d.phony_targets)) {
        return "`-MF`, `-MT` and `-MP` need `-MMD` or `-MD`";
    }
    return std::nullopt;
}

}  // namespace

std::variant<Options, Finished> parse_options(int argc, const char* const* argv) {
    Options options;
    std::vector<std::string> files;
    std::vector<std::string> warning_flags;
    std::string emit;
    std::string target = "host";
    bool syntax_only = false;
    bool no_warnings = false;
    bool list = false;
    bool version = false;

    CLI::App app("pipec compiles image-processing pipelines to C++.", "pipec");
    app.formatter(std::make_shared<Formatter>());
    app.get_formatter()->column_width(36);
    app.footer(std::string(kFooter));
    app.allow_extras();
    app.add_option("file", files, "The program; `-` is standard input")->type_name("");
    app.set_help_flag("-h,--help", "Print this help");
    app.add_flag("--version", version, "Print the version");
    app.add_flag("--list-diagnostics", list, "Print the id of every warning and error");

    const auto one = [](CLI::Option* option) { return option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast); };
    const std::string output_group = "Output";
    one(app.add_option("-o,--output", options.output,
                       "Where the code goes; `-` is standard output. Default: the program's name with .cpp, in the "
                       "current directory"))
        ->type_name("FILE")
        ->group(output_group);
    one(app.add_option("--header", options.header,
                       "Where the header goes. Default: the code's name with .h; with `-o -` none"))
        ->type_name("FILE")
        ->group(output_group);
    one(app.add_option("--target", target, "What the code runs on: host (C++ with OpenMP), the only one in this build"))
        ->type_name("NAME")
        ->group(output_group);
    app.add_flag("--fsyntax-only", syntax_only, "Check the program and write nothing")->group(output_group);
    one(app.add_option("--emit", emit,
                       "Write one step instead of the code and the header, to standard output unless -o is given: "
                       "tokens, ast, pipeline (checked and typed), domains, host (the code), header"))
        ->type_name("STEP")
        ->group(output_group);

    const std::string input_group = "Imports and analysis";
    app.add_option("-I", options.include_dirs, "Search DIR for imports, after the program's own directory")
        ->type_name("DIR")
        ->allow_extra_args(false)
        ->group(input_group);
    one(app.add_option("--max-analysis-operations", options.analysis.max_operations,
                       "Bound on the work of one question of the bounds analysis"))
        ->type_name("N")
        ->capture_default_str()
        ->check(CLI::PositiveNumber)
        ->group(input_group);

    const std::string message_group = "Messages";
    app.add_option("--W", warning_flags, "Switch warnings, see below")
        ->type_name("")
        ->allow_extra_args(false)
        ->group(message_group);
    app.add_flag("-w", no_warnings, "No warnings")->group(message_group);
    one(app.add_option("--color", options.color,
                       "auto (where standard error is a terminal and NO_COLOR is not set), always or never"))
        ->type_name("WHEN")
        ->group(message_group)
        ->transform(CLI::CheckedTransformer(
            std::map<std::string, Color>{{"auto", Color::Auto}, {"always", Color::Always}, {"never", Color::Never}}));
    one(app.add_option("--diagnostics-format", options.diagnostics_format,
                       "text, or json: one document on standard error"))
        ->type_name("FORMAT")
        ->group(message_group)
        ->transform(CLI::CheckedTransformer(std::map<std::string, DiagnosticsFormat>{
            {"text", DiagnosticsFormat::Text}, {"json", DiagnosticsFormat::Json}}));

    const std::string dependency_group = "Rules for make";
    DependencyOptions& d = options.dependencies;
    app.add_flag("--MMD", d.write, "Write a rule: the outputs depend on the program and its imports")
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

    std::vector<std::string> arguments = rewrite_classic({argv + 1, argv + argc});
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    try {
        app.parse(std::move(arguments));
    } catch (const CLI::CallForHelp&) {
        return Finished{kExitSuccess, app.help()};
    } catch (const CLI::ParseError& e) {
        return refuse(e.what());
    }
    for (const std::string& extra : app.remaining()) {
        if (extra.size() > 1 && extra[0] == '-') return refuse_unknown_option(extra, app);
        files.push_back(extra);
    }
    if (version) return Finished{kExitSuccess, "pipec " PIPEC_VERSION "\n"};
    if (list) return Finished{kExitSuccess, list_diagnostics()};
    if (target == "cuda") return refuse("this build has no CUDA back end yet; `--target host` makes C++");
    if (target != "host") return refuse(fmt::format("unknown target `{}`; this build has: host", target));
    if (!emit.empty()) {
        const auto step = kEmit.find(emit);
        if (step == kEmit.end())
            return refuse(fmt::format(
                "unknown step `{}` for --emit; there are: tokens, ast, pipeline, domains, host, header", emit));
        if (syntax_only) return refuse("`--emit` and `-fsyntax-only` exclude each other");
        options.emit = step->second;
    } else if (syntax_only) {
        options.emit = Emit::Nothing;
    }
    if (!files.empty()) options.input = files.front();
    if (const auto problem = check_consistency(options, files)) return refuse(*problem);
    options.unknown_warnings = apply_warning_flags(warning_flags, options.warnings);
    options.warnings.none = no_warnings;
    return options;
}

}  // namespace pipec::driver
