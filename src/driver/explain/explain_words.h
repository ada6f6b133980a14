// Numbers, schedules and terms of the cost model in words, the same in text and HTML.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "driver/explain/explain_report.h"

namespace pipec::driver::explain {

/// "52.3 us", three digits.
std::string duration(double seconds);
/// "50.3 MB", three digits; 1 MB is 10^6 bytes.
std::string memory(double bytes);
/// "+12%" of `from`, "-3%".
std::string change(double value, double from);
std::string percent(double part);
/// "12,288"
std::string count(double number);
/// "1 kernel", "2 kernels"
std::string plural(std::size_t number, const std::string& noun);
/// "a, b and c"
std::string list(const std::vector<std::string>& items);
/// "R = 3584, C = 3584"
std::string sizes(const PipelineReport& report);

/// The parameters that a strategy has: "32 x 4 threads, 4 x 8 points each, 4 columns at once"; `dims` are the names of
/// the group's dimensions.
std::string parameters(const fusion::GroupSchedule& schedule, const std::vector<std::string>& dims);
/// Strategy and parameters of an alternative that has a schedule.
std::string name_of(const Alternative& alternative);

/// "128 x 8", in the order of the program's dimensions.
std::string extents(const std::vector<std::int64_t>& sizes);
/// "1 x 8 x 124 (c, y, x); 3% of the points computed again", of a group with tiles.
std::string tile(const GroupReport& group);
/// What a tile computes of a stage: "132 x 8".
std::string computed(const StageReport& stage);
/// How many points more than its own a tile computes of a stage: "+3%", "x128"; empty where there are none.
std::string again(const StageReport& stage);
/// "y -2 +2": points beyond the tile's own; empty where there are none.
std::string overlap(const StageReport& stage);
/// "in registers", "in shared memory (2.2 KB), output (50.3 MB)"
std::string kept(const StageReport& stage);
/// "reads 50.3 MB of inputs and 16.8 MB of stages, writes 50.3 MB"
std::string traffic(const cost::Traffic& traffic);
/// Of a group with a prediction.
std::string resources(const GroupReport& group, const fusion::Gpu& gpu);
std::string grid(const cost::TimePrediction& time);

/// The terms of a prediction with their names: the resources, of which the longest bounds the time, and what is added.
struct Term {
    std::string name;
    double seconds = 0;
    bool is_resource = true;
};
std::vector<Term> terms(const cost::TimePrediction& time);
/// "global memory"
std::string bound(const cost::TimePrediction& time);

}  // namespace pipec::driver::explain
