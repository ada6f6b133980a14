// SHA-256, which names cached objects and detects damaged ones.
#pragma once

#include <string>
#include <string_view>

namespace pipec::driver {

/// The digest as 64 hexadecimal digits (FIPS 180-4).
std::string sha256(std::string_view bytes);

}  // namespace pipec::driver
