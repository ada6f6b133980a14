// What a pass leaves of a program has the values of its definition, wherever it runs.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "reference/interpreter.h"
#include "support_lib/compile.h"
#include "support_lib/data.h"
#include "support_lib/device.h"
#include "support_lib/host.h"

namespace pipec::testing {

/// Compares the first pipeline of a program, as it is defined, with `changed` in the interpreter, and with the code
/// that the host and the emulated device have for the program, for random arguments of these sizes.
inline void expect_same_values(const Compiled& program, const ir::Pipeline& changed, const SourceManager& sources,
                               const std::vector<std::map<std::string, std::int64_t>>& all, Fill fill = Fill::Smooth) {
    const ir::Pipeline& definition = program.definitions.at(0);
    const std::vector<codegen::Unit> units{{&program.pipelines.at(0), &program.models.at(0)}};
    const HostLibrary host(units, sources, kNothingUndefined);
    const DeviceLibrary device(units, sources, {});
    std::mt19937_64 rng(3);
    for (const auto& sizes : all) {
        const reference::Arguments arguments = random_arguments(definition, sizes, fill, rng);
        const auto expected = reference::run(definition, arguments);
        const auto found = reference::run(changed, arguments);
        const auto on_host = run_host(host.info(definition.name), arguments, Layout::Dense);
        const auto on_device = run_device(device.info(definition.name), arguments, Layout::Rotated, rng());
        for (const auto& [name, array] : expected) {
            EXPECT_EQ(difference(array, found.at(name)), "") << name;
            EXPECT_EQ(difference(array, on_host.at(name)), "") << name << ", on the host";
            EXPECT_EQ(difference(array, on_device.at(name)), "") << name << ", on the device";
        }
    }
}

}  // namespace pipec::testing
