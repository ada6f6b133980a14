#include "driver/automatic_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "driver/files.h"
#include "poly/value_ranges.h"

namespace pipec::driver {

using compiler::CostModelName;
using compiler::ModelRequest;

namespace {

void set_cost_model(const std::string& text, ModelRequest& request) {
    if (text != "time" && text != "paper" && text != "none") {
        throw CLI::ValidationError(fmt::format("`{}` is no cost model; there are: time, paper, none", text));
    }
    request.cost_model = text == "time"    ? CostModelName::Time
                         : text == "paper" ? CostModelName::Paper
                                           : CostModelName::None;
}

/// R=1080,C=1920
void set_sizes(std::string_view text, ModelRequest& request) {
    request.sizes.clear();
    while (true) {
        const std::string_view one = text.substr(0, text.find(','));
        const std::size_t equals = one.find('=');
        std::int64_t value = 0;
        if (equals != std::string_view::npos) {
            const char* const end = one.data() + one.size();
            const auto [last, error] = std::from_chars(one.data() + equals + 1, end, value);
            if (error != std::errc() || last != end || value >= poly::kIndexLimit) value = 0;
        }
        if (equals == 0 || value < 1) {
            throw CLI::ValidationError(
                fmt::format("`--tune-for`: `{}` is not the name of a size, =, and a positive integer", one));
        }
        request.sizes[std::string(one.substr(0, equals))] = value;
        if (one.size() == text.size()) return;
        text.remove_prefix(one.size() + 1);
    }
}

}  // namespace

void add_automatic_options(CLI::App& app, ModelRequest& request, const std::string& group) {
    const auto add = [&](const char* flag, const char* value, const char* description, auto take) {
        app.add_option_function<std::string>(
               flag, [&request, take](const std::string& text) { take(text, request); }, description)
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
            ->type_name(value)
            ->group(group);
    };
    add("--cost-model", "NAME",
        "Fuse and tile as a model of the costs finds best: time (the default) or paper; none: one kernel a stage",
        set_cost_model);
    add("--tune-for", "SIZES",
        "The sizes that costs are counted for, like R=1080,C=1920; default: those of a photograph", set_sizes);
    add("--profile", "FILE", "What `pipec profile` measured of each stage, in place of estimates",
        [](const std::string& text, ModelRequest& o) {
            o.profile = compiler::TextFile{text, {}};
        });
}

void read_files(ModelRequest& request) {
    if (request.profile) request.profile->text = read_source(request.profile->name);
}

std::optional<std::string> first_given(const ModelRequest& request) {
    if (request.cost_model) return "--cost-model";
    if (!request.sizes.empty()) return "--tune-for";
    if (request.profile) return "--profile";
    return std::nullopt;
}

std::optional<std::string> inconsistency(const ModelRequest& request) {
    if (request.cost_model != CostModelName::None) return std::nullopt;
    ModelRequest others = request;
    others.cost_model.reset();
    if (const auto given = first_given(others))
        return fmt::format("`{}` is for a cost model, and there is none", *given);
    return std::nullopt;
}

}  // namespace pipec::driver
