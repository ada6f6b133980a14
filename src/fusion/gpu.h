// What is known of a GPU: the limits that code must keep, and the numbers that cost models count with (paper,
// tab:gpu-conf). Each GPU is a file in gpus/, compiled into pipec; others are read from files of the same form
// (docs/gpus.md).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "fusion/gpu_rates.h"

namespace pipec::fusion {

/// Threads of a warp, on every GPU that CUDA compiles for.
inline constexpr int kWarp = 32;
/// Bytes of the widest access of a thread.
inline constexpr std::int64_t kAccessBytes = 16;

struct Gpu {
    std::string name;                  ///< "NVIDIA H100 SXM"
    std::vector<std::string> devices;  ///< how CUDA calls it: "NVIDIA H100 80GB HBM3"
    int capability_major = 0;          ///< compute capability 9.0
    int capability_minor = 0;
    int sms = 0;                ///< streaming multiprocessors
    int cores_per_sm = 0;       ///< results of float32 arithmetic a clock
    double clock_hz = 0;        ///< boost
    double dram_bandwidth = 0;  ///< bytes a second
    std::int64_t l2_bytes = 0;
    std::int64_t shared_per_sm = 0;     ///< bytes that the blocks of a multiprocessor share out among them
    std::int64_t shared_per_block = 0;  ///< bytes, the most that a kernel can ask for (beyond 48 KB it must ask)
    int registers_per_sm = 0;           ///< of 32 bits
    int registers_per_thread = 0;
    int threads_per_sm = 0;
    int warps_per_sm = 0;
    int blocks_per_sm = 0;
    int warp_size = 32;
    GpuRates rates;
    /// The paper's w_1 to w_7 (tab:weights), where somebody has determined them.
    std::optional<std::array<double, 7>> paper_weights;
};

/// A description that cannot be used: "FILE:LINE:COLUMN: sentence".
struct GpuError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Reads a description in TOML; `file` is for messages. Rates that it leaves out are those of the GPU on which they
/// were measured. Throws GpuError.
Gpu parse_gpu(std::string_view text, const std::string& file);

/// "a100", "b200", ...: what `known_gpu` knows.
std::vector<std::string> known_gpus();
std::optional<Gpu> known_gpu(std::string_view name);

/// The known GPU that CUDA calls `device`.
std::optional<Gpu> gpu_of_device(std::string_view device);

/// The GPU that code is made for where nobody says which, on every machine.
inline constexpr std::string_view kDefaultGpu = "h100";
Gpu default_gpu();

}  // namespace pipec::fusion
