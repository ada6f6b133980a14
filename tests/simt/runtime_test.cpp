// The runtime around the kernels: queues, graphs, what a launch refuses, and what host code may not do.
#include <thread>

#include "device_array.h"
#include "kernels.h"

namespace {

const std::vector<int> ones(64, 1);

TEST(Runtime, WorkIsDoneWhenSomebodyWaits) {
    simt::set_order(0);
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    const DeviceArray<int> in(64), out(64);
    std::vector<int> values(64, 7), results(64);
    ASSERT_EQ(cudaMemcpyAsync(in.data(), values.data(), in.bytes(), cudaMemcpyHostToDevice, stream), cudaSuccess);
    ASSERT_EQ(launch_planted("missing_barrier", false, in.data(), out.data(), stream), cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(results.data(), out.data(), out.bytes(), cudaMemcpyDeviceToHost, stream), cudaSuccess);
    EXPECT_EQ(simt::first_unwritten(out.data(), out.bytes()), 0u);
    values.assign(64, 8);  // too early for the caller, in time for the copy
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(results, std::vector<int>(64, 8));
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
}

TEST(Runtime, StreamsWaitForTheNullStreamOnly) {
    cudaStream_t a = nullptr, b = nullptr, apart = nullptr;
    ASSERT_EQ(cudaStreamCreate(&a), cudaSuccess);
    ASSERT_EQ(cudaStreamCreate(&b), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking), cudaSuccess);
    const DeviceArray<char> bytes(4);
    const auto written = [&] {
        std::string result;
        for (int i = 0; i < 4; ++i) result += simt::first_unwritten(bytes.data() + i, 1) == 1 ? 'x' : '-';
        return result;
    };
    ASSERT_EQ(cudaMemsetAsync(bytes.data(), 1, 1, a), cudaSuccess);
    ASSERT_EQ(cudaMemsetAsync(bytes.data() + 1, 1, 1, b), cudaSuccess);
    ASSERT_EQ(cudaMemsetAsync(bytes.data() + 2, 1, 1, apart), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(b), cudaSuccess);
    EXPECT_EQ(written(), "-x--");
    ASSERT_EQ(cudaMemsetAsync(bytes.data() + 3, 1, 1, nullptr), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(b), cudaSuccess);
    EXPECT_EQ(written(), "xx-x");
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(written(), "xxxx");
    for (cudaStream_t stream : {a, b, apart}) EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST(Runtime, GraphsRepeatWhatWasCaptured) {
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    const DeviceArray<unsigned char> img(std::vector<unsigned char>(100, 9));
    const DeviceArray<unsigned> bins(256);
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    ASSERT_EQ(histogram(img.data(), bins.data(), 100, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(simt::first_unwritten(bins.data(), bins.bytes()), 0u);

    cudaGraphExec_t exec = nullptr;
    ASSERT_EQ(cudaGraphInstantiate(&exec, graph), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
        ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
        EXPECT_EQ(bins.download()[9], 100u);
    }
    EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
    EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaErrorInvalidValue);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST(Runtime, WaitingEndsACapture) {
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    const DeviceArray<int> in(ones), out(64);
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, 16), cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(launch_planted("missing_barrier", false, in.data(), out.data(), nullptr), cudaErrorStreamCaptureImplicit);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(graph, nullptr);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST(Runtime, HostCodeMustNotTouchDeviceMemory) {
    const DeviceArray<float> device(std::vector<float>{3.0f});
    const simt::CatchFaults caught;
    first_on_the_host(device.data());
    ASSERT_EQ(caught.faults().size(), 1u);
    EXPECT_EQ(caught.faults()[0].kind, simt::Kind::HostAccess);
    EXPECT_NE(caught.text().find("a read of 4 bytes at byte 0 of an allocation of 4 bytes"), std::string::npos);
    EXPECT_NE(caught.text().find("filters.cu:"), std::string::npos) << caught.text();
}

TEST(Runtime, SharedMemoryHasLimits) {
    struct Case {
        int bytes;
        bool allow;
        cudaError_t attribute, launch;
    };
    for (const Case& c : {Case{48 * 1024, false, cudaSuccess, cudaSuccess},
                          Case{48 * 1024 + 1, false, cudaSuccess, cudaErrorInvalidValue},
                          Case{100 * 1024, true, cudaSuccess, cudaSuccess},
                          Case{100 * 1024 + 1, false, cudaSuccess, cudaErrorInvalidValue},
                          Case{227 * 1024, true, cudaSuccess, cudaSuccess},
                          Case{227 * 1024 + 1, true, cudaErrorInvalidValue, cudaErrorInvalidValue}}) {
        int attribute = -1;
        const simt::CatchFaults caught;  // the kernel adds to a null pointer
        EXPECT_EQ(ask_for_shared(c.bytes, c.allow, &attribute, nullptr), c.launch) << c.bytes;
        EXPECT_EQ(attribute, c.attribute) << c.bytes;
        EXPECT_EQ(cudaDeviceSynchronize(), c.launch == cudaSuccess ? cudaErrorLaunchFailure : cudaSuccess);
    }
}

TEST(Runtime, SharedMemoryIsStaticAndDynamicTogether) {
    const DeviceArray<int> in(ones), out(64);
    EXPECT_EQ(launch_large_shared(8 * 1024, in.data(), out.data(), nullptr), cudaSuccess);
    EXPECT_EQ(launch_large_shared(8 * 1024 + 1, in.data(), out.data(), nullptr), cudaErrorInvalidValue);
    EXPECT_EQ(out.download(), ones);
}

void nothing() {}

TEST(Runtime, LaunchesAreChecked) {
    const auto launch = [](dim3 grid, dim3 block) {
        cudaLaunchConfig_t config{};
        config.gridDim = grid;
        config.blockDim = block;
        return cudaLaunchKernelEx(&config, nothing);
    };
    for (const dim3& grid :
         {dim3(0), dim3(1, 0), dim3(1, 1, 0), dim3(0x80000000u), dim3(1, 65536), dim3(1, 1, 65536)}) {
        EXPECT_EQ(launch(grid, 32), cudaErrorInvalidConfiguration);
    }
    for (const dim3& block : {dim3(0), dim3(1025), dim3(32, 33), dim3(1, 1, 65)}) {
        EXPECT_EQ(launch(1, block), cudaErrorInvalidConfiguration);
    }
    EXPECT_EQ(launch(dim3(2, 3, 4), dim3(8, 2, 64)), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST(Runtime, CopiesAreChecked) {
    const DeviceArray<int> device(ones);
    std::vector<int> host(65);
    EXPECT_EQ(cudaMemcpy(host.data(), device.data(), 65 * sizeof(int), cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemcpy(host.data(), device.data(), 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemset(device.data() + 63, 0, 8), cudaErrorInvalidValue);
    EXPECT_EQ(cudaFree(device.data() + 1), cudaErrorInvalidValue);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}

TEST(Runtime, FreedMemoryIsNobodys) {
    const DeviceArray<int> out(64);
    int* gone = nullptr;
    {
        const DeviceArray<int> in(ones);
        gone = in.data();
    }
    const simt::CatchFaults caught;
    ASSERT_EQ(launch_planted("missing_barrier", false, gone, out.data(), nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    ASSERT_EQ(caught.faults().size(), 1u);
    EXPECT_EQ(caught.faults()[0].kind, simt::Kind::OutOfBounds);
}

TEST(Runtime, WhoeverExpectsNoFaultEnds) {
    const DeviceArray<int> in(ones), out(64);
    EXPECT_EXIT(
        {
            launch_planted("missing_barrier", true, in.data(), out.data(), nullptr);
            cudaDeviceSynchronize();
        },
        ::testing::ExitedWithCode(86), "simt: race: .*missing_barrier");
}

// Shared memory and lanes belong to the thread that waits.
TEST(Runtime, AnyThreadMayWait) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([] {
            cudaStream_t stream = nullptr;
            EXPECT_EQ(cudaStreamCreate(&stream), cudaSuccess);
            for (int k = 0; k < 5; ++k) {
                const DeviceArray<int> in(ones), out(64);
                EXPECT_EQ(launch_planted("missing_barrier", false, in.data(), out.data(), stream), cudaSuccess);
                EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
                EXPECT_EQ(out.download(), ones);
            }
            EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
        });
    }
    for (std::thread& thread : threads) thread.join();
}

TEST(Runtime, ErrorsHaveNames) {
    EXPECT_STREQ(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument");
    EXPECT_STREQ(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue");
    int value = 0;
    EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0), cudaSuccess);
    EXPECT_EQ(value, 227 * 1024);
    EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 1), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

}  // namespace
