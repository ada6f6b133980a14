// Runs one target on files, without libFuzzer: fuzz_replay TARGET FILE_OR_DIRECTORY...
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz/targets/targets.h"
#include "support/big_stack.h"

int main(int argc, char** argv) {
    const auto* target = std::find_if(std::begin(pipec::fuzz::kTargets), std::end(pipec::fuzz::kTargets),
                                      [&](const auto& t) { return argc > 1 && t.name == argv[1]; });
    if (target == std::end(pipec::fuzz::kTargets)) {
        fmt::print(stderr, "usage: fuzz_replay TARGET FILE_OR_DIRECTORY...\n");
        return 2;
    }
    std::vector<std::filesystem::path> files;
    for (int i = 2; i < argc; ++i) {
        if (!std::filesystem::is_directory(argv[i])) {
            files.emplace_back(argv[i]);
            continue;
        }
        for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
            if (entry.is_regular_file()) files.push_back(entry.path());
        }
    }
    std::sort(files.begin(), files.end());
    for (const auto& file : files) {
        fmt::print("{}\n", file.string());  // the last one is at fault where this program dies
        std::fflush(stdout);
        std::ifstream in(file, std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
        pipec::run_on_big_stack(pipec::fuzz::kStackBytes, [&] { target->run(text); });
    }
    fmt::print("{} inputs\n", files.size());
    return files.empty() ? 1 : 0;
}
