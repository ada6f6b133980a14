// Names of other languages and of their libraries, and what is written for them here: for the parser, which meets them
// as `np.clip`, and for the elaborator, to which they are unknown names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pipec {

struct ForeignName {
    std::string name;    ///< that is written here; empty where a note says more
    std::string import;  ///< the file of the standard library that has it; empty where the language itself has
    std::string note;
};

std::optional<ForeignName> foreign_name(std::string_view name);

/// What is said about the member `name` of a value, `img.shape`, or of a whole image, `img.max()`.
std::string about_member(std::string_view name, bool of_image);

}  // namespace pipec
