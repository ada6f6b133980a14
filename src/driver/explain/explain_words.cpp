#include "driver/explain/explain_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "fusion/group_fields.h"

namespace pipec::driver::explain {

using fusion::GroupSchedule;
using fusion::Strategy;

namespace {

/// Less is 0%.
constexpr double kLeastPart = 0.005;

/// Three digits, and a unit that keeps the number below 1000.
std::string scaled(double value, const std::vector<std::string>& units) {
    if (value < 0.005) return "0 " + units.front();
    std::size_t unit = 0;
    for (; value >= 999.5 && unit + 1 < units.size(); ++unit) value /= 1000;
    const int digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    const bool whole = unit == 0 && value == std::floor(value);
    return fmt::format("{:.{}f} {}", value, whole ? 0 : digits, units[unit]);
}

template <class Sizes>
std::string joined(const Sizes& sizes) {
    return sizes.empty() ? "1" : fmt::format("{}", fmt::join(sizes, " x "));
}

/// Without trailing ones.
std::string shape(std::array<int, 3> sizes) {
    std::size_t length = 3;
    while (length > 1 && sizes[length - 1] == 1) --length;
    return joined(std::vector<int>(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(length)));
}

}  // namespace

std::string duration(double seconds) {
    return scaled(seconds * 1e6, {"us", "ms", "s"});
}

std::string memory(double bytes) {
    return scaled(bytes, {"B", "KB", "MB", "GB", "TB"});
}

std::string percent(double part) {
    return fmt::format("{:.0f}%", part * 100);
}

std::string change(double value, double from) {
    if (from <= 0) return "";
    return fmt::format("{:+.0f}%", (value / from - 1) * 100);
}

std::string count(double number) {
    std::string digits = fmt::format("{:.0f}", number);
    for (auto place = static_cast<std::ptrdiff_t>(digits.size()) - 3; place > 0; place -= 3) {
        digits.insert(static_cast<std::size_t>(place), 1, ',');
    }
    return digits;
}

std::string plural(std::size_t number, const std::string& noun) {
    return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string list(const std::vector<std::string>& items) {
    if (items.size() < 2) return items.empty() ? "" : items.front();
    return fmt::format("{} and {}", fmt::join(items.begin(), items.end() - 1, ", "), items.back());
}

std::string sizes(const PipelineReport& report) {
    std::vector<std::string> all;
    for (const auto& [name, value] : report.sizes) all.push_back(fmt::format("{} = {}", name, value));
    return fmt::format("{}", fmt::join(all, ", "));
}

std::string parameters(const GroupSchedule& s, const std::vector<std::string>& dims) {
    std::vector<std::string> parts;
    const auto has = [&](fusion::Field field) { return fusion::has(s.strategy, field); };
    const fusion::TileUnit unit = fusion::info(s.strategy).unit;
    if (unit == fusion::TileUnit::ColumnsOfLane) {
        parts.push_back(fmt::format("blocks of {} threads", shape(s.block)));
        parts.push_back(fmt::format("{} of a lane", plural(static_cast<std::size_t>(s.tile[0]), "column")));
        if (s.tile[1] > 1 || s.tile[2] > 1) {
            parts.push_back(plural(static_cast<std::size_t>(s.tile[1]), "row"));
            if (s.tile[2] > 1) parts.push_back(plural(static_cast<std::size_t>(s.tile[2]), "plane"));
        }
    } else if (unit == fusion::TileUnit::Steps) {
        parts.push_back(fmt::format("blocks of {} threads", shape(s.block)));
        if (s.tile[0] > 1) parts.push_back(plural(static_cast<std::size_t>(s.tile[0]), "column") + " of a thread");
        parts.push_back(plural(static_cast<std::size_t>(s.tile[1]), "step"));
        if (s.tile[2] > 1) parts.push_back(plural(static_cast<std::size_t>(s.tile[2]), "plane"));
    } else if (has(fusion::Field::Block)) {
        parts.push_back(fmt::format("blocks of {} threads", shape(s.block)));
        parts.push_back(fmt::format("{} points of a thread", shape(s.tile)));
        if (s.tile == std::array{1, 1, 1}) parts.back() = "1 point of a thread";
    }
    if (has(fusion::Field::Vector) && s.vector > 1) parts.push_back(fmt::format("{} columns at once", s.vector));
    if (has(fusion::Field::FracReg)) {
        // A group that the model does not know has no names.
        const auto axis = static_cast<std::size_t>(s.split);
        const std::string split =
            axis < dims.size() ? dims[dims.size() - 1 - axis] : std::string(fusion::split_name(s.split));
        parts.push_back(fmt::format("{} of {} in registers", percent(s.frac_reg), split));
    }
    if (has(fusion::Field::Prefetch) && s.prefetch > 0) {
        parts.push_back(fmt::format("{} fetched ahead", plural(static_cast<std::size_t>(s.prefetch), "row")));
    }
    if (s.load_cache == fusion::LoadCache::Ca) parts.emplace_back("loads through L1");
    if (s.load_cache == fusion::LoadCache::Cg) parts.emplace_back("loads through L2 only");
    for (const fusion::Field field : fusion::kFields) {
        if (fusion::is_choice(field) && has(field) && !is_auto(field, s))
            parts.push_back(fmt::format("{} {}", fusion::name(field), value_text(field, s)));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string name_of(const Alternative& alternative) {
    const std::string more = parameters(*alternative.schedule, alternative.dims);
    return fmt::format("{}{}{}", fusion::name(alternative.schedule->strategy), more.empty() ? "" : ", ", more);
}

std::string extents(const std::vector<std::int64_t>& sizes) {
    return joined(sizes);
}

std::string tile(const GroupReport& group) {
    std::string result = fmt::format("{} ({})", extents(group.tile), fmt::join(group.dims, ", "));
    if (!group.warp_tile.empty() && group.warp_tile != group.tile) {
        result += fmt::format("; with lanes that serve their neighbours {}", extents(group.warp_tile));
    }
    if (group.redundant >= kLeastPart)
        result += fmt::format("; {} of the points computed again", percent(group.redundant));
    return result;
}

std::string computed(const StageReport& stage) {
    std::vector<std::int64_t> sizes;
    for (const TilePart& part : stage.part) sizes.push_back(part.computed);
    return joined(sizes);
}

std::string again(const StageReport& stage) {
    constexpr double kMany = 9;
    const double part = stage.owned > 0 ? stage.computed / stage.owned - 1 : 0;
    if (part < kLeastPart) return "";
    return part > kMany ? fmt::format("x{:.0f}", part + 1) : fmt::format("+{}", percent(part));
}

std::string overlap(const StageReport& stage) {
    std::vector<std::string> parts;
    for (const TilePart& part : stage.part) {
        if (part.before == 0 && part.after == 0) continue;
        std::string sides = part.name;
        if (part.before > 0) sides += fmt::format(" -{}", part.before);
        if (part.after > 0) sides += fmt::format(" +{}", part.after);
        parts.push_back(std::move(sides));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string kept(const StageReport& stage) {
    std::vector<std::string> places;
    if (stage.kept == Kept::Registers) places.emplace_back("registers");
    if (stage.kept == Kept::Shared || stage.kept == Kept::Both) {
        places.push_back(fmt::format("{}shared memory, {}", stage.kept == Kept::Both ? "registers and " : "",
                                     memory(static_cast<double>(stage.tile_bytes))));
    }
    if (stage.is_live)
        places.push_back(fmt::format("{}, {}", stage.is_output ? "output" : "memory", memory(stage.bytes)));
    return places.empty() ? "nowhere" : fmt::format("{}", fmt::join(places, "; "));
}

std::string traffic(const cost::Traffic& traffic) {
    std::vector<std::string> reads;
    if (traffic.inputs > 0) reads.push_back(memory(traffic.inputs) + " of inputs");
    if (traffic.stages > 0) reads.push_back(memory(traffic.stages) + " of stages");
    if (reads.empty()) reads.emplace_back("nothing");
    return fmt::format("reads {}, writes {}", list(reads), memory(traffic.outputs));
}

std::string resources(const GroupReport& group, const fusion::Gpu& gpu) {
    const cost::TimePrediction& t = *group.time;
    const std::string shared = group.shared_bytes > 0 ? fmt::format("{} of shared memory a block",
                                                                    memory(static_cast<double>(group.shared_bytes)))
                                                      : "no shared memory";
    return fmt::format("about {} registers a thread, {}; {} of {} warps ({})", t.registers, shared,
                       std::lround(t.occupancy * gpu.warps_per_sm), gpu.warps_per_sm, percent(t.occupancy));
}

std::string grid(const cost::TimePrediction& t) {
    const std::string waves = t.waves < 0.05 ? "less than 0.1 waves" : fmt::format("{:.1f} waves", t.waves);
    return fmt::format("{} block{}, {} at once on a multiprocessor, {}", count(t.blocks), t.blocks == 1 ? "" : "s",
                       t.blocks_per_sm, waves);
}

std::vector<Term> terms(const cost::TimePrediction& t) {
    return {{"global memory", t.dram, true},   {"L2 cache", t.l2, true},     {"instructions", t.issue, true},
            {"load/store units", t.lsu, true}, {"latency", t.latency, true}, {"block starts", t.start, true},
            {"begin, end", t.ends, false},     {"launch", t.launch, false}};
}

std::string bound(const cost::TimePrediction& time) {
    const std::string_view by = cost::bound_by(time);
    if (by == "dram") return "global memory";
    if (by == "l2") return "the L2 cache";
    if (by == "issue") return "instructions";
    if (by == "lsu") return "the load/store units";
    if (by == "start") return "the start of blocks";
    return "the latency of a tile";
}

}  // namespace pipec::driver::explain
