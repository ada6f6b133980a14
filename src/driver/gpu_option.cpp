#include "driver/gpu_option.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "driver/files.h"
#include "driver/machine_option.h"
#include "driver/native/tool.h"
#include "fusion/schedule.h"

namespace pipec::driver {

void add_gpu_option(CLI::App& app, std::string& gpu, std::string_view usual, const std::string& group) {
    const auto take = [&gpu](const std::string& text) {
        check_machine(text, "GPU", fusion::known_gpus());
        gpu = text;
    };
    const std::string help = fmt::format(
        "The GPU that code must fit and that costs are counted for: a name that --list-gpus prints, native (the first "
        "GPU of this machine) or a file; default: {}",
        usual);
    app.add_option_function<std::string>("--gpu", take, help)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
        ->type_name("NAME|FILE")
        ->group(group);
}

std::optional<std::string> gpu_file_of(const std::string& gpu) {
    if (!is_file_name(gpu)) return std::nullopt;
    return gpu;
}

fusion::Target gpu_target(const std::string& gpu) {
    if (gpu.empty()) return fusion::default_target();
    if (gpu == kNative) {
        try {
            return native_target();
        } catch (const ToolError& error) {
            throw ToolError(fmt::format("`--gpu native`: {}", error.what()));
        }
    }
    if (!is_file_name(gpu)) return fusion::Target(fusion::known_gpu(gpu).value());
    try {
        return fusion::Target(fusion::parse_gpu(read_source(gpu), gpu));
    } catch (const fusion::GpuError& error) {
        throw fusion::ScheduleError(error.what());
    }
}

fusion::Target gpu_target(const std::string& gpu, const PresentGpu& present, const std::string& runner) {
    return gpu.empty() || gpu == kNative ? target_of(present, runner) : gpu_target(gpu);
}

std::string list_known_gpus() {
    std::string result;
    for (const std::string& name : fusion::known_gpus()) {
        const fusion::Gpu gpu = *fusion::known_gpu(name);
        result += fmt::format("{:10} {}, compute capability {}.{}\n", name, gpu.name, gpu.capability_major,
                              gpu.capability_minor);
    }
    return result;
}

}  // namespace pipec::driver
