#include "fusion/group_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "support/diagnostics.h"

namespace pipec::fusion {

namespace {

constexpr std::array kCaches{LoadCache::Default, LoadCache::Ca, LoadCache::Cg};
constexpr std::array<std::string_view, 3> kAxes{"x", "y", "z"};

/// What CUDA allows.
constexpr std::array<int, 3> kMaxThreads{1024, 1024, 64};
/// Far beyond what fits shared memory or registers.
constexpr int kMaxTile = 4096;
constexpr int kMaxVector = 16;
/// More than the rows of any tile whose points fit into registers.
constexpr int kMaxPrefetch = 64;
/// That a multiprocessor of any GPU has at once.
constexpr int kMaxBlocks = 32;
/// Of HistogramShape, by part.
constexpr std::array<int, 8> kMaxHistogram{1024, 16, 32, kMaxBlocks, 2, 16, kMaxTile, kMaxTile};

constexpr std::string_view kAuto = "auto";

/// The names of an enumeration's values, in their order.
template <class T>
constexpr std::array<std::string_view, 0> kNames{};
template <>
constexpr std::array<std::string_view, 6> kNames<BlockOrder>{"xyz", "xzy", "yxz", "yzx", "zxy", "zyx"};
template <>
constexpr std::array<std::string_view, 2> kNames<EdgeTiles>{"first", "in_order"};
template <>
constexpr std::array<std::string_view, 2> kNames<Direction>{"forward", "backward"};
template <>
constexpr std::array<std::string_view, 4> kNames<EdgeCode>{"whole", "sliced", "whole_late", "sliced_late"};
template <>
constexpr std::array<std::string_view, 2> kNames<AccessWidths>{"all", "few"};

/// The number of `word` among the words.
template <class Words>
std::size_t number_of(std::string_view word, std::string_view what, const Words& words) {
    const auto found = std::find(words.begin(), words.end(), word);
    if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
    const auto close = closest_name(word, std::vector<std::string>(words.begin(), words.end()));
    throw ScheduleError(fmt::format(
        "`{}` is no {}; {}", word, what,
        close ? fmt::format("did you mean `{}`?", *close) : fmt::format("there are: {}", fmt::join(words, ", "))));
}

template <class T, std::size_t n>
T parse(std::string_view word, std::string_view what, const std::array<T, n>& values) {
    std::array<std::string_view, n> words;
    std::transform(values.begin(), values.end(), words.begin(), [](T value) { return name(value); });
    return values[number_of(word, what, words)];
}

template <class T>
T parse(std::string_view text) {
    T number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) {
        throw ScheduleError(fmt::format("`{}` is no {}", text, std::is_integral_v<T> ? "integer" : "number"));
    }
    return number;
}

/// 32x4x1; what is left out at the end is 1, of a histogram 0.
template <std::size_t n>
std::array<int, n> parse_sizes(std::string_view text, Field field) {
    std::array<int, n> sizes;
    sizes.fill(field == Field::Histogram ? 0 : 1);
    for (std::size_t axis = 0;; ++axis) {
        if (axis == n)
            throw ScheduleError(n == 3   ? "there are at most three sizes: x, y, z"
                                : n == 2 ? "there are at most two sizes: x, y"
                                         : fmt::format("there are at most {} numbers", n));
        const std::size_t end = std::min(text.find('x'), text.size());
        sizes[axis] = parse<int>(text.substr(0, end));
        check_value(field, sizes[axis], axis);
        if (end == text.size()) return sizes;
        text.remove_prefix(end + 1);
    }
}

int parse_integer(Field field, std::string_view text) {
    const int value = parse<int>(text);
    check_value(field, value);
    return value;
}

[[noreturn]] void refuse(Field field, std::string_view word) {
    throw ScheduleError(
        fmt::format("`{}` is not a value of `{}`; there are: {}", word, name(field), legal_values(field)));
}

/// A choice, which may be `auto`.
template <class T, class Parse>
void set_choice(std::optional<T>& choice, std::string_view text, const Parse& parse) {
    choice = text == kAuto ? std::nullopt : std::optional<T>(parse());
}

template <class T>
void set_word(std::optional<T>& choice, Field field, std::string_view text) {
    set_choice(choice, text, [&] {
        const auto found = std::find(kNames<T>.begin(), kNames<T>.end(), text);
        if (found == kNames<T>.end()) refuse(field, text);
        return static_cast<T>(found - kNames<T>.begin());
    });
}

void set_truth(std::optional<bool>& choice, Field field, std::string_view text) {
    set_choice(choice, text, [&] {
        if (text != "true" && text != "false") refuse(field, text);
        return text == "true";
    });
}

std::string text_of(int value) {
    return std::to_string(value);
}
std::string text_of(bool value) {
    return value ? "true" : "false";
}
template <std::size_t n>
std::string text_of(const std::array<int, n>& sizes) {
    return fmt::format("{}", fmt::join(sizes, "x"));
}
template <class T>
requires std::is_enum_v<T> std::string text_of(T value) {
    return std::string(name(value));
}
std::string text_of(const HistogramShape& shape) {
    return text_of(shape.parts);
}
template <class T>
std::string text_of(const std::optional<T>& choice) {
    return choice ? text_of(*choice) : std::string(kAuto);
}

template <class T>
std::string words_text() {
    return fmt::format("{}, {}", kAuto, fmt::join(kNames<T>, ", "));
}

}  // namespace

