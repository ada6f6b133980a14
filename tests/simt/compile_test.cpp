// A .cu that is written, compiled and loaded at run time; and, where there is nvcc, that the emulator's own kernels are
// CUDA.
#include <dlfcn.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "device_array.h"

namespace {

namespace fs = std::filesystem;

int shell(const std::string& command) {
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class Directory {
public:
    Directory() {
        std::string name = (fs::temp_directory_path() / "simt.XXXXXX").string();
        path_ = mkdtemp(name.data());
    }
    ~Directory() { fs::remove_all(path_); }
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;
    [[nodiscard]] std::string operator/(const char* name) const { return (path_ / name).string(); }

private:
    fs::path path_;
};

// Dynamic shared memory declared at namespace scope, constants, a function called by lanes, host and device code in
// one.
constexpr const char* program = R"(
#include <cuda_runtime.h>
#include <stdint.h>
#include <atomic>
extern __shared__ __align__(16) unsigned char dynamic_shared[];
namespace {
__constant__ const int weights[4] = {1, 10, 100, 1000};
__device__ __forceinline__ int weighted(int v, int i) { return v * weights[i & 3]; }
__global__ void kernel(const uint8_t* __restrict__ in, uint16_t* __restrict__ out, int32_t n) {
    uint8_t* tile = dynamic_shared;
    const int32_t i = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) tile[threadIdx.x] = in[i];
    __syncthreads();
    if (i < n) out[i] = (uint16_t)weighted(tile[threadIdx.x], i);
}
}
extern "C" int launch(const uint8_t* in, uint16_t* out, int32_t n, struct CUstream_st* stream) {
    static std::atomic<unsigned> launches{cudaGetLastError() == cudaSuccess ? 0u : 1u};
    ++launches;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)(n + 31) / 32);
    config.blockDim = dim3(32);
    config.dynamicSmemBytes = 32;
    config.stream = stream;
    cudaError_t error = cudaLaunchKernelEx(&config, kernel, in, out, n);
    return error == cudaSuccess ? cudaGetLastError() : error;
}
)";

TEST(Compile, AtRunTime) {
    const Directory directory;
    std::ofstream(directory / "x.cu") << program;
    ASSERT_EQ(shell(SIMT_COMPILE " -Werror " + (directory / "x.cu") + " -o " + (directory / "x.o")), 0);
    ASSERT_EQ(shell(SIMT_LINK " " + (directory / "x.o") + " -o " + (directory / "x.so")), 0);
    void* library = dlopen((directory / "x.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    using Launch = int (*)(const std::uint8_t*, std::uint16_t*, std::int32_t, cudaStream_t);
    const auto launch = reinterpret_cast<Launch>(dlsym(library, "launch"));
    ASSERT_NE(launch, nullptr);
    cudaGetLastError();
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        simt::set_order(seed);
        const DeviceArray<std::uint8_t> in(std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6, 7});
        const DeviceArray<std::uint16_t> out(7);
        EXPECT_EQ(launch(in.data(), out.data(), 7, nullptr), cudaSuccess);
        EXPECT_EQ(out.download(), (std::vector<std::uint16_t>{1, 20, 300, 4000, 5, 60, 700}));

        const simt::CatchFaults caught;  // bytes beyond the end, in the same word
        EXPECT_EQ(launch(in.data(), out.data() + 1, 7, nullptr), cudaSuccess);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
        ASSERT_EQ(caught.faults().size(), 1u);
        EXPECT_EQ(caught.faults()[0].kind, simt::Kind::OutOfBounds);
        EXPECT_NE(caught.text().find("x.cu:14"), std::string::npos) << caught.text();
    }
    dlclose(library);
}

TEST(Compile, ByNvcc) {
    std::string nvcc = "nvcc";
    if (shell("nvcc --version > /dev/null 2>&1") != 0) nvcc = "/usr/local/cuda/bin/nvcc";
    if (shell(nvcc + " --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "there is no nvcc";
    const Directory directory;
    std::ofstream(directory / "x.cu") << program;
    const std::string sources = PIPEC_SOURCE_DIR "/tests/simt/";
    for (const std::string& file : {sources + "filters.cu", sources + "planted_faults.cu", directory / "x.cu"}) {
        EXPECT_EQ(
            shell(nvcc + " -std=c++17 -arch=sm_80 -Werror all-warnings -c " + file + " -o " + (directory / "x.o")), 0);
    }
}

}  // namespace
