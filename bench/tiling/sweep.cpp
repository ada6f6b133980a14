// Measures variants of one pipeline and compares their results:
//
//     sweep CASES EXAMPLE SIZE REFERENCE.so VARIANT.so...
//
// CASES is a file like tests/gpu/cases.txt. One line for each library; the first one's outputs are what the others must
// equal, and its inputs and outputs are what is copied for the ratio. Exit code 1 where one differs or fails, 2 for a
// wrong command line.
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "call.h"
#include "cases.h"
#include "device.h"
#include "image.h"

namespace pipec::gpu {
namespace {

using runner::abi::pipe_info;

/// What results may differ relative to their magnitude: code with -ffast-math adds in another order.
constexpr double kTolerance = 1e-5;
constexpr int kLaunches = 100, kSamples = 5, kWarmUp = 20;

const pipe_info& load(const std::string& file, const std::string& pipeline) {
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    void* symbol = dlsym(library, (pipeline + "_info").c_str());
    if (symbol == nullptr) throw std::runtime_error(dlerror());
    return *reinterpret_cast<runner::abi::InfoFunction>(symbol)();
}

/// The least of several means, in microseconds.
double least_time(const Work& work, Stream stream) {
    microseconds(work, kWarmUp, stream);
    double least = microseconds(work, kLaunches, stream);
    for (int i = 1; i < kSamples; ++i) least = std::min(least, microseconds(work, kLaunches, stream));
    return least;
}

bool sweep(const Case& c, const std::vector<std::string>& libraries) {
    const OwnStream stream;
    std::vector<Values> inputs, expected;
    double copy_time = 0;
    bool good = true;
    for (const std::string& file : libraries) {
        try {
            const pipe_info& info = load(file, c.example);
            if (inputs.empty()) inputs = make_inputs(c, info, Fill::Random);
            Call call(info, c, inputs, Layout::Dense, Space::Device, false);
            call.launch(stream.get());
            wait();
            const std::vector<Values> results = call.results();
            double greatest = 0;
            std::int64_t bad = 0;
            if (expected.empty()) {
                expected = results;
                const std::size_t bytes = std::max<std::size_t>(call.image_bytes() / 2, 1);
                const Block from(bytes), to(bytes);
                copy_time = least_time([&](Stream s) { copy(to, from, bytes, s); }, stream.get());
            }
            for (std::size_t i = 0; i < results.size(); ++i) {
                const Difference difference = compare(expected[i], results[i], std::max(kTolerance, c.tolerance));
                greatest = std::max(greatest, difference.greatest);
                bad += difference.count;
            }
            const Work work = [&](Stream s) { call.launch(s); };
            const double time = least_time(work, stream.get());
            const Graph graph = capture(work, stream.get());
            std::printf("%-10s %-60s %8.2f us ratio %.3f kernels %d diff %.2g bad %lld\n", c.example.c_str(),
                        file.c_str(), time, copy_time / time, graph.kernels, greatest, static_cast<long long>(bad));
            good = good && bad == 0 && call.faults().empty();
            for (const std::string& fault : call.faults()) std::cerr << file << ": " << fault << "\n";
        } catch (const std::exception& e) {
            std::cerr << file << ": error: " << e.what() << "\n";
            good = false;
        }
        std::fflush(stdout);
    }
    return good;
}

}  // namespace
}  // namespace pipec::gpu

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() < 4) {
        std::cerr << "usage: sweep CASES EXAMPLE SIZE REFERENCE.so VARIANT.so...\n";
        return 2;
    }
    try {
        for (const pipec::gpu::Case& c : pipec::gpu::read_cases(words[0])) {
            if (c.example != words[1] || c.size != words[2]) continue;
            return pipec::gpu::sweep(c, {words.begin() + 3, words.end()}) ? 0 : 1;
        }
        std::cerr << "sweep: error: no case " << words[1] << " " << words[2] << "\n";
    } catch (const std::exception& e) {
        std::cerr << "sweep: error: " << e.what() << "\n";
    }
    return 2;
}
