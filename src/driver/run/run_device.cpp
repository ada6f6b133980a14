// pipec may be linked statically, where no driver can be loaded, so pipec-run is asked for the GPUs. It is started for
// the run anyway.
#include "driver/run/run_device.h"

#include <fmt/format.h>

#include <filesystem>
#include <sstream>
#include <vector>

#include "driver/native/nvcc.h"
#include "driver/run/run_process.h"

namespace fs = std::filesystem;

namespace pipec::driver {

namespace {

constexpr const char* kDeviceAdvice = "\n  note: `--device cpu` needs neither a GPU nor nvcc";

/// What the runner prints. Throws ToolError with its reason.
std::string answer(const std::string& runner, const std::vector<std::string>& question) {
    std::vector<std::string> command{runner};
    command.insert(command.end(), question.begin(), question.end());
    const ProcessResult result = run_process(command);
    if (result.ok()) return result.output;
    constexpr std::string_view kPrefix = "pipec-run: error: ";
    std::string reason = result.output;
    if (reason.starts_with(kPrefix)) reason.erase(0, kPrefix.size());
    if (reason.ends_with('\n')) reason.pop_back();
    throw ToolError(result.signal == 0 ? reason : fmt::format("the search for GPUs died of signal {}", result.signal));
}

/// There is at least one. Throws ToolError.
std::vector<PresentGpu> list_gpus(const std::string& runner) {
    std::istringstream lines(answer(runner, {"--list-gpus"}));
    std::string line;
    std::vector<PresentGpu> gpus;
    while (std::getline(lines, line)) {
        PresentGpu gpu;
        std::istringstream words(line);
        if (words >> gpu.number >> gpu.architecture && gpu.architecture.starts_with("sm_")) {
            std::getline(words >> std::ws, gpu.name);
            gpus.push_back(gpu);
        }
    }
    if (gpus.empty()) throw ToolError("pipec-run lists no GPU");
    return gpus;
}

}  // namespace

PresentGpu require_gpu(const std::string& wish, const std::string& runner, const std::string& nvcc) {
    const std::vector<PresentGpu> gpus = list_gpus(runner);
    const std::size_t number = wish == "auto" || wish == "gpu" ? 0 : std::stoul(wish);
    if (number >= gpus.size()) {
        throw ToolError(gpus.size() == 1
                            ? fmt::format("there is no GPU {}: there is one, number 0", number)
                            : fmt::format("there is no GPU {}: there are {}, from 0", number, gpus.size()));
    }
    check_architectures(find_nvcc(nvcc), {gpus[number].architecture});
    return gpus[number];
}

std::optional<PresentGpu> choose_gpu(const std::string& wish, const std::string& runner, const std::string& nvcc) {
    if (wish == "cpu") return std::nullopt;
    std::string reason;
    try {
        return require_gpu(wish, runner, nvcc);
    } catch (const ToolError& error) {
        reason = error.what();
    } catch (const BadArchitecture& error) {
        reason = error.what();
    }
    if (wish == "auto") return std::nullopt;
    throw ToolError(fmt::format("--device {}: {}{}", wish, reason, kDeviceAdvice));
}

std::optional<std::string> locate_runner() {
    std::error_code error;
    const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
    std::vector<fs::path> candidates;
    if (!error) candidates = {here / "pipec-run", here / ".." / "libexec" / "pipec" / "pipec-run"};
    if (const auto on_path = find_on_path("pipec-run")) candidates.push_back(*on_path);
    for (const fs::path& candidate : candidates) {
        if (is_executable(candidate)) return candidate.string();
    }
    return std::nullopt;
}

fusion::Target target_of(const PresentGpu& gpu, const std::string& runner) {
    if (auto known = fusion::gpu_of_device(gpu.name)) return fusion::Target(std::move(*known));
    const std::string description = answer(runner, {"--describe-gpu", std::to_string(gpu.number)});
    try {
        return fusion::Target(fusion::parse_gpu(description, "pipec-run --describe-gpu"));
    } catch (const fusion::GpuError& error) {
        throw ToolError(
            fmt::format("`{}` is no GPU that pipec knows, and the driver does not describe it: {}\n  note: "
                        "`--gpu` names another one, or a file that describes this one (docs/gpus.md)",
                        gpu.name, error.what()));
    }
}

fusion::Target native_target() {
    const auto runner = locate_runner();
    if (!runner) throw ToolError("there is no pipec-run, which looks for GPUs");
    return target_of(list_gpus(*runner).front(), *runner);
}

}  // namespace pipec::driver
