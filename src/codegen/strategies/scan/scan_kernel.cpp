// A scan: lines of points that wait for each other, beside lines that do not. A block has some lines and goes along
// them in chunks. Its first warp, each lane of which has a line, computes the values of a chunk, point by point, while
// the other warps compute for the next chunk what does not depend on the scan (scan_terms.h), and write to memory what
// came of the chunk before. So the chain of dependent operations has nothing in it but the recurrence, and all accesses
// to memory are by threads beside each other, whatever the direction of the lines in memory.
//
// Where lines run along the innermost dimension, each of the other warps has a line, and its lanes have adjacent
// points; few lines with long chunks then keep more blocks at work. Otherwise lanes have the same point of adjacent
// lines, as many as one access to memory takes. The chunks change hands in shared memory, which has two of each.
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
#include "ir/build.h"
#include "ir/visit.h"
#include "plan/scan_tile.h"

namespace pipec::codegen {

using ir::BinaryOp;
using ir::Type;

namespace {

constexpr std::int64_t kWarps = plan::kScanWarps;
/// Points that are written out behind each other, unless that is much code: of a chunk, and of a line's recurrence.
constexpr std::int64_t kChunkPoints = 8;
constexpr std::int64_t kChainPoints = 16;

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
    [[nodiscard]] static ir::Expr element(std::size_t array, Type type, const ir::Expr& buffer, const Place& place);
    template <class Visit>
    void others(kernel::Body& body, const ir::Expr& chunk, bool writes, const Visit& visit);
    void compute_terms(kernel::Body& body, const ir::Expr& chunk);
    void write(kernel::Body& body, const ir::Expr& chunk);
    void recur(kernel::Body& body, const ir::Expr& chunk);
    void chunk_points(kernel::Body& body, const ir::Expr& chunk, const ir::Expr& count, const ir::Expr& value);
    void points(kernel::Body& body, const ir::Expr& chunk, const ir::Expr& first, std::int64_t count,
                const ir::Expr& value);

    bool along_memory_ = false;  ///< lines run along the innermost dimension
    std::int64_t block_lines_ = 0, chunk_ = 0;
    ir::Expr lane_, warp_, first_line_;
    // Of the first warp's lanes.
    std::vector<ir::Expr> own_at_;
    ir::Expr own_exists_;
};

/// Which dimensions are lines, in which direction they lie, and how much of them a chunk has.
void ScanKernel::arrange() {
    std::int64_t bytes = ir::bytes(stage_.type);
    for (std::size_t t = 0; t < terms_.of_scan; ++t) bytes += ir::bytes(terms_.terms[t].value->type);
    const plan::ScanTile tile =
        plan::make_scan_tile(order_, stage_.scan->dim, extents_, bytes, static_cast<std::int64_t>(terms_.of_scan) + 1,
                             program_.target.gpu().shared_per_block);
    along_memory_ = tile.along_memory;
    block_lines_ = tile.lines;
    chunk_ = tile.points;
}

/// Arrays are numbered as the terms are; the one after them has the scan's values.
ir::Expr ScanKernel::element(std::size_t array, Type type, const ir::Expr& buffer, const Place& place) {
    return ir::read({ir::Source::Kind::Local, static_cast<int>(array)}, type, {buffer, place.line, place.position});
}

/// Calls `visit(body, places)` for the points of a chunk that are a thread's of the warps besides the first, a few at a
/// time. Where the thread `writes`, or where the stage has holes, only some may exist; otherwise those that do not are
/// the last point or line instead, so that no access has to wait for a condition.
template <class Visit>
void ScanKernel::others(kernel::Body& outer, const ir::Expr& chunk, bool writes, const Visit& visit) {
    const ir::Expr begin = build_.define(outer, "begin", product(chunk, constant(chunk_)), 0);
    const ir::Expr row = along_memory_ ? warp_ : lane_;
    const bool exact = writes || guard_;
    ir::Expr line = sum(first_line_, row);
    if (!exact) line = ir::binary(BinaryOp::Min, line, difference(lines_, constant(1)));
    if (exact || !line_dims_.empty()) line = build_.define(outer, "line", line, 0);
    std::vector<ir::Expr> at;
    const ir::Expr line_exists = line_place(outer, line, at);
    const std::int64_t each = along_memory_ ? kWarp : kWarps;
    const std::int64_t steps = std::max<std::int64_t>(1, chunk_ / each);
    const std::int64_t nodes = term_nodes(writes && !terms_.readers.empty());
    const std::int64_t at_once = nodes * kChunkPoints > kLargestScanBody ? 1 : std::min(kChunkPoints, steps);
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
        const ir::Expr column = sum(product(step, constant(each)), along_memory_ ? lane_ : warp_);
        place.position = build_.define(*body, "column", column, 0, 1, std::max(chunk_, each));
        ir::Expr position = build_.define(*body, "position", sum(begin, place.position), 0);
        if (exact) {
            place.exists = both(line_exists, ir::binary(BinaryOp::Lt, position, length_));
        } else {
            const ir::Expr last = difference(length_, constant(1));
            position = build_.define(*body, "position", ir::binary(BinaryOp::Min, position, last), 0);
        }
        if (chunk_ < each) {
            place.exists = both(place.exists, ir::binary(BinaryOp::Lt, place.position, constant(chunk_)));
        }
        place.at = at;
        place.at[scan_] = coordinate(*body, position);
    }
    visit(*body, places);
}

