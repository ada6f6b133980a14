// A processor as the host's cost model counts it (cost/host_cost.h). Each known one is a file in cpus/, compiled into
// pipec; others are read from files of the same form (docs/cpus.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pipec::fusion {

/// One core, and its part of what it shares with others. Bytes, seconds, and bytes or operations per second.
struct Cpu {
    std::string name;
    double vector_bytes = 0;
    double vector_rate = 0;       ///< operations on vectors
    double core_cache = 0;        ///< what a tile keeps there stays there
    double last_cache = 0;        ///< an array of no more bytes stays there
    double cache_bandwidth = 0;   ///< of the last cache
    double memory_bandwidth = 0;  ///< of memory
    double row_time = 0;          ///< to begin a row of points
    double tile_time = 0;         ///< to begin a stage in a tile
    double stage_time = 0;        ///< to begin a stage that has no tile
};

/// The one that is taken where nobody says which: code does not depend on the machine that compiles it.
inline constexpr std::string_view kDefaultCpu = "x86-64-v3";

/// Throws ScheduleError, which says what is wrong and where in `file`.
Cpu parse_cpu(std::string_view text, const std::string& file);

/// The names of the files in cpus/, sorted.
std::vector<std::string> known_cpus();
std::optional<Cpu> known_cpu(std::string_view name);
Cpu default_cpu();

}  // namespace pipec::fusion
