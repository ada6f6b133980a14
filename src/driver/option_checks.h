// What makes no sense on a command line whose options are each correct.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "driver/options.h"

namespace pipec::driver {

/// Thrown with the message for the person while the command line is read.
struct BadOption : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The platform that the name of the code's file says, if it says one.
std::optional<fusion::Platform> platform_of_name(const std::string& path);

/// Refuses options that make no sense together, or not for these files. Throws BadOption.
void check_consistency(const Options& o, const std::vector<std::string>& files);

}  // namespace pipec::driver