void ScanKernel::compute_terms(kernel::Body& outer, const ir::Expr& chunk) {
    if (terms_.of_scan == 0) return;
    const ir::Expr buffer = build_.define(outer, "buffer", ir::binary(BinaryOp::Mod, chunk, constant(2)), 0, 1, 2);
    others(outer, chunk, false, [&](kernel::Body& body, const std::vector<Place>& places) {
        std::vector<kernel::Store> stores;
        for (const Place& place : places) {
            const Rewriter::Bindings at = bindings(place.at);
            for (std::size_t t = 0; t < terms_.of_scan; ++t) {
                const ScanTerm& term = terms_.terms[t];
                const Type type = term.value->type;
                const ir::Expr value = term_value(term, at, guard_ ? place.exists : nullptr);
                const ir::VarId var = build_.variable("term", type);
                add(body, kernel::Define{var, value});
                stores.push_back({{ir::Source::Kind::Local, static_cast<int>(t)},
                                  {buffer, place.line, place.position},
                                  {ir::variable(var, type)},
                                  place.exists});
            }
        }
        for (kernel::Store& store : stores) add(body, std::move(store));
    });
}

void ScanKernel::write(kernel::Body& outer, const ir::Expr& chunk) {
    const ir::Expr buffer = build_.define(outer, "buffer", ir::binary(BinaryOp::Mod, chunk, constant(2)), 0, 1, 2);
    others(outer, chunk, true, [&](kernel::Body& body, const std::vector<Place>& places) {
        // What readers need besides is loaded for all points before one of them is stored.
        std::vector<Rewriter::Bindings> given;
        for (const Place& place : places) {
            Rewriter::Bindings& at = given.emplace_back(bindings(place.at));
            for (const std::size_t t : reader_terms()) {
                const ScanTerm& term = terms_.terms[t];
                const ir::VarId var = build_.variable("term", term.value->type);
                add(body, kernel::Define{var, term_value(term, at, place.exists)});
                at[term.var] = ir::variable(var, term.value->type);
            }
        }
        for (std::size_t i = 0; i < places.size(); ++i) {
            const Place& place = places[i];
            ir::Expr value = element(terms_.of_scan, stage_.type, buffer, place);
            if (!terms_.readers.empty()) {
                const ir::VarId var = build_.variable(stage_.name, stage_.type);
                // Of points behind the end there is no value.
                add(body, kernel::Define{var, ir::select(place.exists, value, nothing(stage_.type))});
                value = ir::variable(var, stage_.type);
            }
            store_point(body, place.at, given[i], value, place.exists);
        }
    });
}

