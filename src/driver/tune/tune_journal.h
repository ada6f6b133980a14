// What `pipec tune` has measured so far, in a file beside its output: who stops it goes on with the same command. A
// line for each measurement; it counts only for the same program, options and GPU.
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace pipec::driver {

/// What became of one candidate.
struct Measurement {
    double milliseconds = 0;
    std::string failure = {};  ///< why there is no time
};

class TuneJournal {
public:
    /// Reads what the file has for `key`, where there is one, and begins it anew where it is for another. Throws
    /// FileError where it cannot be written.
    TuneJournal(std::string path, const std::string& key);

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::size_t size() const { return known_.size(); }
    /// The file was there, for another program, other options or another GPU.
    [[nodiscard]] bool was_stale() const { return was_stale_; }

    [[nodiscard]] std::optional<Measurement> find(const std::string& candidate) const;
    /// Throws FileError.
    void add(const std::string& candidate, const Measurement& measurement);
    /// The work is done.
    void remove();

private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    void write_line(const std::string& line);

    std::string path_;
    std::unique_ptr<std::FILE, Close> file_;
    std::map<std::string, Measurement> known_;
    bool was_stale_ = false;
};

}  // namespace pipec::driver
