#include "random/arguments.h"

#include "reference/numeric.h"

namespace pipec::testing {

namespace {

/// Conditions are mostly about small values.
void make_parameters_small(const ir::Pipeline& pipeline, reference::Arguments& arguments, std::mt19937_64& rng) {
    for (const ir::ScalarParameter& param : pipeline.params) {
        if (!ir::is_int(param.type)) continue;
        arguments.params[param.name] = reference::integer(param.type, static_cast<std::int64_t>(rng() % 16) - 4);
    }
}

bool holds(const ir::Pipeline& conditions, const reference::Arguments& arguments) {
    try {
        reference::run(conditions, arguments);
        return true;
    } catch (const reference::Error&) {
        return false;
    }
}

}  // namespace

std::optional<reference::Arguments> legal_arguments(const ir::Pipeline& pipeline,
                                                    const std::map<std::string, std::int64_t>& sizes, Fill fill,
                                                    std::mt19937_64& rng) {
    reference::Arguments arguments = random_arguments(pipeline, sizes, fill, rng);
    if (pipeline.params.empty()) return arguments;
    ir::Pipeline conditions = pipeline;  // nothing but the conditions is left of it
    conditions.outputs.clear();
    conditions.stages.clear();
    for (int attempt = 0; attempt < 40; ++attempt) {
        if (attempt > 0 || rng() % 2 == 0) make_parameters_small(pipeline, arguments, rng);
        if (holds(conditions, arguments)) return arguments;
    }
    return std::nullopt;
}

}  // namespace pipec::testing
