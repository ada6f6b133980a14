// The command line of pipec-fuzz.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pipec::testing {

struct FuzzOptions {
    std::uint64_t seed = 1;
    std::size_t first = 0;       ///< number of the first program
    std::size_t programs = 100;  ///< how many
    std::size_t schedules = 0;   ///< random ones for each program, on the device; 0: the default schedule
    std::string generator = "all";
    bool host = true, device = true;  ///< what runs the accepted programs besides the interpreter
    std::size_t batch = 64;           ///< programs in one run of the system's compiler
    std::size_t jobs = 1;
    std::string flags;     ///< for the compiler of the generated code
    std::string keep;      ///< directory for what is found; empty: nothing is kept
    bool reduce = true;    ///< whether findings are made smaller
    int reductions = 300;  ///< attempts at that
    bool refused = false;  ///< whether refusals of programs that seem legal are findings
    std::string only_id;   ///< of reductions: refusals for other reasons are of no interest
    double slow = 0;       ///< whether a compilation of so many seconds is one; 0: it is not
    bool print = false;    ///< show the programs, and do nothing else
    double seconds = 0;    ///< stop after so many; 0: never
};

/// Throws std::runtime_error with a message for a wrong command line. With --help it prints the text and exits.
FuzzOptions parse_fuzz_options(const std::vector<std::string>& arguments);

}  // namespace pipec::testing
