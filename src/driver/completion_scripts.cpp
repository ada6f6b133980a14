// The scripts of `pipec completions` for each shell.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/completions.h"

namespace pipec::driver {

namespace {

using Kind = OptionValue::Kind;

std::string names_of(const std::vector<CompletedCommand>& commands, const char* separator) {
    std::vector<std::string> names;
    for (const CompletedCommand& command : commands) {
        if (!command.name.empty()) names.push_back(command.name);
    }
    return fmt::format("{}", fmt::join(names, separator));
}

/// Escapes the characters in `special` with a backslash.
std::string escaped(const std::string& text, std::string_view special) {
    std::string result;
    for (const char c : text) {
        if (special.find(c) != std::string_view::npos) result += '\\';
        result += c;
    }
    return result;
}

/// For a string in single quotes.
std::string quoted(const std::string& text) {
    std::string result;
    for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return "'" + result + "'";
}

// --------------------------------------------------------------------------------------------------------------- bash

constexpr const char* kBashHead = R"(# Completion of pipec's command line for bash, made by `pipec completions bash`.
_pipec() {
    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command= words= files=
    if [[ $current == = ]]; then
        current=
    elif [[ $before == = && COMP_CWORD -gt 1 ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    COMPREPLY=()
)";

constexpr const char* kBashTail = R"(    case $files in
        any) compopt -o filenames; COMPREPLY=($(compgen -f -- "$current")) ;;
        directories) compopt -o filenames; COMPREPLY=($(compgen -d -- "$current")) ;;
        programs)
            compopt -o filenames
            COMPREPLY=($(compgen -f -X '!*.pipe' -- "$current") $(compgen -d -- "$current"))
            ;;
    esac
    [[ -z $words ]] || COMPREPLY+=($(compgen -W "$words" -- "$current"))
}
complete -F _pipec pipec
)";

std::string bash(const std::vector<CompletedCommand>& commands) {
    std::string text = kBashHead;
    text += fmt::format(
        "    if ((COMP_CWORD > 1)); then\n        case ${{COMP_WORDS[1]}} in\n"
        "            {}) command=${{COMP_WORDS[1]}} ;;\n        esac\n    fi\n",
        names_of(commands, " | "));
    text += "    case $command$before in\n";
    for (const CompletedCommand& command : commands) {
        for (const CompletedOption& option : command.options) {
            if (option.value.kind == Kind::None) continue;
            std::vector<std::string> patterns;
            for (const std::string& name : option.names) patterns.push_back(command.name + name);
            const char* files = option.value.kind == Kind::File        ? " files=any"
                                : option.value.kind == Kind::Directory ? " files=directories"
                                                                       : "";
            text += fmt::format("        {}) words='{}'{} ;;\n", fmt::join(patterns, " | "),
                                fmt::join(option.value.words, " "), files);
        }
    }
    text += fmt::format("        helphelp) words='{}' ;;\n", names_of(commands, " "));
    text += "        completionscompletions) words='bash zsh fish' ;;\n";
    text += "        *)\n            files=programs\n            case $command$current in\n";
    for (const CompletedCommand& command : commands) {
        std::vector<std::string> names;
        for (const CompletedOption& option : command.options) {
            names.insert(names.end(), option.names.begin(), option.names.end());
        }
        text += fmt::format("                {}-*) words='{}' files= ;;\n", command.name, fmt::join(names, " "));
    }
    text += fmt::format("                *) [[ $COMP_CWORD -gt 1 ]] || words='{}' ;;\n", names_of(commands, " "));
    text += "            esac\n            ;;\n    esac\n";
    return text + kBashTail;
}

// ---------------------------------------------------------------------------------------------------------------- zsh

std::string zsh_option(const CompletedOption& option) {
    const std::string help = escaped(option.help, "[]:");
    std::string action;
    if (option.value.kind != Kind::None) {
        action = ":" + escaped(option.value.name, ":") + ":";
        if (!option.value.words.empty() && option.value.kind == Kind::File) {
            action += fmt::format("{{compadd {}; _files}}", fmt::join(option.value.words, " "));
        } else if (option.value.kind == Kind::File) {
            action += "_files";
        } else if (option.value.kind == Kind::Directory) {
            action += "_files -/";
        } else if (!option.value.words.empty()) {
            action += fmt::format("({})", fmt::join(option.value.words, " "));
        }
    }
    std::string text;
    for (const std::string& name : option.names) {
        const bool equals = name.starts_with("--") && option.value.kind != Kind::None;
        text +=
            fmt::format("            {}\n", quoted(fmt::format("*{}{}[{}]{}", name, equals ? "=" : "", help, action)));
    }
    return text;
}

