#include "compiler/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <stdexcept>

#include "codegen/emit/cuda/cuda.h"
#include "codegen/group_plans.h"
#include "codegen/kernel/kernel_flow.h"
#include "codegen/lower.h"
#include "compiler/host_schedule.h"
#include "compiler/named_conditions.h"
#include "compiler/schedule.h"
#include "fusion/chosen_reads.h"
#include "fusion/clipped_ranges.h"
#include "fusion/long_lines.h"
#include "fusion/narrow_stages.h"
#include "fusion/padded_tables.h"
#include "fusion/periodic_stages.h"
#include "fusion/phases.h"
#include "fusion/prefix_scans.h"
#include "fusion/separate_points.h"
#include "fusion/share_reductions.h"
#include "fusion/shared_strips.h"
#include "fusion/size_versions.h"
#include "fusion/strided_terms.h"
#include "fusion/tabulate_terms.h"
#include "fusion/tabulate_values.h"
#include "fusion/transpose_reads.h"
#include "ir/build.h"
#include "ir/parameter_sizes.h"
#include "ir/verify.h"
#include "ir/visit.h"
#include "poly/clamp_casts.h"

namespace pipec::compiler {
namespace {

/// What elaboration promises to every later pass; a broken promise is a defect of the compiler.
void require_well_formed(const ir::Pipeline& pipeline) {
    const std::vector<std::string> defects = ir::verify(pipeline);
    if (!defects.empty()) {
        throw std::logic_error(fmt::format("pipeline `{}` is not well-formed: {}", pipeline.name, defects.front()));
    }
}

/// Where proofs fail, conditions that are stages are written out: then they may succeed. What is said of the program is
/// what was found first otherwise.
std::optional<poly::Model> analyze(ir::Pipeline& pipeline, Diagnostics& diags, const poly::Options& options) {
    Diagnostics first = diags;
    auto model = poly::analyze(pipeline, first, options);
    if (!model) {
        if (auto written_out = with_conditions_written_out(pipeline)) {
            Diagnostics second = diags;
            model = poly::analyze(*written_out, second, options);
            if (model) {
                pipeline = std::move(*written_out);
                first = std::move(second);
            }
        }
    }
    diags = std::move(first);
    return model;
}

/// From a pipeline as it is written to the one that schedules are about, with its model; none where it is wrong.
std::optional<poly::Model> finish(ir::Pipeline& pipeline, Diagnostics& diags, const Settings& settings) {
    auto model = analyze(pipeline, diags, settings.analysis);
    if (!model) return std::nullopt;
    if (settings.fast_math) pipeline = poly::clamp_casts(pipeline, *model);
    fusion::Inlined shared = fusion::periodic_stages(pipeline, *model);
    pipeline = std::move(shared.pipeline);
    model = std::move(shared.model);
    pipeline = fusion::clipped_ranges(pipeline, *model);
    pipeline = fusion::strided_terms(pipeline, *model);
    pipeline = fusion::chosen_reads(std::move(pipeline));
    shared = fusion::separate_points(pipeline, *model);
    // (Fast functions take no longer than a table.)
    if (!settings.fast_math) shared = fusion::tabulate_values(shared.pipeline, shared.model);
    shared = fusion::tabulate_terms(shared.pipeline, shared.model);
    shared = fusion::prefix_scans(shared.pipeline, shared.model);
    shared = fusion::long_lines(shared.pipeline, shared.model, settings.fast_math);
    shared = fusion::shared_strips(shared.pipeline, shared.model);
    shared = fusion::share_reductions(shared.pipeline, shared.model);
    shared = fusion::transpose_reads(shared.pipeline, shared.model);
    shared = fusion::padded_tables(shared.pipeline, shared.model);
    pipeline = fusion::narrow_stages(shared.pipeline, shared.model);
    require_well_formed(pipeline);
    return std::move(shared.model);
}

/// Those that some launch may have.
void add_versions(Checked& checked, const Settings& settings) {
    std::set<std::string> names;
    for (const ir::Pipeline& pipeline : checked.pipelines) names.insert(pipeline.name);
    for (std::size_t i = 0; i < checked.definitions.size(); ++i) {
        const ir::Pipeline& definition = checked.definitions[i];
        const auto name_of = [&](int size) { return definition.sizes[static_cast<std::size_t>(size)].name; };
        for (const auto& [known, most] : fusion::usual_versions(definition)) {
            auto pipeline = ir::with_known_sizes(definition, known);
            if (!pipeline) continue;
            std::string name = definition.name;
            for (const auto& [size, value] : known) {
                name += fmt::format("_{}{}{}", name_of(size), value < 0 ? "m" : "", value < 0 ? -value : value);
            }
            for (const auto& [size, value] : most) {
                name += fmt::format("_{}to{}", name_of(size), value);
                pipeline->where.push_back(
                    ir::binary(ir::BinaryOp::Le, ir::size_ref(size), ir::int_constant(ir::Type::Int32, value)));
            }
            require_well_formed(*pipeline);
            Diagnostics unseen;
            auto model = finish(*pipeline, unseen, settings);
            if (!model) continue;
            while (!names.insert(name).second) name += "_";
            pipeline->name = name;
            checked.versions.push_back({i, known, most, std::move(*pipeline), std::move(*model)});
        }
    }
}

/// Puts the phases of all pipelines behind these.
void add_phases(Checked& checked) {
    for (std::size_t i = 0, count = checked.pipelines.size(); i < count; ++i) {
        const std::string name = checked.pipelines[i].name;
        int number = 0;
        for (fusion::Phase& phase : fusion::phases(checked.pipelines[i], checked.models[i])) {
            const auto is_taken = [&](const ir::Pipeline& other) { return other.name == phase.program.pipeline.name; };
            while (std::ranges::any_of(checked.pipelines, is_taken)) phase.program.pipeline.name += "_";
            require_well_formed(phase.program.pipeline);
            checked.definitions.push_back(phase.program.pipeline);
            checked.pipelines.push_back(std::move(phase.program.pipeline));
            checked.models.push_back(std::move(phase.program.model));
            checked.phases.push_back({name, number++, std::move(phase.parts)});
        }
    }
}

/// A processor's vectors go along what lies side by side whatever its number is.
std::vector<codegen::SizeVersion> host_versions(const Checked& checked) {
    std::vector<codegen::SizeVersion> result;
    std::ranges::copy_if(checked.versions, std::back_inserter(result),
                         [](const codegen::SizeVersion& version) { return version.most.empty(); });
    return result;
}

codegen::CudaOptions code_options(const Scheduled& scheduled, const Settings& settings) {
    codegen::CudaOptions result;
    result.deterministic = settings.deterministic;
    result.fast_math = settings.fast_math;
    result.schedules = scheduled.schedules;
    result.made = &scheduled.made;
    result.target = scheduled.target;
    return result;
}

}  // namespace

std::vector<codegen::Unit> Checked::units() const {
    std::vector<codegen::Unit> units;
    for (std::size_t i = 0; i < pipelines.size(); ++i) units.push_back({&pipelines[i], &models.at(i)});
    return units;
}

Checked check(SourceManager& sources, FileId main, const Settings& settings, Diagnostics& diags,
              ElaborationRecord* record) {
    Checked result;
    const std::size_t errors_before = diags.error_count();
    result.program = load_program(sources, main, {settings.include_dirs, settings.open_files}, diags);
    if (settings.last == Phase::Parse || diags.error_count() > errors_before) return result;

    result.pipelines = elaborate(result.program, sources, diags, record);
    for (const ir::Pipeline& pipeline : result.pipelines) require_well_formed(pipeline);
    result.definitions = result.pipelines;
    if (settings.last == Phase::Elaborate) return result;

    for (ir::Pipeline& pipeline : result.pipelines) {
        if (auto model = finish(pipeline, diags, settings)) result.models.push_back(std::move(*model));
    }
    if (settings.versions && diags.error_count() == errors_before) add_versions(result, settings);
    if (settings.phases && diags.error_count() == errors_before) add_phases(result);
    return result;
}

Checked only(const Checked& checked, std::size_t pipeline) {
    Checked result{checked.program,
                   {checked.definitions.at(pipeline)},
                   {checked.pipelines.at(pipeline)},
                   {checked.models.at(pipeline)},
                   checked.phase(pipeline) != nullptr ? std::vector{*checked.phase(pipeline)} : std::vector<PhaseOf>{}};
    for (const codegen::SizeVersion& version : checked.versions) {
        if (version.of != pipeline) continue;
        result.versions.push_back(version);
        result.versions.back().of = 0;
    }
    return result;
}

ChosenVersions choose_versions(const Checked& checked, const std::map<std::string, std::int64_t>& sizes) {
    ChosenVersions result{checked, {}};
    for (std::size_t i = 0; i < checked.pipelines.size(); ++i) {
        const ir::Pipeline& pipeline = checked.pipelines[i];
        std::map<std::string, std::int64_t>& known = result.known.emplace_back();
        const auto is_taken = [&](const ir::KnownSize& size) {
            const auto number = static_cast<std::size_t>(size.size);
            const auto given = sizes.find(pipeline.sizes.at(number).name);
            return given != sizes.end() ? given->second == size.value : ir::parameter_of(pipeline, number).has_value();
        };
        const auto is_less = [&](const ir::KnownSize& most) {
            const auto given = sizes.find(pipeline.sizes.at(static_cast<std::size_t>(most.size)).name);
            return given != sizes.end() && given->second <= most.value;
        };
        const auto found = std::ranges::find_if(checked.versions, [&](const codegen::SizeVersion& version) {
            return version.of == i && std::ranges::all_of(version.known, is_taken) &&
                   std::ranges::all_of(version.most, is_less);
        });
        if (found == checked.versions.end()) continue;
        for (const auto& [size, value] : found->known) {
            known[pipeline.sizes.at(static_cast<std::size_t>(size)).name] = value;
        }
        result.checked.pipelines[i] = found->pipeline;
        result.checked.pipelines[i].name = pipeline.name;
        result.checked.models[i] = found->model;
    }
    result.checked.versions.clear();
    return result;
}

Prepared prepare(const Checked& checked) {
    Prepared result;
    for (std::size_t i = 0; i < checked.pipelines.size(); ++i) {
        fusion::Inlined& prepared = result.emplace_back(checked.pipelines[i], checked.models.at(i));
        codegen::widen_narrow_accumulates(prepared.pipeline, prepared.model);
    }
    return result;
}

Scheduled schedule(const Prepared& prepared, const ScheduleRequest& request, const fusion::Target& target,
                   const Settings& settings, const SourceManager& sources) {
    Scheduled result;
    result.target = target;
    result.schedules = make_schedules(request, prepared, {target, sources, settings.fast_math, &result.made});
    return result;
}

std::string plan_text(const Checked& checked, const Scheduled& scheduled, const Settings& settings,
                      const SourceManager& sources) {
    return codegen::plan_text(checked.units(), sources, code_options(scheduled, settings));
}

fusion::Schedules host_schedule(const Checked& checked, const std::optional<TextFile>& file, const fusion::Cpu& cpu) {
    Prepared pipelines;
    for (std::size_t i = 0; i < checked.pipelines.size(); ++i) {
        pipelines.emplace_back(checked.pipelines[i], checked.models.at(i));
    }
    fusion::Schedules result = host_schedules(pipelines, file, cpu);
    Prepared versions;
    for (const codegen::SizeVersion& version : host_versions(checked)) {
        versions.emplace_back(version.pipeline, version.model);
    }
    result.merge(host_schedules(versions, std::nullopt, cpu));
    return result;
}

Lowered lower(const Checked& checked, const Scheduled& scheduled, const Settings& settings,
              const SourceManager& sources) {
    const codegen::CudaOptions options = code_options(scheduled, settings);
    Lowered result;
    for (const codegen::Unit& unit : checked.units()) {
        result.programs.push_back(codegen::lower(unit, sources, options));
        if (settings.windows) result.windows.push_back(codegen::window_program(unit, sources, options));
    }
    return result;
}

namespace {

/// Nodes of expressions in all kernels of a version, at most; of the first one, which most launches take, more.
constexpr std::int64_t kMostVersionNodes = 40'000, kMostOfFirstVersion = 120'000;

std::int64_t kernel_nodes(const codegen::kernel::Program& program) {
    std::int64_t result = 0;
    for (const codegen::kernel::Step& step : program.steps) {
        for (const codegen::kernel::Kernel& kernel : step.variants) {
            codegen::kernel::for_each_stmt(kernel.body, [&](const codegen::kernel::Stmt& stmt) {
                for (const ir::Expr& e : codegen::kernel::expressions(stmt)) result += ir::node_count(e);
            });
        }
    }
    return result;
}

}  // namespace

std::vector<codegen::LoweredVersion> lower_versions(const Checked& checked, const ModelRequest& request,
                                                    const fusion::Target& target, const Settings& settings,
                                                    const SourceManager& sources) {
    std::vector<codegen::LoweredVersion> result;
    for (const codegen::SizeVersion& version : checked.versions) {
        const ir::Pipeline& of = checked.pipelines.at(version.of);
        ScheduleRequest found{std::nullopt, std::nullopt, std::nullopt, request, {}, {}};
        for (const auto& [size, value] : version.known) {
            found.model.sizes.erase(of.sizes.at(static_cast<std::size_t>(size)).name);
        }
        for (const ir::KnownSize& most : version.most) {
            const std::string& name = of.sizes.at(static_cast<std::size_t>(most.size)).name;
            found.model.sizes.emplace(name, fusion::kUsualChannels);
        }
        fusion::Inlined prepared{version.pipeline, version.model};
        codegen::widen_narrow_accumulates(prepared.pipeline, prepared.model);
        try {
            const Scheduled scheduled = schedule({std::move(prepared)}, found, target, settings, sources);
            codegen::kernel::Program program =
                codegen::lower({&version.pipeline, &version.model}, sources, code_options(scheduled, settings));
            const auto is_same = [&](const auto& other) { return other.version->of == version.of; };
            const bool is_first = std::ranges::none_of(result, is_same);
            if (kernel_nodes(program) <= (is_first ? kMostOfFirstVersion : kMostVersionNodes)) {
                result.push_back({&version, std::move(program)});
            }
        } catch (const fusion::ScheduleError&) {
            continue;  // no launch with these values has the sizes that are tuned for
        }
    }
    return result;
}

void keep_versions(Checked& checked, const ModelRequest& request, const fusion::Target& target,
                   const Settings& settings, const SourceManager& sources) {
    std::vector<codegen::SizeVersion> kept;
    for (const codegen::LoweredVersion& one : lower_versions(checked, request, target, settings, sources)) {
        kept.push_back(*one.version);
    }
    checked.versions = std::move(kept);
}

fusion::Schedules pinned(const Scheduled& scheduled, const Lowered& lowered) {
    fusion::Schedules result = scheduled.schedules;
    for (const codegen::kernel::Program& program : lowered.programs) {
        fusion::Schedule& schedule = result.at(program.pipeline.name);
        schedule = codegen::pinned(program, schedule);
    }
    return result;
}

std::string code_text(std::string_view program, const std::string& header_name, const Checked& checked,
                      const std::optional<Lowered>& lowered, const SourceManager& sources,
                      const codegen::Origin& origin, const std::optional<fusion::Schedules>& schedules, bool windows) {
    if (!lowered) {
        return codegen::host_source(
            program, header_name, checked.units(), sources, origin,
            schedules ? *schedules : host_schedule(checked, std::nullopt, fusion::default_cpu()), windows,
            host_versions(checked));
    }
    return codegen::cuda_source(program, header_name, lowered->programs, origin, lowered->windows, lowered->versions);
}

std::string header_text(std::string_view program, const std::string& stem, const Checked& checked,
                        const codegen::Origin& origin, bool windows) {
    return codegen::header(program, stem, checked.units(), origin, windows);
}

}  // namespace pipec::compiler
