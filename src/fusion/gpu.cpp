#include "fusion/gpu.h"

namespace pipec::fusion {

Gpu default_gpu() {
    Gpu gpu;
    gpu.name = "NVIDIA H100 SXM";
    gpu.capability_major = 9;
    gpu.sms = 132;
    gpu.cores_per_sm = 128;
    gpu.clock_hz = 1.98e9;
    gpu.dram_bandwidth = 3.35e12;
    gpu.l2_bytes = std::int64_t{50} << 20;
    gpu.shared_per_sm = 228 << 10;
    gpu.shared_per_block = 227 << 10;
    gpu.registers_per_sm = 65536;
    gpu.registers_per_thread = 255;
    gpu.threads_per_sm = 2048;
    gpu.warps_per_sm = 64;
    gpu.blocks_per_sm = 32;
    return gpu;
}

}  // namespace pipec::fusion
