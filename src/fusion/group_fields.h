// The parameters of a group by name: which strategy has which, and what they may be. Schedule files and command lines
// go by it; what a group's own shape allows besides is for code generation to say.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "fusion/schedule.h"
#include "fusion/strategy.h"

namespace pipec::fusion {

/// "block", "tile", "vector", "split", "frac_reg", "prefetch", "load_cache".
std::string_view name(Field field);
/// "default", "ca", "cg".
std::string_view name(LoadCache cache);

/// Whether groups of that strategy have the field.
bool has(Strategy strategy, Field field);

/// Sets a field to what it is in another group.
void copy_field(Field field, const GroupSchedule& from, GroupSchedule& to);

/// Words as a person writes them. Each throws ScheduleError with the words that there are.
Strategy parse_strategy(std::string_view word);
LoadCache parse_load_cache(std::string_view word);
int parse_split(std::string_view word);  ///< x, y, z
std::string_view split_name(int split);

/// Throws ScheduleError where `value` is none of the field; `axis` is that of a block or tile.
void check_value(Field field, double value, std::size_t axis = 0);

}  // namespace pipec::fusion
