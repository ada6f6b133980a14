#include "codegen/lower.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>

#include "codegen/emit/c/text.h"
#include "codegen/group_plans.h"
#include "codegen/grouped.h"
#include "codegen/strategies/hybrid/hybrid_kernel.h"
#include "codegen/strategies/register/register_tile.h"
#include "codegen/strategies/scan/kept_slices.h"
#include "codegen/strategies/shared/tile_kernel.h"
#include "codegen/strategies/stream/stream_kernel.h"
#include "fusion/group_fields.h"
#include "fusion/strategy.h"
#include "ir/build.h"
#include "poly/group.h"

namespace pipec::codegen {

std::vector<std::string> stage_comments(const ir::Stage& stage, const SourceManager& sources) {
    std::vector<std::string> lines;
    const auto add = [&](std::string_view what, SourceRange range) {
        if (range.valid())
            lines.push_back(fmt::format("{}{}: {}", what, source_place(sources, range), source_line(sources, range)));
    };
    add("", stage.range);
    for (const SourceRange& call : stage.made_by) add("  called at ", call);
    for (const SourceRange& included : stage.includes) add("  with ", included);
    return lines;
}

namespace {

/// Carries out what the schedule says of registers, for the kernel with the widest accesses: narrower ones take
/// registers for more addresses. Returns why that is impossible.
std::optional<std::string> limit_registers(const kernel::Program& program, const fusion::GroupSchedule& schedule,
                                           kernel::Step& step) {
    kernel::Kernel& widest = step.variants.front();
    const int threads = widest.block[0] * widest.block[1] * widest.block[2];
    if (auto reason = blocks_refusal(program.target, schedule.choices, threads)) return reason;
    if (const auto asked = schedule.choices.min_blocks) widest.least_blocks = *asked;
    step.decided.min_blocks = static_cast<int>(widest.least_blocks);
    return std::nullopt;
}

/// The steps of a stage by itself, or of several that share a kernel.
void add_stages(kernel::Program& program, const std::vector<int>& stages, const fusion::GroupSchedule& schedule,
                const SourceManager& sources, const CudaOptions& options) {
    const int stage = stages.front();
    // A copy: steps add to the pipeline.
    const auto definition = program.pipeline.stages[static_cast<std::size_t>(stage)].definition;
    if (std::holds_alternative<ir::Pure>(definition)) {
        const bool scan = program.pipeline.stages[static_cast<std::size_t>(stage)].scan.has_value();
        std::variant<std::vector<kernel::Step>, std::string> made;
        if (scan) {
            made = scan_steps(program, {stage}, {stage}, sources, schedule.choices);
        } else {
            std::vector<StageValue> values;
            for (const int s : stages) {
                const ir::Stage& member = program.pipeline.stages[static_cast<std::size_t>(s)];
                values.push_back({s, std::get<ir::Pure>(member.definition).value});
            }
            auto one = stage_step(program, values, sources, schedule.choices);
            if (auto* reason = std::get_if<std::string>(&one)) throw impossible(schedule, *reason);
            made.emplace<0>().push_back(std::move(std::get<kernel::Step>(one)));
        }
        if (const auto* reason = std::get_if<std::string>(&made)) throw impossible(schedule, *reason);
        for (kernel::Step& step : std::get<0>(made)) {
            if (auto reason = limit_registers(program, schedule, step)) throw impossible(schedule, *reason);
            program.steps.push_back(std::move(step));
        }
        return;
    }
    for (kernel::Step& step : accumulate_steps(program, stage, sources, options,
                                               schedule.choices.histogram.value_or(fusion::HistogramShape{}))) {
        program.steps.push_back(std::move(step));
    }
}

/// The steps of a scan and its readers, or why they are impossible.
std::variant<std::vector<kernel::Step>, std::string> scan_group(kernel::Program& program, const poly::Group& group,
                                                                const fusion::GroupSchedule& schedule,
                                                                const SourceManager& sources) {
    auto made = scan_steps(program, group.stages, group.live_outs, sources, schedule.choices);
    if (auto* steps = std::get_if<std::vector<kernel::Step>>(&made)) {
        for (kernel::Step& step : *steps) {
            if (auto reason = limit_registers(program, schedule, step)) return std::move(*reason);
        }
    }
    return made;
}

/// No tile waits for another one, as the lines of a scan do; some strategies have no place for an accumulate's cells.
std::optional<std::string> refused_member(const kernel::Program& program, const poly::Group& group,
                                          const fusion::GroupSchedule& schedule) {
    const ir::Stage& first = program.pipeline.stages.at(static_cast<std::size_t>(group.stages.front()));
    const bool lines = schedule.strategy == fusion::Strategy::Scan;
    if (lines && !first.scan) return fmt::format("`{}` does not read itself", first.name);
    if (!lines && first.scan)
        return fmt::format("`{}` reads itself, which only `stage` and `scan` compute", first.name);
    const std::string_view missing = fusion::info(schedule.strategy).missing_for_cells;
    if (missing.empty()) return std::nullopt;
    for (const int stage : group.stages) {
        const ir::Stage& member = program.pipeline.stages.at(static_cast<std::size_t>(stage));
        if (!std::holds_alternative<ir::Accumulate>(member.definition)) continue;
        return fmt::format("`{}` accumulates, which takes {}", member.name, missing);
    }
    return std::nullopt;
}

void add_group(Grouped& grouped, const Grouped::Group& of, const SourceManager& sources) {
    const poly::Group group = aligned(grouped, of);
    if (of.schedule.strategy == fusion::Strategy::Scan) {
        if (auto reason = refused_member(grouped.program, group, of.schedule)) throw impossible(of.schedule, *reason);
        auto made = scan_group(grouped.program, group, of.schedule, sources);
        if (const auto* reason = std::get_if<std::string>(&made)) throw impossible(of.schedule, *reason);
        for (kernel::Step& step : std::get<0>(made)) grouped.program.steps.push_back(std::move(step));
        return;
    }
    const GroupCode* begun = grouped.made == nullptr ? nullptr : grouped.made->find(group.stages, of.schedule);
    auto step = group_step(grouped.program, group, of.schedule, sources, begun);
    if (const auto* reason = std::get_if<std::string>(&step)) throw impossible(of.schedule, *reason);
    grouped.program.steps.push_back(std::move(std::get<kernel::Step>(step)));
}

/// What strategies promise to every later pass; a broken promise is a defect of the compiler.
void require_rules(const kernel::Program& program) {
    const std::vector<std::string> violations = kernel::verify(program);
    if (violations.empty()) return;
    throw std::logic_error(fmt::format("the kernels of {} break the rules of kernel IR:\n{}", program.pipeline.name,
                                       fmt::join(violations, "\n")));
}

}  // namespace

std::optional<std::string> blocks_refusal(const fusion::Target& target, const fusion::Choices& choices, int threads) {
    if (!choices.min_blocks) return std::nullopt;
    const fusion::Gpu& gpu = target.gpu();
    const int most = gpu.threads_per_sm / threads;
    if (*choices.min_blocks <= most) return std::nullopt;
    return fmt::format("a multiprocessor of {} has room for {} blocks of {} threads: `min_blocks` is 0 to {}", gpu.name,
                       most, threads, most);
}

std::variant<kernel::Step, std::string> group_step(kernel::Program& program, const poly::Group& group,
                                                   const fusion::GroupSchedule& schedule, const SourceManager& sources,
                                                   const GroupCode* begun) {
    if (auto reason = refused_member(program, group, schedule)) return *reason;
    std::variant<kernel::Step, std::string> result;
    switch (schedule.strategy) {
        case fusion::Strategy::Otptb:
        case fusion::Strategy::Otpw: result = tile_step(program, group, schedule); break;
        case fusion::Strategy::Hybrid: result = hybrid_step(program, group, schedule); break;
        case fusion::Strategy::RegisterTile: result = register_tile_step(program, group, schedule, begun); break;
        case fusion::Strategy::Stream: result = stream_step(program, group, schedule); break;
        case fusion::Strategy::Stage: return "it computes one stage by itself, not a group";
        case fusion::Strategy::Scan: return "it may take two kernels, of which a launch chooses one";
    }
    auto* step = std::get_if<kernel::Step>(&result);
    if (step == nullptr) return result;
    std::vector<std::string> comments;
    for (const int stage : group.stages) {
        const auto lines = stage_comments(program.pipeline.stages.at(static_cast<std::size_t>(stage)), sources);
        comments.insert(comments.end(), lines.begin(), lines.end());
    }
    for (kernel::Kernel& kernel : step->variants) kernel.comments = comments;
    if (auto reason = limit_registers(program, schedule, *step)) return std::move(*reason);
    return result;
}

std::variant<GroupCode, fusion::Refused> group_code(kernel::Program& program, const poly::Group& group,
                                                    const fusion::GroupSchedule& schedule,
                                                    const SourceManager& sources) {
    if (auto reason = refused_member(program, group, schedule)) return fusion::Refused{*reason};
    switch (schedule.strategy) {
        case fusion::Strategy::RegisterTile: return register_tile_code(program, group, schedule);
        case fusion::Strategy::Otptb:
        case fusion::Strategy::Otpw:
        case fusion::Strategy::Stream:
            if (auto reason = plan_refusal(program, group, schedule)) return fusion::Refused{*reason};
            return GroupCode{};
        case fusion::Strategy::Hybrid:
        case fusion::Strategy::Scan:
        case fusion::Strategy::Stage: break;
    }
    // What the registers of a hybrid tile hold is known with its code; which points a scan's readers have, too.
    auto& variables = program.pipeline.variables;
    const auto before = static_cast<std::ptrdiff_t>(variables.size());
    std::optional<std::string> refusal;
    if (schedule.strategy == fusion::Strategy::Scan) {
        auto steps = scan_group(program, group, schedule, sources);
        if (auto* reason = std::get_if<std::string>(&steps)) refusal = std::move(*reason);
    } else {
        auto step = group_step(program, group, schedule, sources);
        if (auto* reason = std::get_if<std::string>(&step)) refusal = std::move(*reason);
    }
    variables.erase(variables.begin() + before, variables.end());
    if (refusal) return fusion::Refused{*refusal};
    return GroupCode{};  // it is made faster than it is worth keeping
}

fusion::Schedule pinned(const kernel::Program& program, const fusion::Schedule& schedule) {
    fusion::Schedule result = schedule;
    for (std::size_t g = 0; g < result.groups.size(); ++g) {
        std::vector<fusion::Choices> kernels;
        for (const kernel::Step& step : program.steps) {
            if (step.group == static_cast<int>(g)) kernels.push_back(step.decided);
        }
        fusion::GroupSchedule decided;
        decided.choices = fusion::agreed(kernels);
        for (const fusion::Field field : fusion::kFields) {
            if (fusion::is_choice(field) && has(result.groups[g].strategy, field) && !is_auto(field, decided))
                copy_field(field, decided, result.groups[g]);
        }
    }
    return result;
}

kernel::Program lower(const Unit& unit, const SourceManager& sources, const CudaOptions& options) {
    Grouped grouped = group_by_schedule(unit, options);
    kernel::Program& program = grouped.program;
    find_kept_slices(program);
    for (const Grouped::Group& group : grouped.groups) {
        const std::size_t first = program.steps.size();
        if (group.schedule.strategy == fusion::Strategy::Stage) {
            for (const std::vector<int>& stages : fusion::stage_kernels(program.pipeline, program.model, group.stages))
                add_stages(program, stages, group.schedule, sources, options);
        } else {
            add_group(grouped, group, sources);
        }
        for (std::size_t i = first; i < program.steps.size(); ++i) {
            kernel::Step& step = program.steps[i];
            step.group = group.number;
            const auto direction = group.schedule.choices.direction.value_or(i % 2 == 0 ? fusion::Direction::Forward
                                                                                        : fusion::Direction::Backward);
            const bool backward = direction == fusion::Direction::Backward;
            for (kernel::Kernel& kernel : step.variants) {
                kernel.load_cache = group.schedule.load_cache;
                for (kernel::Argument& argument : kernel.arguments) {
                    if (!argument.turn) continue;
                    argument.value = ir::int_constant(ir::Type::Int32, backward ? 1 : 0);
                    step.decided.direction = direction;
                }
            }
        }
    }
    fold_kept_slices(program);
    require_rules(program);
    return std::move(grouped.program);
}

}  // namespace pipec::codegen
