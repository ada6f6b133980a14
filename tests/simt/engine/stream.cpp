#include "engine/stream.h"

#include <algorithm>
#include <memory>

#include "engine/report.h"

namespace simt {
namespace {

struct Pending {
    cudaStream_t stream;
    SimtOperation operation;
};
LastKernel last_of_null_stream;
std::vector<Pending> pending;  // of all streams, in the order of the calls
std::vector<std::unique_ptr<CUstream_st>> streams;
std::vector<std::unique_ptr<CUgraph_st>> graphs;
std::vector<std::unique_ptr<CUgraphExec_st>> executables;

// Which of the pending operations must have run before `stream` is done: its own, and where these wait for the null
// stream or are in it, what that waits for.
std::vector<bool> needed(cudaStream_t stream) {
    std::vector<bool> result(pending.size());
    bool all = false, null = stream == nullptr || stream->blocking;
    for (std::size_t i = pending.size(); i-- > 0;) {
        const cudaStream_t other = pending[i].stream;
        const bool blocking = other == nullptr || other->blocking;
        result[i] = other == stream || (all && blocking) || (null && other == nullptr);
        if (result[i] && other == nullptr) all = true;
    }
    return result;
}

cudaError_t run(const std::vector<bool>& chosen) {
    std::vector<Pending> now, later;
    for (std::size_t i = 0; i < pending.size(); ++i) (chosen[i] ? now : later).push_back(std::move(pending[i]));
    pending = std::move(later);
    for (const Pending& item : now) {
        LastKernel& last = item.stream == nullptr ? last_of_null_stream : item.stream->last;
        if (device_failed() || !item.operation(last)) {
            pending.clear();
            return result(cudaErrorLaunchFailure);
        }
    }
    return device_failed() ? result(cudaErrorLaunchFailure) : cudaSuccess;
}

template <class T>
auto find(std::vector<std::unique_ptr<T>>& all, const T* item) {
    return std::find_if(all.begin(), all.end(), [&](const auto& p) { return p.get() == item; });
}

template <class T>
cudaError_t remove(std::vector<std::unique_ptr<T>>& all, const T* item) {
    const auto found = find(all, item);
    if (found == all.end()) return result(cudaErrorInvalidResourceHandle);
    all.erase(found);
    return cudaSuccess;
}

}  // namespace

std::recursive_mutex& runtime_lock() {
    static std::recursive_mutex mutex;
    return mutex;
}

bool known(cudaStream_t stream) {
    return stream == nullptr || find(streams, stream) != streams.end();
}

bool capturing() {
    return std::any_of(streams.begin(), streams.end(), [](const auto& s) { return s->capture != nullptr; });
}

cudaError_t enqueue(cudaStream_t stream, SimtOperation operation) {
    if (!known(stream)) return result(cudaErrorInvalidResourceHandle);
    if (device_failed()) return result(cudaErrorLaunchFailure);
    if (stream == nullptr && capturing()) return result(cudaErrorStreamCaptureImplicit);
    if (stream != nullptr && stream->capture != nullptr) {
        stream->capture->operations.push_back(std::move(operation));
    } else {
        pending.push_back({stream, std::move(operation)});
    }
    return cudaSuccess;
}

cudaError_t run_stream(cudaStream_t stream) {
    if (!known(stream)) return result(cudaErrorInvalidResourceHandle);
    if (stream != nullptr && stream->capture != nullptr) {
        stream->capture_invalid = true;
        return result(cudaErrorStreamCaptureUnsupported);
    }
    return run(needed(stream));
}

cudaError_t run_all() {
    if (capturing()) return result(cudaErrorStreamCaptureUnsupported);
    return run(std::vector<bool>(pending.size(), true));
}

}  // namespace simt

using namespace simt;
using Lock = std::lock_guard<std::recursive_mutex>;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    const Lock lock(runtime_lock());
    streams.push_back(std::make_unique<CUstream_st>());
    *stream = streams.back().get();
    (*stream)->blocking = (flags & cudaStreamNonBlocking) == 0;
    return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    const Lock lock(runtime_lock());
    if (stream == nullptr || !known(stream)) return result(cudaErrorInvalidResourceHandle);
    const cudaError_t error = run_stream(stream);
    remove(streams, stream);
    return error;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    const Lock lock(runtime_lock());
    return run_stream(stream);
}

cudaError_t cudaDeviceSynchronize() {
    const Lock lock(runtime_lock());
    return run_all();
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
    const Lock lock(runtime_lock());
    if (stream == nullptr) return result(cudaErrorStreamCaptureUnsupported);
    if (!known(stream)) return result(cudaErrorInvalidResourceHandle);
    if (stream->capture != nullptr) return result(cudaErrorInvalidValue);
    graphs.push_back(std::make_unique<CUgraph_st>());
    stream->capture = graphs.back().get();
    stream->capture_invalid = false;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    const Lock lock(runtime_lock());
    if (stream == nullptr || !known(stream) || stream->capture == nullptr) return result(cudaErrorInvalidValue);
    *graph = std::exchange(stream->capture, nullptr);
    if (!stream->capture_invalid) return cudaSuccess;
    remove(graphs, *graph);
    *graph = nullptr;
    return result(cudaErrorStreamCaptureInvalidated);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
    const Lock lock(runtime_lock());
    if (find(graphs, graph) == graphs.end()) return result(cudaErrorInvalidValue);
    executables.push_back(std::make_unique<CUgraphExec_st>(CUgraphExec_st{graph->operations}));
    *exec = executables.back().get();
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    const Lock lock(runtime_lock());
    if (find(executables, exec) == executables.end()) return result(cudaErrorInvalidValue);
    for (const SimtOperation& operation : exec->operations) {
        if (const cudaError_t error = enqueue(stream, operation); error != cudaSuccess) return error;
    }
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    const Lock lock(runtime_lock());
    return remove(graphs, graph);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    const Lock lock(runtime_lock());
    return remove(executables, exec);
}
