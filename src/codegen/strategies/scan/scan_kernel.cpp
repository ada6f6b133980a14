// A scan: lines of points that wait for each other, beside lines that do not. A block has some lines and goes along
// them in chunks. Its first warp, each lane of which has a line, computes the values of a chunk, point by point, while
// the other warps compute for the next chunk what does not depend on the scan (scan_terms.h), and write to memory what
// came of the chunk before. So the chain of dependent operations has nothing in it but the recurrence, and all accesses
// to memory are by threads beside each other, whatever the direction of the lines in memory.
//
// Where lines run along the innermost dimension, each of the other warps has a line, and its lanes have adjacent
// points; few lines with long chunks then keep more blocks at work. Otherwise lanes have the same point of adjacent
// lines, as many as one access to memory takes, and a thread has adjacent points. The chunks change hands in shared
// memory, which has two of each; nvcc moves up to four adjacent points of a line in one access.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "codegen/expr/strides.h"
#include "codegen/kernel/kernel_build.h"
#include "codegen/lower.h"
#include "codegen/strategies/scan/direct_scan.h"
#include "codegen/strategies/scan/parallel_scan.h"
#include "codegen/strategies/scan/scan_code.h"
#include "codegen/strategies/scan/slice_scan.h"
#include "codegen/strategies/scan/term_loads.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "plan/scan_tile.h"

namespace pipec::codegen {

using ir::BinaryOp;
using ir::Type;

namespace {

constexpr std::int64_t kWarps = plan::kScanWarps;
/// Points of a line's recurrence that are written out behind each other, unless that is much code.
constexpr std::int64_t kChainPoints = 16;
/// Registers of a thread for what is loaded ahead from memory, and of a point of the recurrence for its terms.
constexpr std::int64_t kMostAhead = 32, kMostAheadOfPoint = 2;

class ScanKernel : public ScanCode {
public:
    ScanKernel(kernel::Program& program, const ScanMembers& members) : ScanCode(program, members) {
        find_recurrence_interior();
        arrange();
    }

    kernel::Kernel build();

private:
    /// A thread's place in a tile of lines and points of them, and in the stage.
    struct Place {
        ir::Expr line, position;  ///< in the tile
        std::vector<ir::Expr> at;
        ir::Expr exists;  ///< null: certain
    };

    void arrange();
    /// Points of a chunk that a thread has of the warps besides the first.
    [[nodiscard]] std::int64_t steps() const { return std::max<std::int64_t>(1, tile_.points / tile_.side_by_side()); }
    [[nodiscard]] static ir::Expr element(std::size_t array, Type type, const ir::Expr& buffer, const Place& place);
    /// What is known of a chunk's points that are a thread's: all exist; some do; or those that do not are the last
    /// point or line instead, so that no access has to wait for a condition.
    enum class Points { All, Some, Clamped };
    template <class Visit>
    void others(kernel::Body& body, const ir::Expr& chunk, Points which, std::int64_t nodes, const Visit& visit);
    void arrange_loads();
    void load_ahead(kernel::Body& body, const ir::Expr& chunk);
    void compute_terms(kernel::Body& body, const ir::Expr& chunk);
    void write(kernel::Body& body, const ir::Expr& chunk);
    void write(kernel::Body& body, const ir::Expr& chunk, Points which);
    void recur(kernel::Body& body, const ir::Expr& chunk);
    void chunk_points(kernel::Body& body, const ir::Expr& chunk, const ir::Expr& count, const ir::Expr& value);
    std::vector<Place> own_places(kernel::Body& body, const ir::Expr& chunk, const ir::Expr& first, std::int64_t count);
    std::vector<ir::Expr> own_terms(const ir::Expr& chunk, const std::vector<Place>& places);
    std::vector<ir::Expr> defined(kernel::Body& body, const std::vector<ir::Expr>& terms);
    void points(kernel::Body& body, const ir::Expr& chunk, const std::vector<Place>& places,
                const std::vector<ir::Expr>& terms, const ir::Expr& value);
    [[nodiscard]] std::int64_t round_ahead() const;
    void rounds_ahead(kernel::Body& body, const ir::Expr& chunk, const ir::Expr& end, std::int64_t round,
                      const ir::Expr& value);

