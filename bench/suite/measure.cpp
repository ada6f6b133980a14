// Compares the code of several settings with the host's on images of one size, and measures it and a copy.
//
//     measure CASES PROGRAM SIZE HOST.so [SETTING=DEVICE.so...]
//     measure --describe
//
// Prints one line of JSON: microseconds of a launch and of a graph's replay for each setting, and of a copy on the
// device that moves as many bytes as inputs and outputs have. Exit code: 0, also where results differ, 1 where
// something failed.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <stdexcept>

#include "call.h"
#include "cases.h"
#include "device.h"
#include "image.h"

namespace pipec::gpu {
namespace {

using runner::abi::pipe_info;

const pipe_info& load(const std::string& file, const std::string& pipeline) {
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    void* symbol = dlsym(library, (pipeline + "_info").c_str());
    if (symbol == nullptr) throw std::runtime_error(dlerror());
    const pipe_info& info = *reinterpret_cast<runner::abi::InfoFunction>(symbol)();
    if (info.version != runner::abi::kVersion) throw std::runtime_error(file + ": tables of another version");
    return info;
}

/// The median of samples of some milliseconds, at most 11 and as many as half a second holds.
double median_microseconds(const Work& work, Stream stream) {
    using Clock = std::chrono::steady_clock;
    constexpr double kSample = 10e3;
    constexpr std::size_t kMost = 11;
    double once = microseconds(work, 1, stream);
    if (once < kSample) once = microseconds(work, 5, stream);
    const int repetitions = static_cast<int>(std::clamp(kSample / std::max(once, 0.1), 1.0, 1000.0));
    std::vector<double> samples;
    for (const auto begin = Clock::now(); samples.size() < kMost;) {
        samples.push_back(microseconds(work, repetitions, stream));
        if (samples.size() >= 3 && Clock::now() - begin > std::chrono::milliseconds(500)) break;
    }
    std::sort(samples.begin(), samples.end());
    return samples[samples.size() / 2];
}

/// What is wrong with the results of a call, and the greatest difference.
std::string judge(Call& call, const std::vector<Values>& expected, double tolerance, double& greatest) {
    const std::vector<Values> actual = call.results();
    std::string text;
    for (std::size_t i = 0; i < actual.size(); ++i) {
        const Difference difference = compare(expected[i], actual[i], tolerance);
        greatest = std::max(greatest, difference.greatest);
        if (difference.count == 0) continue;
        text += std::to_string(difference.count) + " elements of output " + std::to_string(i) +
                " differ, most of all " + difference.where + "; ";
    }
    for (const std::string& fault : call.faults()) text += fault + "; ";
    return text;
}

std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += c == '\n' ? ' ' : c;
    }
    return result + "\"";
}

std::string measured(const Case& c, const pipe_info& info, const std::vector<Values>& inputs,
                     const std::vector<Values>& expected, double* copy_time) {
    const OwnStream stream;
    Call call(info, c, inputs, Layout::Dense, Space::Device, false);
    call.launch(stream.get());
    wait();
    double greatest = 0;
    const std::string wrong = judge(call, expected, c.tolerance, greatest);
    const Work launch = [&](Stream s) { call.launch(s); };
    const Graph graph = capture(launch, stream.get());
    const double time = median_microseconds(launch, stream.get());
    const double replay = median_microseconds(graph.replay, stream.get());
    if (copy_time != nullptr) {
        // A copy of n bytes moves 2 n.
        const std::size_t bytes = std::max<std::size_t>(call.image_bytes() / 2, 1);
        const Block from(bytes), to(bytes);
        *copy_time = median_microseconds([&](Stream s) { copy(to, from, bytes, s); }, stream.get());
    }
    char text[256];
    std::snprintf(text, sizeof text,
                  R"({"time": %.3f, "graph": %.3f, "kernels": %d, "workspace": %zu, "difference": %.9g)", time, replay,
                  graph.kernels, call.workspace_bytes(), greatest);
    return text + (wrong.empty() ? "}" : ", \"wrong\": " + quoted(wrong) + "}");
}

int run(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() == 1 && words[0] == "--describe") {
        std::cout << describe() << "\n";
        return 0;
    }
    if (words.size() < 4) throw std::runtime_error("usage: measure CASES PROGRAM SIZE HOST.so [SETTING=DEVICE.so...]");
    const std::vector<Case> cases = read_cases(words[0]);
    const auto c = std::find_if(cases.begin(), cases.end(),
                                [&](const Case& each) { return each.example == words[1] && each.size == words[2]; });
    if (c == cases.end()) throw std::runtime_error("no case `" + words[1] + " " + words[2] + "`");
    const pipe_info& host = load(words[3], c->example);
    const std::vector<Values> inputs = make_inputs(*c, host, Fill::Random);
    Call reference(host, *c, inputs, Layout::Dense, Space::Host, false);
    reference.launch(nullptr);
    const std::vector<Values> expected = reference.results();
    double copy_time = 0;
    std::string settings;
    for (std::size_t i = 4; i < words.size(); ++i) {
        const std::size_t equals = words[i].find('=');
        const std::string name = words[i].substr(0, equals);
        std::string result;
        try {
            const pipe_info& device = load(words[i].substr(equals + 1), c->example);
            result = measured(*c, device, inputs, expected, i == 4 ? &copy_time : nullptr);
        } catch (const std::exception& e) {
            result = "{\"wrong\": " + quoted(e.what()) + "}";
        }
        settings += (settings.empty() ? "" : ", ") + quoted(name) + ": " + result;
    }
    std::printf(R"({"program": %s, "copy": %.3f, "settings": {%s}})"
                "\n",
                quoted(c->example).c_str(), copy_time, settings.c_str());
    return 0;
}

}  // namespace
}  // namespace pipec::gpu

int main(int argc, char** argv) {
    try {
        return pipec::gpu::run(argc, argv);
    } catch (const std::exception& e) {
        std::cerr << "measure: " << e.what() << "\n";
        return 1;
    }
}
