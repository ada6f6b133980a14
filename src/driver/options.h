// The command line of `pipec` as data.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "driver/commands.h"
#include "driver/schedule_options.h"
#include "fusion/target.h"
#include "poly/model.h"
#include "support/diagnostics.h"

namespace pipec::driver {

/// What is written. Code: for the target, with its header. Object: that, compiled. Nothing: the program is only
/// checked.
enum class Emit { Code, Object, Nothing, Tokens, Ast, Pipeline, Domains, Schedule, Plan, Kernel, Host, Cuda, Header };

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

/// -c, -shared: the code is compiled by nvcc or the system's C++ compiler.
struct ObjectOptions {
    bool shared = false;
    bool pic = true;
    bool debug = false;                      ///< -g
    bool fast_math = false;                  ///< -ffast-math; the code itself is another one, too
    int optimize = 3;                        ///< -O
    std::vector<std::string> architectures;  ///< -arch: sm_N and compute_N, or one of kArchitectureSets; empty: default
    std::string nvcc, cxx;                   ///< --nvcc, --cxx; empty: found
    std::vector<std::string> nvcc_flags;     ///< -Xnvcc
    std::vector<std::string> cxx_flags;      ///< -Xcxx
    bool keep = false;                       ///< the code stays, beside the object
    bool print_only = false;                 ///< -###
    bool verbose = false;                    ///< -v
};

/// Architectures that nvcc chooses itself.
inline constexpr std::array<std::string_view, 3> kArchitectureSets{"native", "all", "all-major"};

struct Options {
    std::string input;                     ///< a path, or "-" for standard input
    std::vector<std::string> more_inputs;  ///< compiled like `input`, after it
    std::optional<std::string> output;     ///< -o
    std::optional<std::string> header;     ///< --header
    Emit emit = Emit::Code;
    fusion::Platform platform = fusion::Platform::Cuda;  ///< --target
    bool deterministic = false;                          ///< sums in the program's order also where that is slow
    bool windows = false;                                ///< --windows: functions for windows, besides
    bool phases = false;                                 ///< --phases: those of pipelines with statistics, besides
    ScheduleOptions schedule;
    std::string cpu;   ///< --cpu (driver/cpu_option.h)
    bool pin = false;  ///< --pin: the schedule that is printed has no choice left to the compiler that was made
    ObjectOptions object;
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

/// Whether what is written depends on the schedule; a check of the program alone checks the schedule too.
bool uses_schedule(Emit emit);

/// Whether what is written is made of kernels.
bool needs_kernels(Emit emit);

/// Reads the arguments of a compilation (argv[0] is the program). Throws FileError for response files.
std::variant<Options, Finished> parse_options(int argc, const char* const* argv);

/// The options of a compilation, as those of commands are described (commands.h).
void describe_compilation(const AppVisitor& visit);

/// The words that the value of an option of a compilation can be; empty where it can be anything.
std::vector<std::string> words_of_option(std::string_view option);

/// Exit codes of `pipec`.
inline constexpr int kExitSuccess = 0;
inline constexpr int kExitProgramError = 1;  ///< the program was refused, or needs more memory than there is
inline constexpr int kExitUsage = 2;         ///< the command line was refused
inline constexpr int kExitFile = 3;          ///< a file could not be read or written
inline constexpr int kExitInternal = 4;      ///< a defect of the compiler
inline constexpr int kExitTool = 5;          ///< nvcc, the C++ compiler or a GPU is missing, or a compiler failed

}  // namespace pipec::driver
