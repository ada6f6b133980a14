// The small functions that generated expressions call where C++ has no operator with the language's meaning, as C++
// text. A file contains only those that it uses.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fusion/target.h"

namespace pipec::codegen {

/// The helpers that a file needs, with those that they need.
class Helpers {
public:
    /// A file for Platform::Cuda is code for the host and for the device.
    explicit Helpers(fusion::Platform platform) : platform_(platform) {}

    [[nodiscard]] fusion::Platform platform() const { return platform_; }
    /// Notes that `name` is called; returns it. It must be one of helper_names().
    std::string_view use(std::string_view name);
    [[nodiscard]] bool uses(std::string_view name) const { return used_.count(name) > 0; }
    /// The definitions, in dependency order, each with an empty line after it.
    [[nodiscard]] std::string definitions() const;
    [[nodiscard]] bool empty() const { return used_.empty(); }

private:
    fusion::Platform platform_;
    std::set<std::string, std::less<>> used_;
};

/// Every helper's name: what generated code must not call anything else.
std::vector<std::string_view> helper_names();

}  // namespace pipec::codegen
