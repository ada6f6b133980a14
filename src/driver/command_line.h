// How `pipec`'s command line is spelt: options as compilers have them, and the help.
//
// CLI11 knows `-x` and `--long`. The classic spellings of compilers are rewritten to long options before it parses, and
// written back in messages and in the help.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "driver/commands.h"

namespace pipec::driver {

/// Arguments as CLI11 gets them, and those behind `--`, which are files whatever they look like.
struct Arguments {
    std::vector<std::string> options;
    std::vector<std::string> files;
};

/// `-MFx.d` and `-MF x.d` become `--MF=x.d`, `-Wall` becomes `--warning=all`.
Arguments rewrite_classic(const std::vector<std::string>& arguments);

/// A long option of CLI11's, as a person writes it.
std::string classic_name(const std::string& cli);

/// Parses the arguments of a command, whose files stand among its options. Throws CLI::ParseError.
void parse_arguments(CLI::App& app, const std::vector<std::string>& arguments);

/// `-ffast-math`, with `-fno-fast-math` and `-f fast-math`.
void add_fast_math_option(CLI::App& app, bool& fast_math, const std::string& group);

/// The help of a command with the classic spellings.
void use_classic_names(CLI::App& app);

/// Hands the command line of a command to `visit`, with the options that `declare` declares.
template <class CommandOptions>
void describe(const char* title, const char* name, void (*declare)(CLI::App&, CommandOptions&),
              const AppVisitor& visit) {
    CommandOptions options;
    CLI::App app(title, name);
    declare(app, options);
    visit(app);
}

/// CLI11's help with the classic spellings.
class ClassicFormatter : public CLI::Formatter {
public:
    std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
};

/// The help of `pipec` without a command.
class HelpFormatter : public ClassicFormatter {
public:
    HelpFormatter();
    /// Broken into lines; the base class indents them.
    std::string make_option_desc(const CLI::Option* option) const override;
    std::string make_option_opts(const CLI::Option* option) const override;
    std::string make_usage(const CLI::App* app, std::string name) const override;
    std::string make_footer(const CLI::App* app) const override;
};

}  // namespace pipec::driver
