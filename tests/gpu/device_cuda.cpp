// device.h with the CUDA runtime.
#include <cuda_runtime.h>

#include <memory>
#include <stdexcept>
#include <vector>

#include "device.h"

namespace pipec::gpu {

namespace {

void require(cudaError_t status, const char* what) {
    if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

struct Event {
    cudaEvent_t event = nullptr;
    Event() { require(cudaEventCreate(&event), "an event"); }
    ~Event() { cudaEventDestroy(event); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
};

std::string version(int number) {
    return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

}  // namespace

Block::Block(std::size_t bytes) : bytes_(bytes) {
    void* data = nullptr;
    require(cudaMalloc(&data, bytes), "allocating device memory");
    data_ = static_cast<std::byte*>(data);
}
Block::~Block() {
    cudaFree(data_);
}
void Block::upload(const std::byte* from) const {
    require(cudaMemcpy(data_, from, bytes_, cudaMemcpyHostToDevice), "copying to the device");
    wait();  // the copy may return before the data is there, and streams of our own do not wait for it
}
void Block::download(std::byte* to, std::size_t first) const {
    require(cudaMemcpy(to, data_ + first, bytes_ - first, cudaMemcpyDeviceToHost), "copying from the device");
}
void Block::fill(std::size_t first, std::size_t bytes, std::byte value) const {
    require(cudaMemset(data_ + first, std::to_integer<int>(value), bytes), "filling device memory");
    wait();
}

OwnStream::OwnStream() {
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
}
OwnStream::~OwnStream() {
    cudaStreamDestroy(stream_);
}

Graph capture(const Work& work, Stream stream) {
    cudaGraph_t captured = nullptr;
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "beginning a capture");
    work(stream);
    require(cudaStreamEndCapture(stream, &captured), "capturing");
    const std::shared_ptr<CUgraph_st> graph(captured, cudaGraphDestroy);

    std::size_t count = 0;
    require(cudaGraphGetNodes(captured, nullptr, &count), "the graph's nodes");
    std::vector<cudaGraphNode_t> nodes(count);
    require(cudaGraphGetNodes(captured, nodes.data(), &count), "the graph's nodes");
    int kernels = 0;
    for (const cudaGraphNode_t node : nodes) {
        cudaGraphNodeType type{};
        require(cudaGraphNodeGetType(node, &type), "a node's type");
        kernels += type == cudaGraphNodeTypeKernel ? 1 : 0;
    }

    cudaGraphExec_t instance = nullptr;
    require(cudaGraphInstantiate(&instance, captured, 0), "instantiating a graph");
    const std::shared_ptr<CUgraphExec_st> executable(instance, cudaGraphExecDestroy);
    return {[executable](Stream s) { require(cudaGraphLaunch(executable.get(), s), "launching a graph"); }, kernels};
}

void copy(const Block& to, const Block& from, std::size_t bytes, Stream stream) {
    require(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, stream), "copying");
}

void order(Stream first, Stream then) {
    const Event event;
    require(cudaEventRecord(event.event, first), "an event");
    require(cudaStreamWaitEvent(then, event.event, 0), "waiting for an event");
}

void wait() {
    require(cudaDeviceSynchronize(), "waiting for the device");
    require(cudaGetLastError(), "on the device");
}

double microseconds(const Work& work, int repetitions, Stream stream) {
    const Event begin, end;
    require(cudaEventRecord(begin.event, stream), "an event");
    for (int i = 0; i < repetitions; ++i) work(stream);
    require(cudaEventRecord(end.event, stream), "an event");
    require(cudaEventSynchronize(end.event), "waiting for an event");
    float milliseconds = 0;
    require(cudaEventElapsedTime(&milliseconds, begin.event, end.event), "the time between events");
    return 1e3 * milliseconds / repetitions;
}

std::string describe() {
    cudaDeviceProp properties{};
    int driver = 0, runtime = 0;
    require(cudaGetDeviceProperties(&properties, 0), "the device's properties");
    require(cudaDriverGetVersion(&driver), "the driver's version");
    require(cudaRuntimeGetVersion(&runtime), "the runtime's version");
    return std::string(properties.name) + ", CUDA of the driver " + version(driver) + ", of the runtime " +
           version(runtime);
}

}  // namespace pipec::gpu
