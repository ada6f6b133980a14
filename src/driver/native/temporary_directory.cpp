#include "driver/native/temporary_directory.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "driver/files.h"

namespace fs = std::filesystem;

namespace pipec::driver {

fs::path TemporaryDirectory::pattern() {
    std::error_code error;
    const fs::path parent = fs::temp_directory_path(error);
    return (error ? fs::path("/tmp") : parent) / "pipec-XXXXXX";
}

TemporaryDirectory::TemporaryDirectory() {
    std::string name = pattern().string();
    if (mkdtemp(name.data()) == nullptr) {
        throw FileError(fmt::format("cannot make a directory {}: {}", name, std::strerror(errno)));
    }
    path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

}  // namespace pipec::driver
