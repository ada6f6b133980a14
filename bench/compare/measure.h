// Times of launches that follow each other in one stream.
#pragma once

#include <memory>
#include <vector>

#include "program.h"

namespace pipec::bench {

struct Effort {
    int launches = 100;  ///< of which the mean is taken
    int samples = 3;     ///< means
};

struct Times {
    std::vector<double> stream;  ///< microseconds of a launch, a mean each
    std::vector<double> graph;   ///< the same launches, captured; empty where they cannot be captured
    int kernels = 0;             ///< of a launch; 0 where that is not known
};

/// The programs take turns, so that no launch finds in the cache what the one before it left there. Each has run in
/// this stream before: what it allocates once is there.
Times measure(const std::vector<std::unique_ptr<Program>>& programs, const Effort& effort, gpu::Stream stream);

/// Of copying `bytes` within the device's memory, from and to as many places in turn.
std::vector<double> measure_copy(std::size_t bytes, int places, const Effort& effort, gpu::Stream stream);

}  // namespace pipec::bench
