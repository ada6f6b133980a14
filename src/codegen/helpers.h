// The small functions that generated expressions call where C++ has no operator with the language's meaning, as C++
// text. A file contains only those that it uses.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pipec::codegen {

/// What the code is compiled by. A file for Cuda is code for the host and for the device.
enum class Target : std::uint8_t { Host, Cuda };

/// The helpers that a file needs, with those that they need.
class Helpers {
public:
    explicit Helpers(Target target) : target_(target) {}

    [[nodiscard]] Target target() const { return target_; }
    /// Notes that `name` is called; returns it. It must be one of helper_names().
    std::string_view use(std::string_view name);
    [[nodiscard]] bool uses(std::string_view name) const { return used_.count(name) > 0; }
    /// The definitions, in dependency order, each with an empty line after it.
    [[nodiscard]] std::string definitions() const;
    [[nodiscard]] bool empty() const { return used_.empty(); }

private:
    Target target_;
    std::set<std::string, std::less<>> used_;
};

/// Every helper's name: what generated code must not call anything else.
std::vector<std::string_view> helper_names();

}  // namespace pipec::codegen