std::string_view name(Field field) {
    switch (field) {
        case Field::Block: return "block";
        case Field::Tile: return "tile";
        case Field::Vector: return "vector";
        case Field::Split: return "split";
        case Field::FracReg: return "frac_reg";
        case Field::Prefetch: return "prefetch";
        case Field::LoadCache: return "load_cache";
        case Field::BlockOrder: return "block_order";
        case Field::EdgeTiles: return "edge_tiles";
        case Field::Direction: return "direction";
        case Field::MinBlocks: return "min_blocks";
        case Field::Packed: return "packed";
        case Field::Edges: return "edges";
        case Field::AccessWidths: return "access_widths";
        case Field::Threads: return "threads";
        case Field::Columns: return "columns";
        case Field::SharedLanes: return "shared_lanes";
        case Field::Histogram: break;
    }
    return "histogram";
}

std::string_view name(LoadCache cache) {
    return cache == LoadCache::Ca ? "ca" : cache == LoadCache::Cg ? "cg" : "default";
}

std::string_view name(BlockOrder order) {
    return kNames<BlockOrder>.at(static_cast<std::size_t>(order));
}
std::string_view name(EdgeTiles tiles) {
    return kNames<EdgeTiles>.at(static_cast<std::size_t>(tiles));
}
std::string_view name(Direction direction) {
    return kNames<Direction>.at(static_cast<std::size_t>(direction));
}
std::string_view name(EdgeCode code) {
    return kNames<EdgeCode>.at(static_cast<std::size_t>(code));
}
std::string_view name(AccessWidths widths) {
    return kNames<AccessWidths>.at(static_cast<std::size_t>(widths));
}

bool has(Strategy strategy, Field field) {
    return info(strategy).fields.has(field);
}

void copy_field(Field field, const GroupSchedule& from, GroupSchedule& to) {
    switch (field) {
        case Field::Block: to.block = from.block; return;
        case Field::Tile: to.tile = from.tile; return;
        case Field::Vector: to.vector = from.vector; return;
        case Field::Split: to.split = from.split; return;
        case Field::FracReg: to.frac_reg = from.frac_reg; return;
        case Field::Prefetch: to.prefetch = from.prefetch; return;
        case Field::LoadCache: to.load_cache = from.load_cache; return;
        case Field::BlockOrder: to.choices.block_order = from.choices.block_order; return;
        case Field::EdgeTiles: to.choices.edge_tiles = from.choices.edge_tiles; return;
        case Field::Direction: to.choices.direction = from.choices.direction; return;
        case Field::MinBlocks: to.choices.min_blocks = from.choices.min_blocks; return;
        case Field::Packed: to.choices.packed = from.choices.packed; return;
        case Field::Edges: to.choices.edges = from.choices.edges; return;
        case Field::AccessWidths: to.choices.access_widths = from.choices.access_widths; return;
        case Field::Threads: to.choices.threads = from.choices.threads; return;
        case Field::Columns: to.choices.columns = from.choices.columns; return;
        case Field::SharedLanes: to.choices.shared_lanes = from.choices.shared_lanes; return;
        case Field::Histogram: to.choices.histogram = from.choices.histogram; return;
    }
}

bool is_auto(Field field, const GroupSchedule& group) {
    return is_choice(field) && value_text(field, group) == kAuto;
}

std::string value_text(Field field, const GroupSchedule& group) {
    switch (field) {
        case Field::Block: return text_of(group.block);
        case Field::Tile: return text_of(group.tile);
        case Field::Vector: return text_of(group.vector);
        case Field::Split: return std::string(split_name(group.split));
        case Field::FracReg: return fmt::format("{}", group.frac_reg);
        case Field::Prefetch: return text_of(group.prefetch);
        case Field::LoadCache: return text_of(group.load_cache);
        case Field::BlockOrder: return text_of(group.choices.block_order);
        case Field::EdgeTiles: return text_of(group.choices.edge_tiles);
        case Field::Direction: return text_of(group.choices.direction);
        case Field::MinBlocks: return text_of(group.choices.min_blocks);
        case Field::Packed: return text_of(group.choices.packed);
        case Field::Edges: return text_of(group.choices.edges);
        case Field::AccessWidths: return text_of(group.choices.access_widths);
        case Field::Threads: return text_of(group.choices.threads);
        case Field::Columns: return text_of(group.choices.columns);
        case Field::SharedLanes: return text_of(group.choices.shared_lanes);
        case Field::Histogram: break;
    }
    return text_of(group.choices.histogram);
}

