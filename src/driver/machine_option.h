// What the values of `--cpu` and `--gpu` are: a name that is known, `native`, or a file with a description.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pipec::driver {

/// This machine's.
inline constexpr const char* kNative = "native";

bool is_file_name(const std::string& value);

/// Throws CLI::ValidationError where `value` is nothing of that sort. `what`: "CPU" or "GPU".
void check_machine(const std::string& value, std::string_view what, std::vector<std::string> known);

}  // namespace pipec::driver
