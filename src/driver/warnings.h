// -W flags.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostics.h"

namespace pipec::driver {

/// Warnings whose id begins with a group's name and a dash are off unless a flag asks for them or for the group.
inline constexpr std::string_view kPerformanceGroup = "perf";

/// Whether a warning of a group is on.
bool any_enabled(const WarningOptions& options, std::string_view group);

/// Applies flags from left to right, each without its `-W`: all, error, no-error, error=ID, no-error=ID, ID, no-ID,
/// where ID is a warning or a group. Returns those that name neither. A flag for one id wins over `error` and
/// `no-error` whatever their order.
std::vector<std::string> apply_warning_flags(const std::vector<std::string>& flags, WarningOptions& options);

/// The flag that one which names no warning was most likely meant to be, without its `-W`.
std::optional<std::string> closest_warning_flag(const std::string& flag);

}  // namespace pipec::driver
