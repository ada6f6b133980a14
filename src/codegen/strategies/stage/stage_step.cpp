// Which kernels a stage by itself gets: for the widest accesses, for blocks of points, for single ones, and for so few
// points that a warp has each of them. A launch takes the first one that it has alignment and points for.
#include <algorithm>
#include <array>
#include <optional>

#include "codegen/lower.h"
#include "codegen/strategies/stage/stage_kernel.h"
#include "fusion/group_fields.h"
#include "plan/stage_tile.h"

namespace pipec::codegen {

namespace {

/// Registers for the points of a block: a sum of each, and the loads of all of them at once. nvcc is told, for left to
/// itself it takes 64 where the code of the edges calls a function, and loads one after the other: a column of 81 terms
/// took 0.68 ms of an H100 so, and 0.16 with these. (With 85 or 255 most programs were slower.)
constexpr int kBlockRegisters = 128;

std::int64_t blocks_with_registers(const fusion::Gpu& gpu, const std::array<int, 3>& block) {
    return gpu.registers_per_sm / (kBlockRegisters * block[0] * block[1] * block[2]);
}

}  // namespace

kernel::Step stage_step(kernel::Program& program, int stage, const ir::Expr& value, const SourceManager& sources) {
    return std::get<kernel::Step>(stage_step(program, {{stage, value}}, sources, {}));
}

std::variant<kernel::Step, std::string> stage_step(kernel::Program& program, const std::vector<StageValue>& stages,
                                                   const SourceManager& sources, const fusion::Choices& choices) {
    kernel::Step step;
    StageKernel builder(program, stages, choices);
    if (auto reason = builder.refusal()) return std::move(*reason);
    std::vector<fusion::Choices> decided;
    // Where the threads of single points are too few to keep the GPU busy, each of them waits for one load after the
    // other; then a warp shares a point's reductions out.
    const fusion::LaneTerms terms = builder.lane_terms();
    const bool lanes = choices.shared_lanes.value_or(terms.enough);
    const std::int64_t least_grid = lanes ? plan::stage_least_blocks(program.target.gpu().sms, terms.along_memory) : 0;
    const auto points = builder.all_points();
    const bool few = lanes && points && plan::has_few_points(*points, program.target.gpu().sms, terms.along_memory);
    const bool many = points && !few;
    const auto least_blocks = [&](const kernel::Kernel& kernel) {
        const std::int64_t threads = std::int64_t{kernel.block[0]} * kernel.block[1] * kernel.block[2];
        return least_grid * builder.blocks_of_points() * plan::kStageThreads / threads;
    };
    const auto take = [&](kernel::Kernel kernel) {
        if (!kernel.shares_reductions && !many) kernel.least_grid = std::max(kernel.least_grid, least_blocks(kernel));
        if (builder.has_lanes() && !kernel.shares_reductions)
            decided.emplace_back().threads = {kernel.block[0], kernel.block[1]};
        step.variants.push_back(std::move(kernel));
    };
    std::optional<std::int64_t> width;
    if (builder.splits() && !few) {
        width = builder.width();
        kernel::Kernel wide = builder.build(*width, kernel::Layout::Wide);
        if (builder.has_packs()) take(std::move(wide));
    }
    if (builder.is_block() && !few) {
        // Where some multiprocessors would have no block, threads have single points: then there are more of them.
        const auto take_blocks = [&](const ir::Expr& extent) {
            kernel::Kernel blocks = builder.build(1, kernel::Layout::Dense);
            blocks.least_grid = std::max<std::int64_t>(program.target.gpu().sms, least_blocks(blocks) + 1);
            blocks.least_blocks = blocks_with_registers(program.target.gpu(), blocks.block);
            blocks.extent = extent;
            blocks.least_extent = extent ? builder.across_block() : 0;
            take(std::move(blocks));
        };
        // A block of 32 threads with 4 columns each needs 128 columns to be full: with 64 channels none would be. One
        // of 8 threads across needs 32.
        const ir::Expr extent = choices.threads ? nullptr : builder.short_extent(plan::kWarp);
        if (extent) {
            take_blocks(extent);
            builder.turn_blocks(true);
        }
        take_blocks(nullptr);
        if (extent) builder.turn_blocks(false);
        builder.leave_blocks();
    }
    if (!few) take(builder.build(1, kernel::Layout::Dense));
    if (lanes && !many) {
        builder.share_lanes(stages);
        take(builder.build(1, kernel::Layout::Dense));
    }
    step.decided = fusion::agreed(decided);
    if (terms.enough) step.decided.shared_lanes = lanes && !many;
    if (width) step.decided.columns = static_cast<int>(*width);
    std::vector<std::string> comments;
    for (const StageValue& one : stages) {
        for (std::string& line :
             stage_comments(program.pipeline.stages.at(static_cast<std::size_t>(one.stage)), sources))
            comments.push_back(std::move(line));
    }
    for (kernel::Kernel& kernel : step.variants) kernel.comments = comments;
    return step;
}

}  // namespace pipec::codegen
