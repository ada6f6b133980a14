// Runs one benchmark as compiled by several systems on the same inputs, compares what they compute, and measures them.
// Prints an object of JSON for each system. docs/evaluation.md has the method.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "measure.h"
#include "program.h"

namespace pipec::bench {
namespace {

constexpr const char* kUsage =
    R"(usage: compare [OPTION...] CASES BENCHMARK FOLDER SYSTEM...

The libraries are FOLDER/SYSTEM/BENCHMARK.so. The first system is pipec, and what the others must agree with.
CASES is a file like tests/gpu/cases.txt.

  --size NAME       the case's size (default paper)
  --launches N      of which a mean is taken (default 100); 0: results are compared, and nothing is measured
  --samples N       means (default 3)
  --cache MIB       images larger than this together are used in turn with copies, so that the cache does not hold them
                    from launch to launch (default 64)
  --cold            smaller ones too
  --unchecked       what is computed is not compared, and inputs repeat the same few million values; pipec's systems only;
                    with --launches 0 each runs once, and that is all
  --raw DIR         write inputs and outputs there, for systems that run elsewhere
)";

/// Of the elements, how many may differ by more than the tolerance: a rounding decides what is added to which cell of a
/// histogram, or on which side of a threshold a pixel lies.
constexpr double kOutliers = 1e-4;

/// Images this many times as large as the cache leave nothing of account there, and need no copies.
constexpr std::size_t kVeryLarge = 16;

struct Options {
    Effort effort;
    std::string size = "paper", raw;
    std::size_t cache = 64;
    bool cold = false, checked = true;
    std::string cases, benchmark, folder;
    std::vector<std::string> systems;
};

std::string json_string(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += c == '\n' ? ' ' : c;
    }
    return result + "\"";
}

/// A value of JSON, of whatever lists of numbers are made of.
template <class T>
std::string list(const std::vector<T>& numbers) {
    std::ostringstream out;
    out << "[";
    for (std::size_t i = 0; i < numbers.size(); ++i) out << (i == 0 ? "" : ", ") << numbers[i];
    out << "]";
    return out.str();
}

using Fields = std::vector<std::pair<std::string, std::string>>;  // names, and values as JSON

void print(const Options& options, const std::string& system, const Fields& fields) {
    std::cout << "{\"benchmark\": " << json_string(options.benchmark) << ", \"size\": " << json_string(options.size)
              << ", \"system\": " << json_string(system);
    for (const auto& [name, value] : fields) std::cout << ", \"" << name << "\": " << value;
    std::cout << "}" << std::endl;
}

std::string number(double value) {
    std::ostringstream out;
    out << value;
    return out.str();
}

const char* type_name(gpu::pipe_type type) {
    switch (type) {
        case runner::abi::PIPE_UINT8: return "uint8";
        case runner::abi::PIPE_UINT16: return "uint16";
        case runner::abi::PIPE_FLOAT32: return "float32";
        default: throw std::runtime_error("images of this type cannot be written");
    }
}

/// NAME.raw for each image, and problem.json with the shapes.
void write_raw(const Options& options, const Problem& problem) {
    const std::filesystem::path directory = options.raw;
    std::filesystem::create_directories(directory);
    std::ofstream description(directory / "problem.json");
    description << "{\"benchmark\": " << json_string(options.benchmark) << ", \"size\": " << json_string(options.size)
                << ", \"tolerance\": " << problem.shape.tolerance << ", \"outliers\": " << kOutliers
                << ", \"launches\": " << options.effort.launches << ", \"samples\": " << options.effort.samples
                << ", \"images\": [";
    for (std::size_t i = 0; i < problem.images.size(); ++i) {
        const auto& [name, values] = problem.images[i];
        description << (i == 0 ? "" : ", ") << "{\"name\": " << json_string(name) << ", \"type\": \""
                    << type_name(values.type) << "\", \"extents\": " << list(values.extents)
                    << ", \"output\": " << (i < problem.inputs.size() ? "false" : "true") << "}";
        std::ofstream file(directory / (name + ".raw"), std::ios::binary);
        file.write(reinterpret_cast<const char*>(values.bytes.data()),
                   static_cast<std::streamsize>(values.bytes.size()));
        if (!file.flush()) throw std::runtime_error("cannot write " + (directory / name).string() + ".raw");
    }
    description << "]}\n";
    if (!description.flush()) throw std::runtime_error("cannot write " + (directory / "problem.json").string());
}

class Comparison {
public:
    Comparison(const Options& options, Problem problem) : options_(options), problem_(std::move(problem)) {
        const std::size_t cache = options.cache << 20;
        if (problem_.bytes > kVeryLarge * cache) return;
        if (problem_.bytes > cache || options.cold)
            places_ = static_cast<int>(std::max<std::size_t>(2, 4 * cache / problem_.bytes + 1));
    }

    /// Whether the results agree.
    bool run(const std::string& system, const Library& library) {
        std::vector<std::unique_ptr<Program>> programs;
        const int places = options_.effort.launches == 0 ? 1 : places_;
        for (int i = 0; i < places; ++i) {
            programs.push_back(library.program(problem_));
            programs.back()->launch(stream_.get());
        }
        gpu::wait();
        Fields fields;
        bool agrees = true;
        if (options_.checked) agrees = check(programs.front()->results(), fields);
        if (const auto bytes = programs.front()->workspace()) fields.emplace_back("workspace", std::to_string(*bytes));
        if (options_.effort.launches > 0) {
            const Times times = measure(programs, options_.effort, stream_.get());
            fields.emplace_back("stream_us", list(times.stream));
            fields.emplace_back("graph_us", times.graph.empty() ? "null" : list(times.graph));
            fields.emplace_back("kernels", std::to_string(times.kernels));
            fields.emplace_back("places", std::to_string(places));
        }
        print(options_, system, fields);
        return agrees;
    }

