// Entries of the cache: written atomically, verified when read, removed when old.
#include "driver/native/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "driver/files.h"
#include "driver/native/cache_digest.h"

namespace fs = std::filesystem;

namespace pipec::driver {

namespace {

constexpr std::size_t kDigestSize = 64;
constexpr std::string_view kExtension = ".so";
constexpr std::string_view kTemporary = ".tmp";

std::string read_all(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// The dynamic loader reads what the program headers name, so a digest after the end of the object is in nobody's way.
bool is_undamaged(std::string_view entry) {
    if (entry.size() <= kDigestSize) return false;
    const std::string_view object = entry.substr(0, entry.size() - kDigestSize);
    return sha256(object) == entry.substr(object.size());
}

}  // namespace

OpenFile::~OpenFile() {
    if (descriptor_ >= 0) close(descriptor_);
}

std::string OpenFile::inherited_path() const {
    return fmt::format("/proc/self/fd/{}", descriptor_);
}

OpenFile open_file(const fs::path& path) {
    const int descriptor = open(path.c_str(), O_RDONLY);
    if (descriptor < 0) throw FileError(fmt::format("cannot read {}: {}", path.string(), std::strerror(errno)));
    return OpenFile(descriptor);
}

ObjectCache::ObjectCache(fs::path directory, std::uintmax_t limit_bytes)
    : directory_(std::move(directory)), limit_bytes_(limit_bytes) {}

std::optional<fs::path> ObjectCache::default_directory() {
    const char* xdg = std::getenv("XDG_CACHE_HOME");
    if (xdg != nullptr && fs::path(xdg).is_absolute()) return fs::path(xdg) / "pipec";
    const char* home = std::getenv("HOME");
    if (home != nullptr && fs::path(home).is_absolute()) return fs::path(home) / ".cache" / "pipec";
    return std::nullopt;
}

std::optional<OpenFile> ObjectCache::find(const std::string& key) const {
    const fs::path path = directory_ / (key + std::string(kExtension));
    const int descriptor = open(path.c_str(), O_RDONLY);
    if (descriptor < 0) return std::nullopt;
    OpenFile file(descriptor);
    if (!is_undamaged(read_all(file.inherited_path()))) {
        unlink(path.c_str());
        return std::nullopt;
    }
    futimens(descriptor, nullptr);  // used now; where that is not allowed, the entry only looks older than it is
    return file;
}

OpenFile ObjectCache::store(const std::string& key, const fs::path& object) const {
    std::error_code error;
    fs::create_directories(directory_, error);
    const fs::path path = directory_ / (key + std::string(kExtension));
    std::string temporary = (directory_ / (key + std::string(kTemporary) + "XXXXXX")).string();
    const int descriptor = mkstemp(temporary.data());
    if (descriptor < 0) {
        throw FileError(fmt::format("cannot write to {}: {}", directory_.string(), std::strerror(errno)));
    }
    OpenFile file(descriptor);
    std::string entry = read_all(object);
    entry += sha256(entry);
    {
        std::ofstream stream(temporary, std::ios::binary);
        stream.write(entry.data(), static_cast<std::streamsize>(entry.size()));
        stream.close();
        if (!stream || std::rename(temporary.c_str(), path.c_str()) != 0) {
            const std::string reason = std::strerror(errno);
            unlink(temporary.c_str());
            throw FileError(fmt::format("cannot write to {}: {}", directory_.string(), reason));
        }
    }
    evict(path);
    return file;
}

void ObjectCache::evict(const fs::path& keep) const {
    struct Entry {
        fs::path path;
        fs::file_time_type time;
        std::uintmax_t size;
    };
    std::vector<Entry> entries;
    std::uintmax_t total = 0;
    const auto now = fs::file_time_type::clock::now();
    std::error_code error;  // files come and go under other processes' hands: whatever fails is skipped
    for (fs::directory_iterator it(directory_, error), end; !error && it != end; it.increment(error)) {
        std::error_code ignored;
        const Entry entry{it->path(), it->last_write_time(ignored), it->file_size(ignored)};
        if (ignored) continue;
        const std::string name = entry.path.filename().string();
        if (name.find(kTemporary) != std::string::npos) {
            // Left by a process that was killed.
            if (now - entry.time > std::chrono::hours(1)) fs::remove(entry.path, ignored);
        } else if (entry.path.extension() == kExtension) {
            entries.push_back(entry);
            total += entry.size;
        }
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.time < b.time; });
    for (const Entry& entry : entries) {
        if (total <= limit_bytes_) break;
        if (entry.path == keep) continue;
        std::error_code ignored;
        fs::remove(entry.path, ignored);
        total -= entry.size;
    }
}

}  // namespace pipec::driver
