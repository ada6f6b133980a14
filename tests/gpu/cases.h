// The cases to check, from a text file; cases.txt describes the format.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pipec::gpu {

struct Case {
    std::string place;  ///< "cases.txt:12", for messages
    std::string example;
    std::string size;                                          ///< "paper", "prime"
    std::map<std::string, std::vector<std::int64_t>> extents;  ///< of every input, and of outputs that say a size
    std::map<std::string, std::string> values;                 ///< parameters and sizes, as written
    double tolerance = 0;
    bool extreme = false;  ///< a second time, on extreme values
};

/// Throws std::runtime_error with file and line for what it cannot read, and for a case that stands twice.
std::vector<Case> read_cases(const std::string& file);

}  // namespace pipec::gpu
