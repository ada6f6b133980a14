// Outputs that appear complete or not at all, whatever ends the run: an error, or a signal.
#pragma once

#include <mutex>
#include <string>
#include <vector>

namespace pipec::runner {

/// A file, or a directory, under a temporary name beside its target. Unless it is committed, it is removed.
class PendingFile {
public:
    explicit PendingFile(const std::string& target);
    PendingFile(PendingFile&& other) noexcept;
    PendingFile& operator=(PendingFile&&) = delete;
    ~PendingFile();
    [[nodiscard]] const std::string& path() const { return temporary_; }

private:
    friend void commit(std::vector<PendingFile>& files);
    std::string target_;
    std::string temporary_;
};

/// Renames all of them to their targets. Throws Error.
void commit(std::vector<PendingFile>& files);

/// From now on SIGINT, SIGTERM and SIGHUP (unless it is ignored) end this process after what is pending was removed.
/// To be called before there is a second thread.
void remove_pending_files_on_signals();

/// Holds back the removal of pending files while it lives. Take one around code that adds files to a pending directory:
/// a file that appeared during the removal would stay behind.
class PendingLock {
public:
    PendingLock();

private:
    std::lock_guard<std::mutex> lock_;
};

}  // namespace pipec::runner