std::string zsh(const std::vector<CompletedCommand>& commands) {
    std::string text =
        "#compdef pipec\n# Completion of pipec's command line for zsh, made by `pipec completions zsh`.\n";
    text += "_pipec() {\n    local -a commands options\n    commands=(\n";
    for (const CompletedCommand& command : commands) {
        if (command.name.empty()) continue;
        text += fmt::format("        {}\n", quoted(command.name + ":" + escaped(command.help, ":")));
    }
    text +=
        "    )\n    if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then\n        _describe command commands\n"
        "        _files -g '*.pipe'\n        return\n    fi\n    local command=\n";
    text +=
        fmt::format("    case $words[2] in\n        {}) command=$words[2]; shift words; ((CURRENT--)) ;;\n    esac\n",
                    names_of(commands, "|"));
    text +=
        "    case $command in\n        help) _describe command commands; return ;;\n"
        "        completions) compadd bash zsh fish; return ;;\n";
    for (const CompletedCommand& command : commands) {
        if (command.name == "help" || command.name == "completions") continue;
        text += fmt::format("        {}) options=(\n", command.name.empty() ? "''" : command.name);
        for (const CompletedOption& option : command.options) text += zsh_option(option);
        text += "            ) ;;\n";
    }
    text += "    esac\n    _arguments $options '*:program:_files -g \"*.pipe\"'\n}\n";
    // In a file of $fpath, the file is the function; sourced, it is to be told.
    return text + "if [[ $funcstack[1] == _pipec ]]; then _pipec \"$@\"; else compdef _pipec pipec; fi\n";
}

// --------------------------------------------------------------------------------------------------------------- fish

std::string fish_name(const std::string& name) {
    if (name.starts_with("--")) return " -l " + name.substr(2);
    return (name.size() == 2 ? " -s " : " -o ") + quoted(name.substr(1));
}

std::string fish(const std::vector<CompletedCommand>& commands) {
    const std::string all = names_of(commands, " ");
    std::string text = "# Completion of pipec's command line for fish, made by `pipec completions fish`.\n";
    text +=
        "function __pipec_has\n    set -l words (commandline -opc)\n"
        "    test (count $words) -gt 1; and contains -- $words[2] $argv\nend\n";
    text += "complete -c pipec -f\n";
    text += "complete -c pipec -n 'not __pipec_has help completions' -k -a '(__fish_complete_suffix .pipe)'\n";
    for (const CompletedCommand& command : commands) {
        if (command.name.empty()) continue;
        text += fmt::format("complete -c pipec -n 'test (count (commandline -opc)) -eq 1' -a {} -d {}\n", command.name,
                            quoted(command.help));
    }
    text += fmt::format("complete -c pipec -n '__pipec_has help' -a {}\n", quoted(all));
    text += "complete -c pipec -n '__pipec_has completions' -a 'bash zsh fish'\n";
    for (const CompletedCommand& command : commands) {
        const std::string condition = command.name.empty() ? "not __pipec_has " + all : "__pipec_has " + command.name;
        for (const CompletedOption& option : command.options) {
            text += fmt::format("complete -c pipec -n {}", quoted(condition));
            for (const std::string& name : option.names) text += fish_name(name);
            if (option.value.kind == Kind::File) {
                text += " -r -F";
            } else if (option.value.kind == Kind::Directory) {
                text += " -x -a '(__fish_complete_directories)'";
            } else if (option.value.kind != Kind::None) {
                text += " -x";
            }
            if (!option.value.words.empty()) text += fmt::format(" -a '{}'", fmt::join(option.value.words, " "));
            text += fmt::format(" -d {}\n", quoted(option.help));
        }
    }
    return text;
}

}  // namespace

std::string completion_script(const std::string& shell, const std::vector<CompletedCommand>& commands) {
    if (shell == "bash") return bash(commands);
    if (shell == "zsh") return zsh(commands);
    return shell == "fish" ? fish(commands) : "";
}

}  // namespace pipec::driver
