// What must hold for every program, legal or not.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fusion/schedule.h"
#include "support_lib/compile.h"
#include "support_lib/data.h"

namespace pipec::testing {

/// One program, of one pipeline, on its way through the compiler.
struct Subject {
    std::string name;  ///< of its pipeline
    std::string text;
    Compiled compiled;
    std::optional<fusion::Schedule> schedule;  ///< for the CUDA target; without it stages run one after the other
    /// Arguments on which it was interpreted, and what came out.
    struct Run {
        reference::Arguments arguments;
        std::map<std::string, reference::Array> expected;
    };
    std::vector<Run> runs;
    double compile_seconds = 0;  ///< of CPU time, up to the analysis
    /// What is wrong; empty where nothing is.
    std::string failure;
    [[nodiscard]] bool accepted() const { return compiled.ok() && !compiled.pipelines.empty() && failure.empty(); }
};

/// Runs the front end, the analysis and, where they accept the program, the interpreter, on sizes at random up to each
/// of `largest`: tiny ones, and some with an interior. It fails where an exception escapes, where the program is
/// rejected without a word, and where an accepted program reads out of bounds.
std::unique_ptr<Subject> check_program(SourceManager& sources, const std::string& name, const std::string& text,
                                       const std::vector<int>& largest = {9, 24});

/// Compiles the accepted ones together for the host, with these flags besides the usual ones, and runs them; sets
/// `failure` where results differ.
void check_on_host(const std::vector<Subject*>& subjects, const SourceManager& sources, const std::string& flags = "");

/// The same for the CUDA target, in the SIMT emulator.
void check_on_device(const std::vector<Subject*>& subjects, const SourceManager& sources);

}  // namespace pipec::testing
