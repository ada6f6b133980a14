// The command line of `pipec` as data.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "poly/model.h"
#include "support/diagnostics.h"

namespace pipec::driver {

/// What is written. Nothing: the program is only checked.
enum class Emit { Code, Nothing, Tokens, Ast, Pipeline, Domains, Host, Header };

enum class Color { Auto, Always, Never };
enum class DiagnosticsFormat { Text, Json };

/// Whether messages on standard error are coloured; Auto asks the terminal and NO_COLOR.
bool use_color(Color color);

/// -MD (-MMD): a rule for make that names the files that were read.
struct DependencyOptions {
    bool write = false;
    bool phony_targets = false;        ///< -MP
    std::optional<std::string> file;   ///< -MF
    std::vector<std::string> targets;  ///< -MT; where empty, the files written
};

struct Options {
    std::string input;                  ///< a path, or "-" for standard input
    std::optional<std::string> output;  ///< -o
    std::optional<std::string> header;  ///< --header
    Emit emit = Emit::Code;
    std::vector<std::string> include_dirs;
    WarningOptions warnings;
    std::vector<std::string> unknown_warnings;  ///< X of every -WX that names no warning
    Color color = Color::Auto;
    DiagnosticsFormat diagnostics_format = DiagnosticsFormat::Text;
    DependencyOptions dependencies;
    poly::Options analysis;
};

/// The command line was answered or refused: nothing is to be compiled.
struct Finished {
    int exit_code = 0;
    std::string text;  ///< for standard output where exit_code is 0, else for standard error
};

/// Reads the arguments of a compilation (argv[0] is the program).
std::variant<Options, Finished> parse_options(int argc, const char* const* argv);

/// Exit codes of `pipec`.
inline constexpr int kExitSuccess = 0;
inline constexpr int kExitProgramError = 1;  ///< the program was refused
inline constexpr int kExitUsage = 2;         ///< the command line was refused
inline constexpr int kExitFile = 3;          ///< a file could not be read or written
inline constexpr int kExitInternal = 4;      ///< a defect of the compiler

}  // namespace pipec::driver
