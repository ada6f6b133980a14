#include "driver/tune/tune_journal.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "driver/files.h"

namespace pipec::driver {

namespace {

using Json = nlohmann::json;
constexpr const char* kJournalVersion = "pipec tune 1";

/// The lines of a journal for `key`; none where it is for another or is none. The last line may be half written.
std::optional<std::map<std::string, Measurement>> read_journal(std::istream& stream, const std::string& key) {
    std::string line;
    std::getline(stream, line);
    const Json head = Json::parse(line, nullptr, false);
    if (!head.is_object() || head.value("journal", "") != kJournalVersion || head.value("key", "") != key)
        return std::nullopt;
    std::map<std::string, Measurement> result;
    while (std::getline(stream, line)) {
        const Json entry = Json::parse(line, nullptr, false);
        if (!entry.is_object() || !entry.contains("candidate")) continue;
        result[entry.value("candidate", "")] = {entry.value("ms", 0.0), entry.value("failure", "")};
    }
    return result;
}

}  // namespace

TuneJournal::TuneJournal(std::string path, const std::string& key) : path_(std::move(path)) {
    std::error_code error;
    bool goes_on = false;
    if (std::filesystem::is_regular_file(path_, error)) {
        std::ifstream stream(path_);
        if (auto known = read_journal(stream, key)) {
            known_ = std::move(*known);
            goes_on = true;
        } else {
            was_stale_ = true;
        }
    }
    file_.reset(std::fopen(path_.c_str(), goes_on ? "a" : "w"));
    if (!file_) throw FileError(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
    // A line that was half written when the process died stays alone.
    write_line(goes_on ? "" : Json{{"journal", kJournalVersion}, {"key", key}}.dump());
}

std::optional<Measurement> TuneJournal::find(const std::string& candidate) const {
    const auto found = known_.find(candidate);
    return found == known_.end() ? std::nullopt : std::optional(found->second);
}

void TuneJournal::add(const std::string& candidate, const Measurement& measurement) {
    known_[candidate] = measurement;
    Json entry{{"candidate", candidate}};
    if (measurement.failure.empty()) {
        entry["ms"] = measurement.milliseconds;
    } else {
        entry["failure"] = measurement.failure;
    }
    write_line(entry.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void TuneJournal::write_line(const std::string& line) {
    const bool written = std::fprintf(file_.get(), "%s\n", line.c_str()) > 0 && std::fflush(file_.get()) == 0;
    if (!written) throw FileError(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
}

void TuneJournal::remove() {
    file_.reset();
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
}

}  // namespace pipec::driver