    plan::ScanTile tile_;
    TermLoads loads_;  ///< of the recurrence's terms
    std::vector<std::vector<ir::VarId>>
        ahead_;  ///< their values for the next chunk, by point of the thread. Empty: none
    ir::Expr lane_, warp_, first_line_;
    // Of the first warp's lanes.
    std::vector<ir::Expr> own_at_;
    ir::Expr own_exists_;
};

/// Which dimensions are lines, in which direction they lie, and how much of them a chunk has.
void ScanKernel::arrange() {
    std::int64_t bytes = ir::bytes(stage_.type);
    for (std::size_t t = 0; t < terms_.of_scan; ++t) bytes += ir::bytes(terms_.terms[t].value->type);
    tile_ = plan::make_scan_tile(order_, stage_.scan->dim, extents_, bytes,
                                 static_cast<std::int64_t>(terms_.of_scan) + 1, program_.target.gpu().shared_per_block);
}

/// Arrays are numbered as the terms are; the one after them has the scan's values.
ir::Expr ScanKernel::element(std::size_t array, Type type, const ir::Expr& buffer, const Place& place) {
    return ir::read({ir::Source::Kind::Local, static_cast<int>(array)}, type, {buffer, place.line, place.position});
}

/// Calls `visit(body, places)` for the points of a chunk that are a thread's of the warps besides the first, a few at a
/// time unless the code for one has many nodes.
template <class Visit>
void ScanKernel::others(kernel::Body& outer, const ir::Expr& chunk, Points which, std::int64_t nodes,
                        const Visit& visit) {
    const ir::Expr begin = build_.define(outer, "begin", product(chunk, constant(tile_.points)), 0);
    const bool whole = tile_.lines == kWarp;  // lanes are lines
    const ir::Expr row = tile_.along_memory ? warp_
                         : whole            ? lane_
                                            : ir::binary(BinaryOp::Mod, lane_, constant(tile_.lines));
    ir::Expr line = sum(first_line_, row);
    if (which == Points::Clamped) line = ir::binary(BinaryOp::Min, line, difference(lines_, constant(1)));
    if (which != Points::Clamped || !line_dims_.empty()) line = build_.define(outer, "line", line, 0);
    std::vector<ir::Expr> at;
    const ir::Expr line_exists = line_place(outer, line, at);
    const std::int64_t each = tile_.side_by_side(), steps = this->steps();
    const std::int64_t at_once = nodes * steps > kLargestScanBody ? 1 : steps;
    ir::Expr side = tile_.along_memory ? lane_ : warp_;
    if (!tile_.along_memory && !whole) {
        side =
            sum(product(warp_, constant(kWarp / tile_.lines)), ir::binary(BinaryOp::Div, lane_, constant(tile_.lines)));
    }
    ir::Expr turn = constant(0);
    kernel::Body* body = &outer;
    if (at_once < steps) {
        body = &build_.loop(outer, "step", constant(0), constant(steps / at_once), constant(1), turn);
    }
    std::vector<Place> places;
    for (std::int64_t i = 0; i < at_once; ++i) {
        Place& place = places.emplace_back();
        place.line = row;
        const ir::Expr step = sum(product(turn, constant(at_once)), constant(i));
        const ir::Expr column =
            tile_.along_memory ? sum(product(step, constant(each)), side) : sum(product(side, constant(steps)), step);
        place.position = build_.define(*body, "column", column, 0, 1, std::max(tile_.points, each));
        ir::Expr position = build_.define(*body, "position", sum(begin, place.position), 0);
        if (which == Points::Some) {
            place.exists = both(line_exists, ir::binary(BinaryOp::Lt, position, length_));
        } else if (which == Points::Clamped) {
            const ir::Expr last = difference(length_, constant(1));
            position = build_.define(*body, "position", ir::binary(BinaryOp::Min, position, last), 0);
        }
        if (tile_.points < each) {
            place.exists = both(place.exists, ir::binary(BinaryOp::Lt, place.position, constant(tile_.points)));
        }
        place.at = at;
        place.at[scan_] = coordinate(*body, position);
    }
    visit(*body, places);
}

/// What terms need of memory is loaded for a chunk while the one before is computed, unless that takes too many
/// registers or too much code. Lines along memory make many blocks, which hide each other's latency.
void ScanKernel::arrange_loads() {
    if (tile_.along_memory) return;
    loads_ = term_loads(program_.pipeline, terms_, terms_.of_scan);
    const bool fits = registers_of(loads_) * steps() <= kMostAhead && term_nodes(false) * steps() <= kLargestScanBody;
    if (!fits || loads_.loads.empty()) return;
    for (std::int64_t i = 0; i < steps(); ++i) {
        std::vector<ir::VarId>& point = ahead_.emplace_back();
        for (const TermLoad& load : loads_.loads) {
            point.push_back(build_.variable("ahead", load.value->type));
            add(build_.kernel.body, kernel::Variable{point.back(), nothing(load.value->type)});
        }
    }
}

void ScanKernel::load_ahead(kernel::Body& outer, const ir::Expr& chunk) {
    others(outer, chunk, guard_ ? Points::Some : Points::Clamped, 0,
           [&](kernel::Body& body, const std::vector<Place>& places) {
               for (std::size_t i = 0; i < places.size(); ++i) {
                   const Rewriter::Bindings at = bindings(places[i].at);
                   for (std::size_t l = 0; l < loads_.loads.size(); ++l) {
                       const auto& [var, value, needed] = loads_.loads[l];
                       add(body, kernel::Assign{ahead_[i][l], term_value({var, value, needed}, at,
                                                                         guard_ ? places[i].exists : nullptr)});
                   }
               }
           });
}

void ScanKernel::compute_terms(kernel::Body& outer, const ir::Expr& chunk) {
    if (terms_.of_scan == 0) return;
    const ir::Expr buffer = build_.define(outer, "buffer", ir::binary(BinaryOp::Mod, chunk, constant(2)), 0, 1, 2);
    others(outer, chunk, guard_ ? Points::Some : Points::Clamped, ahead_.empty() ? term_nodes(false) : 0,
           [&](kernel::Body& body, const std::vector<Place>& places) {
               std::vector<kernel::Store> stores;
               for (std::size_t i = 0; i < places.size(); ++i) {
                   const Place& place = places[i];
                   Rewriter::Bindings at = bindings(place.at);
                   for (std::size_t l = 0; !ahead_.empty() && l < loads_.loads.size(); ++l) {
                       const TermLoad& load = loads_.loads[l];
                       at[load.var] = ir::variable(ahead_[i][l], load.value->type);
                   }
                   for (std::size_t t = 0; t < terms_.of_scan; ++t) {
                       ScanTerm term = terms_.terms[t];
                       if (!ahead_.empty()) term.value = loads_.values[t];
                       const Type type = term.value->type;
                       const ir::VarId var = build_.variable("term", type);
                       add(body, kernel::Define{var, term_value(term, at, guard_ ? place.exists : nullptr)});
                       stores.push_back({{ir::Source::Kind::Local, static_cast<int>(t)},
                                         {buffer, place.line, place.position},
                                         {ir::variable(var, type)},
                                         place.exists});
                   }
               }
               for (kernel::Store& store : stores) add(body, std::move(store));
           });
}

/// Most chunks are full, and their values are read and stored without conditions.
void ScanKernel::write(kernel::Body& outer, const ir::Expr& chunk) {
    if (guard_ || tile_.points < tile_.side_by_side()) return write(outer, chunk, Points::Some);
    const ir::Expr end = product(sum(chunk, constant(1)), constant(tile_.points));
    const ir::Expr last_line = sum(first_line_, constant(tile_.lines));
    const ir::Expr is_full = both(ir::binary(BinaryOp::Le, end, length_), ir::binary(BinaryOp::Le, last_line, lines_));
    auto& choice = add(outer, kernel::If{is_full, {}, {}, kernel::If::Uniform::Block});
    write(choice.then, chunk, Points::All);
    write(choice.otherwise, chunk, Points::Some);
}

void ScanKernel::write(kernel::Body& outer, const ir::Expr& chunk, Points which) {
    const ir::Expr buffer = build_.define(outer, "buffer", ir::binary(BinaryOp::Mod, chunk, constant(2)), 0, 1, 2);
    const std::int64_t nodes = terms_.readers.empty() ? 0 : term_nodes(true);
    others(outer, chunk, which, nodes, [&](kernel::Body& body, const std::vector<Place>& places) {
        // What is stored, and what readers need besides, is loaded for all points before one of them is stored.
        std::vector<ir::Expr> values;
        std::vector<Rewriter::Bindings> given;
        for (const Place& place : places) {
            const ir::VarId own = build_.variable(stage_.name, stage_.type);
            const ir::Expr value = element(terms_.of_scan, stage_.type, buffer, place);
            // Points behind the end have no value.
            add(body,
                kernel::Define{own, place.exists ? ir::select(place.exists, value, nothing(stage_.type)) : value});
            values.push_back(ir::variable(own, stage_.type));
            Rewriter::Bindings& at = given.emplace_back(bindings(place.at));
            for (const std::size_t t : reader_terms()) {
                const ScanTerm& term = terms_.terms[t];
                const ir::VarId var = build_.variable("term", term.value->type);
                add(body, kernel::Define{var, term_value(term, at, place.exists)});
                at[term.var] = ir::variable(var, term.value->type);
            }
        }
        for (std::size_t i = 0; i < places.size(); ++i) {
            store_point(body, places[i].at, given[i], values[i], places[i].exists);
        }
    });
}

/// `count` points of a lane's line, from position `first` of the chunk.
std::vector<ScanKernel::Place> ScanKernel::own_places(kernel::Body& body, const ir::Expr& chunk, const ir::Expr& first,
                                                      std::int64_t count) {
    std::vector<Place> places;
    for (std::int64_t i = 0; i < count; ++i) {
        Place& place = places.emplace_back();
        place.line = lane_;
        place.position = sum(first, constant(i));
        if (i > 0 && !ir::as_int(first))
            place.position = build_.define(body, "column", place.position, 0, 1, tile_.points);
        place.at = own_at_;
        place.at[scan_] = coordinate(body, sum(product(chunk, constant(tile_.points)), place.position));
    }
    return places;
}

/// The terms at these points, one point's behind the other's.
std::vector<ir::Expr> ScanKernel::own_terms(const ir::Expr& chunk, const std::vector<Place>& places) {
    const ir::Expr buffer = ir::binary(BinaryOp::Mod, chunk, constant(2));
    std::vector<ir::Expr> terms;
    for (const Place& place : places) {
        for (std::size_t t = 0; t < terms_.of_scan; ++t) {
            terms.push_back(element(t, terms_.terms[t].value->type, buffer, place));
        }
    }
    return terms;
}

std::vector<ir::Expr> ScanKernel::defined(kernel::Body& body, const std::vector<ir::Expr>& terms) {
    std::vector<ir::Expr> result;
    for (const ir::Expr& e : terms) {
        const ir::VarId var = build_.variable("term", e->type);
        add(body, kernel::Define{var, e});
        result.push_back(ir::variable(var, e->type));
    }
    return result;
}

/// The recurrence at these points, with their terms.
void ScanKernel::points(kernel::Body& body, const ir::Expr& chunk, const std::vector<Place>& places,
                        const std::vector<ir::Expr>& terms, const ir::Expr& value) {
    const ir::Expr buffer = ir::binary(BinaryOp::Mod, chunk, constant(2));
    const auto distance = static_cast<std::int64_t>(terms_.before.size());
    std::vector<ir::Expr> values;  // from `distance` points before the first one
    for (std::int64_t k = distance; k-- > 0;) {
        values.push_back(ir::variable(terms_.before[static_cast<std::size_t>(k)], stage_.type));
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
        Rewriter::Bindings at = bindings(places[i].at);
        for (std::size_t t = 0; t < terms_.of_scan; ++t) at[terms_.terms[t].var] = terms[i * terms_.of_scan + t];
        for (std::int64_t k = 0; k < distance; ++k) {
            at[terms_.before[static_cast<std::size_t>(k)]] = values[values.size() - 1 - static_cast<std::size_t>(k)];
        }
        const ir::VarId var = build_.variable(stage_.name, stage_.type);
        add(body, kernel::Define{var, rewriter_.instance(value, at)});
        values.push_back(ir::variable(var, stage_.type));
        add(body, kernel::Store{{ir::Source::Kind::Local, static_cast<int>(terms_.of_scan)},
                                {buffer, places[i].line, places[i].position},
                                {values.back()},
                                nullptr});
    }
    // The farthest first: what it takes over may be one of these variables itself.
    for (std::int64_t k = distance; k-- > 0;) {
        add(body, kernel::Assign{terms_.before[static_cast<std::size_t>(k)],
                                 values[values.size() - 1 - static_cast<std::size_t>(k)]});
    }
}

/// The first warp's part of a chunk: code without the conditions of the first points, where the chunk has none of them.
void ScanKernel::recur(kernel::Body& outer, const ir::Expr& chunk) {
    kernel::Body& body = KernelBuilder::guarded(outer, own_exists_);
    const ir::Expr begin = build_.define(body, "begin", product(chunk, constant(tile_.points)), 0);
    const ir::Expr count =
        build_.define(body, "count", ir::binary(BinaryOp::Min, difference(length_, begin), constant(tile_.points)), 0,
                      1, tile_.points + 1);
    if (!interior_.simpler) return chunk_points(body, chunk, count, terms_.value);
    const ir::Expr from = coordinate(body, begin);
    const ir::Expr last = coordinate(body, difference(sum(begin, count), constant(1)));
    auto& choice = add(body, kernel::If{inside(from, last), {}, {}, kernel::If::Uniform::Lane});
    chunk_points(choice.then, chunk, count, interior_.value);
    chunk_points(choice.otherwise, chunk, count, terms_.value);
}

/// Points of a round whose terms are loaded during the round before; 1: they are not. Terms of more registers make
/// rounds so short that this costs more than the loads, and bytes would be unpacked twice. A stage with holes has terms
/// only of points that exist.
std::int64_t ScanKernel::round_ahead() const {
    std::int64_t registers = 0;
    for (std::size_t t = 0; t < terms_.of_scan; ++t) {
        const Type type = terms_.terms[t].value->type;
        if (ir::bytes(type) < 4) return 1;
        registers += registers_of(type);
    }
    if (guard_ || registers == 0 || registers > kMostAheadOfPoint) return 1;
    return std::min(kChainPoints / registers, tile_.points);
}

/// The rounds up to position `end`. The last one loads its own terms again, since there is no next one.
void ScanKernel::rounds_ahead(kernel::Body& body, const ir::Expr& chunk, const ir::Expr& end, std::int64_t round,
                              const ir::Expr& value) {
    std::vector<ir::VarId> next;
    std::vector<ir::Expr> loaded;
    for (const ir::Expr& e : own_terms(chunk, own_places(body, chunk, constant(0), round))) {
        next.push_back(build_.variable("next", e->type));
        loaded.push_back(ir::variable(next.back(), e->type));
        add(body, kernel::Variable{next.back(), e});
    }
    ir::Expr at;
    kernel::Body& inner = build_.loop(body, "column", constant(0), end, constant(round), at);
    const std::vector<ir::Expr> terms = defined(inner, loaded);
    const ir::Expr later = ir::binary(BinaryOp::Min, sum(at, constant(round)), constant(tile_.points - round));
    const ir::Expr from = build_.define(inner, "next_column", later, 0, round, tile_.points);
    const std::vector<ir::Expr> after = own_terms(chunk, own_places(inner, chunk, from, round));
    for (std::size_t i = 0; i < next.size(); ++i) add(inner, kernel::Assign{next[i], after[i]});
    points(inner, chunk, own_places(inner, chunk, at, round), terms, value);
}

void ScanKernel::chunk_points(kernel::Body& body, const ir::Expr& chunk, const ir::Expr& count, const ir::Expr& value) {
    const auto rounds = [&](const ir::Expr& first, const ir::Expr& end, std::int64_t round) {
        const ir::VarId var = build_.variable("column", Type::Int32);
        rewriter_.index(var, round, 0, tile_.points);
        const ir::Expr at = rewriter_.unique(ir::variable(var, Type::Int32));
        kernel::Body& inner = add(body, kernel::For{var, first, end, constant(round), false, {}}).body;
        const std::vector<Place> places = own_places(inner, chunk, at, round);
        points(inner, chunk, places, defined(inner, own_terms(chunk, places)), value);
    };
    const bool large = ir::node_count(value) * kChainPoints > kLargestScanBody;
    const std::int64_t ahead = large ? 1 : round_ahead();
    const std::int64_t each = large ? 1 : ahead > 1 ? ahead : std::min(kChainPoints, tile_.points);
    ir::Expr first = constant(0);
    if (each > 1) {
        const ir::Expr rest = ir::binary(BinaryOp::Mod, count, constant(each));
        first = build_.define(body, "full", difference(count, rest), 0, each, tile_.points + 1);
        ahead > 1 ? rounds_ahead(body, chunk, first, each, value) : rounds(constant(0), first, each);
    }
    rounds(first, count, 1);
}

kernel::Kernel ScanKernel::build() {
    kernel::Kernel& kernel = build_.kernel;
    kernel.name = stage_.name;
    kernel.layout = kernel::Layout::Dense;
    kernel.block = {kWarp, static_cast<int>(1 + kWarps), 1};
    using Id = kernel::Special::Id;
    lane_ = build_.special(Id::ThreadX);
    rewriter_.index(ir::as<ir::Variable>(lane_)->id, 1, 0, kWarp);
    const ir::Expr team = build_.special(Id::ThreadY);
    rewriter_.index(ir::as<ir::Variable>(team)->id, 1, 0, 1 + kWarps);

    kernel.grid[0] = ceil_div(add_arguments(), tile_.lines);

    kernel::Body& body = kernel.body;
    first_line_ =
        build_.define(body, "first_line", product(build_.special(Id::BlockX), constant(tile_.lines)), 0, tile_.lines);
    warp_ = build_.define(body, "warp", difference(team, constant(1)), -1, 1, kWarps);
    own_exists_ = line_place(body, build_.define(body, "line", sum(first_line_, lane_), 0), own_at_);
    if (tile_.lines < kWarp) {
        own_exists_ = both(ir::binary(BinaryOp::Lt, lane_, constant(tile_.lines)), own_exists_);
    }
    // Two chunks of the block's lines.
    const auto extents = [&](Type type) {
        return std::vector<std::int64_t>{2, tile_.lines, tile_.pitch(ir::bytes(type))};
    };
    for (std::size_t t = 0; t < terms_.of_scan; ++t) {
        const Type type = terms_.terms[t].value->type;
        add_shared("term", type, extents(type));
    }
    add_shared("values", stage_.type, extents(stage_.type));
    for (const ir::VarId var : terms_.before) add(body, kernel::Variable{var, nothing(stage_.type)});
    arrange_loads();
    if (!ahead_.empty()) {
        load_ahead(KernelBuilder::guarded(body, ir::binary(BinaryOp::Ge, warp_, constant(0))), constant(0));
    }
    const ir::Expr chunks = build_.define(body, "chunks", ceil_div(length_, tile_.points), 0);
    ir::Expr turn;
    kernel::Body& march = build_.loop(body, "turn", constant(0), sum(chunks, constant(2)), constant(1), turn);
    auto& choice =
        add(march, kernel::If{ir::binary(BinaryOp::Eq, team, constant(0)), {}, {}, kernel::If::Uniform::Warp});
    {
        const ir::Expr chunk = difference(turn, constant(1));
        kernel::Body& there = KernelBuilder::guarded(
            choice.then, both(ir::binary(BinaryOp::Ge, turn, constant(1)), ir::binary(BinaryOp::Le, turn, chunks)));
        recur(there, build_.define(there, "chunk", chunk, 0));
    }
    compute_terms(KernelBuilder::guarded(choice.otherwise, ir::binary(BinaryOp::Lt, turn, chunks)), turn);
    if (!ahead_.empty()) {
        const ir::Expr next = sum(turn, constant(1));
        kernel::Body& there = KernelBuilder::guarded(choice.otherwise, ir::binary(BinaryOp::Lt, next, chunks));
        load_ahead(there, build_.define(there, "chunk", next, 0));
    }
    {
        kernel::Body& there = KernelBuilder::guarded(choice.otherwise, ir::binary(BinaryOp::Ge, turn, constant(2)));
        write(there, build_.define(there, "chunk", difference(turn, constant(2)), 0));
    }
    add(march, kernel::kBlockBarrier);
    return std::move(kernel);
}

}  // namespace

std::variant<std::vector<kernel::Step>, std::string> scan_steps(kernel::Program& program,
                                                                const std::vector<int>& members,
                                                                const std::vector<int>& stored,
                                                                const SourceManager& sources,
                                                                const fusion::Choices& choices) {
    const auto member = [&](int index) -> const ir::Stage& {
        return program.pipeline.stages.at(static_cast<std::size_t>(index));
    };
    if (choices.threads || choices.columns) {
        return fmt::format("`{}` reads itself, and the compiler decides which threads its blocks have",
                           member(members.front()).name);
    }
    std::vector<std::string> comments;
    for (const int index : members) {
        const auto lines = stage_comments(member(index), sources);
        comments.insert(comments.end(), lines.begin(), lines.end());
    }
    const ScanMembers all{members.front(), {members.begin() + 1, members.end()}, stored};
    std::vector<kernel::Kernel> kernels;
    if (!member(members.front()).scan->across.empty()) {
        kernels = slice_scan_kernels(program, members.front());
    } else if (auto parallel = parallel_scan_kernels(program, all); !parallel.empty()) {
        if (auto direct = direct_scan_kernel(program, all, parallel.front())) kernels.push_back(std::move(*direct));
        std::ranges::move(parallel, std::back_inserter(kernels));
    } else if (auto lines = short_scan_kernel(program, all)) {
        kernels.push_back(std::move(*lines));
    } else {
        ScanKernel serial(program, all);
        if (!serial.refusal().empty()) return serial.refusal();
        kernel::Kernel some = serial.build();
        if (auto direct = direct_scan_kernel(program, all, some)) kernels.push_back(std::move(*direct));
        kernels.push_back(std::move(some));
    }
    std::vector<kernel::Step> steps;
    for (kernel::Kernel& kernel : kernels) {
        kernel.comments = comments;
        steps.emplace_back().variants.push_back(std::move(kernel));
    }
    return steps;
}

}  // namespace pipec::codegen
