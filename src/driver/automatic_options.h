// Options about automatic fusion, as `pipec` and `pipec run` share them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace pipec::driver {

/// None: no fusion but of cheap stages into their readers.
enum class CostModelName : std::uint8_t { Time, Paper, None };

struct AutomaticOptions {
    std::optional<CostModelName> cost_model;    ///< --cost-model; Time where nothing else says what is fused
    std::map<std::string, std::int64_t> sizes;  ///< --tune-for
    std::optional<std::string> profile;         ///< --profile: a file of `pipec profile`
};

/// Declares the options on `app`, which then fills `options` when it parses.
void add_automatic_options(CLI::App& app, AutomaticOptions& options, const std::string& group);

/// The option that was given; nothing where none was.
std::optional<std::string> first_given(const AutomaticOptions& options);

/// What is wrong with options that are each correct, as a sentence.
std::optional<std::string> inconsistency(const AutomaticOptions& options);

}  // namespace pipec::driver
