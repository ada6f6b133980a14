// A file that exists in memory alone, for functions that take a path.
#pragma once

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace pipec::fuzz {

class MemoryFile {
public:
    explicit MemoryFile(std::string_view content) : fd_(memfd_create("input", 0)) {
        if (fd_ < 0 || write(fd_, content.data(), content.size()) != static_cast<ssize_t>(content.size())) {
            throw std::runtime_error("no file in memory");
        }
    }
    ~MemoryFile() { close(fd_); }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;
    [[nodiscard]] std::string path() const { return fmt::format("/proc/self/fd/{}", fd_); }

private:
    int fd_;
};

}  // namespace pipec::fuzz
