// Options about automatic fusion, as `pipec` and its commands share them.
#pragma once

#include <optional>
#include <string>

#include "compiler/settings.h"

namespace CLI {
class App;
}

namespace pipec::driver {

/// Declares the options on `app`, which then fills `request` when it parses. A profile has its name only.
void add_automatic_options(CLI::App& app, compiler::ModelRequest& request, const std::string& group);

/// Reads the profile. Throws FileError.
void read_files(compiler::ModelRequest& request);

/// The option that was given; nothing where none was.
std::optional<std::string> first_given(const compiler::ModelRequest& request);

/// What is wrong with options that are each correct, as a sentence.
std::optional<std::string> inconsistency(const compiler::ModelRequest& request);

}  // namespace pipec::driver
