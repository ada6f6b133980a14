// Work in a process of its own, so that what crashes, runs forever or takes all memory is a finding like any other.
#pragma once

#include <functional>
#include <string>

namespace pipec::testing {

struct Limits {
    unsigned seconds = 60;                     ///< of wall-clock time
    std::size_t bytes = std::size_t{6} << 30;  ///< of address space more than there is already; 0: no limit
};

struct Outcome {
    std::string text;   ///< everything that was said or written to standard error, also before the process died
    std::string death;  ///< "signal 11 (Segmentation fault)", "time out after 60 s"; empty where it ended as it should
};

/// Runs `work` in a child process. What it passes to `say` arrives in the outcome's text, in order. An exception that
/// escapes is a death. Throws std::runtime_error where there is no process to be had.
Outcome isolated(const Limits& limits,
                 const std::function<void(const std::function<void(const std::string&)>& say)>& work);

}  // namespace pipec::testing
