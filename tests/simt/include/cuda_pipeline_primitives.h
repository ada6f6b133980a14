// Asynchronous copies from global into shared memory, of 4, 8 or 16 bytes, in batches.
#pragma once

#include <cstddef>

void __pipeline_memcpy_async(void* to, const void* from, std::size_t bytes);
void __pipeline_commit();
/// Until all batches of the lane but its last `prior` have come. (CUDA's waits for all but 8 at most.)
void __pipeline_wait_prior(std::size_t prior);
