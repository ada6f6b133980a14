// Work that is queued: it runs when somebody waits for it, so that whoever keeps pointers to what is gone by then is
// found out.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "cuda_runtime.h"
#include "engine/block.h"

/// False: there was a fault.
using SimtOperation = std::function<bool(simt::LastKernel&)>;

struct CUgraph_st {
    std::vector<SimtOperation> operations;
};
struct CUgraphExec_st {
    std::vector<SimtOperation> operations;
};
struct CUstream_st {
    simt::LastKernel last{};
    bool blocking = true;  ///< waits for the null stream, and it for this one
    CUgraph_st* capture = nullptr;
    bool capture_invalid = false;
};

namespace simt {

/// Held in every function of the runtime.
std::recursive_mutex& runtime_lock();
/// Remembers the error for cudaGetLastError.
cudaError_t result(cudaError_t error);

bool known(cudaStream_t stream);
/// Queues, or adds to the graph that the stream captures.
cudaError_t enqueue(cudaStream_t stream, SimtOperation operation);
/// Runs what a stream must have done, or all.
cudaError_t run_stream(cudaStream_t stream);
cudaError_t run_all();
/// Is any stream capturing? Then calls that wait are errors.
bool capturing();

}  // namespace simt
