// Arguments that a program admits.
#pragma once

#include <optional>

#include "support_lib/data.h"

namespace pipec::testing {

/// random_arguments of which every condition of `where` holds, also those on parameters; none where some tries found
/// none.
std::optional<reference::Arguments> legal_arguments(const ir::Pipeline& pipeline,
                                                    const std::map<std::string, std::int64_t>& sizes, Fill fill,
                                                    std::mt19937_64& rng);

}  // namespace pipec::testing
