#include "runner/memory_size.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>

namespace pipec::runner {

namespace {
constexpr std::string_view kUnits = "KMGT";
constexpr double kStep = 1024;
}  // namespace

std::optional<std::size_t> parse_memory(const std::string& text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc() || !(number > 0)) return std::nullopt;
    const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
    if (rest.size() > 1) return std::nullopt;
    if (rest.size() == 1) {
        const std::size_t unit = kUnits.find(rest.front());
        if (unit == std::string_view::npos) return std::nullopt;
        number *= std::pow(kStep, static_cast<double>(unit + 1));
    }
    constexpr double kMost = 0x1p62;
    if (number < 1 || number > kMost) return std::nullopt;
    return static_cast<std::size_t>(number);
}

std::string memory_text(std::size_t bytes) {
    auto number = static_cast<double>(bytes);
    if (number < kStep) return fmt::format("{} bytes", bytes);
    std::size_t unit = 0;
    for (number /= kStep; number >= kStep && unit + 1 < kUnits.size(); number /= kStep) ++unit;
    return fmt::format("{:.3g} {}iB", number, kUnits[unit]);
}

std::size_t machine_memory() {
    const auto size =
        static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::size_t allowed = 0;
    std::ifstream group("/sys/fs/cgroup/memory.max");  // "max" where there is no limit
    return group >> allowed && allowed > 0 ? std::min(size, allowed) : size;
}

std::size_t resident_memory() {
    std::size_t all = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> all >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace pipec::runner
