#include "measure.h"

#include <exception>
#include <iostream>

namespace pipec::bench {

namespace {

constexpr int kWarmUp = 20;

/// Each call does the next of `works`.
gpu::Work in_turn(const std::vector<gpu::Work>& works) {
    return [&works, next = std::size_t{0}](gpu::Stream stream) mutable { works[next++ % works.size()](stream); };
}

std::vector<double> sample(const std::vector<gpu::Work>& works, const Effort& effort, gpu::Stream stream) {
    const gpu::Work work = in_turn(works);
    gpu::microseconds(work, std::min(kWarmUp, effort.launches), stream);
    std::vector<double> times;
    for (int i = 0; i < effort.samples; ++i) times.push_back(gpu::microseconds(work, effort.launches, stream));
    return times;
}

/// Null where the launch cannot be captured. What it throws is held back until the capture has ended.
gpu::Work captured(const Program& program, int& kernels, gpu::Stream stream) {
    try {
        std::exception_ptr error;
        const gpu::Work launch = [&](gpu::Stream s) {
            try {
                program.launch(s);
            } catch (...) {
                error = std::current_exception();
            }
        };
        const gpu::Graph graph = gpu::capture(launch, stream);
        if (error) std::rethrow_exception(error);
        kernels = graph.kernels;
        return graph.replay;
    } catch (const std::exception& e) {
        std::cerr << "not captured: " << e.what() << "\n";
        return nullptr;
    }
}

}  // namespace

Times measure(const std::vector<std::unique_ptr<Program>>& programs, const Effort& effort, gpu::Stream stream) {
    std::vector<gpu::Work> launches, replays;
    for (const auto& program : programs) {
        launches.emplace_back([&program](gpu::Stream s) { program->launch(s); });
    }
    Times times;
    times.stream = sample(launches, effort, stream);
    for (const auto& program : programs) {
        gpu::Work replay = captured(*program, times.kernels, stream);
        if (!replay) return times;
        replays.push_back(std::move(replay));
    }
    times.graph = sample(replays, effort, stream);
    gpu::wait();
    return times;
}

std::vector<double> measure_copy(std::size_t bytes, int places, const Effort& effort, gpu::Stream stream) {
    std::vector<std::unique_ptr<gpu::Block>> blocks;
    std::vector<gpu::Work> copies;
    for (int i = 0; i < places; ++i) {
        const gpu::Block& from = *blocks.emplace_back(std::make_unique<gpu::Block>(bytes));
        const gpu::Block& to = *blocks.emplace_back(std::make_unique<gpu::Block>(bytes));
        copies.emplace_back([&from, &to, bytes](gpu::Stream s) { gpu::copy(to, from, bytes, s); });
    }
    return sample(copies, effort, stream);
}

}  // namespace pipec::bench
