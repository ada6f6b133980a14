// What libFuzzer drives, one function for each kind of input. Each takes any bytes, and returns; whatever is wrong with
// them is to be reported in the way that the readers of such files promise. Everything else (another exception, a
// signal, a sanitizer's report, no end) is a defect.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace pipec::fuzz {

void parser(std::string_view input);    ///< a program's text, up to the syntax tree
void frontend(std::string_view input);  ///< a program's text, up to the analysis, and the host's code where it is legal
void schedule(std::string_view input);  ///< a schedule for a fixed program, up to the code for CUDA
void profile(std::string_view input);   ///< what `pipec profile` writes
void gpu(std::string_view input);       ///< the description of a GPU
void npy(std::string_view input);       ///< an array of NumPy's
void pnm(std::string_view input);       ///< a portable map

/// The stack that they need: as much as the driver has. One thread runs all inputs, for AddressSanitizer makes new ones
/// expensive.
inline constexpr std::size_t kStackBytes = std::size_t{256} << 20;

struct Target {
    std::string_view name;
    void (*run)(std::string_view input);
};
inline constexpr Target kTargets[] = {{"parser", parser},   {"frontend", frontend}, {"schedule", schedule},
                                      {"profile", profile}, {"gpu", gpu},           {"npy", npy},
                                      {"pnm", pnm}};

}  // namespace pipec::fuzz
