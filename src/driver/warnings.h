// -W flags.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/diagnostics.h"

namespace pipec::driver {

/// Applies flags from left to right, each without its `-W`: all, error, no-error, error=ID, no-error=ID, ID, no-ID.
/// Returns those that name no warning. A flag for one id wins over `error` and `no-error` whatever their order.
std::vector<std::string> apply_warning_flags(const std::vector<std::string>& flags, WarningOptions& options);

/// The flag that one which names no warning was most likely meant to be, without its `-W`.
std::optional<std::string> closest_warning_flag(const std::string& flag);

}  // namespace pipec::driver
