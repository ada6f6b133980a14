// Objects of several sources, compiled by several processes at a time.
#pragma once

#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "driver/run/run_steps.h"

namespace pipec::driver {

/// Compiles in the order of the sources, in threads of its own, from the moment it is made. Its end waits for compilers
/// that run, and starts no others.
class ParallelCompiler {
public:
    ParallelCompiler(NativeCompiler compiler, std::vector<NativeSource> sources, unsigned at_once, bool use_cache);
    ParallelCompiler(const ParallelCompiler&) = delete;
    ParallelCompiler& operator=(const ParallelCompiler&) = delete;
    ~ParallelCompiler();

    /// The object of source `index`, once; waits for it. Throws what compiling it threw.
    CompiledObject take(std::size_t index) { return futures_.at(index).get(); }

private:
    void work();

    NativeCompiler compiler_;
    std::vector<NativeSource> sources_;
    bool use_cache_;
    std::vector<std::promise<CompiledObject>> promises_;
    std::vector<std::future<CompiledObject>> futures_;
    std::atomic<std::size_t> next_ = 0;
    std::vector<std::thread> threads_;
};

}  // namespace pipec::driver
