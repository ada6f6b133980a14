#include "driver/options.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
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

/// Arguments as CLI11 gets them, and those behind `--`, which are files whatever they look like.
struct Arguments {
    std::vector<std::string> options;
    std::vector<std::string> files;
};

/// `-MFx.d` and `-MF x.d` become `--MF=x.d` and `--MF x.d`, `-Wall` becomes `--warning=all`.
Arguments rewrite_classic(const std::vector<std::string>& arguments) {
    Arguments result;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        if (argument == "--") {
            result.files.assign(arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1, arguments.end());
            break;
        }
        const auto classic = std::find_if(kClassic.begin(), kClassic.end(), [&](const Classic& c) {
            return argument == c.classic || (c.takes_value && argument.starts_with(c.classic));
        });
        if (classic != kClassic.end()) {
            const std::string value = argument.substr(classic->classic.size());
            result.options.push_back(std::string(classic->cli) + (value.empty() ? "" : "=" + value));
        } else if (argument.starts_with("-W") && argument.size() > 2) {
            result.options.push_back("--warning=" + argument.substr(2));
        } else {
            result.options.push_back(argument);
        }
    }
    return result;
}

constexpr std::size_t kNameWidth = 32;
constexpr std::size_t kDescriptionWidth = 64;

/// CLI11's help with the classic spellings.
class Formatter : public CLI::Formatter {
public:
    std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
        std::string name = CLI::Formatter::make_option_name(option, is_positional);
        for (const Classic& c : kClassic) {
            if (name == c.cli) return std::string(c.classic);
        }
        return name == "--warning" ? "-W<flag>" : name;
    }
    /// Broken into lines; the base class indents them.
    std::string make_option_desc(const CLI::Option* option) const override {
        std::string text = CLI::Formatter::make_option_desc(option);
        std::size_t line = 0;
        for (std::size_t blank = text.find(' '); blank != std::string::npos; blank = text.find(' ', blank + 1)) {
            const std::size_t next = std::min(text.find(' ', blank + 1), text.size());
            if (next - line > kDescriptionWidth) {
                text[blank] = '\n';
                line = blank + 1;
            }
        }
        return text;
    }
    std::string make_option_opts(const CLI::Option* option) const override {
        return option->get_type_name().empty() ? "" : " " + option->get_type_name();
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

/// The values of an option that is one of a few words.
template <class T>
using Choices = std::vector<std::pair<std::string_view, T>>;

const Choices<Emit> kEmit{{"tokens", Emit::Tokens},   {"ast", Emit::Ast},   {"pipeline", Emit::Pipeline},
                          {"domains", Emit::Domains}, {"host", Emit::Host}, {"header", Emit::Header}};
const Choices<Color> kColor{{"auto", Color::Auto}, {"always", Color::Always}, {"never", Color::Never}};
const Choices<DiagnosticsFormat> kFormat{{"text", DiagnosticsFormat::Text}, {"json", DiagnosticsFormat::Json}};

/// Thrown with the message for the person while the command line is read.
struct BadOption : std::runtime_error {
    using std::runtime_error::runtime_error;
};

template <class T>
T choose(const Choices<T>& choices, std::string_view option, const std::string& value) {
    std::vector<std::string> names;
    for (const auto& [name, meaning] : choices) {
        if (name == value) return meaning;
        names.emplace_back(name);
    }
    throw BadOption(fmt::format("`{}` is no value of `{}`; there are: {}", value, option, fmt::join(names, ", ")));
}

unsigned long positive_integer(std::string_view option, const std::string& value) {
    unsigned long number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size() || number == 0) {
        throw BadOption(fmt::format("`{}` is no value of `{}`: it must be a positive integer", value, option));
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

/// `--MF: 1 required FILE missing` with the spelling that the person used.
std::string with_classic_names(std::string message) {
    for (const Classic& c : kClassic) {
        if (message.starts_with(std::string(c.cli) + ":")) message.replace(0, c.cli.size(), c.classic);
    }
    return message;
}

/// Options that make no sense together.
void check_consistency(const Options& o, const std::vector<std::string>& files) {
    if (files.empty()) throw BadOption("no input file");
    if (files.size() > 1) {
        throw BadOption(fmt::format("`{}` and `{}`: one file is compiled at a time", files[0], files[1]));
    }
    for (const std::string& name :
         {o.input, o.output.value_or("x"), o.header.value_or("x"), o.dependencies.file.value_or("x")}) {
        if (name.empty()) throw BadOption("a file name is empty");
    }
    if (o.header && o.emit != Emit::Code) throw BadOption("`--header` is for compilations that write code");
    if (o.output && o.emit == Emit::Nothing) throw BadOption("`-o` and `-fsyntax-only` exclude each other");
    if (o.emit == Emit::Code && o.input == "-" && !o.output) {
        throw BadOption("the program comes from standard input: `-o` must say where the code goes");
    }
    const DependencyOptions& d = o.dependencies;
    if (!d.write && (d.file || !d.targets.empty() || d.phony_targets)) {
        throw BadOption("`-MF`, `-MT` and `-MP` need `-MMD` or `-MD`");
    }
}

}  // namespace

std::variant<Options, Finished> parse_options(int argc, const char* const* argv) {
    Options options;
    std::vector<std::string> files;
    std::vector<std::string> warning_flags;
    std::string emit;
    std::string target = "host";
    std::string color = "auto";
    std::string format = "text";
    std::string max_operations = std::to_string(options.analysis.max_operations);
    bool syntax_only = false;
    bool no_warnings = false;
    bool list = false;
    bool version = false;

    CLI::App app("pipec compiles image-processing pipelines to C++.", "pipec");
    app.formatter(std::make_shared<Formatter>());
    app.get_formatter()->column_width(kNameWidth);
    app.footer(std::string(kFooter));
    app.allow_extras();
    app.add_option("file.pipe", files, "The program; `-` is standard input")->type_name("");
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
    app.add_option("-I", options.include_dirs,
                   "Search DIR for imports, after the program's own directory; may be repeated")
        ->type_name("DIR")
        ->allow_extra_args(false)
        ->group(input_group);
    one(app.add_option("--max-analysis-operations", max_operations,
                       "Bound on the work of one question of the bounds analysis; default " + max_operations))
        ->type_name("N")
        ->group(input_group);

    const std::string message_group = "Messages";
    app.add_option("--warning", warning_flags, "Switch warnings, see below")
        ->type_name("")
        ->allow_extra_args(false)
        ->group(message_group);
    app.add_flag("-w", no_warnings, "No warnings")->group(message_group);
    one(app.add_option("--color", color,
                       "auto (where standard error is a terminal and NO_COLOR is not set), always or never"))
        ->type_name("WHEN")
        ->group(message_group);
    one(app.add_option("--diagnostics-format", format, "text, or json: one document on standard error"))
        ->type_name("FORMAT")
        ->group(message_group);

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

    Arguments arguments = rewrite_classic({argv + 1, argv + argc});
    std::reverse(arguments.options.begin(), arguments.options.end());  // CLI11 takes them from the back
    try {
        app.parse(std::move(arguments.options));
    } catch (const CLI::CallForHelp&) {
        return Finished{kExitSuccess, app.help()};
    } catch (const CLI::ParseError& e) {
        return refuse(with_classic_names(e.what()));
    }
    for (const std::string& extra : app.remaining()) {
        if (extra.size() > 1 && extra[0] == '-') return refuse_unknown_option(extra, app);
        files.push_back(extra);
    }
    files.insert(files.end(), arguments.files.begin(), arguments.files.end());
    if (version) return Finished{kExitSuccess, "pipec " PIPEC_VERSION "\n"};
    if (list) return Finished{kExitSuccess, list_diagnostics()};
    try {
        if (target == "cuda") throw BadOption("this build has no CUDA back end yet; `--target host` makes C++");
        choose(Choices<int>{{"host", 0}}, "--target", target);
        if (!emit.empty() && syntax_only) throw BadOption("`--emit` and `-fsyntax-only` exclude each other");
        if (!emit.empty()) options.emit = choose(kEmit, "--emit", emit);
        if (syntax_only) options.emit = Emit::Nothing;
        options.color = choose(kColor, "--color", color);
        options.diagnostics_format = choose(kFormat, "--diagnostics-format", format);
        options.analysis.max_operations = positive_integer("--max-analysis-operations", max_operations);
        if (!files.empty()) options.input = files.front();
        check_consistency(options, files);
    } catch (const BadOption& e) {
        return refuse(e.what());
    }
    options.unknown_warnings = apply_warning_flags(warning_flags, options.warnings);
    options.warnings.none = no_warnings;
    return options;
}

bool use_color(Color color) {
    if (color != Color::Auto) return color == Color::Always;
    const char* no_color = std::getenv("NO_COLOR");
    const char* term = std::getenv("TERM");
    return (no_color == nullptr || *no_color == '\0') && (term == nullptr || std::strcmp(term, "dumb") != 0) &&
           ::isatty(STDERR_FILENO) != 0;
}

}  // namespace pipec::driver
