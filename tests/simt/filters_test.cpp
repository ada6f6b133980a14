// Correct kernels give the right results, in every order of lanes and blocks, and no fault.
#include <algorithm>
#include <numeric>
#include <random>

#include "device_array.h"
#include "kernels.h"

namespace {

constexpr std::uint64_t orders = 5;

std::vector<float> random_floats(std::size_t count) {
    std::mt19937 random(17);
    std::vector<float> values(count);
    for (float& v : values) v = static_cast<float>(random() % 1000);
    return values;
}

std::vector<float> blurred(const std::vector<float>& img, int rows, int columns) {
    std::vector<float> out;
    for (int y = 0; y < rows; ++y) {
        for (int x = 0; x < columns; ++x) {
            float sum = 0;
            for (int i = 0; i < 9; ++i) sum += img[(y + i / 3) * (columns + 2) + x + i % 3];
            out.push_back(sum / 9.0f);
        }
    }
    return out;
}

using Blur = int (*)(const float*, float*, int, int, cudaStream_t);

void expect_blur(Blur blur, int rows, int columns) {
    const std::vector<float> img = random_floats((rows + 2) * (columns + 2));
    const DeviceArray<float> input(img);
    for (std::uint64_t seed = 0; seed < orders; ++seed) {
        simt::set_order(seed);
        const DeviceArray<float> output(rows * columns);
        ASSERT_EQ(blur(input.data(), output.data(), rows, columns, nullptr), cudaSuccess);
        EXPECT_EQ(output.download(), blurred(img, rows, columns)) << rows << " x " << columns << ", order " << seed;
    }
}

TEST(Filters, BlurByWarps) {
    expect_blur(blur_by_warps, 1, 1);
    expect_blur(blur_by_warps, 7, 30);
    expect_blur(blur_by_warps, 13, 131);
}

TEST(Filters, BlurByBlocks) {
    expect_blur(blur_by_blocks, 1, 1);
    expect_blur(blur_by_blocks, 8, 32);
    expect_blur(blur_by_blocks, 17, 67);
}

TEST(Filters, Histogram) {
    std::mt19937 random(5);
    std::vector<unsigned char> img(1009);
    std::vector<unsigned> expected(256);
    for (unsigned char& v : img) ++expected[v = static_cast<unsigned char>(random() % 7 == 0 ? random() : 3)];
    const DeviceArray<unsigned char> input(img);
    for (std::uint64_t seed = 0; seed < orders; ++seed) {
        simt::set_order(seed);
        const DeviceArray<unsigned> bins(256);
        ASSERT_EQ(histogram(input.data(), bins.data(), 1009, nullptr), cudaSuccess);
        EXPECT_EQ(bins.download(), expected);
    }
}

TEST(Filters, Sum) {
    const std::vector<float> values = random_floats(1004);
    const DeviceArray<float> input(values);
    const float expected = std::accumulate(values.begin(), values.end(), 0.0f);
    for (const int threads : {32, 64, 256}) {
        for (std::uint64_t seed = 0; seed < orders; ++seed) {
            simt::set_order(seed);
            const DeviceArray<float> result(1);
            ASSERT_EQ(sum(input.data(), result.data(), 1004, threads, nullptr), cudaSuccess);
            EXPECT_EQ(result.download()[0], expected);
        }
    }
}

TEST(Filters, VectorsMustBeAligned) {
    const DeviceArray<float> input(random_floats(65)), result(std::vector<float>{0});
    const simt::CatchFaults caught;
    ASSERT_EQ(sum(input.data() + 1, result.data(), 64, 32, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    ASSERT_EQ(caught.faults().size(), 1u);
    EXPECT_EQ(caught.faults()[0].kind, simt::Kind::Misaligned);
}

bool contains(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

// Launches `wait.size()` kernels that may start before the one ahead of them is over, and returns the reports.
std::string increment(const std::vector<char>& wait) {
    const auto times = static_cast<int>(wait.size());
    std::vector<int> values(64 * (wait.size() + 1), -1);
    std::iota(values.begin(), values.begin() + 64, 0);
    const DeviceArray<int> array(values);
    const simt::CatchFaults caught;
    EXPECT_EQ(increment_often(array.data(), times, reinterpret_cast<const bool*>(wait.data()), false, nullptr),
              cudaSuccess);
    if (cudaDeviceSynchronize() == cudaSuccess) {
        for (int i = 0; i < 64; ++i) EXPECT_EQ(array.download()[64 * times + i], i + times);
    }
    EXPECT_LE(caught.faults().size(), 1u);
    for (const simt::Fault& fault : caught.faults()) EXPECT_EQ(fault.kind, simt::Kind::Race);
    return caught.text();
}

TEST(Filters, AKernelThatMayStartEarlyMustWait) {
    for (std::uint64_t seed = 0; seed < orders; ++seed) {
        simt::set_order(seed);
        EXPECT_EQ(increment({1, 1, 1}), "");
        EXPECT_EQ(increment({0, 1}), "");  // the first one starts when the copy before it is over
        EXPECT_TRUE(contains(increment({1, 0}), "written by the previous kernel, which may still run"));
    }
}

TEST(Filters, AKernelThatDoesNotWaitLeavesItsSuccessorsInDoubt) {
    std::vector<int> values(3 * 64, 1);
    const DeviceArray<int> a(values), b(values);
    const bool first = true, second = false;
    simt::set_order(0);
    const simt::CatchFaults caught;
    ASSERT_EQ(increment_often(a.data(), 1, &first, false, nullptr), cudaSuccess);
    ASSERT_EQ(increment_often(b.data(), 1, &second, true, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << caught.text();
    ASSERT_EQ(increment_often(a.data() + 64, 1, &first, true, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    EXPECT_TRUE(contains(caught.text(), "has not waited itself"));
}

TEST(Filters, OrdersDiffer) {
    std::vector<std::vector<int>> seen;
    for (std::uint64_t seed = 0; seed < orders; ++seed) {
        simt::set_order(seed);
        const DeviceArray<int> counter(std::vector<int>{0}), ticket(3 * 64);
        ASSERT_EQ(tickets(counter.data(), ticket.data(), nullptr), cudaSuccess);
        const std::vector<int> order = ticket.download();
        EXPECT_EQ(std::find(seen.begin(), seen.end(), order), seen.end());
        seen.push_back(order);
    }
    std::vector<int> expected(3 * 64);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(seen[0], expected);
    EXPECT_EQ(seen[1], std::vector<int>(expected.rbegin(), expected.rend()));
    for (std::vector<int>& order : seen) {
        std::sort(order.begin(), order.end());
        EXPECT_EQ(order, expected);
    }
}

TEST(Filters, Shuffles) {
    std::vector<int> expected(8 * 32);
    for (int lane = 0; lane < 32; ++lane) {
        const int first = lane / 8 * 8, last = first + 7;
        expected[lane] = 5;
        expected[32 + lane] = first + 5;
        expected[64 + lane] = lane >= 3 ? lane - 3 : lane;
        expected[96 + lane] = lane - 3 >= first ? lane - 3 : lane;
        expected[128 + lane] = lane + 3 < 32 ? lane + 3 : lane;
        expected[160 + lane] = lane + 3 <= last ? lane + 3 : lane;
        expected[192 + lane] = lane ^ 9;
        expected[224 + lane] = (lane ^ 9) <= last ? lane ^ 9 : lane;
    }
    for (std::uint64_t seed = 0; seed < orders; ++seed) {
        simt::set_order(seed);
        const DeviceArray<int> sources(8 * 32);
        ASSERT_EQ(shuffles(sources.data(), nullptr), cudaSuccess);
        EXPECT_EQ(sources.download(), expected);
    }
}

TEST(Filters, PartialWarps) {
    for (std::uint64_t seed = 0; seed < orders; ++seed) {
        simt::set_order(seed);
        const DeviceArray<int> out(20);
        ASSERT_EQ(partial_warp(out.data(), 19, nullptr), cudaSuccess);
        EXPECT_EQ(out.download(), std::vector<int>(20, 0x55556));
        const simt::CatchFaults caught;
        ASSERT_EQ(partial_warp(out.data(), 20, nullptr), cudaSuccess);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
        EXPECT_TRUE(contains(caught.text(), "value of lane 20 of the warp, which does not exist"));
    }
}

TEST(Filters, WhatIsCounted) {
    const DeviceArray<float> input(random_floats(3 * 32)), output(30);
    simt::set_order(0);
    simt::reset_statistics();
    ASSERT_EQ(blur_by_warps(input.data(), output.data(), 1, 30, nullptr), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    const simt::Statistics& counted = simt::statistics();
    EXPECT_EQ(counted.launches, 1u);
    EXPECT_EQ(counted.blocks, 1u);
    EXPECT_EQ(counted.lanes, 128u);
    EXPECT_EQ(counted.global_read, 3u * 128u * sizeof(float));
    EXPECT_EQ(counted.global_written, 30u * sizeof(float));
    EXPECT_EQ(counted.shuffles, 4u * 2u);
    EXPECT_EQ(counted.block_barriers + counted.warp_barriers + counted.votes + counted.atomics, 0u);
}

}  // namespace
