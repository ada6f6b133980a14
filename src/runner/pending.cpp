// A thread waits for the signals, so that what is done about them may take locks and remove whole directories.
#include "runner/pending.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "runner/error.h"

namespace fs = std::filesystem;

namespace pipec::runner {

namespace {

/// The temporary names of all that is pending, and what guards them. They outlive the thread that waits.
struct Names {
    std::mutex mutex;
    std::vector<std::string> names;
};
Names& pending() {
    static Names& names = *new Names;
    return names;
}

void remove(const std::string& path) {
    std::error_code error;
    fs::remove_all(path, error);
}

void forget(const std::string& path) {
    std::erase(pending().names, path);
}

std::string temporary_name(const fs::path& target) {
    static std::atomic<int> count = 0;
    // The extension stays: it says the format.
    const std::string name =
        fmt::format(".{}.{}-{}{}", target.stem().string(), getpid(), count++, target.extension().string());
    return (target.parent_path() / name).string();
}

/// A directory is not renamed onto one that has something in it, so that one gets out of the way first.
void replace(const std::string& temporary, const std::string& target) {
    std::error_code error;
    std::string old;
    if (fs::is_directory(target, error)) {
        old = temporary_name(target);
        if (std::rename(target.c_str(), old.c_str()) != 0) old.clear();
    }
    if (std::rename(temporary.c_str(), target.c_str()) == 0) return remove(old);
    const int reason = errno;
    if (!old.empty()) (void)std::rename(old.c_str(), target.c_str());
    throw file_error(fmt::format("cannot write {}: {}", target, std::strerror(reason)));
}

}  // namespace

PendingLock::PendingLock() : lock_(pending().mutex) {}

PendingFile::PendingFile(const std::string& target) {
    fs::path name(target);
    if (!name.has_filename()) name = name.parent_path();  // a / at the end
    std::error_code error;
    const fs::path link = fs::canonical(name, error);  // a link is followed, its target replaced
    const fs::path resolved = error ? name : link;
    target_ = resolved.string();
    temporary_ = temporary_name(resolved);
    const PendingLock lock;
    pending().names.push_back(temporary_);
}

PendingFile::PendingFile(PendingFile&& other) noexcept
    : target_(std::move(other.target_)), temporary_(std::exchange(other.temporary_, {})) {}

PendingFile::~PendingFile() {
    if (temporary_.empty()) return;
    const PendingLock lock;
    remove(temporary_);
    forget(temporary_);
}

void commit(std::vector<PendingFile>& files) {
    const PendingLock lock;  // all of them, or none
    for (PendingFile& file : files) {
        replace(file.temporary_, file.target_);
        forget(std::exchange(file.temporary_, {}));
    }
}

void remove_pending_files_on_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction action {};
        sigaction(number, nullptr, &action);
        if (action.sa_handler != SIG_IGN) sigaddset(&signals, number);  // nohup's children stay
    }
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // in all threads that are made from now on
    std::thread([signals] {
        int number = 0;
        if (sigwait(&signals, &number) != 0) return;
        Names& all = pending();
        all.mutex.lock();  // for good
        for (const std::string& path : all.names) remove(path);
        signal(number, SIG_DFL);
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, number);
        pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
        raise(number);
    }).detach();
}

}  // namespace pipec::runner