    void copy() const {
        const std::size_t half = std::max<std::size_t>(problem_.bytes / 2, 1);  // a copy of n bytes moves 2 n
        print(options_, "copy",
              {{"stream_us", list(measure_copy(half, places_, options_.effort, stream_.get()))},
               {"bytes", std::to_string(problem_.bytes)},
               {"places", std::to_string(places_)}});
    }

private:
    /// The first results are what others must agree with.
    bool check(std::vector<gpu::Values> results, Fields& fields) {
        if (!expected_.empty()) return compare(results, fields);
        expected_ = std::move(results);
        if (!options_.raw.empty()) write_expected();
        fields.emplace_back("reference", "true");
        return true;
    }

    bool compare(const std::vector<gpu::Values>& results, Fields& fields) const {
        gpu::Difference worst;
        std::int64_t count = 0, elements = 0;
        for (std::size_t i = 0; i < expected_.size(); ++i) {
            const gpu::Difference d = gpu::compare(expected_[i], results.at(i), problem_.shape.tolerance);
            if (i == 0 || d.greatest > worst.greatest) worst = d;
            count += d.count;
            elements += static_cast<std::int64_t>(results[i].bytes.size() / gpu::element_bytes(results[i].type));
        }
        const bool agrees = static_cast<double>(count) <= kOutliers * static_cast<double>(elements);
        fields = {{"agrees", agrees ? "true" : "false"},
                  {"difference", std::isfinite(worst.greatest) ? number(worst.greatest) : "null"},
                  {"beyond_tolerance", std::to_string(count)},
                  {"elements", std::to_string(elements)}};
        if (count > 0) fields.emplace_back("where", json_string(worst.where));
        return agrees;
    }

    void write_expected() {
        Problem written = problem_;
        for (std::size_t i = 0; i < expected_.size(); ++i) {
            written.images[written.inputs.size() + i].values = expected_[i];
        }
        write_raw(options_, written);
    }

    const Options& options_;
    const Problem problem_;
    gpu::OwnStream stream_;
    int places_ = 1;
    std::vector<gpu::Values> expected_;
};

gpu::Case find_case(const Options& options) {
    for (const gpu::Case& c : gpu::read_cases(options.cases)) {
        if (c.example == options.benchmark && c.size == options.size) return c;
    }
    throw std::runtime_error("no case " + options.benchmark + " " + options.size);
}

bool run(const Options& options) {
    const auto file = [&](const std::string& system) {
        return options.folder + "/" + system + "/" + options.benchmark + ".so";
    };
    const Library reference(file(options.systems[0]), options.benchmark);
    if (reference.info() == nullptr) throw std::runtime_error("the first system must be pipec");
    Comparison comparison(options, make_problem(find_case(options), *reference.info(), !options.checked));
    if (options.effort.launches > 0) comparison.copy();
    bool good = true;
    for (const std::string& system : options.systems) {
        try {
            const bool agrees = comparison.run(system, Library(file(system), options.benchmark));
            if (!agrees) std::cerr << options.benchmark << ": " << system << " computes something else\n";
            good = good && agrees;
        } catch (const std::exception& e) {
            print(options, system, {{"error", json_string(e.what())}});
            std::cerr << options.benchmark << ": " << system << ": error: " << e.what() << "\n";
            if (system == options.systems[0]) return false;
            good = false;
        }
    }
    return good;
}

Options parse(const std::vector<std::string>& words) {
    Options options;
    std::vector<std::string> names;
    const auto count = [](const std::string& text) {
        std::size_t used = 0;
        const int value = std::stoi(text, &used);
        if (used != text.size() || value < 0) throw std::invalid_argument(text);
        return value;
    };
    const std::map<std::string, std::function<void(const std::string&)>> with_value{
        {"--size", [&](const std::string& s) { options.size = s; }},
        {"--launches", [&](const std::string& s) { options.effort.launches = count(s); }},
        {"--samples", [&](const std::string& s) { options.effort.samples = count(s); }},
        {"--cache", [&](const std::string& s) { options.cache = static_cast<std::size_t>(count(s)); }},
        {"--raw", [&](const std::string& s) { options.raw = s; }},
    };
    for (std::size_t i = 0; i < words.size(); ++i) {
        const auto option = with_value.find(words[i]);
        if (option != with_value.end() && i + 1 < words.size()) {
            option->second(words[++i]);
        } else if (words[i] == "--cold") {
            options.cold = true;
        } else if (words[i] == "--unchecked") {
            options.checked = false;
        } else if (words[i].starts_with("-")) {
            throw std::invalid_argument(words[i]);
        } else {
            names.push_back(words[i]);
        }
    }
    if (names.size() < 4) throw std::invalid_argument("too few arguments");
    options.cases = names[0], options.benchmark = names[1], options.folder = names[2];
    options.systems.assign(names.begin() + 3, names.end());
    return options;
}

}  // namespace
}  // namespace pipec::bench

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words == std::vector<std::string>{"--help"}) {
        std::cout << pipec::bench::kUsage;
        return 0;
    }
    try {
        if (words == std::vector<std::string>{"--describe"}) {
            std::cout << pipec::gpu::describe() << "\n";
            return 0;
        }
        const pipec::bench::Options options = pipec::bench::parse(words);
        return pipec::bench::run(options) ? 0 : 1;
    } catch (const std::logic_error& e) {
        std::cerr << "compare: error: " << e.what() << "\n" << pipec::bench::kUsage;
    } catch (const std::exception& e) {
        std::cerr << "compare: error: " << e.what() << "\n";
    }
    return 2;
}
