// A campaign: random programs in batches, each batch in a process of its own; what is found is made smaller.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/options.h"
#include "random/generators.h"

namespace pipec::testing {

/// One program, with a schedule for the device or without.
struct Case {
    std::size_t program = 0;   ///< its number; with the options' seed it says everything else
    std::size_t schedule = 0;  ///< the number of the schedule
    ProgramGenerator generator;
    Tape tape;
    std::optional<Tape> schedule_tape;
    std::optional<std::string> written;  ///< the text, where a reduction left lines of the generator's out
    [[nodiscard]] std::string text(const std::string& name = "p") const {
        return written ? *written : generator.text(tape, name);
    }
};

/// What is wrong with a program.
struct Finding {
    /// "wrong" (results, accesses, exceptions), "died" (a signal, no end), "refused" (and seems legal), "slow".
    std::string kind;
    std::string id;        ///< of the diagnostic that refused it
    std::string message;   ///< for a person
    std::string schedule;  ///< as JSON; empty where there is none
};

struct Verdict {
    bool accepted = false;
    bool illegal = false;  ///< refused, and the interpreter agrees
    double seconds = 0;    ///< of the front end and the analysis
    std::optional<Finding> finding;
};

/// The cases of a program, by its number.
std::vector<Case> cases_of(std::size_t program, const FuzzOptions& options);

/// One verdict for each case.
std::vector<Verdict> judge(const std::vector<Case>& cases, const FuzzOptions& options);

/// A smaller case of which the same is found.
Case reduced(const Case& found, const Finding& finding, const FuzzOptions& options);

}  // namespace pipec::testing
