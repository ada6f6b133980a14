// Structures are taken apart by structured bindings: a member that is added to one of them, and not to the key, does
// not compile.
#include "cost/facts_key.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace pipec::cost {

using fusion::GroupFacts;
using fusion::Load;
using fusion::StageFacts;
using fusion::StageShape;

namespace {

class Key {
public:
    explicit Key(const GroupFacts& facts) : facts_(facts) {
        for (const StageFacts& stage : facts.stages) {
            for (const Load& load : stage.loads) arrays_.push_back(load.source);
            for (const StageShape::Read& read : stage.shape.reads) arrays_.push_back(read.array);
        }
        std::sort(arrays_.begin(), arrays_.end());
        arrays_.erase(std::unique(arrays_.begin(), arrays_.end()), arrays_.end());
        add_group(facts.group);
        const auto& [group, shapes, live, kept, units, producers, last_reader, planes_share] =
            static_cast<const fusion::GroupShape&>(facts);
        add(live), add(kept), add(units), add(last_reader), add(planes_share);
        add_each(producers, [&](const std::vector<std::size_t>& members) { add(members); });
        add_each(shapes, [&](const StageShape& shape) { add_shape(shape); });
        add(facts.together), add(facts.extents), add(facts.firsts);
        add_each(facts.stages, [&](const StageFacts& stage) { add_stage(stage); });
    }

    FactsKey taken() { return std::move(words_); }

private:
    template <class Integer>
    void add(Integer value) requires std::is_integral_v<Integer> {
        words_.push_back(static_cast<std::int64_t>(value));
    }
    void add(double value) { words_.push_back(std::bit_cast<std::int64_t>(value)); }

    template <class T, class Add>
    void add_each(const std::vector<T>& values, const Add& add_one) {
        add(values.size());
        for (const T& value : values) add_one(value);
    }
    template <class T>
    void add(const std::vector<T>& values) {
        add(values.size());
        for (const T value : values) add(value);
    }
    template <class T, class Add>
    void add_optional(const std::optional<T>& value, const Add& add_one) {
        add(value.has_value());
        if (value) add_one(*value);
    }

    void add_source(const ir::Source& source) {
        const auto& members = facts_.group.stages;
        const auto member = source.kind == ir::Source::Kind::Stage
                                ? std::lower_bound(members.begin(), members.end(), source.index)
                                : members.end();
        add(static_cast<int>(source.kind));
        add(std::lower_bound(arrays_.begin(), arrays_.end(), source) - arrays_.begin());
        add(member != members.end() && *member == source.index ? member - members.begin() : -1);
    }

    void add_distances(const std::vector<poly::Distance>& distances) {
        add_each(distances, [&](const poly::Distance& distance) { add(distance.lo), add(distance.hi); });
    }

    void add_group(const poly::Group& all) {
        const auto& [stages, rank, alignment, edges, reach, live_outs] = all;
        add(stages.size()), add(rank);
        add_each(alignment, [&](const std::vector<poly::Alignment>& dims) {
            add_each(dims, [&](const poly::Alignment& a) { add(a.dim), add(a.scale); });
        });
        add_each(edges, [&](const poly::GroupEdge& edge) {
            const auto& [reader, producer, reader_place, producer_place, distance, range] = edge;
            add(reader_place), add(producer_place);
            add_distances(distance);
        });
        add_each(reach, [&](const std::vector<poly::Distance>& distances) { add_distances(distances); });
        add(live_outs.size());
        for (const int stage : live_outs) add(all.position(stage));
    }

    void add_shape(const StageShape& shape) {
        const auto& [bytes, accumulates, ranges, reads, scans, order] = shape;
        add(bytes), add(accumulates), add(scans), add(order);
        add_each(ranges, [&](const std::optional<StageShape::Range>& one) {
            add_optional(one, [&](const StageShape::Range& range) { add(range.lo), add(range.hi); });
        });
        add_each(reads, [&](const StageShape::Read& read) { add_source(read.array), add(read.dims), add(read.data); });
    }

    void add_load(const Load& load) {
        const auto& [source, bytes, reads, in_loops, indices, spread, against, constant, extents, firsts, looped,
                     turn] = load;
        add_source(source), add(bytes), add(reads), add(in_loops), add(spread), add(against), add(constant);
        add(extents), add(firsts), add(looped), add(turn);
        add_each(indices, [&](const std::optional<poly::IndexRelation>& one) {
            add_optional(one, [&](const poly::IndexRelation& relation) {
                const auto& [dim, num, den, lo, hi, usual_lo, usual_hi] = relation;
                add(dim), add(num), add(den), add(lo), add(hi), add(usual_lo), add(usual_hi);
            });
        });
    }

    void add_stage(const StageFacts& stage) {
        const auto& [shape, pure, is_output, alone, bytes, operations, shares, half_rate, own_part, reads, block_reads,
                     block_operations, updates, serial, serial_loads, registers, seconds, points, scan, histogram, lo,
                     hi, loop_terms, lane_terms, loads, inside, pipeline_bytes] = stage;
        add(pure), add(alone), add(bytes), add(operations), add(reads), add(block_reads), add(updates), add(serial),
            add(serial_loads);
        add(block_operations), add(is_output), add(half_rate), add(own_part);
        add(loop_terms), add(lane_terms.enough), add(lane_terms.along_memory), add(registers), add(points), add(lo),
            add(hi), add(inside), add(pipeline_bytes);
        add_each(shares,
                 [&](const fusion::Operations& share) { add(share.dims), add(share.count), add(share.as_written); });
        add_optional(seconds, [&](double value) { add(value); });
        add_each(loads, [&](const Load& load) { add_load(load); });
    }

    const GroupFacts& facts_;
    std::vector<ir::Source> arrays_;  ///< that members read, sorted
    FactsKey words_;
};

}  // namespace

std::size_t FactsKeyHash::operator()(const FactsKey& key) const {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const std::int64_t word : key) {
        hash = (hash ^ static_cast<std::uint64_t>(word)) * 0x100000001b3U;
        hash ^= hash >> 29U;
    }
    return static_cast<std::size_t>(hash);
}

std::optional<FactsKey> facts_key(const GroupFacts& facts) {
    if (std::ranges::any_of(facts.stages, [](const StageFacts& stage) { return stage.scan || stage.histogram; }))
        return std::nullopt;
    return Key(facts).taken();
}

}  // namespace pipec::cost
