#include "fusion/cpu.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>

#include "fusion/cpu_files.h"
#include "fusion/schedule.h"
#include "fusion/toml_text.h"

namespace pipec::fusion {

namespace {

/// A number of the description: how the file calls it, where it goes, and what one of it is.
struct CpuNumber {
    std::string_view key;
    double Cpu::*field;
    double unit;
};

constexpr CpuNumber kNumbers[] = {
    {"vector_bytes", &Cpu::vector_bytes, 1},
    {"vectors_per_ns", &Cpu::vector_rate, 1e9},
    {"core_cache_kb", &Cpu::core_cache, 1024},
    {"last_cache_kb", &Cpu::last_cache, 1024},
    {"cache_gb_per_s", &Cpu::cache_bandwidth, 1e9},
    {"memory_gb_per_s", &Cpu::memory_bandwidth, 1e9},
    {"row_ns", &Cpu::row_time, 1e-9},
    {"tile_ns", &Cpu::tile_time, 1e-9},
    {"stage_ns", &Cpu::stage_time, 1e-9},
};

/// Numbers in a description lie between these: in the units of the file, and far from every processor there is.
constexpr double kLargestOfCpu = 1e8, kSmallestOfCpu = 1e-3;

ScheduleError error(const std::string& file, const toml::source_position& at, std::string_view sentence) {
    return ScheduleError(fmt::format("{}:{}:{}: {}", file, at.line, at.column, sentence));
}

double number(const toml::node& node, const CpuNumber& n, const std::string& file) {
    const std::optional<double> value =
        node.is_integer() || node.is_floating_point() ? node.value<double>() : std::nullopt;
    if (value && *value >= kSmallestOfCpu && *value <= kLargestOfCpu) return *value * n.unit;
    throw error(file, node.source().begin, fmt::format("`{}` is a positive finite number", n.key));
}

}  // namespace

Cpu parse_cpu(std::string_view text, const std::string& file) {
    if (const auto at = control_character(text)) {
        throw ScheduleError(fmt::format("{}:{}: a control character, 0x{:02x}", file, at->line, at->code));
    }
    try {
        const toml::table table = toml::parse(text);
        Cpu cpu;
        for (const auto& [key, value] : table) {
            const auto is_key = [&](const CpuNumber& n) { return n.key == key.str(); };
            const CpuNumber* const found = std::find_if(std::begin(kNumbers), std::end(kNumbers), is_key);
            if (found != std::end(kNumbers)) {
                cpu.*found->field = number(value, *found, file);
            } else if (key.str() != "name") {
                throw error(file, key.source().begin, fmt::format("a CPU has no `{}`", key.str()));
            } else if (const auto* name = value.as_string(); name != nullptr && !name->get().empty()) {
                cpu.name = name->get();
            } else {
                throw error(file, value.source().begin, "`name` is text, in quotes");
            }
        }
        if (cpu.name.empty()) throw ScheduleError(fmt::format("{}: `name` is missing", file));
        for (const CpuNumber& n : kNumbers) {
            if (cpu.*n.field == 0) throw ScheduleError(fmt::format("{}: `{}` is missing", file, n.key));
        }
        return cpu;
    } catch (const toml::parse_error& e) {
        throw error(file, e.source().begin, e.description());
    }
}

std::vector<std::string> known_cpus() {
    std::vector<std::string> names;
    for (const std::string_view name : cpu_names()) names.emplace_back(name);
    std::sort(names.begin(), names.end());
    return names;
}

std::optional<Cpu> known_cpu(std::string_view name) {
    const auto text = cpu_file(name);
    if (!text) return std::nullopt;
    return parse_cpu(*text, fmt::format("cpus/{}.toml", name));
}

Cpu default_cpu() {
    return known_cpu(kDefaultCpu).value();
}

}  // namespace pipec::fusion
