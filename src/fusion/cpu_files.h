// The files of cpus/, compiled into the binary by CMake (cmake/EmbedTexts.cmake).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace pipec {

/// The text of cpus/NAME.toml, NAME without the extension.
std::optional<std::string_view> cpu_file(std::string_view name);
std::vector<std::string_view> cpu_names();

}  // namespace pipec
