// Arguments from files: `pipec @flags x.pipe`.
#pragma once

#include <string>
#include <vector>

namespace pipec::driver {

/// Each `@FILE` before a `--` is replaced by the arguments in FILE, which may name files in turn. Arguments stand
/// between white space; quotes of both kinds hold it together, and a backslash takes the next character as it is, as in
/// gcc's response files. Throws FileError for a file that cannot be read, that ends inside quotes, or that holds
/// itself.
std::vector<std::string> expand_response_files(const std::vector<std::string>& arguments);

}  // namespace pipec::driver
