#include "fusion/group_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

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

}  // namespace

std::string_view name(Field field) {
    switch (field) {
        case Field::Block: return "block";
        case Field::Tile: return "tile";
        case Field::Vector: return "vector";
        case Field::Split: return "split";
        case Field::FracReg: return "frac_reg";
        case Field::Prefetch: return "prefetch";
        case Field::LoadCache: break;
    }
    return "load_cache";
}

std::string_view name(LoadCache cache) {
    return cache == LoadCache::Ca ? "ca" : cache == LoadCache::Cg ? "cg" : "default";
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
    }
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
        case Field::Vector:
            require(kMaxVector);
            if (!std::has_single_bit(static_cast<unsigned>(value))) {
                throw ScheduleError(fmt::format("{} is no power of two", value));
            }
            return;
        case Field::Split:
        case Field::LoadCache: break;
    }
}

}  // namespace pipec::fusion
