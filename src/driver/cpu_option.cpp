#include "driver/cpu_option.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <set>
#include <sstream>

#include "driver/files.h"
#include "driver/machine_option.h"
#include "driver/native/tool.h"

namespace pipec::driver {
namespace {

/// The text of a file of the system's; empty where there is none.
std::string system_file(const std::filesystem::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// What stands behind the colon of the first line that begins with `key`.
std::string field(std::string_view text, std::string_view key) {
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        const std::size_t colon = line.find(':');
        if (line.starts_with(key) && colon != std::string::npos) {
            return line.substr(std::min(line.size(), line.find_first_not_of(" \t", colon + 1)));
        }
    }
    return {};
}

/// "1024K" in bytes; 0 where that is not its form.
double cache_bytes(const std::string& text) {
    std::int64_t number = 0;
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (bad != std::errc() || end == text.data() + text.size()) return 0;
    return static_cast<double>(number) * (*end == 'M' ? 1024 * 1024 : *end == 'K' ? 1024 : 0);
}

/// Processors in a list like "0-3,8".
int count(const std::string& list) {
    int result = 0;
    std::istringstream parts(list);
    for (std::string part; std::getline(parts, part, ',');) {
        int first = 0, last = 0;
        const auto [dash, bad] = std::from_chars(part.data(), part.data() + part.size(), first);
        if (bad != std::errc()) continue;
        last = first;
        if (*dash == '-') std::from_chars(dash + 1, part.data() + part.size(), last);
        result += std::max(1, last - first + 1);
    }
    return std::max(1, result);
}

}  // namespace

void add_cpu_option(CLI::App& app, std::string& cpu, const std::string& group) {
    const auto take = [&cpu](const std::string& text) {
        check_machine(text, "CPU", fusion::known_cpus());
        cpu = text;
    };
    const std::string help = fmt::format(
        "The processor that costs are counted for: {}, native (this machine's) or a file; default: {}. The code runs "
        "on "
        "every processor",
        fmt::join(fusion::known_cpus(), ", "), fusion::kDefaultCpu);
    app.add_option_function<std::string>("--cpu", take, help)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
        ->type_name("NAME|FILE")
        ->group(group);
}

std::optional<std::string> cpu_file_of(const std::string& cpu) {
    if (!is_file_name(cpu)) return std::nullopt;
    return cpu;
}

fusion::Cpu cpu_of(const std::string& cpu) {
    if (cpu.empty()) return fusion::default_cpu();
    if (is_file_name(cpu)) return fusion::parse_cpu(read_source(cpu), cpu);
    if (cpu != kNative) return fusion::known_cpu(cpu).value();
    const std::string info = system_file("/proc/cpuinfo");
    if (info.empty()) throw ToolError("`--cpu native`: the system has no /proc/cpuinfo");
    return cpu_of_linux(info, "/sys/devices/system/cpu/cpu0/cache");
}

fusion::Cpu cpu_of_linux(std::string_view cpuinfo, const std::string& caches) {
    std::istringstream words(field(cpuinfo, "flags"));
    const std::set<std::string> flags{std::istream_iterator<std::string>(words), {}};
    const auto has = [&](std::initializer_list<const char*> all) {
        return std::all_of(all.begin(), all.end(), [&](const char* flag) { return flags.count(flag) > 0; });
    };
    const bool v3 = has({"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"});
    const bool v4 = v3 && has({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});
    fusion::Cpu cpu = fusion::known_cpu(v4 ? "x86-64-v4" : v3 ? "x86-64-v3" : "x86-64-v2").value();
    if (const std::string name = field(cpuinfo, "model name"); !name.empty()) cpu.name = name;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(caches, none)) {
        const std::string level = system_file(entry.path() / "level");
        const double bytes = cache_bytes(system_file(entry.path() / "size"));
        if (bytes == 0) continue;
        const double part = bytes / count(system_file(entry.path() / "shared_cpu_list"));
        // Of a core's own cache something is left for what tiles read.
        if (level.starts_with("2")) cpu.core_cache = part * 3 / 4;
        if (level.starts_with("3")) cpu.last_cache = part;
    }
    return cpu;
}

}  // namespace pipec::driver
