// The passes of the compiler in their order, for everything that compiles a file: `pipec` itself and `pipec run`.
#pragma once

#include <string>
#include <vector>

#include "codegen/made_groups.h"
#include "frontend/elaborate.h"
#include "fusion/schedule_json.h"
#include "fusion/target.h"
#include "ir/pipeline.h"
#include "poly/model.h"
#include "support/diagnostics.h"
#include "support/source.h"

namespace pipec::driver {

/// The last pass that a compilation needs; the later ones are not run.
enum class Phase { Parse, Elaborate, Analyze };

struct CompileOptions {
    std::vector<std::string> include_dirs;
    poly::Options analysis;
    Phase last = Phase::Analyze;
    /// Floats will be computed as -ffast-math allows: indices made of them are clamped to what is proved.
    bool fast_math = false;
};

/// Everything that is known about one file. `program` is there after Phase::Parse, `pipelines` after Phase::Elaborate,
/// `models` after Phase::Analyze; a phase after one that reported errors is not run, except that the pipelines without
/// errors are analysed, so that a person sees all that is wrong at once.
struct Compilation {
    Program program;
    std::vector<ir::Pipeline> pipelines;
    std::vector<poly::Model> models;  ///< models[i] belongs to pipelines[i]; only complete where no error was reported
    /// Of the code for cuda, where it shall not be the default (driver/schedule.h); compile() leaves it empty.
    fusion::Schedules schedules;
    codegen::MadeGroups made;  ///< while schedules were looked for
    /// What schedules and code are made for.
    fusion::Target target = fusion::default_target();
};

/// Runs the passes on a text that `sources` holds. What is wrong with the program goes to `diags`; where it has errors
/// afterwards, the result is good for nothing but its list of dependencies.
Compilation compile(SourceManager& sources, FileId main, const CompileOptions& options, Diagnostics& diags);

}  // namespace pipec::driver
