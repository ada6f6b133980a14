// Random legal schedules: groups grown along the dependences, with every strategy and all its parameters.
#pragma once

#include <map>
#include <string>

#include "codegen/emit/host/host.h"
#include "fusion/schedule.h"
#include "random/tape.h"

namespace pipec::testing {

/// What became of the groups that were tried, by strategy.
struct Tried {
    struct Counts {
        int groups = 0, stages = 0;          ///< made
        std::map<std::string, int> reasons;  ///< of refusals: why, with numbers left out
        int refused = 0;                     ///< legal, but impossible for the strategy
    };
    std::map<fusion::Strategy, Counts> counts;
};
std::string to_string(const Tried& tried);

/// The strategies to choose from: all, or those that PIPEC_RANDOM_STRATEGIES names ("otpw,hybrid").
std::vector<fusion::Strategy> chosen_strategies();

fusion::Schedule random_schedule(const Tape& tape, const codegen::Unit& unit, const SourceManager& sources,
                                 Tried& tried);

}  // namespace pipec::testing
