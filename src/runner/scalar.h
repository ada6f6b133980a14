// Scalars on the command line: `--set k=0.05`, `--size R=100`, `--channels img=0,1,2`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/type.h"

namespace pipec::runner {

/// Parses `text` as a value of `type` and stores it in memory form at `to`. Returns what is wrong with it, if anything:
/// "`300` does not fit uint8: 0 to 255".
std::optional<std::string> store_scalar(ir::Type type, std::string_view text, std::byte* to);

/// Integers separated by commas; none where the text is something else.
std::optional<std::vector<std::int64_t>> parse_list(std::string_view text);

}  // namespace pipec::runner
