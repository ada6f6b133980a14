#include "driver/schedule_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>

#include "driver/automatic_options.h"
#include "driver/files.h"
#include "driver/gpu_option.h"

namespace pipec::driver {

using compiler::CostModelName;
using compiler::option_name;
using fusion::Field;
using fusion::ScheduleError;

namespace {

const char* form(Field field) {
    switch (field) {
        case Field::Block:
        case Field::Tile: return "XxYxZ";
        case Field::Vector:
        case Field::Prefetch: return "N";
        case Field::Split: return "x|y|z";
        case Field::FracReg: return "F";
        case Field::LoadCache: return "CACHE";
        case Field::BlockOrder: return "xyz|xzy|...";
        case Field::EdgeTiles: return "first|in_order";
        case Field::Direction: return "forward|backward";
        case Field::Packed:
        case Field::SharedLanes: return "true|false";
        case Field::Edges: return "WAY";
        case Field::AccessWidths: return "all|few";
        case Field::Threads: return "XxY";
        case Field::Histogram: return "NxNx...";
        case Field::MinBlocks:
        case Field::Columns: break;
    }
    return "N";
}

const char* help(Field field) {
    switch (field) {
        case Field::Block: return "Threads of a block; X is along the innermost dimension";
        case Field::Tile: return "Points of a thread in its tile";
        case Field::Vector: return "otptb, otpw: adjacent columns that a thread computes and moves at once";
        case Field::Split:
            return "hybrid: the dimension that is cut into shared memory and registers; x is the innermost";
        case Field::FracReg: return "hybrid: the part of it that is in registers, 0 to 1";
        case Field::Prefetch:
            return "register_tile: rows of inputs that are copied ahead into shared memory; 0 is none";
        case Field::LoadCache:
            return "How kernels read what they do not write: default, ca (through L1) or cg (L2 only)";
        case Field::BlockOrder:
            return "The dimensions along which blocks go through the tiles, from the fastest; auto, as the options "
                   "below";
        case Field::EdgeTiles: return "Whether blocks compute the tiles at the ends of all rows first";
        case Field::Direction: return "Whether blocks begin with the first row of tiles or with the last";
        case Field::MinBlocks:
            return "Blocks for which a multiprocessor has registers: limits those of a thread; 0 leaves it to nvcc";
        case Field::Packed: return "register_tile: whether small integers lie two in a register";
        case Field::Edges:
            return "register_tile: the code at the edges of the image: whole, sliced, whole_late or sliced_late";
        case Field::AccessWidths:
            return "otptb, otpw, register_tile: kernels for all alignments of arrays, or for the fewest";
        case Field::Threads: return "stage: threads of a block along the columns and the rows of a stage";
        case Field::Columns:
            return "stage: adjacent columns that a thread computes, where arrays are aligned for wide accesses";
        case Field::SharedLanes:
            return "stage: whether a warp shares out the reductions of each point, where points are few";
        case Field::Histogram: break;
    }
    return "stage: how updates that share targets are made: eight numbers, of which 0 leaves one to the compiler";
}

/// Whether a model can choose the tiles of a strategy.
bool knows(CostModelName model, fusion::Strategy strategy) {
    const fusion::StrategyInfo& info = fusion::info(strategy);
    return model == CostModelName::None || (model == CostModelName::Time ? info.time_model : info.paper_model);
}

std::string strategy_help() {
    std::vector<std::string_view> names;
    for (const fusion::StrategyInfo& info : fusion::strategies()) names.push_back(info.name);
    return fmt::format(
        "Instead of a file: fuse as many stages as can be with one of {}; with --cost-model those that the model finds "
        "best",
        fmt::join(names, ", "));
}

}  // namespace

void add_schedule_options(CLI::App& app, ScheduleOptions& options, std::string_view usual_gpu,
                          const std::string& group) {
    const auto add = [&](const std::string& flag, const char* value, const std::string& description,
                         const std::function<void(const std::string&)>& take) {
        const auto checked = [flag, take](const std::string& text) {
            try {
                take(text);
            } catch (const ScheduleError& error) {
                throw CLI::ValidationError(fmt::format("`{} {}`: {}", flag, text, error.what()));
            }
        };
        app.add_option_function<std::string>(flag, checked, description)
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
            ->type_name(value)
            ->group(group);
    };
    add_gpu_option(app, options.gpu, usual_gpu, group);
    add("--schedule", "FILE", "What is fused and how it is tiled, in the form that --emit schedule prints",
        [&options](const std::string& text) {
            options.request.file = compiler::TextFile{text, {}};
        });
    add("--strategy", "NAME", strategy_help(),
        [&options](const std::string& text) { options.request.strategy = fusion::parse_strategy(text); });
    add("--overlap-threshold", "F",
        "With --strategy: only groups in which the points that several tiles compute are at most this part of the "
        "others",
        [&options](const std::string& text) {
            options.request.overlap_threshold = fusion::parse_number(text);
            if (!(*options.request.overlap_threshold >= 0)) throw ScheduleError("it is not negative");
        });
    add_automatic_options(app, options.request.model, group);
    for (const Field field : fusion::kFields) {
        add(option_name(field), form(field), help(field), [&options, field](const std::string& text) {
            set_value(field, text, options.request.values);
            options.request.changed.insert(field);
        });
    }
}

void read_files(compiler::ScheduleRequest& request) {
    if (request.file) request.file->text = read_source(request.file->name);
    read_files(request.model);
}

std::optional<std::string> first_given(const ScheduleOptions& options) {
    if (!options.gpu.empty()) return "--gpu";
    const compiler::ScheduleRequest& request = options.request;
    if (request.file) return "--schedule";
    if (request.strategy) return "--strategy";
    if (request.overlap_threshold) return "--overlap-threshold";
    if (auto automatic = first_given(request.model)) return automatic;
    if (!request.changed.empty()) return option_name(*request.changed.begin());
    return std::nullopt;
}

std::optional<std::string> inconsistency(const ScheduleOptions& options) {
    const compiler::ScheduleRequest& request = options.request;
    if (request.file && request.strategy) return "`--schedule` and `--strategy` exclude each other";
    if (request.file && (request.file->name.empty() || request.file->name == "-"))
        return "`--schedule` needs the name of a file";
    if (auto wrong = inconsistency(request.model)) return wrong;
    const auto model = request.model.cost_model;
    const bool trial = request.strategy && (!model || model == CostModelName::None);
    if (request.file || trial) {
        const char* const other = request.file ? "--schedule" : "--strategy";
        if (const auto given = first_given(request.model)) {
            return fmt::format("`{}` and `{}` exclude each other", *given, other);
        }
    }
    if (request.strategy && model && !knows(*model, *request.strategy)) {
        return fmt::format("the cost model `{}` knows nothing of `{}`",
                           *model == CostModelName::Paper ? "paper" : "time", name(*request.strategy));
    }
    if (request.overlap_threshold && (!trial || request.strategy == fusion::Strategy::Stage)) {
        return "`--overlap-threshold` is for a `--strategy` that fuses as many stages as can be";
    }
    for (const Field field : request.changed) {
        if (request.strategy && !has(*request.strategy, field)) {
            return fmt::format("the strategy `{}` has no `{}`", name(*request.strategy), option_name(field));
        }
    }
    return std::nullopt;
}

}  // namespace pipec::driver
