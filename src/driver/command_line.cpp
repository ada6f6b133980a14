#include "driver/command_line.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "runner/options.h"

namespace pipec::driver {

namespace {

enum class Value {
    None,
    Joined,    ///< -MFx.d or -MF x.d
    Equals,    ///< -arch=x or -arch x
    Separate,  ///< -Xcxx x, whatever x looks like
};

struct Classic {
    std::string_view classic, cli;
    Value value;
};
constexpr std::array kClassic{Classic{"-fsyntax-only", "--fsyntax-only", Value::None},
                              Classic{"-ffast-math", "--ffast-math", Value::None},
                              Classic{"-fno-fast-math", "--ffast-math=false", Value::None},
                              Classic{"-fPIC", "--fPIC", Value::None},
                              Classic{"-fno-PIC", "--fno-PIC", Value::None},
                              Classic{"-shared", "--shared", Value::None},
                              Classic{"-save-temps", "--save-temps", Value::None},
                              Classic{"-arch", "--arch", Value::Equals},
                              Classic{"-Xnvcc", "--Xnvcc", Value::Separate},
                              Classic{"-Xcxx", "--Xcxx", Value::Separate},
                              Classic{"-###", "--###", Value::None},
                              Classic{"-MMD", "--MMD", Value::None},
                              Classic{"-MD", "--MD", Value::None},
                              Classic{"-MP", "--MP", Value::None},
                              Classic{"-MF", "--MF", Value::Joined},
                              Classic{"-MT", "--MT", Value::Joined}};

bool matches(const Classic& c, std::string_view argument) {
    if (argument == c.classic) return true;
    if (!argument.starts_with(c.classic)) return false;
    return c.value == Value::Joined || (c.value == Value::Equals && argument[c.classic.size()] == '=');
}

constexpr std::size_t kNameWidth = 32;
constexpr std::size_t kDescriptionWidth = 64;

constexpr const char* kPipecFooter = R"(
Without --target, `-o x.cpp` means host and all else cuda. Objects for cuda are made by --nvcc,
$NVCC, $CUDA_HOME/bin/nvcc, nvcc on PATH or /usr/local/cuda/bin/nvcc, those for host by --cxx, $CXX
or c++. An argument @FILE stands for the arguments in FILE.

Warnings are on unless switched off: -W<id> and -Wno-<id> switch one, -w all of them;
-Werror and -Werror=<id> make errors of them, -Wno-error and -Wno-error=<id> undo that. -Wperf
switches on those about what keeps a program slow on a GPU.
Every message ends with its id in brackets; `pipec --list-diagnostics` prints all of them.

Exit codes: 0 success, 1 the program or its schedule has errors, 2 wrong command line, 3 a file
could not be read or written, 4 a defect of the compiler, 5 nvcc, the C++ compiler or the GPU of
--gpu native is missing, or a compiler failed.
Where it is not 0, no output file is changed.

Examples:
  pipec blur.pipe                        write blur.cu and blur.h into this directory
  pipec blur.pipe harris.pipe            the same of both, or nothing where one has errors
  pipec blur.pipe -o build/blur.cpp      the code for the host, and build/blur.h
  pipec -c blur.pipe -arch=sm_80,sm_90   write blur.o and blur.h
  pipec -fsyntax-only blur.pipe          check only
  pipec --emit domains blur.pipe         show where each stage is computed
  pipec --strategy otpw blur.pipe        fuse what can be, a tile for each warp
  pipec -MMD -MF blur.d blur.pipe        also write a rule for make with the files imported
  pipec run blur.pipe --in img=a.png --out out=b.png
                                         compile and run on images (see `pipec run --help`)
  pipec explain --cost-model paper blur.pipe
                                         say what is fused, how it is tiled, and why)";

}  // namespace

Arguments rewrite_classic(const std::vector<std::string>& arguments) {
    Arguments result;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        const bool separate = argument == "-f" && i + 1 < arguments.size();
        if (separate && (arguments[i + 1] == "fast-math" || arguments[i + 1] == "no-fast-math")) {
            result.options.push_back(arguments[++i] == "fast-math" ? "--ffast-math" : "--ffast-math=false");
        } else if (argument == "--") {
            result.files.assign(arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1, arguments.end());
            break;
        } else if (const auto classic = std::find_if(kClassic.begin(), kClassic.end(),
                                                     [&](const Classic& c) { return matches(c, argument); });
                   classic != kClassic.end()) {
            std::string value = argument.substr(classic->classic.size());
            bool given = !value.empty();
            if (classic->value == Value::Equals && given) value.erase(0, 1);
            if (classic->value == Value::Separate && i + 1 < arguments.size()) {
                value = arguments[++i];
                given = true;
            }
            result.options.push_back(std::string(classic->cli) + (given ? "=" + value : ""));
        } else if (argument.starts_with("-W") && argument.size() > 2) {
            result.options.push_back("--warning=" + argument.substr(2));
        } else {
            result.options.push_back(argument);
        }
    }
    return result;
}

std::string classic_name(const std::string& cli) {
    for (const Classic& c : kClassic) {
        if (cli == c.cli) return std::string(c.classic);
    }
    return cli == "--warning" ? "-W<flag>" : cli;
}

void parse_arguments(CLI::App& app, const std::vector<std::string>& arguments) {
    Arguments rewritten = rewrite_classic(arguments);
    // Behind `--` stand files, whatever they look like.
    if (!rewritten.files.empty()) rewritten.options.emplace_back("--");
    rewritten.options.insert(rewritten.options.end(), rewritten.files.begin(), rewritten.files.end());
    runner::parse(app, rewritten.options);
}

void add_fast_math_option(CLI::App& app, bool& fast_math, const std::string& group) {
    app.add_flag("--ffast-math", fast_math,
                 "On a GPU, count with floats as if they were real numbers; -fno-fast-math undoes it")
        ->group(group);
}

void use_classic_names(CLI::App& app) {
    app.formatter(std::make_shared<ClassicFormatter>());
    app.get_formatter()->column_width(34);
}

HelpFormatter::HelpFormatter() {
    column_width(kNameWidth);
}

std::string ClassicFormatter::make_option_name(const CLI::Option* option, bool is_positional) const {
    return classic_name(CLI::Formatter::make_option_name(option, is_positional));
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
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

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
    return option->get_type_name().empty() ? "" : " " + option->get_type_name();
}

std::string HelpFormatter::make_usage(const CLI::App*, std::string) const {
    return R"(Usage: pipec [options] file.pipe ...
       pipec help [command]
       pipec run [options] file.pipe
       pipec explain [options] file.pipe
       pipec library [options] file.pipe
       pipec tune [options] file.pipe
       pipec profile [options] file.pipe
       pipec fmt [options] file.pipe ...
       pipec lsp [options]
       pipec completions bash|zsh|fish
)";
}

std::string HelpFormatter::make_footer(const CLI::App*) const {
    return std::string(kPipecFooter) + "\n";
}

}  // namespace pipec::driver
