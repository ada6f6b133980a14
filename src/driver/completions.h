// `pipec completions`: scripts with which a shell completes pipec's command line.
#pragma once

#include <string>
#include <vector>

#include "driver/commands.h"

namespace pipec::driver {

/// argv[0] is "completions". Returns the exit code; throws FileError.
int completions_command(int argc, char** argv);
void describe_completions(const AppVisitor& visit);

/// What stands behind an option.
struct OptionValue {
    enum class Kind { None, File, Directory, Words, Other } kind = Kind::None;
    std::string name;                ///< as the help has it: FILE
    std::vector<std::string> words;  ///< all that it can be, or, beside names of files, what it can be as well
};

struct CompletedOption {
    std::vector<std::string> names;  ///< as they are written: -o, --output, -fsyntax-only
    OptionValue value;
    std::string help;  ///< in one line
};

/// A command line as shells complete it. The name of the compilation without a command is "".
struct CompletedCommand {
    std::string name;
    std::string help;
    std::vector<CompletedOption> options;
};

/// What the command lines of `pipec` are, from the options that they declare.
std::vector<CompletedCommand> completed_commands();

/// The script for a shell: bash, zsh or fish.
std::string completion_script(const std::string& shell, const std::vector<CompletedCommand>& commands);

}  // namespace pipec::driver
