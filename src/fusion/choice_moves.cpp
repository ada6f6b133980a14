#include "fusion/choice_moves.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "fusion/group_fields.h"

namespace pipec::fusion {

namespace {

/// Registers of a thread that are worth trying as a limit: with them a multiprocessor has half of its threads or fewer,
/// in steps that nvcc's choices have shown.
constexpr std::array kRegisters{64, 80, 96, 128};
constexpr std::array<std::array<int, 2>, 5> kThreads{{{32, 4}, {64, 4}, {128, 1}, {32, 16}, {16, 16}}};

class Moves {
public:
    explicit Moves(const GroupSchedule& group) : group_(group) {}

    void packed() {
        const auto& packed = group_.choices.packed;
        if (packed) add(Field::Packed, [&](Choices& c) { c.packed = !*packed; });
    }

    /// nvcc's choice, and the limits beside the one that was decided.
    void registers(const Gpu& gpu) {
        const auto decided = group_.choices.min_blocks;
        if (!decided) return;
        if (*decided > 0) add(Field::MinBlocks, [](Choices& c) { c.min_blocks = 0; });
        const int threads = group_.block[0] * group_.block[1] * group_.block[2];
        std::set<int> blocks;
        for (const int registers : kRegisters) blocks.insert(gpu.registers_per_sm / (threads * registers));
        blocks.erase(0);
        blocks.erase(*decided);
        // Of more blocks the nearest, of fewer the nearest.
        const auto above = blocks.upper_bound(*decided);
        if (above != blocks.end()) add(Field::MinBlocks, [&](Choices& c) { c.min_blocks = *above; });
        if (*decided > 0 && above != blocks.begin())
            add(Field::MinBlocks, [&](Choices& c) { c.min_blocks = *std::prev(above); });
    }

    void order_of_blocks() {
        const Choices& now = group_.choices;
        if (now.direction) {
            const bool forward = *now.direction == Direction::Forward;
            add(Field::Direction,
                [&](Choices& c) { c.direction = forward ? Direction::Backward : Direction::Forward; });
        }
        if (now.edge_tiles) {
            const bool first = *now.edge_tiles == EdgeTiles::First;
            add(Field::EdgeTiles, [&](Choices& c) { c.edge_tiles = first ? EdgeTiles::InOrder : EdgeTiles::First; });
        }
        for (const BlockOrder order : {BlockOrder::Xyz, BlockOrder::Xzy, BlockOrder::Yxz}) {
            if (now.block_order && *now.block_order != order)
                add(Field::BlockOrder, [&](Choices& c) { c.block_order = order; });
        }
    }

    void shape_of_stage() {
        const Choices& now = group_.choices;
        if (now.shared_lanes) add(Field::SharedLanes, [&](Choices& c) { c.shared_lanes = !*now.shared_lanes; });
        if (now.columns) {
            for (const int columns : {*now.columns * 2, *now.columns / 2}) {
                if (columns >= 1 && columns <= 16) add(Field::Columns, [&](Choices& c) { c.columns = columns; });
            }
        }
        for (const std::array<int, 2>& threads : kThreads) {
            if (now.threads && *now.threads != threads) add(Field::Threads, [&](Choices& c) { c.threads = threads; });
        }
    }

    /// Twice and half of each number, and the other answer.
    void histogram() {
        using Shape = HistogramShape;
        const Shape now = *group_.choices.histogram;
        const auto with = [&](auto change) { add(Field::Histogram, [&](Choices& c) { change(*c.histogram); }); };
        const auto scaled = [&](Shape::Part part, int most) {
            if (now[part] > 0 && now[part] * 2 <= most) with([&](Shape& shape) { shape[part] *= 2; });
            if (now[part] > 1) with([&](Shape& shape) { shape[part] /= 2; });
        };
        scaled(Shape::Copies, 32);
        scaled(Shape::Rows, 4);
        for (const int threads : {256, 512, 1024}) {
            // As many threads of a multiprocessor.
            if (threads == now[Shape::Threads]) continue;
            with([&](Shape& shape) {
                shape[Shape::Threads] = threads;
                shape[Shape::Blocks] = std::max(1, now[Shape::Blocks] * now[Shape::Threads] / threads);
            });
        }
        with([&](Shape& shape) { shape[Shape::Merge] = now[Shape::Merge] == 2 ? 1 : 2; });
        scaled(Shape::Blocks, 16);
        scaled(Shape::RegionRows, 1024);
        scaled(Shape::RegionColumns, 4096);
    }

    [[nodiscard]] std::vector<std::pair<Field, GroupSchedule>> take() { return std::move(found_); }

private:
    template <class Change>
    void add(Field field, const Change& change) {
        change(found_.emplace_back(field, group_).second.choices);
    }

    const GroupSchedule& group_;
    std::vector<std::pair<Field, GroupSchedule>> found_;
};

std::vector<std::pair<Field, GroupSchedule>> moves_of(const GroupSchedule& group, const Gpu& gpu) {
    Moves moves(group);
    if (group.choices.histogram) {
        moves.histogram();  // the rest is the shape of the kernel that only begins the table
    } else if (group.strategy == Strategy::Stage) {
        moves.shape_of_stage();
    } else {
        moves.packed();
        moves.registers(gpu);
        moves.order_of_blocks();
    }
    return moves.take();
}

}  // namespace

std::vector<ChoiceMove> choice_moves(const Schedule& pinned, const Gpu& gpu, std::size_t most) {
    std::vector<std::vector<std::pair<Field, GroupSchedule>>> groups;
    std::size_t longest = 0;
    for (const GroupSchedule& group : pinned.groups) {
        groups.push_back(moves_of(group, gpu));
        longest = std::max(longest, groups.back().size());
    }
    std::vector<ChoiceMove> result;
    for (std::size_t i = 0; i < longest; ++i) {
        for (std::size_t g = 0; g < groups.size(); ++g) {
            if (i < groups[g].size() && result.size() < most)
                result.push_back({g, groups[g][i].first, std::move(groups[g][i].second)});
        }
    }
    return result;
}

Schedule with_moves(const Schedule& schedule, const std::vector<ChoiceMove>& moves) {
    Schedule result = schedule;
    std::set<std::pair<std::size_t, Field>> changed;
    for (const ChoiceMove& move : moves) {
        if (changed.emplace(move.group, move.field).second)
            copy_field(move.field, move.value, result.groups.at(move.group));
    }
    return result;
}

}  // namespace pipec::fusion
