// `--cpu`: the processor that code for the host is scheduled for.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fusion/cpu.h"

namespace CLI {
class App;
}

namespace pipec::driver {

/// Declares the option on `app`, which then sets `cpu` when it parses.
void add_cpu_option(CLI::App& app, std::string& cpu, const std::string& group);

/// The file that a value of the option names, if it names one.
std::optional<std::string> cpu_file_of(const std::string& cpu);

/// The processor that a value of the option means: a known one, the one that a file describes, with "native" this
/// machine's; where it is empty fusion::default_cpu. Throws fusion::ScheduleError for a description that cannot be
/// used, FileError, and ToolError where the system does not say what this machine's processor is.
fusion::Cpu cpu_of(const std::string& cpu);

/// A processor in the words of Linux: the known one whose instructions it has, with the caches that it has. `cpuinfo`
/// is /proc/cpuinfo, `caches` a directory like /sys/devices/system/cpu/cpu0/cache; what is not there stays as it is.
fusion::Cpu cpu_of_linux(std::string_view cpuinfo, const std::string& caches);

}  // namespace pipec::driver
