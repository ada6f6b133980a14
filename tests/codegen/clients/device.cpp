// A C++ program that uses a pipeline's CUDA code as the page on generated code tells: layouts, streams, graphs,
// refusals. Prints what differs; the exit status is the number of failures. Compiles with CUDA and with the emulator.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "device_call.h"

namespace {

int failures = 0;

#define EXPECT(condition)                                                     \
    do {                                                                      \
        if (!(condition)) {                                                   \
            std::printf("line %d: %s does not hold\n", __LINE__, #condition); \
            ++failures;                                                       \
        }                                                                     \
    } while (0)

float pixel(int seed, int c, int y, int x) {
    return static_cast<float>((seed + c * 7 + y * 3 + x * 5) % 11) * 0.5f;
}

float blury(int seed, int c, int y, int x) {
    return (pixel(seed, c, y - 1, x) + pixel(seed, c, y, x) + pixel(seed, c, y + 1, x)) / 3;
}

float blurred(int seed, int c, int y, int x) {
    return (blury(seed, c, y + 1, x) + blury(seed, c, y + 1, x + 1) + blury(seed, c, y + 1, x + 2)) / 3;
}

/// An image on the device, with its elements -1 where nobody sets them.
struct DeviceImage {
    explicit DeviceImage(std::size_t count) : host(count, -1.0f) {
        EXPECT(cudaMalloc(&data, count * sizeof(float)) == cudaSuccess);
        upload();
    }
    ~DeviceImage() { cudaFree(data); }
    void upload() {
        EXPECT(cudaMemcpy(data, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice) == cudaSuccess);
        EXPECT(cudaDeviceSynchronize() == cudaSuccess);  // streams of our own do not wait for the copy
    }
    void download() {
        EXPECT(cudaMemcpy(host.data(), data, host.size() * sizeof(float), cudaMemcpyDeviceToHost) == cudaSuccess);
    }
    std::vector<float> host;
    float* data = nullptr;
};

struct Workspace {
    explicit Workspace(const blur_args& args) : bytes(blur_workspace_size(&args)) {
        EXPECT(bytes != SIZE_MAX);
        EXPECT(cudaMalloc(&data, bytes) == cudaSuccess);
    }
    ~Workspace() { cudaFree(data); }
    std::size_t bytes;
    void* data = nullptr;
};

using Strides = int64_t[3];

std::size_t offset(const int64_t* stride, int c, int y, int x) {
    return static_cast<std::size_t>(c * stride[0] + y * stride[1] + x * stride[2]);
}

/// One call: its images, its place to work.
struct Job {
    Job(int rows, int columns, const Strides& img_stride, const Strides& out_stride, std::size_t count)
        : r(rows),
          c(columns),
          prepared(prepare(&args, rows, columns, img_stride, out_stride)),
          img(count),
          out(count),
          workspace(args) {
        EXPECT(prepared == PIPE_OK);
    }
    void fill(int seed) {
        for (int k = 0; k < 3; ++k)
            for (int y = 0; y < r + 2; ++y)
                for (int x = 0; x < c + 2; ++x) img.host[offset(args.img_stride, k, y, x)] = pixel(seed, k, y, x);
        img.upload();
    }
    pipe_status launch(cudaStream_t stream) {
        return start(&args, img.data, out.data, workspace.data, workspace.bytes, stream);
    }
    void compare(int seed) {
        out.download();
        for (int k = 0; k < 3; ++k)
            for (int y = 0; y < r; ++y)
                for (int x = 0; x < c; ++x) {
                    float& at = out.host[offset(args.out_stride, k, y, x)];
                    EXPECT(at == blurred(seed, k, y, x));
                    at = -1;
                }
        for (const float element : out.host) EXPECT(element == -1);  // nothing else was written
        out.upload();
    }
    int r, c;
    blur_args args{};
    pipe_status prepared;
    DeviceImage img, out;
    Workspace workspace;
};

void layouts() {
    constexpr int r = 5, c = 21;
    const Strides dense_img{(r + 2) * (c + 2), c + 2, 1}, dense_out{r * c, c, 1};
    const Strides pitched_img{1000, 64, 1}, pitched_out{900, 48, 1};
    const Strides interleaved_img{1, 3 * (c + 2), 3}, interleaved_out{1, 3 * c, 3};
    const Strides rgba_img{1, 4 * (c + 2), 4}, column_out{r * c, 1, r};
    const Strides* const pairs[][2] = {{&dense_img, &dense_out},
                                       {&pitched_img, &pitched_out},
                                       {&interleaved_img, &interleaved_out},
                                       {&rgba_img, &column_out},
                                       {&dense_img, &interleaved_out}};
    for (const auto& [img_stride, out_stride] : pairs) {
        Job job(r, c, *img_stride, *out_stride, 20000);
        job.fill(1);
        EXPECT(job.launch(nullptr) == PIPE_OK);
        EXPECT(cudaStreamSynchronize(nullptr) == cudaSuccess);
        job.compare(1);
    }
}

/// Two launches that are under way together, each with its own buffers.
void streams() {
    cudaStream_t first = nullptr, second = nullptr;
    EXPECT(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking) == cudaSuccess);
    EXPECT(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking) == cudaSuccess);
    const Strides img{14 * 142, 142, 1}, out{12 * 140, 140, 1};
    Job a(12, 140, img, out, 14 * 142 * 3), b(12, 140, img, out, 14 * 142 * 3);
    a.fill(2);
    b.fill(3);
    EXPECT(a.launch(first) == PIPE_OK);
    EXPECT(b.launch(second) == PIPE_OK);
    EXPECT(cudaStreamSynchronize(second) == cudaSuccess);
    b.compare(3);
    EXPECT(cudaStreamSynchronize(first) == cudaSuccess);
    a.compare(2);
    EXPECT(cudaStreamDestroy(first) == cudaSuccess);
    EXPECT(cudaStreamDestroy(second) == cudaSuccess);
}

