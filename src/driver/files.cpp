#include "driver/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "support/unicode.h"

namespace pipec::driver {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(std::string_view action, const std::string& path, std::string_view reason) {
    throw FileError(fmt::format("cannot {} `{}`: {}", action, printable(path), reason));
}

std::string reason_of(int error) {
    return std::generic_category().message(error);
}

/// An open file that is closed on every way out.
class Descriptor {
public:
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (fd_ > STDERR_FILENO) ::close(fd_);
    }
    [[nodiscard]] int get() const { return fd_; }
    /// Closes now; false with errno set where the file system reports a late error (a full disk over a network).
    bool close() {
        const int fd = fd_;
        fd_ = -1;
        return ::close(fd) == 0;
    }

private:
    int fd_;
};

/// False with errno set when not everything could be written.
bool write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t n = ::write(fd, text.data(), text.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        text.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

/// A complete file beside its target, waiting to be renamed; removed where that does not happen.
class Temporary {
public:
    Temporary(const OutputFile& file, const fs::path& target) : shown_(file.path), target_(target) {
        struct stat old {};
        const bool exists = ::stat(target.c_str(), &old) == 0;
        if (exists && ::access(target.c_str(), W_OK) != 0) fail("write", shown_, reason_of(errno));
        path_ = target;
        path_.replace_filename(fmt::format(".{}.{}.tmp", target.filename().string(), ::getpid()));
        Descriptor fd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
        if (fd.get() < 0) {
            const int error = errno;
            path_.clear();
            fail("write", shown_, reason_of(error));
        }
        if (exists) (void)::fchmod(fd.get(), old.st_mode & 07777U);
        if (!write_all(fd.get(), file.text) || !fd.close()) {
            const int error = errno;
            remove();
            fail("write", shown_, reason_of(error));
        }
    }
    Temporary(Temporary&& other) noexcept
        : shown_(std::move(other.shown_)), target_(std::move(other.target_)), path_(std::move(other.path_)) {
        other.path_.clear();
    }
    Temporary(const Temporary&) = delete;
    Temporary& operator=(const Temporary&) = delete;
    Temporary& operator=(Temporary&&) = delete;
    ~Temporary() { remove(); }

    void rename() {
        if (::rename(path_.c_str(), target_.c_str()) != 0) fail("write", shown_, reason_of(errno));
        path_.clear();
    }

private:
    void remove() {
        if (!path_.empty()) ::unlink(path_.c_str());
        path_.clear();
    }

    std::string shown_;
    fs::path target_;
    fs::path path_;
};

void write_directly(const std::string& path, std::string_view text) {
    Descriptor fd(path == "-" ? STDOUT_FILENO : ::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    const std::string shown = path == "-" ? "standard output" : path;
    if (fd.get() < 0 || !write_all(fd.get(), text) || (fd.get() != STDOUT_FILENO && !fd.close())) {
        fail("write", shown, reason_of(errno));
    }
}

/// Where a path leads: through links, also dangling ones, so that the link stays and its target is written.
fs::path follow_links(const std::string& path) {
    std::error_code error;
    fs::path target = path;
    for (int i = 0; i < 40 && fs::is_symlink(fs::symlink_status(target, error)); ++i) {
        const fs::path next = fs::read_symlink(target, error);
        if (error) break;
        target = next.is_absolute() ? next : target.parent_path() / next;
    }
    return target;
}

}  // namespace

std::string read_source(const std::string& path) {
    const bool standard_input = path == "-";
    const std::string shown = standard_input ? "standard input" : path;
    Descriptor fd(standard_input ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (fd.get() < 0) fail("read", shown, reason_of(errno));
    std::string text;
    std::array<char, 65536> buffer{};
    while (true) {
        const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail("read", shown, reason_of(errno));
        if (n == 0) return text;
        text.append(buffer.data(), static_cast<std::size_t>(n));
        if (text.size() > kMaxSourceBytes)
            fail("read", shown, fmt::format("larger than {} MiB", kMaxSourceBytes >> 20U));
    }
}

void write_files(const std::vector<OutputFile>& files) {
    std::vector<Temporary> temporaries;
    std::vector<const OutputFile*> direct;
    for (const OutputFile& file : files) {
        if (file.path == "-") {
            direct.push_back(&file);
            continue;
        }
        const fs::path target = follow_links(file.path);
        struct stat info {};
        if (::stat(target.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) fail("write", file.path, "Is a directory");
        if (::stat(target.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
            direct.push_back(&file);
        } else {
            temporaries.emplace_back(file, target);
        }
    }
    for (const OutputFile* file : direct) write_directly(file->path, file->text);
    for (Temporary& temporary : temporaries) temporary.rename();
}

}  // namespace pipec::driver
