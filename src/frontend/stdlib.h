// The standard library's files, compiled into the binary by CMake (cmake/EmbedTexts.cmake).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace pipec {

/// The text of stdlib/NAME.pipe, NAME without the extension.
std::optional<std::string_view> stdlib_file(std::string_view name);
std::vector<std::string_view> stdlib_names();

}  // namespace pipec
