// pipec may be linked statically, where no driver can be loaded, so pipec-run is asked for the GPUs. It is started for
// the run anyway.
#include "driver/run_device.h"

#include <fmt/format.h>

#include <filesystem>
#include <sstream>
#include <vector>

#include "driver/nvcc.h"
#include "driver/run_process.h"

namespace fs = std::filesystem;

namespace pipec::driver {

namespace {

constexpr const char* kAdvice = "\n  note: `--device cpu` needs neither a GPU nor nvcc";

/// Throws ToolError with the runner's reason.
std::vector<Gpu> list_gpus(const std::string& runner) {
    const ProcessResult result = run_process({runner, "--list-gpus"});
    std::istringstream lines(result.output);
    std::string line;
    if (!result.ok()) {
        constexpr std::string_view kPrefix = "pipec-run: error: ";
        std::string reason = result.output;
        if (reason.starts_with(kPrefix)) reason.erase(0, kPrefix.size());
        if (reason.ends_with('\n')) reason.pop_back();
        throw ToolError(result.signal == 0 ? reason
                                           : fmt::format("the search for GPUs died of signal {}", result.signal));
    }
    std::vector<Gpu> gpus;
    while (std::getline(lines, line)) {
        Gpu gpu;
        std::istringstream words(line);
        if (words >> gpu.number >> gpu.architecture && gpu.architecture.starts_with("sm_")) {
            std::getline(words >> std::ws, gpu.name);
            gpus.push_back(gpu);
        }
    }
    return gpus;
}

}  // namespace

Gpu require_gpu(const std::string& wish, const std::string& runner, const std::string& nvcc) {
    const std::vector<Gpu> gpus = list_gpus(runner);
    const std::size_t number = wish == "auto" || wish == "gpu" ? 0 : std::stoul(wish);
    if (number >= gpus.size()) {
        throw ToolError(gpus.size() == 1
                            ? fmt::format("there is no GPU {}: there is one, number 0", number)
                            : fmt::format("there is no GPU {}: there are {}, from 0", number, gpus.size()));
    }
    check_architectures(find_nvcc(nvcc), {gpus[number].architecture});
    return gpus[number];
}

std::optional<Gpu> choose_gpu(const std::string& wish, const std::string& runner, const std::string& nvcc) {
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
    throw ToolError(fmt::format("--device {}: {}{}", wish, reason, kAdvice));
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

std::string present_device() {
    const auto runner = locate_runner();
    if (!runner) return {};
    try {
        const std::vector<Gpu> gpus = list_gpus(*runner);
        return gpus.empty() ? "" : gpus.front().name;
    } catch (const ToolError&) {
        return {};
    }
}

}  // namespace pipec::driver
