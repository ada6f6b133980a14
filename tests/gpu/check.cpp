// Compares a pipeline's code for the device with its code for the host, as any caller may call it, and measures it.
//
//     check [--size NAME] [--time TIMED.so] [--fresh-workspace] CASES EXAMPLE HOST.so DEVICE.so
//     check --list CASES        prints "EXAMPLE SIZE" of every case
//     check --describe          prints the GPU
//
// One line for each case goes to standard output, for run.sh to read; what is wrong goes to standard error. Exit code:
// 0, 1 where a case failed, 2 where the command line or the cases are wrong.
#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>

#include "call.h"
#include "cases.h"
#include "device.h"
#include "image.h"

namespace pipec::gpu {
namespace {

using runner::abi::pipe_info;

struct Options {
    std::optional<std::string> size, timed;
    bool fresh_workspace = false;  ///< nobody writes it before the launch, so that tools see reads of it
    std::vector<std::string> names;
};

const pipe_info& load(const std::string& file, const std::string& pipeline) {
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    void* symbol = dlsym(library, (pipeline + "_info").c_str());
    if (symbol == nullptr) throw std::runtime_error(dlerror());
    const pipe_info& info = *reinterpret_cast<runner::abi::InfoFunction>(symbol)();
    if (info.version != runner::abi::kVersion) throw std::runtime_error(file + ": tables of another version");
    return info;
}

/// Compares everything that a case asks for and remembers the greatest difference.
class Checker {
public:
    Checker(const Case& c, const pipe_info& host, const pipe_info& device, bool fresh_workspace)
        : case_(c), host_(host), device_(device), fresh_(fresh_workspace) {}

    void run(Fill how) {
        const std::vector<Values> inputs = make_inputs(case_, host_, how);
        Call reference(host_, case_, inputs, Layout::Dense, Space::Host, false);
        reference.launch(nullptr);
        expected_ = reference.results();
        for (const Layout layout : kLayouts) {
            Call call(device_, case_, inputs, layout, Space::Device, fresh_);
            call.launch(stream_.get());
            expect(call, name(layout));
        }
        const auto make = [&] {
            return std::make_unique<Call>(device_, case_, inputs, Layout::Dense, Space::Device, fresh_);
        };
        const auto first = make(), second = make();
        first->launch(nullptr);
        expect(*first, "default stream");
        first->clear_outputs();
        first->launch(stream_.get());
        second->launch(other_.get());
        expect(*first, "first of two streams");
        expect(*second, "second of two streams");

        // Inputs that come late, by what stands in the stream before, or by what it waits for behind a kernel.
        const Work behind_copies = [&](Stream stream) {
            first->renew_inputs(stream);
            first->launch(stream);
        };
        const Work behind_a_stream = [&](Stream stream) {
            second->launch(stream);
            order(stream, other_.get());
            first->renew_inputs(other_.get());
            order(other_.get(), stream);
            first->launch(stream);
        };
        for (const auto& [work, what] :
             {std::pair(behind_copies, "behind copies"), std::pair(behind_a_stream, "behind another stream")}) {
            first->clear_outputs();
            work(stream_.get());
            expect(*first, what);
            const Graph graph = capture(work, stream_.get());
            first->clear_outputs();
            graph.replay(stream_.get());
            expect(*first, std::string(what) + ", in a graph");
        }
        first->clear_outputs();
        first->renew_inputs(nullptr);
        first->launch(nullptr);
        expect(*first, "behind copies, default stream");

        const Graph graph = capture([&](Stream stream) { first->launch(stream); }, stream_.get());
        kernels_ = graph.kernels;
        for (const char* const what : {"graph, first replay", "graph, second replay"}) {
            first->clear_outputs();
            graph.replay(stream_.get());
            expect(*first, what);
        }
    }

    [[nodiscard]] int kernels() const { return kernels_; }
    [[nodiscard]] double greatest() const { return greatest_; }
    [[nodiscard]] bool failed() const { return failed_; }

private:
    void expect(Call& call, const std::string& what) {
        wait();
        const std::string place = case_.example + " " + case_.size + ", " + what + ": ";
        const std::vector<Values> actual = call.results();
        for (std::size_t i = 0; i < actual.size(); ++i) {
            const Difference difference = compare(expected_[i], actual[i], case_.tolerance);
            greatest_ = std::max(greatest_, difference.greatest);
            if (difference.count == 0) continue;
            failed_ = true;
            std::cerr << "FAIL " << place << difference.count << " elements of output " << i << " differ, most of all "
                      << difference.where << "\n";
        }
        for (const std::string& fault : call.faults()) {
            failed_ = true;
            std::cerr << "FAIL " << place << fault << "\n";
        }
    }