/// A captured launch is replayed on new data.
void graphs() {
    cudaStream_t stream = nullptr;
    EXPECT(cudaStreamCreate(&stream) == cudaSuccess);
    const Strides img{7 * 23, 23, 1}, out{5 * 21, 21, 1};
    Job job(5, 21, img, out, 7 * 23 * 3);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    EXPECT(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
    EXPECT(job.launch(stream) == PIPE_OK);
    EXPECT(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    EXPECT(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    for (const int seed : {4, 5}) {
        job.fill(seed);
        EXPECT(cudaGraphLaunch(exec, stream) == cudaSuccess);
        EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
        job.compare(seed);
    }
    EXPECT(cudaGraphExecDestroy(exec) == cudaSuccess);
    EXPECT(cudaGraphDestroy(graph) == cudaSuccess);
    EXPECT(cudaStreamDestroy(stream) == cudaSuccess);
}

pipe_status status(int code, int argument, int dimension) {
    return code | (argument + 1) << 8 | (dimension + 1) << 16;
}

/// What is wrong is found before anything runs.
void refusals() {
    const Strides img{7 * 23, 23, 1}, out{5 * 21, 21, 1};
    Job job(5, 21, img, out, 7 * 23 * 3);
    job.fill(6);
    void* const space = job.workspace.data;
    const std::size_t bytes = job.workspace.bytes;
    EXPECT(start(&job.args, nullptr, job.out.data, space, bytes, nullptr) == status(PIPE_ERROR_NULL, 0, -1));
    EXPECT(start(&job.args, job.img.data, nullptr, space, bytes, nullptr) == status(PIPE_ERROR_NULL, 1, -1));
    EXPECT(start(&job.args, job.img.data, job.img.data, space, bytes, nullptr) == status(PIPE_ERROR_OVERLAP, 1, -1));
    EXPECT(start(&job.args, job.img.data, job.out.data, nullptr, bytes, nullptr) == PIPE_ERROR_NULL);
    EXPECT(start(&job.args, job.img.data, job.out.data, space, bytes - 1, nullptr) == PIPE_ERROR_WORKSPACE);
    EXPECT(start(&job.args, job.img.data, job.out.data, static_cast<char*>(space) + 64, bytes, nullptr) ==
           PIPE_ERROR_ALIGNMENT);
    EXPECT(blur_launch(nullptr, space, bytes, nullptr) == PIPE_ERROR_NULL);
    blur_args args = job.args;
    args.img_extent[0] = 4;
    EXPECT(start(&args, job.img.data, job.out.data, space, bytes, nullptr) == status(PIPE_ERROR_EXTENT, 0, 0));
    args = job.args;
    args.out_stride[2] = 0;
    EXPECT(start(&args, job.img.data, job.out.data, space, bytes, nullptr) == status(PIPE_ERROR_STRIDE, 1, 2));
    EXPECT(cudaStreamSynchronize(nullptr) == cudaSuccess);
    job.out.download();
    for (const float element : job.out.host) EXPECT(element == -1);
    EXPECT(job.launch(nullptr) == PIPE_OK);
    EXPECT(cudaStreamSynchronize(nullptr) == cudaSuccess);
    job.compare(6);
}

}  // namespace

int main() {
    EXPECT(std::strcmp(blur_info()->target, "cuda") == 0);
    layouts();
    streams();
    graphs();
    refusals();
    return failures;
}
