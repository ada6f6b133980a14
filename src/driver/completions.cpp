// The table of options that all shells complete from, and the command that prints a script.
#include "driver/completions.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "driver/command_line.h"
#include "driver/files.h"
#include "driver/options.h"
#include "fusion/cpu.h"
#include "fusion/gpu.h"
#include "fusion/strategy.h"
#include "support/diagnostic_registry.h"
#include "support/unicode.h"

namespace pipec::driver {

namespace {

constexpr const char* kCompletionsFooter = R"(
For bash: `source <(pipec completions bash)` in ~/.bashrc; for zsh `pipec completions zsh` to a file
_pipec in a directory of $fpath; for fish `pipec completions fish | source` in config.fish. The Debian
package has them in the places where the three look.)";

/// The words that the value of an option can be; empty where it can be anything.
std::vector<std::string> words_of(const std::string& option) {
    if (auto words = words_of_option(option); !words.empty()) return words;
    std::vector<std::string> words;
    if (option == "--strategy") {
        for (const fusion::StrategyInfo& info : fusion::strategies()) words.emplace_back(info.name);
    } else if (option == "--gpu") {
        words = fusion::known_gpus();
        words.emplace_back("native");
    } else if (option == "--cpu") {
        words = fusion::known_cpus();
        words.emplace_back("native");
    } else if (option == "--cost-model") {
        words = {"time", "paper", "none"};
    } else if (option == "--device") {
        words = {"auto", "cpu", "gpu"};
    } else if (option == "-arch") {
        words.assign(kArchitectureSets.begin(), kArchitectureSets.end());
    }
    return words;
}

/// `true|false`: an option that says itself what it can be.
std::vector<std::string> alternatives(const std::string& name) {
    std::vector<std::string> words;
    for (std::size_t begin = 0; begin <= name.size();) {
        const std::size_t end = std::min(name.find('|', begin), name.size());
        words.push_back(name.substr(begin, end - begin));
        begin = end + 1;
    }
    const bool lower =
        std::ranges::all_of(name, [](unsigned char c) { return std::islower(c) != 0 || c == '|' || c == '_'; });
    return words.size() > 1 && lower ? words : std::vector<std::string>{};
}

OptionValue value_of(const CLI::Option& option, const std::string& classic) {
    OptionValue value;
    if (option.get_expected_max() == 0) return value;
    const std::string text = option.get_option_text().empty() ? option.get_type_name() : option.get_option_text();
    value.name = text.substr(0, text.find(' '));
    value.words = words_of(classic);
    if (value.words.empty()) value.words = alternatives(value.name);
    const bool file = value.name.ends_with("FILE");
    value.kind = file                  ? OptionValue::Kind::File
                 : value.name == "DIR" ? OptionValue::Kind::Directory
                 : value.words.empty() ? OptionValue::Kind::Other
                                       : OptionValue::Kind::Words;
    return value;
}

/// The first sentence, or what stands before the first colon or semicolon.
std::string brief(const std::string& text) {
    std::string result = text.substr(0, text.find_first_of(";\n"));
    for (const char* end : {". ", ": "}) result = result.substr(0, result.find(end));
    return result;
}

CompletedCommand completed(std::string name, const CLI::App& app) {
    CompletedCommand result{std::move(name), app.get_description(), {}};
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_positional()) continue;
        CompletedOption one;
        for (const std::string& s : option->get_snames()) one.names.push_back("-" + s);
        for (const std::string& l : option->get_lnames()) {
            if (l == "warning") continue;  // below
            one.names.push_back(classic_name("--" + l));
        }
        if (one.names.empty()) continue;
        one.value = value_of(*option, one.names.back());
        one.help = brief(option->get_description());
        if (one.names.back() == "-ffast-math") {
            result.options.push_back({{"-fno-fast-math"}, {}, "Undo -ffast-math"});
        }
        result.options.push_back(std::move(one));
    }
    return result;
}

/// -Wall and the like: words of their own.
void add_warnings(CompletedCommand& command) {
    command.options.push_back({{"-Werror"}, {}, "Make errors of warnings"});
    command.options.push_back({{"-Wperf"}, {}, "Warn about what keeps a program slow on a GPU"});
    for (const DiagnosticInfo& info : all_diagnostics()) {
        if (info.severity != Severity::Warning) continue;
        command.options.push_back({{fmt::format("-Wno-{}", info.id)}, {}, "Switch a warning off"});
    }
}

struct CompletionOptions {
    std::string shell;
};

void declare(CLI::App& app, CompletionOptions& options) {
    app.footer(kCompletionsFooter);
    app.add_option("shell", options.shell, "bash, zsh or fish")->required()->option_text("SHELL");
}

constexpr const char* kCompletionsTitle = "Prints a script with which a shell completes pipec's command line.";

}  // namespace

std::vector<CompletedCommand> completed_commands() {
    std::vector<CompletedCommand> result;
    describe_compilation([&](CLI::App& app) { result.push_back(completed("", app)); });
    add_warnings(result.front());
    for (const Command& command : commands()) {
        command.describe([&](CLI::App& app) { result.push_back(completed(std::string(command.name), app)); });
    }
    result.push_back({"help", "Prints the help of a command.", {}});
    return result;
}

void describe_completions(const AppVisitor& visit) {
    describe<CompletionOptions>(kCompletionsTitle, "pipec completions", declare, visit);
}

int completions_command(int argc, char** argv) {
    CompletionOptions options;
    CLI::App app(kCompletionsTitle, "pipec completions");
    declare(app, options);
    try {
        app.parse(argc, argv);
        const std::string script = completion_script(options.shell, completed_commands());
        if (script.empty()) {
            throw CLI::ParseError(fmt::format("`{}` is none of bash, zsh and fish", options.shell), kExitUsage);
        }
        write_files({{"-", script}});
    } catch (const CLI::CallForHelp&) {
        write_files({{"-", app.help()}});
    } catch (const CLI::ParseError& error) {
        std::cerr << "pipec: error: " << printable(error.what()) << "\nTry `pipec completions --help`.\n";
        return kExitUsage;
    }
    return kExitSuccess;
}

}  // namespace pipec::driver
