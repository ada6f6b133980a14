#include "driver/machine_option.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

namespace pipec::driver {

bool is_file_name(const std::string& value) {
    return value.find('/') != std::string::npos || value.ends_with(".toml");
}

void check_machine(const std::string& value, std::string_view what, std::vector<std::string> known) {
    known.emplace_back(kNative);
    if (is_file_name(value) || std::find(known.begin(), known.end(), value) != known.end()) return;
    throw CLI::ValidationError(
        fmt::format("`{}` is no {} that is known, and no name of a file (with .toml or a /); there are: {}", value,
                    what, fmt::join(known, ", ")));
}

}  // namespace pipec::driver
