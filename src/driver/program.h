// The program that a command works on.
#pragma once

#include <string>
#include <vector>

#include "compiler/passes.h"
#include "support/diagnostics.h"
#include "support/source.h"

namespace CLI {
class App;
}

namespace pipec::driver {

struct ProgramOptions {
    std::string input;  ///< a path, or "-" for standard input
    std::vector<std::string> include_dirs;
    bool fast_math = false;
    bool phases = false;    ///< of pipelines with statistics, besides these
    bool versions = false;  ///< for usual values of sizes
    bool no_warnings = false;
    bool color = false;  ///< of messages

    [[nodiscard]] compiler::Settings settings() const;
};

/// Declares `-I` on `app`, which then fills `options` when it parses.
void add_import_option(CLI::App& app, ProgramOptions& options, const std::string& group);
/// Declares `-w` and `--color`: how messages about the program are shown.
void add_message_options(CLI::App& app, ProgramOptions& options, const std::string& group);

/// A program in the compiler's first pass.
struct LoadedProgram {
    SourceManager sources;
    std::string name;  ///< of the program's file, for messages and comments
    compiler::Checked checked;
};

/// The text of a program: of a file, or "-". Throws FileError.
FileId add_source(SourceManager& sources, const std::string& input);

/// Reads and checks a program, and prints what is wrong with it; false where it has errors. Throws FileError.
bool load(const ProgramOptions& options, LoadedProgram& program);

/// Prints diagnostics on standard error.
void print(const Diagnostics& diags, const SourceManager& sources, bool color);

}  // namespace pipec::driver
