#include "driver/tune/parallel_compiler.h"

#include <algorithm>

namespace pipec::driver {

ParallelCompiler::ParallelCompiler(NativeCompiler compiler, std::vector<NativeSource> sources, unsigned at_once,
                                   bool use_cache)
    : compiler_(std::move(compiler)), sources_(std::move(sources)), use_cache_(use_cache), promises_(sources_.size()) {
    for (auto& promise : promises_) futures_.push_back(promise.get_future());
    const std::size_t count = std::min<std::size_t>(std::max(1U, at_once), sources_.size());
    for (std::size_t i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
}

ParallelCompiler::~ParallelCompiler() {
    next_ = sources_.size();
    for (std::thread& thread : threads_) thread.join();
}

void ParallelCompiler::work() {
    for (std::size_t i = next_++; i < sources_.size(); i = next_++) {
        try {
            promises_[i].set_value(get_object(compiler_, sources_[i], use_cache_));
        } catch (...) {
            promises_[i].set_exception(std::current_exception());
        }
    }
}

}  // namespace pipec::driver
