// The parameters of a group by name: which strategy has which, and what they may be. Schedule files and command lines
// go by it; what a group's own shape allows besides is for code generation to say.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fusion/schedule.h"
#include "fusion/strategy.h"

namespace pipec::fusion {

/// "block", "tile", "vector", ..., "block_order", ...: as in schedule files.
std::string_view name(Field field);
/// "default", "ca", "cg".
std::string_view name(LoadCache cache);
std::string_view name(BlockOrder order);     ///< "xyz", "xzy", ...
std::string_view name(EdgeTiles tiles);      ///< "first", "in_order"
std::string_view name(Direction direction);  ///< "forward", "backward"
std::string_view name(EdgeCode code);        ///< "whole", "sliced", "whole_late", "sliced_late"
std::string_view name(AccessWidths widths);  ///< "all", "few"

/// Whether groups of that strategy have the field.
bool has(Strategy strategy, Field field);

/// Sets a field to what it is in another group.
void copy_field(Field field, const GroupSchedule& from, GroupSchedule& to);

/// Whether a choice is left to the compiler; false for fields that are no choices.
bool is_auto(Field field, const GroupSchedule& group);

/// What the group has, as on a command line: "32x4x1", "4", "auto".
std::string value_text(Field field, const GroupSchedule& group);
/// Sets a field to what `text` says in that form; of a block or tile sizes at the end may be left out and are 1.
/// Throws ScheduleError.
void set_value(Field field, std::string_view text, GroupSchedule& group);
/// The values of a choice, for people: "auto, true, false".
std::string legal_values(Field field);

/// What several kernels of a group have in common: of each choice what all say that say something; of the order of
/// blocks what all say.
Choices agreed(const std::vector<Choices>& kernels);

/// Leaves choices to the compiler that were good for other tiles: what the code of a register tile is like, and how
/// many registers it takes.
void forget_choices_of_tiles(GroupSchedule& group);

/// Words as a person writes them. Each throws ScheduleError with the words that there are.
Strategy parse_strategy(std::string_view word);
LoadCache parse_load_cache(std::string_view word);
int parse_split(std::string_view word);  ///< x, y, z
std::string_view split_name(int split);
double parse_number(std::string_view text);

/// Throws ScheduleError where `value` is none of the field; `axis` is that of a block, tile or threads.
void check_value(Field field, double value, std::size_t axis = 0);

}  // namespace pipec::fusion
