// Reading sources and writing results. A result appears complete or not at all.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace pipec::driver {

/// A file could not be read or written. what() is a sentence that names the file and the reason.
struct FileError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Larger sources are refused: no program is that long, and an endless device must not hang the compiler.
inline constexpr std::size_t kMaxSourceBytes = std::size_t{64} << 20U;

/// The bytes of a file, or of standard input for "-". Throws FileError.
std::string read_source(const std::string& path);

/// A text and where it goes; "-" is standard output.
struct OutputFile {
    std::string path;
    std::string text;
};

/// Writes all files. Each regular file is first written to a temporary beside it; only when all of them are complete
/// are they renamed, so a full disk leaves the old files as they were. Links are followed, and what is not a regular
/// file (a device, a pipe) is written to directly. Throws FileError after removing the temporaries.
void write_files(const std::vector<OutputFile>& files);

}  // namespace pipec::driver