/// `count` points of a lane's line, from position `first` of the chunk.
void ScanKernel::points(kernel::Body& body, const ir::Expr& chunk, const ir::Expr& first, std::int64_t count,
                        const ir::Expr& value) {
    const ir::Expr buffer = ir::binary(BinaryOp::Mod, chunk, constant(2));
    const auto distance = static_cast<std::int64_t>(terms_.before.size());
    std::vector<ir::Expr> values;  // from `distance` points before the first one
    for (std::int64_t k = distance; k-- > 0;) {
        values.push_back(ir::variable(terms_.before[static_cast<std::size_t>(k)], stage_.type));
    }
    std::vector<Place> places;
    std::vector<Rewriter::Bindings> given;
    for (std::int64_t i = 0; i < count; ++i) {
        Place& place = places.emplace_back();
        place.line = lane_;
        place.position = i == 0 ? first : build_.define(body, "column", sum(first, constant(i)), 0, 1, chunk_);
        place.at = own_at_;
        place.at[scan_] = coordinate(body, sum(product(chunk, constant(chunk_)), place.position));
        Rewriter::Bindings& at = given.emplace_back(bindings(place.at));
        for (std::size_t t = 0; t < terms_.of_scan; ++t) {
            const Type type = terms_.terms[t].value->type;
            const ir::VarId var = build_.variable("term", type);
            add(body, kernel::Define{var, element(t, type, buffer, place)});
            at[terms_.terms[t].var] = ir::variable(var, type);
        }
    }
    for (std::int64_t i = 0; i < count; ++i) {
        Rewriter::Bindings& at = given[static_cast<std::size_t>(i)];
        for (std::int64_t k = 0; k < distance; ++k) {
            at[terms_.before[static_cast<std::size_t>(k)]] = values[values.size() - 1 - static_cast<std::size_t>(k)];
        }
        const ir::VarId var = build_.variable(stage_.name, stage_.type);
        add(body, kernel::Define{var, rewriter_.instance(value, at)});
        values.push_back(ir::variable(var, stage_.type));
        const Place& place = places[static_cast<std::size_t>(i)];
        add(body, kernel::Store{{ir::Source::Kind::Local, static_cast<int>(terms_.of_scan)},
                                {buffer, place.line, place.position},
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
    const ir::Expr begin = build_.define(body, "begin", product(chunk, constant(chunk_)), 0);
    const ir::Expr count = build_.define(
        body, "count", ir::binary(BinaryOp::Min, difference(length_, begin), constant(chunk_)), 0, 1, chunk_ + 1);
    if (!interior_.simpler) return chunk_points(body, chunk, count, terms_.value);
    const ir::Expr from = coordinate(body, begin);
    const ir::Expr last = coordinate(body, difference(sum(begin, count), constant(1)));
    auto& choice = add(body, kernel::If{inside(from, last), {}, {}, kernel::If::Uniform::Lane});
    chunk_points(choice.then, chunk, count, interior_.value);
    chunk_points(choice.otherwise, chunk, count, terms_.value);
}

void ScanKernel::chunk_points(kernel::Body& body, const ir::Expr& chunk, const ir::Expr& count, const ir::Expr& value) {
    const std::int64_t each =
        ir::node_count(value) * kChainPoints > kLargestScanBody ? 1 : std::min(kChainPoints, chunk_);
    const auto loop = [&](const ir::Expr& first, const ir::Expr& end, std::int64_t points_of_round) {
        const ir::VarId var = build_.variable("column", Type::Int32);
        rewriter_.index(var, points_of_round, 0, chunk_);
        const ir::Expr at = rewriter_.unique(ir::variable(var, Type::Int32));
        auto& rounds = add(body, kernel::For{var, first, end, constant(points_of_round), false, {}});
        points(rounds.body, chunk, at, points_of_round, value);
    };
    ir::Expr first = constant(0);
    if (each > 1) {
        const ir::Expr rest = ir::binary(BinaryOp::Mod, count, constant(each));
        first = build_.define(body, "full", difference(count, rest), 0, each, chunk_ + 1);
        loop(constant(0), first, each);
    }
    loop(first, count, 1);
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

    kernel.grid[0] = ceil_div(add_arguments(), block_lines_);

    kernel::Body& body = kernel.body;
    first_line_ =
        build_.define(body, "first_line", product(build_.special(Id::BlockX), constant(block_lines_)), 0, block_lines_);
    warp_ = build_.define(body, "warp", difference(team, constant(1)), -1, 1, kWarps);
    own_exists_ = line_place(body, build_.define(body, "line", sum(first_line_, lane_), 0), own_at_);
    if (block_lines_ < kWarp) {
        own_exists_ = both(ir::binary(BinaryOp::Lt, lane_, constant(block_lines_)), own_exists_);
    }
    // Two chunks of the block's lines. A row has one element more, so that neither rows nor columns meet in a bank.
    const std::vector<std::int64_t> extents{2, block_lines_, chunk_ + 1};
    for (std::size_t t = 0; t < terms_.of_scan; ++t) add_shared("term", terms_.terms[t].value->type, extents);
    add_shared("values", stage_.type, extents);
    for (const ir::VarId var : terms_.before) add(body, kernel::Variable{var, nothing(stage_.type)});
    const ir::Expr chunks = build_.define(body, "chunks", ceil_div(length_, chunk_), 0);
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
    } else if (auto parallel = parallel_scan_kernel(program, all)) {
        kernels.push_back(std::move(*parallel));
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
