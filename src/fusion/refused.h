// What code generation says of groups for which there is no code.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace pipec::fusion {

struct Refused {
    std::string reason;
    /// Stages that no register tile has both of, whatever its size: one reads the other at places of which lanes cannot
    /// name the register.
    std::optional<std::pair<int, int>> apart{};
};

/// Whether code can be generated for a group, and what is known besides where it cannot.
struct Verdict {
    bool possible = true;
    std::optional<std::pair<int, int>> apart{};  ///< Refused::apart

    Verdict(bool is_possible, std::optional<std::pair<int, int>> not_both = {})
        : possible(is_possible), apart(not_both) {}
};

}  // namespace pipec::fusion
