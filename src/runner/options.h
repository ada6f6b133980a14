// The command line of a run, as `pipec run` and `pipec-run` share it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace pipec::runner {

/// app.parse, where `--name=` gives an option an empty value (CLI11 alone would take the next argument for it). The
/// arguments are those after the program's name.
void parse(CLI::App& app, const std::vector<std::string>& arguments);

/// NAME=VALUE as written.
struct NamedValue {
    std::string name;
    std::string value;
    friend bool operator==(const NamedValue&, const NamedValue&) = default;
};

struct Options {
    std::vector<NamedValue> inputs;    ///< --in NAME=FILE
    std::vector<NamedValue> outputs;   ///< --out NAME=FILE
    std::vector<NamedValue> params;    ///< --set NAME=VALUE
    std::vector<NamedValue> sizes;     ///< --size NAME=N
    std::vector<NamedValue> extents;   ///< --extent NAME=N,N,...
    std::vector<NamedValue> channels;  ///< --channels NAME=I,I,...
    std::vector<NamedValue> depths;    ///< --depth NAME=8|16|half|float
    std::vector<std::string> gray;     ///< --gray NAME
    std::vector<std::string> raw;      ///< --raw NAME
    std::string device = "auto";       ///< --device auto|cpu|gpu|N
    int repeat = 1;
    std::string tiles;   ///< --tiles auto|ROWSxCOLS; empty: not given
    std::string memory;  ///< --memory SIZE; empty: not given
    // What `pipec tune` and `pipec profile` ask of pipec-run.
    std::vector<NamedValue> random;    ///< --random NAME=N,N,...
    std::vector<NamedValue> expected;  ///< --expect NAME=FILE
    double tolerance = 0;              ///< --tolerance
    bool measure = false;              ///< --measure
    bool quiet = false;
    bool json = false;
    /// Whether it is a run in tiles.
    [[nodiscard]] bool tiled() const { return !tiles.empty() || !memory.empty(); }
    friend bool operator==(const Options&, const Options&) = default;
};

/// Declares the options on `app`, which then fills `options` when it parses.
void add_options(CLI::App& app, Options& options);

/// Of these, the ones about what the pipeline is given, and where it runs.
void add_input_options(CLI::App& app, Options& options);

/// Of these, where it runs.
void add_device_option(CLI::App& app, std::string& device);

/// Others, with which runs are measured and compared.
void add_measuring_options(CLI::App& app, Options& options);

/// What is wrong with options that are fine by themselves.
std::optional<std::string> inconsistency(const Options& options);

/// The arguments that parse to `options` again.
std::vector<std::string> to_arguments(const Options& options);

}  // namespace pipec::runner
