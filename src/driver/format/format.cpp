#include "driver/format/format.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>
#include <vector>

#include "driver/command_line.h"
#include "driver/files.h"
#include "driver/options.h"
#include "driver/program.h"
#include "format/format.h"
#include "runner/options.h"
#include "support/unicode.h"

namespace pipec::driver {

namespace {

constexpr const char* kFormatFooter = R"(
Files are rewritten in the one style of the language (docs/editors.md); `-` is standard input, which
goes to standard output. Files with syntax errors stay as they are. With --check nothing is written.

Exit codes: 0 success, 1 a file has syntax errors or, with --check, is not formatted, 2 wrong command
line, 3 a file could not be read or written.

Examples:
  pipec fmt blur.pipe
  pipec fmt --check *.pipe
  pipec fmt - < blur.pipe)";

struct FormatOptions {
    std::vector<std::string> files;
    bool check = false;
    ProgramOptions messages;
};

/// False where the file has errors or, for --check, is not formatted. Throws FileError.
bool format_file(const FormatOptions& options, const std::string& path) {
    const bool stream = path == "-";
    SourceManager sources;
    Diagnostics diags;
    const std::string source = read_source(path);
    const FileId file = sources.add(stream ? "<stdin>" : path, source);
    const auto text = format::format_text(sources, file, diags);
    if (!text) {
        print(diags, sources, options.messages.color);
        return false;
    }
    if (options.check) {
        if (*text != source) std::cout << printable(sources.name(file)) << "\n";
        return *text == source;
    }
    if (stream || *text != source) write_files({{path, *text}});
    return true;
}

constexpr const char* kFormatTitle = "Formats programs.";

void declare(CLI::App& app, FormatOptions& options) {
    app.footer(kFormatFooter);
    app.add_option("file", options.files, "Programs; - is standard input")->required()->option_text("FILE ...");
    app.add_flag("--check", options.check, "Name the files that are not formatted, and write nothing");
    add_message_options(app, options.messages, "Messages");
}

}  // namespace

void describe_format(const AppVisitor& visit) {
    describe<FormatOptions>(kFormatTitle, "pipec fmt", declare, visit);
}

int format_command(int argc, char** argv) {
    FormatOptions options;
    CLI::App app(kFormatTitle, "pipec fmt");
    declare(app, options);
    try {
        runner::parse(app, {argv + 1, argv + argc});
    } catch (const CLI::CallForHelp&) {
        write_files({{"-", app.help()}});
        return kExitSuccess;
    } catch (const CLI::ParseError& error) {
        std::cerr << "pipec: error: " << printable(error.what()) << "\nTry `pipec fmt --help`.\n";
        return kExitUsage;
    }
    bool ok = true;
    for (const std::string& path : options.files) ok = format_file(options, path) && ok;
    return ok ? kExitSuccess : kExitProgramError;
}

}  // namespace pipec::driver
