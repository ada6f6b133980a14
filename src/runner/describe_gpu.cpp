// A GPU in the words of gpus/*.toml (docs/gpus.md), as far as CUDA's driver knows it.
#include <fmt/format.h>

#include <map>

#include "runner/cuda_driver.h"
#include "runner/device.h"

namespace pipec::runner {

namespace {

// Of CUdevice_attribute.
constexpr int kClockRate = 13;  ///< kHz
constexpr int kMultiprocessors = 16;
constexpr int kMemoryClockRate = 36;  ///< kHz; two transfers in each cycle
constexpr int kMemoryBusWidth = 37;   ///< bits
constexpr int kL2Bytes = 38;
constexpr int kThreadsOfMultiprocessor = 39;
constexpr int kSharedOfMultiprocessor = 81;
constexpr int kRegistersOfMultiprocessor = 82;
constexpr int kSharedOfBlock = 97;
constexpr int kBlocksOfMultiprocessor = 106;

constexpr int kThreadsOfWarp = 32;
/// Since compute capability 3.5; the driver does not tell.
constexpr int kRegistersOfThread = 255;

/// Results of float32 arithmetic in a clock (CUDA C++ Programming Guide, "Arithmetic Instructions").
int cores_of(int major, int minor) {
    const std::map<int, int> few{{60, 64}, {70, 64}, {72, 64}, {75, 64}, {80, 64}};
    const auto found = few.find(10 * major + minor);
    return found == few.end() ? 128 : found->second;
}

/// In quotes, as TOML wants it.
std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += c;
    }
    return result + "\"";
}

}  // namespace

std::string describe_gpu(int ordinal) {
    const cuda::Driver driver = cuda::load_driver();
    const cuda::DeviceNumber device = cuda::find_gpu(driver, ordinal);
    const auto attribute = [&](int number) {
        int value = 0;
        driver.check(driver.device_attribute(&value, number, device),
                     fmt::format("cuDeviceGetAttribute of attribute {}", number));
        return value;
    };
    const std::string name = quoted(cuda::gpu_name(driver, device));
    const int major = attribute(cuda::kComputeCapabilityMajor), minor = attribute(cuda::kComputeCapabilityMinor);
    const double bandwidth = 2e3 * attribute(kMemoryClockRate) * attribute(kMemoryBusWidth) / 8;
    std::string text = "# What CUDA's driver says of this GPU, for `pipec --gpu`; see docs/gpus.md.\n";
    text += fmt::format("name = {0}\ndevices = [{0}]\ncompute_capability = \"{1}.{2}\"\n", name, major, minor);
    const auto add = [&](const char* key, auto value) { text += fmt::format("{} = {}\n", key, value); };
    add("sms", attribute(kMultiprocessors));
    add("cores_per_sm", cores_of(major, minor));
    add("warps_per_sm", attribute(kThreadsOfMultiprocessor) / kThreadsOfWarp);
    add("blocks_per_sm", attribute(kBlocksOfMultiprocessor));
    add("registers_per_sm", attribute(kRegistersOfMultiprocessor));
    add("registers_per_thread", kRegistersOfThread);
    add("shared_per_sm_kb", attribute(kSharedOfMultiprocessor) / 1024);
    add("shared_per_block_kb", attribute(kSharedOfBlock) / 1024);
    add("clock_mhz", attribute(kClockRate) / 1e3);
    add("l2_kb", attribute(kL2Bytes) / 1024);
    add("dram_gb_per_s", bandwidth / 1e9);
    return text;
}

}  // namespace pipec::runner
