// The options of a run: their names, help texts and the check of their form. What they mean for a certain pipeline is
// found out when it is loaded (execute.cpp).
#include "runner/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "runner/memory_size.h"
#include "runner/tile_shape.h"

namespace pipec::runner {

namespace {

NamedValue split(const std::string& text) {
    const std::size_t equals = text.find('=');
    return {text.substr(0, equals), text.substr(equals + 1)};
}

/// An option that may be given many times, each time with one NAME=VALUE.
CLI::Option* add_named(CLI::App& app, const char* flag, const char* value, const char* help,
                       std::vector<NamedValue>& into) {
    const std::string form = std::string("NAME=") + value;
    return app
        .add_option_function<std::vector<std::string>>(
            flag,
            [&into](const std::vector<std::string>& texts) {
                for (const std::string& text : texts) into.push_back(split(text));
            },
            help)
        ->allow_extra_args(false)
        ->option_text(form + " ...")
        ->check([form](const std::string& text) {
            const std::size_t equals = text.find('=');
            const bool fits = equals != std::string::npos && equals > 0 && equals + 1 < text.size();
            return fits ? std::string() : "`" + text + "` is not of the form " + form;
        });
}

void add_names(CLI::App& app, const char* flag, const char* help, std::vector<std::string>& into) {
    app.add_option(flag, into, help)->allow_extra_args(false)->option_text("NAME ...");
}

}  // namespace

void parse(CLI::App& app, const std::vector<std::string>& arguments) {
    std::vector<std::string> given;
    bool options = true;  // up to `--`
    for (const std::string& argument : arguments) {
        options = options && argument != "--";
        const bool empty = options && argument.starts_with("--") && argument.find('=') == argument.size() - 1;
        const std::string name = argument.substr(0, argument.size() - (empty ? 1 : 0));
        const CLI::Option* option = empty ? app.get_option_no_throw(name) : nullptr;
        if (option != nullptr && option->get_type_size_max() > 0) {
            given.insert(given.end(), {name, ""});
        } else {
            given.push_back(argument);
        }
    }
    std::reverse(given.begin(), given.end());  // CLI11 takes them from the back
    app.parse(std::move(given));
}

void add_device_option(CLI::App& app, std::string& device) {
    app.add_option("--device", device, "Where it runs: auto (a GPU if it can), cpu, gpu, or a GPU's number")
        ->option_text("WHERE")
        ->check([](const std::string& text) {
            const bool number =
                !text.empty() && text.size() <= 4 && text.find_first_not_of("0123456789") == std::string::npos;
            const bool known = number || text == "auto" || text == "cpu" || text == "gpu";
            return known ? std::string() : "`" + text + "` is none of auto, cpu, gpu, and no number of a GPU";
        });
}

void add_input_options(CLI::App& app, Options& options) {
    add_named(app, "--in", "FILE", "Read an input from an image or .npy file", options.inputs);
    add_named(app, "--set", "VALUE", "Give a scalar parameter a value", options.params);
    add_named(app, "--size", "N", "Give a size that no input determines", options.sizes);
    add_named(app, "--extent", "N,N,...", "Give all extents of an output that no input determines", options.extents);
    add_named(app, "--channels", "I,I,...", "Take these channels of the image file, in this order", options.channels);
    add_names(app, "--gray", "Turn the image file of an input into one channel (Rec. 709 luma)", options.gray);
    add_names(app, "--raw", "Take the numbers as they are: no scaling between integers and 0..1", options.raw);
    add_device_option(app, options.device);
}

void add_options(CLI::App& app, Options& options) {
    add_input_options(app, options);
    add_named(app, "--out", "FILE", "Write an output to an image or .npy file", options.outputs);
    add_named(app, "--depth", "8|16|half|float", "Bits of a channel in the image file of an output", options.depths);
    app.add_option("--repeat", options.repeat, "Run the pipeline N times and report the least and the median time")
        ->option_text("N")
        ->check(CLI::Range(1, 1'000'000));
    app.add_option("--tiles", options.tiles, "Run tile by tile, for images larger than memory (docs/run.md)")
        ->option_text("auto|ROWSxCOLS")
        ->check([](const std::string& text) {
            const bool known = text == "auto" || parse_tile_shape(text);
            return known ? std::string() : "`" + text + "` is neither auto nor ROWSxCOLS, such as 1024x1024";
        });
    app.add_option("--memory", options.memory, "Run in tiles with so much memory; default half of the machine's")
        ->option_text("SIZE")
        ->check([](const std::string& text) {
            return parse_memory(text) ? std::string() : "`" + text + "` is not an amount of memory, such as 512M or 2G";
        });
    app.add_flag("-q,--quiet", options.quiet, "Print no report, and not which device it was");
    app.add_flag("--json", options.json, "Print the report as JSON");
}

void add_measuring_options(CLI::App& app, Options& options) {
    const std::string group = "Measuring";
    add_named(app, "--random", "N,N,...", "Give an input random values: an array of these extents", options.random)
        ->group(group);
    add_named(app, "--expect", "FILE", "Compare an output with a .npy file, and count elements that differ",
              options.expected)
        ->group(group);
    app.add_option("--tolerance", options.tolerance,
                   "With --expect: differences up to this part of the greatest magnitude in the file are none")
        ->option_text("T")
        ->check(CLI::Range(0.0, 1.0))
        ->group(group);
    app.add_flag("--measure", options.measure, "Launch in batches, and report the mean time of a launch in each")
        ->group(group);
}

std::optional<std::string> inconsistency(const Options& options) {
    if (!options.tiled()) return std::nullopt;
    const char* const whole = options.repeat != 1         ? "--repeat"
                              : options.measure           ? "--measure"
                              : !options.random.empty()   ? "--random"
                              : !options.expected.empty() ? "--expect"
                                                          : nullptr;
    if (whole == nullptr) return std::nullopt;
    return std::string("`") + whole + "` is for runs in one piece, but `" +
           (options.tiles.empty() ? "--memory" : "--tiles") + "` is given";
}

std::vector<std::string> to_arguments(const Options& options) {
    std::vector<std::string> result;
    const auto named = [&](const char* flag, const std::vector<NamedValue>& values) {
        for (const NamedValue& value : values) {
            result.emplace_back(flag);
            result.push_back(value.name + "=" + value.value);
        }
    };
    const auto names = [&](const char* flag, const std::vector<std::string>& values) {
        for (const std::string& value : values) {
            result.emplace_back(flag);
            result.push_back(value);
        }
    };
    named("--in", options.inputs);
    named("--out", options.outputs);
    named("--set", options.params);
    named("--size", options.sizes);
    named("--extent", options.extents);
    named("--channels", options.channels);
    names("--gray", options.gray);
    names("--raw", options.raw);
    named("--depth", options.depths);
    named("--random", options.random);
    named("--expect", options.expected);
    if (options.tolerance > 0) result.insert(result.end(), {"--tolerance", std::to_string(options.tolerance)});
    if (options.measure) result.emplace_back("--measure");
    result.insert(result.end(), {"--device", options.device});
    result.emplace_back("--repeat");
    result.push_back(std::to_string(options.repeat));
    if (!options.tiles.empty()) result.insert(result.end(), {"--tiles", options.tiles});
    if (!options.memory.empty()) result.insert(result.end(), {"--memory", options.memory});
    if (options.quiet) result.emplace_back("--quiet");
    if (options.json) result.emplace_back("--json");
    return result;
}

}  // namespace pipec::runner
