// The cache of compiled objects: DIRECTORY/KEY.so, each with a digest of its bytes at its end.
//
// Entries are written under a temporary name and renamed, so any number of processes may use one directory. What is
// found is handed out as an open file: it stays what it was when another process removes or replaces the entry.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace pipec::driver {

/// An open file, closed at the end.
class OpenFile {
public:
    explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
    OpenFile(OpenFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    OpenFile& operator=(OpenFile&&) = delete;
    ~OpenFile();
    [[nodiscard]] int descriptor() const { return descriptor_; }
    /// A path that means this file in this process and in a program that it executes, which inherits the descriptor.
    [[nodiscard]] std::string inherited_path() const;

private:
    int descriptor_;
};

/// Opens for reading. Throws FileError.
OpenFile open_file(const std::filesystem::path& path);

class ObjectCache {
public:
    static constexpr std::uintmax_t kDefaultLimit = std::uintmax_t{256} << 20U;

    explicit ObjectCache(std::filesystem::path directory, std::uintmax_t limit_bytes = kDefaultLimit);

    /// $XDG_CACHE_HOME/pipec or ~/.cache/pipec; none where the environment names neither.
    static std::optional<std::filesystem::path> default_directory();

    /// The entry, where there is one and it is undamaged; a damaged one is removed.
    [[nodiscard]] std::optional<OpenFile> find(const std::string& key) const;

    /// Adds the bytes of `object` as an entry, and removes the entries not used for longest where all together exceed
    /// the limit. Throws FileError where the directory cannot be made or written.
    OpenFile store(const std::string& key, const std::filesystem::path& object) const;

private:
    void evict(const std::filesystem::path& keep) const;

    std::filesystem::path directory_;
    std::uintmax_t limit_bytes_;
};

}  // namespace pipec::driver
