#include "driver/warnings.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "support/diagnostic_registry.h"

namespace pipec::driver {

namespace {

std::vector<std::string> warning_ids() {
    std::vector<std::string> ids;
    for (const DiagnosticInfo& info : all_diagnostics()) {
        if (info.severity == Severity::Warning) ids.emplace_back(info.id);
    }
    return ids;
}

/// The warnings that a flag means: the one of that id, or all of a group; none for other names.
std::vector<std::string> named(std::string_view name, const std::vector<std::string>& ids) {
    std::vector<std::string> result;
    for (const std::string& id : ids) {
        if (id == name || (name == kPerformanceGroup && id.starts_with(std::string(name) + "-"))) result.push_back(id);
    }
    return result;
}

}  // namespace

bool any_enabled(const WarningOptions& options, std::string_view group) {
    const std::vector<std::string> ids = named(group, warning_ids());
    return !options.none &&
           std::any_of(ids.begin(), ids.end(), [&](const std::string& id) { return options.disabled.count(id) == 0; });
}

std::vector<std::string> apply_warning_flags(const std::vector<std::string>& flags, WarningOptions& options) {
    const std::vector<std::string> ids = warning_ids();
    std::vector<std::string> unknown;
    std::map<std::string, bool> error_by_id;
    bool all_as_errors = false;
    for (const std::string& id : named(kPerformanceGroup, ids)) options.disabled.insert(id);
    for (const std::string& flag : flags) {
        if (flag == "all") continue;  // they are on anyway
        if (flag == "error" || flag == "no-error") {
            all_as_errors = flag == "error";
            continue;
        }
        std::string_view id = flag;
        const auto skip = [&id](std::string_view prefix) {
            if (!id.starts_with(prefix)) return false;
            id.remove_prefix(prefix.size());
            return true;
        };
        const bool off = skip("no-");
        const bool about_error = skip("error=");
        const std::vector<std::string> meant = named(id, ids);
        if (meant.empty()) unknown.push_back(flag);
        for (const std::string& name : meant) {
            if (about_error) error_by_id[name] = !off;
            if (!off) options.disabled.erase(name);
            if (off && !about_error) options.disabled.insert(name);
        }
    }
    // Id by id, so that -Werror with -Wno-error=ID spares that one.
    for (const std::string& id : ids) {
        const auto single = error_by_id.find(id);
        if (single == error_by_id.end() ? all_as_errors : single->second) options.as_errors.insert(id);
    }
    return unknown;
}

std::optional<std::string> closest_warning_flag(const std::string& flag) {
    std::vector<std::string> flags{"all", "error", "no-error"};
    std::vector<std::string> ids = warning_ids();
    ids.emplace_back(kPerformanceGroup);
    for (const std::string& id : ids) {
        for (const char* prefix : {"", "no-", "error=", "no-error="}) flags.push_back(prefix + id);
    }
    return closest_name(flag, flags);
}

}  // namespace pipec::driver
