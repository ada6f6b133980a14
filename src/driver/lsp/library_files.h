// The standard library, which is a part of the compiler, as files that an editor can show.
#pragma once

#include <string>

namespace pipec::driver {

/// A directory below the cache with the files of this compiler's standard library; empty where they cannot be written.
std::string library_directory();

}  // namespace pipec::driver
