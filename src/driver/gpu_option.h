// `--gpu`: the GPU that code is made for, as `pipec` and its commands share it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "driver/run/run_device.h"
#include "fusion/target.h"

namespace CLI {
class App;
}

namespace pipec::driver {

/// The GPU that a command takes where the option is not given, in the words of its help.
inline constexpr std::string_view kUsualGpu = fusion::kDefaultGpu;
inline constexpr std::string_view kPresentGpu = "the GPU that it runs on";

/// Declares the option on `app`, which then sets `gpu` when it parses; `usual` is one of the above.
void add_gpu_option(CLI::App& app, std::string& gpu, std::string_view usual, const std::string& group);

/// The file that a value of the option names, if it names one.
std::optional<std::string> gpu_file_of(const std::string& gpu);

/// The GPU that a value of the option means: a known one, the one that a file describes, with "native" the first one of
/// this machine; where it is empty fusion::default_gpu. Throws fusion::ScheduleError for a description that cannot be
/// used, FileError, and ToolError where there is no GPU.
fusion::Target gpu_target(const std::string& gpu);

/// The same for commands that run code on `present`, which is also what they take where the value is empty. `runner` as
/// for target_of (run_device.h).
fusion::Target gpu_target(const std::string& gpu, const PresentGpu& present, const std::string& runner);

/// `--list-gpus`: the GPUs that are known by name.
std::string list_known_gpus();

}  // namespace pipec::driver
