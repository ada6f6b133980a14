// A place for files that nobody asked for.
#pragma once

#include <filesystem>

namespace pipec::driver {

/// A new directory in $TMPDIR or /tmp, removed with what is in it.
class TemporaryDirectory {
public:
    TemporaryDirectory();  ///< throws FileError
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    ~TemporaryDirectory();
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

    /// Such directories' paths but for the last characters, which mkdtemp chooses.
    static std::filesystem::path pattern();

private:
    std::filesystem::path path_;
};

}  // namespace pipec::driver
