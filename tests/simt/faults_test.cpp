// Every kind of fault is found, in every order of lanes, and the correct form of the same kernel is left alone.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <numeric>
#include <ostream>
#include <vector>

#include "kernels.h"
#include "simt.h"

namespace {

struct Planted {
    const char* name;
    simt::Kind kind;
};

// For the names of the tests.
void PrintTo(const Planted& planted, std::ostream* out) {
    *out << simt::kind_name(planted.kind);
}

class Faults : public ::testing::TestWithParam<Planted> {};

std::string run(const char* name, bool bad, std::vector<simt::Fault>& faults) {
    constexpr int count = 64;
    std::vector<int> values(count);
    std::iota(values.begin(), values.end(), 1);
    int *in = nullptr, *out = nullptr;
    EXPECT_EQ(cudaMalloc(&in, count * sizeof(int)), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&out, count * sizeof(int)), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(in, values.data(), count * sizeof(int), cudaMemcpyHostToDevice), cudaSuccess);
    std::string text;
    {
        const simt::CatchFaults caught;
        EXPECT_EQ(launch_planted(name, bad, in, out, nullptr), cudaSuccess);
        EXPECT_EQ(cudaDeviceSynchronize(), bad ? cudaErrorLaunchFailure : cudaSuccess);
        faults = caught.faults();
        text = caught.text();
    }
    cudaFree(in);
    cudaFree(out);
    return text;
}

TEST_P(Faults, IsFound) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        simt::set_order(seed);
        std::vector<simt::Fault> faults;
        const std::string text = run(GetParam().name, true, faults);
        ASSERT_EQ(faults.size(), 1u) << "order " << seed << "\n" << text;
        EXPECT_EQ(faults[0].kind, GetParam().kind) << text;
        EXPECT_EQ(faults[0].kernel, GetParam().name) << text;
    }
}

TEST_P(Faults, CorrectFormPasses) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        simt::set_order(seed);
        std::vector<simt::Fault> faults;
        const std::string text = run(GetParam().name, false, faults);
        EXPECT_TRUE(faults.empty()) << "order " << seed << "\n" << text;
    }
}

using simt::Kind;
INSTANTIATE_TEST_SUITE_P(
    Planted, Faults,
    ::testing::Values(Planted{"missing_barrier", Kind::Race}, Planted{"missing_second_barrier", Kind::Race},
                      Planted{"missing_warp_barrier", Kind::Race}, Planted{"shuffle_is_no_barrier", Kind::Race},
                      Planted{"warp_barrier_for_block", Kind::Race}, Planted{"half_warp_barrier", Kind::Race},
                      Planted{"same_value", Kind::Race}, Planted{"uninitialized", Kind::Uninitialized},
                      Planted{"shared_bounds", Kind::OutOfBounds}, Planted{"dynamic_bounds", Kind::OutOfBounds},
                      Planted{"mixed_atomic", Kind::Race}, Planted{"divergent_barrier", Kind::Divergence},
                      Planted{"different_barriers", Kind::Divergence}, Planted{"shuffle_in_branch", Kind::Divergence},
                      Planted{"mask_without_self", Kind::BadCollective},
                      Planted{"source_outside_mask", Kind::BadCollective},
                      Planted{"different_collectives", Kind::Divergence}, Planted{"early_exit", Kind::Divergence},
                      Planted{"too_large_index", Kind::OutOfBounds}, Planted{"unwritten_input", Kind::Uninitialized},
                      Planted{"all_write_one", Kind::Race}, Planted{"between_blocks", Kind::Race},
                      Planted{"misaligned", Kind::Misaligned}, Planted{"host_memory", Kind::OutOfBounds},
                      Planted{"overflow", Kind::Undefined}, Planted{"bytes_of_a_word", Kind::Race},
                      Planted{"chained_warp_barriers", Kind::Race}, Planted{"early_reader", Kind::Race},
                      Planted{"barriers_in_loop", Kind::Divergence}, Planted{"global_exchange", Kind::Race},
                      Planted{"plain_count", Kind::Race}, Planted{"misaligned_atomic", Kind::Misaligned},
                      Planted{"compare_and_swap", Kind::Race}, Planted{"bad_width", Kind::BadCollective},
                      Planted{"bad_shift", Kind::Undefined}, Planted{"bad_conversion", Kind::Undefined},
                      Planted{"beyond_the_array", Kind::OutOfBounds}, Planted{"wide_copy", Kind::OutOfBounds},
                      Planted{"copy_by_function", Kind::OutOfBounds}, Planted{"read_in_loop", Kind::Uninitialized},
                      Planted{"missing_wait", Kind::Race}, Planted{"copy_under_way", Kind::Uninitialized},
                      Planted{"copy_of_a_later_batch", Kind::Uninitialized}, Planted{"copy_over_a_copy", Kind::Race},
                      Planted{"misaligned_copy", Kind::Misaligned}),
    [](const auto& test) { return test.param.name; });

}  // namespace
