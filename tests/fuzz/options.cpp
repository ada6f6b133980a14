#include "fuzz/options.h"

#include <fmt/format.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>

namespace pipec::testing {

namespace {

constexpr const char* kHelp =
    R"(pipec-fuzz: random programs through the compiler, the interpreter, the host's code and the SIMT emulator

  --seed N          other programs (default 1)
  --programs N      how many (default 100)
  --first N         the number of the first one (default 0)
  --generator NAME  expressions, images, indices, or all in turn (default all)
  --schedules N     random schedules for each program, on the device (default 0: the default schedule)
  --target NAME     host, device, both, or none: the front end and the interpreter alone (default both)
  --flags FLAGS     for the compiler of the generated host code (default: -O0 and -fsanitize=undefined, which aborts)
  --batch N         programs in one run of the system's compiler (default 64)
  --jobs N          processes at a time (default 1)
  --seconds N       stop after this time
  --refused         report programs that are refused, although no small size shows anything wrong with them
  --slow SECONDS    report programs whose analysis takes longer
  --keep DIR        write each finding to DIR
  --print           print the programs and run nothing
  --no-reduce       report programs as they are; --reductions N: attempts to make one smaller (default 300)

Exit status: 0 where nothing was found, 1 where something was, 2 for a wrong command line.
)";

double number(const std::string& option, const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(value >= 0)) {
        throw std::runtime_error(fmt::format("{}: `{}` is not a number", option, text));
    }
    return value;
}

}  // namespace

FuzzOptions parse_fuzz_options(const std::vector<std::string>& arguments) {
    FuzzOptions options;
    options.flags = "-O0 -fsanitize=undefined -fno-sanitize-recover=all";
    const auto count = [](auto& field) {
        return [&field](const std::string& option, const std::string& text) {
            field = static_cast<std::remove_reference_t<decltype(field)>>(number(option, text));
        };
    };
    const auto text = [](std::string& field) {
        return [&field](const std::string&, const std::string& value) { field = value; };
    };
    std::map<std::string, std::function<void(const std::string&, const std::string&)>> with_value = {
        {"--seed", count(options.seed)},
        {"--programs", count(options.programs)},
        {"--first", count(options.first)},
        {"--schedules", count(options.schedules)},
        {"--batch", count(options.batch)},
        {"--jobs", count(options.jobs)},
        {"--seconds", count(options.seconds)},
        {"--slow", count(options.slow)},
        {"--reductions", count(options.reductions)},
        {"--generator", text(options.generator)},
        {"--flags", text(options.flags)},
        {"--keep", text(options.keep)},
        {"--target", [&](const std::string&, const std::string& value) {
             if (value != "host" && value != "device" && value != "both" && value != "none") {
                 throw std::runtime_error(fmt::format("--target: `{}` is none of host, device, both, none", value));
             }
             options.host = value == "host" || value == "both";
             options.device = value == "device" || value == "both";
         }}};
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        if (argument == "--help" || argument == "-h") {
            fmt::print("{}", kHelp);
            std::exit(0);
        }
        if (argument == "--refused") {
            options.refused = true;
        } else if (argument == "--print") {
            options.print = true;
        } else if (argument == "--no-reduce") {
            options.reduce = false;
        } else if (const auto found = with_value.find(argument); found == with_value.end()) {
            throw std::runtime_error(fmt::format("unknown option `{}`", argument));
        } else if (i + 1 == arguments.size()) {
            throw std::runtime_error(fmt::format("{} needs a value", argument));
        } else {
            found->second(argument, arguments[++i]);
        }
    }
    if (options.batch == 0 || options.jobs == 0) throw std::runtime_error("--batch and --jobs must be at least 1");
    return options;
}

}  // namespace pipec::testing
