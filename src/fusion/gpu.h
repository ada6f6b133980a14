// What is known of a GPU: the limits that code must keep, and the numbers that cost models count with (paper,
// tab:gpu-conf). Each is a file in gpus/, compiled into pipec; others are read from files.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace pipec::fusion {

struct Gpu {
    std::string name;          ///< "NVIDIA H100 SXM"
    int capability_major = 0;  ///< compute capability 9.0
    int capability_minor = 0;
    int sms = 0;                ///< streaming multiprocessors
    int cores_per_sm = 0;       ///< lanes of float32 arithmetic
    double clock_hz = 0;        ///< boost
    double dram_bandwidth = 0;  ///< bytes a second
    std::int64_t l2_bytes = 0;
    std::int64_t shared_per_sm = 0;     ///< bytes that blocks can share out among them
    std::int64_t shared_per_block = 0;  ///< bytes, the most that a kernel can ask for (beyond 48 KB it must ask)
    int registers_per_sm = 0;           ///< of 32 bits
    int registers_per_thread = 0;
    int threads_per_sm = 0;
    int warps_per_sm = 0;
    int blocks_per_sm = 0;
    int warp_size = 32;
    /// The paper's w_1 to w_7 (tab:weights), where somebody has determined them.
    std::optional<std::array<double, 7>> paper_weights;
};

/// The GPU that code is written for where nobody says which.
Gpu default_gpu();

}  // namespace pipec::fusion
