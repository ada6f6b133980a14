#include "fusion/gpu_rates.h"

namespace pipec::fusion {

const std::vector<RateMember>& rate_members() {
    using enum RateMember::Kind;
    static const std::vector<RateMember> all{
        {"dram_part", &GpuRates::dram_part, Part},
        {"issue_part", &GpuRates::issue_part, Part},
        {"half_rate_part", &GpuRates::half_rate_part, Part},
        {"lsu_part", &GpuRates::lsu_part, Part},
        {"l2_bytes_per_clock", &GpuRates::l2_bytes_per_clock, Factor},
        {"l2_kept_part", &GpuRates::l2_kept_part, Part},
        {"enough_warps", &GpuRates::enough_warps, Factor},
        {"few_warps_dram_loss", &GpuRates::few_warps_dram_loss, Loss},
        {"few_warps_l2_loss", &GpuRates::few_warps_l2_loss, Loss},
        {"narrow_loss", &GpuRates::narrow_loss, Loss},
        {"one_round_dram_part", &GpuRates::one_round_dram_part, Part},
        {"gap_exponent", &GpuRates::gap_exponent, Power},
        {"register_tile_l2_factor", &GpuRates::register_tile_l2_factor, Factor},
        {"register_tile_few_warps_dram_loss", &GpuRates::register_tile_few_warps_dram_loss, Loss},
        {"register_tile_few_warps_l2_loss", &GpuRates::register_tile_few_warps_l2_loss, Loss},
        {"read_again", &GpuRates::read_again, Factor},
        {"planes_read_again", &GpuRates::planes_read_again, Factor},
        {"memory_us", &GpuRates::memory, Time},
        {"barrier_us", &GpuRates::barrier, Clocks},
        {"update_us", &GpuRates::update, Clocks},
        {"block_start_us", &GpuRates::block_start, Clocks},
        {"launch_us", &GpuRates::launch, Time},
        {"loads_at_once", &GpuRates::loads_at_once, Factor},
        {"clocks_per_instruction", &GpuRates::clocks_per_instruction, Factor},
        {"issuing_warps", &GpuRates::issuing_warps, Factor},
        {"register_tile_issuing_warps", &GpuRates::register_tile_issuing_warps, Factor},
        {"cached_instructions", &GpuRates::cached_instructions, Factor},
        {"uncached_slowdown", &GpuRates::uncached_slowdown, Loss},
        {"overlap", &GpuRates::overlap, Exponent},
        {"overlap_with_barriers", &GpuRates::overlap_with_barriers, Exponent},
        {"edge_wait_part", &GpuRates::edge_wait_part, Loss},
        {"ends", &GpuRates::ends, Loss},
    };
    return all;
}

}  // namespace pipec::fusion