void set_value(Field field, std::string_view text, GroupSchedule& group) {
    Choices& choices = group.choices;
    switch (field) {
        case Field::Block: group.block = parse_sizes<3>(text, field); return;
        case Field::Tile: group.tile = parse_sizes<3>(text, field); return;
        case Field::Vector: group.vector = parse_integer(field, text); return;
        case Field::Split: group.split = parse_split(text); return;
        case Field::FracReg: group.frac_reg = parse<double>(text); return check_value(field, group.frac_reg);
        case Field::Prefetch: group.prefetch = parse_integer(field, text); return;
        case Field::LoadCache: group.load_cache = parse_load_cache(text); return;
        case Field::BlockOrder: return set_word(choices.block_order, field, text);
        case Field::EdgeTiles: return set_word(choices.edge_tiles, field, text);
        case Field::Direction: return set_word(choices.direction, field, text);
        case Field::Packed: return set_truth(choices.packed, field, text);
        case Field::SharedLanes: return set_truth(choices.shared_lanes, field, text);
        case Field::Edges: return set_word(choices.edges, field, text);
        case Field::AccessWidths: return set_word(choices.access_widths, field, text);
        case Field::MinBlocks: return set_choice(choices.min_blocks, text, [&] { return parse_integer(field, text); });
        case Field::Threads: return set_choice(choices.threads, text, [&] { return parse_sizes<2>(text, field); });
        case Field::Columns: return set_choice(choices.columns, text, [&] { return parse_integer(field, text); });
        case Field::Histogram:
            return set_choice(choices.histogram, text, [&] { return HistogramShape{parse_sizes<8>(text, field)}; });
    }
}

std::string legal_values(Field field) {
    switch (field) {
        case Field::BlockOrder: return words_text<BlockOrder>();
        case Field::EdgeTiles: return words_text<EdgeTiles>();
        case Field::Direction: return words_text<Direction>();
        case Field::MinBlocks: return fmt::format("{}, 0 to {}", kAuto, kMaxBlocks);
        case Field::Packed:
        case Field::SharedLanes: return fmt::format("{}, true, false", kAuto);
        case Field::Edges: return words_text<EdgeCode>();
        case Field::AccessWidths: return words_text<AccessWidths>();
        case Field::Threads: return fmt::format("{}, or threads in x and y", kAuto);
        case Field::Columns: return fmt::format("{}, 1, 2, 4, 8, {}", kAuto, kMaxVector);
        case Field::Histogram:
            return fmt::format("{}, or threads, rows, copies, blocks, merge, parts, region's rows and columns", kAuto);
        default: break;
    }
    throw std::logic_error(fmt::format("`{}` is no choice", name(field)));
}

Choices agreed(const std::vector<Choices>& kernels) {
    GroupSchedule result;
    for (const Field field : kFields) {
        if (!is_choice(field)) continue;
        bool differ = false;
        for (const Choices& kernel : kernels) {
            GroupSchedule one;
            one.choices = kernel;
            if (is_auto(field, one)) {
                differ = differ || field == Field::BlockOrder;
            } else {
                differ = differ || (!is_auto(field, result) && value_text(field, one) != value_text(field, result));
                copy_field(field, one, result);
            }
        }
        if (differ) copy_field(field, GroupSchedule{}, result);
    }
    return result.choices;
}

void forget_choices_of_tiles(GroupSchedule& group) {
    group.choices.min_blocks.reset();
    group.choices.packed.reset();
    group.choices.edges.reset();
}

Strategy parse_strategy(std::string_view word) {
    std::array<Strategy, kStrategies> all{};
    std::transform(strategies().begin(), strategies().end(), all.begin(),
                   [](const StrategyInfo& one) { return one.strategy; });
    return parse(word, "strategy", all);
}

LoadCache parse_load_cache(std::string_view word) {
    return parse(word, "cache", kCaches);
}

int parse_split(std::string_view word) {
    return static_cast<int>(number_of(word, "dimension", kAxes));
}

double parse_number(std::string_view text) {
    return parse<double>(text);
}

std::string_view split_name(int split) {
    return kAxes.at(static_cast<std::size_t>(split));
}

void check_value(Field field, double value, std::size_t axis) {
    const auto require = [&](double most, double least = 1) {
        if (value >= least && value <= most) return;
        throw ScheduleError(fmt::format("{} is not between {} and {}", value, least, most));
    };
    switch (field) {
        case Field::Block: return require(kMaxThreads.at(axis));
        case Field::Tile: return require(kMaxTile);
        case Field::FracReg: return require(1, 0);
        case Field::Prefetch: return require(kMaxPrefetch, 0);
        case Field::MinBlocks: return require(kMaxBlocks, 0);
        case Field::Threads: return require(kMaxThreads.at(axis));
        case Field::Histogram: {
            require(kMaxHistogram.at(axis), 0);
            const bool is_power = value == 0 || std::has_single_bit(static_cast<unsigned>(value));
            const bool is_count = axis == HistogramShape::Blocks || axis == HistogramShape::Parts;
            if (!is_power && !is_count) throw ScheduleError(fmt::format("{} is no power of two", value));
            return;
        }
        case Field::Vector:
        case Field::Columns:
            require(kMaxVector);
            if (!std::has_single_bit(static_cast<unsigned>(value))) {
                throw ScheduleError(fmt::format("{} is no power of two", value));
            }
            return;
        default: return;  // words
    }
}

}  // namespace pipec::fusion
