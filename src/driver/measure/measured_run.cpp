#include "driver/measure/measured_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "driver/options.h"
#include "driver/run/run_process.h"
#include "fusion/evaluate.h"
#include "fusion/group_facts.h"
#include "fusion/schedule.h"
#include "ir/parameter_sizes.h"
#include "poly/value_ranges.h"
#include "support/diagnostics.h"

namespace pipec::driver {

namespace {

std::int64_t value_of(const ir::Expr& e, const std::vector<std::int64_t>& sizes) {
    const auto value = fusion::evaluate(e, sizes);
    if (!value) throw std::logic_error("an extent is no expression over sizes");
    return *value;
}

/// N,N,...
std::string extents_of(const ir::Buffer& buffer, const std::vector<std::int64_t>& sizes) {
    std::vector<std::int64_t> extents;
    for (const ir::Expr& extent : buffer.extents) extents.push_back(value_of(extent, sizes));
    const auto text = fmt::format("{}", fmt::join(extents, ","));
    if (std::all_of(extents.begin(), extents.end(), [](std::int64_t n) { return n > 0; })) return text;
    throw RunError(kExitProgramError,
                   fmt::format("with these sizes `{}` would have the extents {}", buffer.name, text));
}

/// The message of a run that failed, without the program's name before it.
std::string failure(const ProcessResult& result) {
    if (result.signal != 0) return fmt::format("the run died of signal {}", result.signal);
    std::string text = result.output;
    constexpr std::string_view kPrefix = "pipec-run: error: ";
    if (const std::size_t at = text.find(kPrefix); at != std::string::npos) text.erase(0, at + kPrefix.size());
    while (text.ends_with('\n')) text.pop_back();
    return text.empty() ? fmt::format("the run failed with exit code {}", result.exit_code) : text;
}

MeasuredRun read_report(const std::string& text) {
    const auto json = nlohmann::json::parse(text.substr(std::min(text.find('{'), text.size())), nullptr, false);
    if (json.is_discarded()) throw RunFailed("the run printed no report");
    MeasuredRun result;
    const auto times = json.at("run_ms").get<std::vector<double>>();
    result.milliseconds = std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
    for (const char* kind : {"inputs", "outputs"}) {
        for (const auto& buffer : json.at(kind)) {
            const auto name = buffer.at("name").get<std::string>();
            result.extents[name] = buffer.at("extents").get<std::vector<std::int64_t>>();
            if (buffer.contains("different")) result.different[name] = buffer.at("different").get<std::size_t>();
        }
    }
    return result;
}

}  // namespace

MeasuredRun measured_run(const std::string& runner, const OpenFile& object, const std::string& pipeline,
                         runner::Options options) {
    options.measure = options.json = options.quiet = true;
    std::vector<std::string> command = {runner, object.inherited_path(), "--pipeline", pipeline};
    for (std::string& argument : runner::to_arguments(options)) command.push_back(std::move(argument));
    const ProcessResult result = run_process(command);
    if (!result.ok()) throw RunFailed(failure(result));
    return read_report(result.output);
}

void give_size(const ir::Pipeline& pipeline, std::size_t size, std::int64_t value, runner::Options& options) {
    const std::string& name = pipeline.sizes[size].name;
    const auto same = [&](const runner::NamedValue& given) { return given.name == name; };
    std::vector<runner::NamedValue>& list = ir::parameter_of(pipeline, size) ? options.params : options.sizes;
    if (std::ranges::none_of(list, same)) list.push_back({name, std::to_string(value)});
}

void use_random_inputs(const ir::Pipeline& pipeline, const poly::Model& model, const std::vector<std::int64_t>& sizes,
                       runner::Options& options) {
    for (const ir::Buffer& input : pipeline.inputs) options.random.push_back({input.name, extents_of(input, sizes)});
    options.sizes.clear();
    std::set<int> outputs;
    for (const poly::SizeSolution& solution : model.sizes) {
        const auto index = static_cast<std::size_t>(solution.size);
        if (solution.from == poly::SizeSolution::From::Explicit) {
            give_size(pipeline, index, sizes[index], options);
        }
        if (solution.from == poly::SizeSolution::From::Output) outputs.insert(solution.buffer);
    }
    for (const int output : outputs) {
        const ir::Buffer& buffer = pipeline.outputs.at(static_cast<std::size_t>(output)).buffer;
        options.extents.push_back({buffer.name, extents_of(buffer, sizes)});
    }
}

std::vector<std::int64_t> solved_sizes(const ir::Pipeline& pipeline, const poly::Model& model,
                                       const std::map<std::string, std::vector<std::int64_t>>& extents,
                                       std::vector<std::int64_t> sizes) {
    for (const poly::SizeSolution& solution : model.sizes) {
        if (solution.from != poly::SizeSolution::From::Input) continue;
        const std::string& input = pipeline.inputs.at(static_cast<std::size_t>(solution.buffer)).name;
        const std::int64_t extent = extents.at(input).at(static_cast<std::size_t>(solution.dim));
        sizes[static_cast<std::size_t>(solution.size)] = (extent - value_of(solution.rest, sizes)) / solution.divisor;
    }
    return sizes;
}

PresentGpu gpu_to_measure_on(const std::string& wish, const std::string& runner, const std::string& nvcc) {
    if (wish == "cpu") throw RunError(kExitUsage, "`--device cpu`: only a GPU is measured");
    try {
        return require_gpu(wish, runner, nvcc);
    } catch (const ToolError& error) {
        throw ToolError(fmt::format("nothing can be measured: {}", error.what()));
    }
}

std::vector<std::int64_t> chosen_sizes(const ir::Pipeline& pipeline, const std::vector<runner::NamedValue>& given) {
    std::vector<std::optional<std::int64_t>> sizes(pipeline.sizes.size());
    std::vector<std::string> names;
    for (const ir::SizeParameter& size : pipeline.sizes) names.push_back(size.name);
    for (const auto& [name, text] : given) {
        const auto found = std::find(names.begin(), names.end(), name);
        if (found == names.end()) {
            const auto close = closest_name(name, names);
            throw RunError(kExitUsage, fmt::format("`--size`: `{}` has no size `{}`; {}", pipeline.name, name,
                                                   close ? fmt::format("did you mean `{}`?", *close)
                                                         : fmt::format("it has: {}", fmt::join(names, ", "))));
        }
        std::int64_t value = 0;
        const char* const end = text.data() + text.size();
        const auto [last, error] = std::from_chars(text.data(), end, value);
        if (error != std::errc() || last != end || value < 1 || value >= poly::kIndexLimit) {
            throw RunError(kExitUsage,
                           fmt::format("`--size {}={}`: this is no size, an integer from 1 to 2^30 - 1", name, text));
        }
        sizes[static_cast<std::size_t>(found - names.begin())] = value;
    }
    try {
        return fusion::usual_sizes(pipeline, sizes);
    } catch (const fusion::ScheduleError& error) {
        throw RunError(kExitUsage, fmt::format("`--size`: {}", error.what()));
    }
}

}  // namespace pipec::driver