    const Case& case_;
    const pipe_info& host_;
    const pipe_info& device_;
    bool fresh_;
    OwnStream stream_, other_;
    std::vector<Values> expected_;
    int kernels_ = 0;
    double greatest_ = 0;
    bool failed_ = false;
};

/// The median of several samples of some milliseconds each, after a warm-up.
double median_microseconds(const Work& work, Stream stream) {
    constexpr double kSample = 20e3;
    microseconds(work, 3, stream);
    const double once = microseconds(work, 5, stream);
    const int repetitions = static_cast<int>(std::clamp(kSample / once, 3.0, 1000.0));
    std::vector<double> samples;
    for (int i = 0; i < 11; ++i) samples.push_back(microseconds(work, repetitions, stream));
    std::sort(samples.begin(), samples.end());
    return samples[samples.size() / 2];
}

struct Times {
    double launch, graph, floor;
};

Times measure(const Case& c, const pipe_info& info) {
    const OwnStream stream;
    const std::vector<Values> inputs = make_inputs(c, info, Fill::Random);
    const Call call(info, c, inputs, Layout::Dense, Space::Device, false);
    const Work launch = [&](Stream s) { call.launch(s); };
    const Graph graph = capture(launch, stream.get());
    // A copy of n bytes moves 2 n.
    const std::size_t bytes = std::max<std::size_t>(call.image_bytes() / 2, 1);
    const Block from(bytes), to(bytes);
    return {median_microseconds(launch, stream.get()), median_microseconds(graph.replay, stream.get()),
            median_microseconds([&](Stream s) { copy(to, from, bytes, s); }, stream.get())};
}

bool check(const Case& c, const Options& options) {
    const pipe_info& host = load(options.names[2], c.example);
    const pipe_info& device = load(options.names[3], c.example);
    const pipe_info* timed = options.timed ? &load(*options.timed, c.example) : nullptr;
    Checker checker(c, host, device, options.fresh_workspace);
    checker.run(Fill::Random);
    if (c.extreme) checker.run(Fill::Extreme);
    std::printf("%s %s kernels=%d layouts=%zu difference=%g", c.example.c_str(), c.size.c_str(), checker.kernels(),
                std::size(kLayouts), checker.greatest());
    if (timed != nullptr) {
        const Times times = measure(c, *timed);
        std::printf(" time=%.2f graph=%.2f floor=%.2f ratio=%.2f", times.launch, times.graph, times.floor,
                    times.floor / times.launch);
    }
    std::printf(" %s\n", checker.failed() ? "FAIL" : "ok");
    std::fflush(stdout);
    return !checker.failed();
}

Options parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--fresh-workspace") {
            options.fresh_workspace = true;
        } else if ((word == "--size" || word == "--time") && i + 1 < argc) {
            (word == "--size" ? options.size : options.timed) = argv[++i];
        } else {
            options.names.push_back(word);
        }
    }
    return options;
}

int run(int argc, char** argv) {
    const Options options = parse(argc, argv);
    const std::vector<std::string>& names = options.names;
    if (names.size() == 1 && names[0] == "--describe") {
        std::cout << describe() << "\n";
        return 0;
    }
    if (names.size() == 2 && names[0] == "--list") {
        for (const Case& c : read_cases(names[1])) std::cout << c.example << " " << c.size << "\n";
        return 0;
    }
    if (names.size() != 4 || names[0].starts_with("-")) {
        std::cerr
            << "usage: check [--size NAME] [--time TIMED.so] [--fresh-workspace] CASES EXAMPLE HOST.so DEVICE.so\n"
               "       check --list CASES\n       check --describe\n";
        return 2;
    }
    bool any = false, good = true;
    for (const Case& c : read_cases(names[0])) {
        if (c.example != names[1] || (options.size && c.size != *options.size)) continue;
        any = true;
        try {
            good = check(c, options) && good;
        } catch (const std::exception& e) {
            std::cerr << c.place << ": error: " << c.example << " " << c.size << ": " << e.what() << "\n";
            good = false;
        }
    }
    if (!any) throw std::runtime_error("no such case: " + names[1] + " " + options.size.value_or(""));
    return good ? 0 : 1;
}

}  // namespace
}  // namespace pipec::gpu

int main(int argc, char** argv) {
    try {
        return pipec::gpu::run(argc, argv);
    } catch (const std::exception& e) {
        std::cerr << "check: " << e.what() << "\n";
        return 2;
    }
}
