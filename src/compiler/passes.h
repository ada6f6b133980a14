// The passes of the compiler. Each turns the result of the one before into its own; all commands use these and no
// others.
//
// (At its end check leaves out terms of reductions that are 0, makes scans of prefixes,
// computes once what windows share, shares out long reductions, and transposes what they read across memory. In
// fusion/: strided_terms.h, prefix_scans.h, shared_strips.h, share_reductions.h, transpose_reads.h.)
//
//     text ─check→ Checked ─prepare→ Prepared ─schedule→ Scheduled ─lower→ Lowered ─code_text→ CUDA
//                     └──────────────────────────────────────────────────code_text→ C++
//
// Headers (header_text) and what `--emit` prints are made of the same values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/emit/cuda/cuda_window.h"
#include "codegen/emit/host/host.h"
#include "codegen/emit/origin.h"
#include "codegen/kernel/kernel_ir.h"
#include "codegen/made_groups.h"
#include "codegen/size_version.h"
#include "codegen/windows.h"
#include "compiler/settings.h"
#include "frontend/elaborate.h"
#include "fusion/cpu.h"
#include "fusion/inline.h"
#include "fusion/phases.h"
#include "fusion/schedule_json.h"
#include "fusion/target.h"
#include "ir/pipeline.h"
#include "poly/model.h"
#include "support/diagnostics.h"
#include "support/source.h"

namespace pipec::compiler {

/// A pipeline that is a phase of another one.
struct PhaseOf {
    std::string pipeline;  ///< its name
    int number = 0;        ///< from 0
    std::vector<fusion::PartOutput> parts{};
};

/// Everything that is known about one file. `program` is there after Phase::Parse, `pipelines` after Phase::Elaborate,
/// `models` after Phase::Analyze. A phase after one that reported errors is not run, except that the pipelines without
/// errors are analysed, so that a person sees all that is wrong at once.
struct Checked {
    Program program;
    std::vector<ir::Pipeline> definitions;  ///< the pipelines as they are written
    /// The same after Phase::Analyze, with long reductions as stages of their own (fusion/share_reductions.h) and with
    /// transposed arrays (fusion/transpose_reads.h).
    std::vector<ir::Pipeline> pipelines;
    std::vector<poly::Model> models;  ///< models[i] belongs to pipelines[i]; complete only where no error was reported
    /// With Settings::phases, behind the pipelines of the program those that are phases of one: what the last of
    /// `pipelines` are, and empty without.
    std::vector<PhaseOf> phases{};
    /// With Settings::versions: those for usual values of sizes (fusion/size_versions.h). No pipeline has the name
    /// of one.
    std::vector<codegen::SizeVersion> versions{};

    /// What the pipeline with this number is a phase of; null: it is one of the program.
    [[nodiscard]] const PhaseOf* phase(std::size_t pipeline) const {
        const std::size_t first = pipelines.size() - phases.size();
        return pipeline < first ? nullptr : &phases[pipeline - first];
    }

    /// The pipelines with their models, for code generation. They point into this value.
    [[nodiscard]] std::vector<codegen::Unit> units() const;
};

/// The pipelines as schedules are about them: before stages are computed inside of others, after accumulates of narrow
/// types have been widened.
using Prepared = std::vector<fusion::Inlined>;

/// What runs where. Every stage of every pipeline is in a schedule.
struct Scheduled {
    fusion::Target target = fusion::default_target();
    fusion::Schedules schedules;
    codegen::MadeGroups made;  ///< code of groups that was made to learn whether they are possible
};

/// Kernels, verified, by pipeline.
struct Lowered {
    std::vector<codegen::kernel::Program> programs;
    std::vector<codegen::WindowProgram> windows;  ///< the same for windows, where they are asked for
    std::vector<codegen::LoweredVersion> versions{};
};

/// Parses, elaborates and analyses a text that `sources` holds. What is wrong with the program goes to `diags`; where
/// it has errors afterwards, the result is good for nothing except its list of dependencies, and for names. What is
/// learnt about those goes to `record`, where there is one.
Checked check(SourceManager& sources, FileId main, const Settings& settings, Diagnostics& diags,
              ElaborationRecord* record = nullptr);

Prepared prepare(const Checked& checked);

/// The schedules that `request` asks for on a GPU. Throws fusion::ScheduleError.
Scheduled schedule(const Prepared& prepared, const ScheduleRequest& request, const fusion::Target& target,
                   const Settings& settings, const SourceManager& sources);

/// The plans of all kernels as text. Throws fusion::ScheduleError.
std::string plan_text(const Checked& checked, const Scheduled& scheduled, const Settings& settings,
                      const SourceManager& sources);

/// Throws fusion::ScheduleError where code generation refuses a schedule.
Lowered lower(const Checked& checked, const Scheduled& scheduled, const Settings& settings,
              const SourceManager& sources);

/// The kernels of the versions of pipelines, with the schedules that the cost model finds for them: of those that are
/// possible, for the sizes of the request, and no long code.
std::vector<codegen::LoweredVersion> lower_versions(const Checked& checked, const ModelRequest& request,
                                                    const fusion::Target& target, const Settings& settings,
                                                    const SourceManager& sources);

/// Leaves only the versions of which there is code on a GPU.
void keep_versions(Checked& checked, const ModelRequest& request, const fusion::Target& target,
                   const Settings& settings, const SourceManager& sources);

/// The schedules with what was decided about what they leave open (codegen::pinned).
fusion::Schedules pinned(const Scheduled& scheduled, const Lowered& lowered);

/// The schedules of the host, also of versions: what a file says, or what the host's cost model finds best on a
/// processor. Throws fusion::ScheduleError.
fusion::Schedules host_schedule(const Checked& checked, const std::optional<TextFile>& file, const fusion::Cpu& cpu);

/// Kernels as CUDA, or, where there are none, the pipelines as C++ for the host (`schedules`: as those say, instead of
/// as the cost model finds). `program` is the name of the program's file, `header_name` what the code includes.
/// `windows`: with functions for windows besides; kernels have them where they were lowered so.
std::string code_text(std::string_view program, const std::string& header_name, const Checked& checked,
                      const std::optional<Lowered>& lowered, const SourceManager& sources,
                      const codegen::Origin& origin = {},
                      const std::optional<fusion::Schedules>& schedules = std::nullopt, bool windows = false);
/// The C header of either. `stem` is its name without the extension.
std::string header_text(std::string_view program, const std::string& stem, const Checked& checked,
                        const codegen::Origin& origin = {}, bool windows = false);

/// The program as a launch with such sizes, by name, takes it: versions in place of the pipelines that have one for
/// them, under the pipelines' names. Parameters that are not among `sizes` have their defaults. `known`: the sizes that
/// are known in each.
struct ChosenVersions {
    Checked checked;
    std::vector<std::map<std::string, std::int64_t>> known;
};
ChosenVersions choose_versions(const Checked& checked, const std::map<std::string, std::int64_t>& sizes);

/// One of the pipelines by itself.
Checked only(const Checked& checked, std::size_t pipeline);

}  // namespace pipec::compiler
