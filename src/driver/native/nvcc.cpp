#include "driver/native/nvcc.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "driver/options.h"

namespace fs = std::filesystem;

namespace pipec::driver {

namespace {

constexpr const char* kInstalled = "/usr/local/cuda/bin/nvcc";
constexpr const char* kNvccAdvice =
    "`--nvcc COMMAND` or the environment variable NVCC names one; `--target host` needs none";

/// Volta and older are no targets of CUDA 13; the newest of these still is one of CUDA 12.
const std::vector<std::string> kDefaultArchitectures{"sm_75", "sm_80", "sm_90"};

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

/// Whether the driver sees a GPU: it makes a device file for each.
bool has_gpu() {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/dev", error)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("nvidia") && name.find_first_not_of("0123456789", 6) == std::string::npos &&
            name.size() > 6) {
            return true;
        }
    }
    return false;
}

/// The number of sm_90a or compute_90a with what follows it.
std::string version_of(const std::string& architecture) {
    return architecture.substr(architecture.find('_') + 1);
}

}  // namespace

Tool find_nvcc(const std::string& command) {
    Tool tool{"the CUDA compiler", command_words(command), kNvccAdvice};
    if (tool.command.empty()) tool.command = command_words(environment("NVCC"));
    if (!tool.command.empty()) return tool;

    const std::string home = environment("CUDA_HOME");
    const fs::path in_home = fs::path(home) / "bin" / "nvcc";
    if (!home.empty() && is_executable(in_home)) {
        tool.command = {in_home.string()};
    } else if (find_on_path("nvcc")) {
        tool.command = {"nvcc"};
    } else if (is_executable(kInstalled)) {
        tool.command = {kInstalled};
    } else {
        throw ToolError(fmt::format("there is no nvcc, the CUDA compiler: {}, not on PATH, and not {}\n  note: {}",
                                    home.empty() ? "CUDA_HOME is not set" : fmt::format("not {}", in_home.string()),
                                    kInstalled, kNvccAdvice));
    }
    return tool;
}

std::vector<std::string> architecture_flags(const std::vector<std::string>& architectures) {
    if (architectures.empty())
        return architecture_flags(has_gpu() ? std::vector<std::string>{"native"} : kDefaultArchitectures);
    const std::string& first = architectures.front();
    if (std::find(kArchitectureSets.begin(), kArchitectureSets.end(), first) != kArchitectureSets.end()) {
        return {"-arch=" + first};
    }
    std::vector<std::string> result;
    std::string newest;
    bool has_ptx = false;
    for (const std::string& architecture : architectures) {
        const std::string version = version_of(architecture);
        result.push_back(fmt::format("-gencode=arch=compute_{},code={}", version, architecture));
        if (newest.empty() || std::stoi(version) > std::stoi(newest)) newest = version;
        has_ptx = has_ptx || architecture.starts_with("compute_");
    }
    // Who asks for a PTX gets just that.
    if (!has_ptx) result.push_back(fmt::format("-gencode=arch=compute_{0},code=compute_{0}", newest));
    return result;
}

void check_architectures(const Tool& nvcc, const std::vector<std::string>& architectures) {
    const auto is_one = [](const std::string& name) { return name.find('_') != std::string::npos; };
    if (std::none_of(architectures.begin(), architectures.end(), is_one)) return;
    const std::string output = run_tool(nvcc, {"--list-gpu-code"}, "when it was asked for the GPUs that it knows");
    const std::vector<std::string> known = command_words(output);
    for (const std::string& architecture : architectures) {
        // The variants (sm_90a) are not listed; where the GPU exists, nvcc says whether it has that one.
        std::string base = "sm_" + version_of(architecture);
        while (!base.empty() && std::isalpha(static_cast<unsigned char>(base.back())) != 0) base.pop_back();
        if (std::find(known.begin(), known.end(), base) == known.end()) {
            throw BadArchitecture(fmt::format("`{}` is no GPU that `{}` compiles for; there are: {}", architecture,
                                              nvcc.command.front(), fmt::join(known, ", ")));
        }
    }
}

}  // namespace pipec::driver
