#include "plan/plan_print.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

#include "plan/hybrid_tile.h"
#include "plan/tiles.h"

namespace pipec::plan {

namespace {

class Printer {
public:
    Printer(const ir::Pipeline& pipeline, const fusion::GroupShape& shape, const Plan& plan)
        : pipeline_(pipeline), shape_(shape), plan_(plan), dims_(dimension_names(pipeline, shape.group)) {}

    std::string text() {
        threads();
        for (std::size_t g = 0; g < plan_.tiles.cuts.size(); ++g) dimension(g);
        order();
        if (plan_.march) march();
        if (plan_.registers) register_tile();
        if (plan_.hybrid) hybrid();
        for (std::size_t m = 0; m < shape_.shapes.size(); ++m) stage(m);
        shared_memory();
        return std::move(text_);
    }

private:
    template <class... Args>
    void line(int indent, fmt::format_string<Args...> format, Args&&... args) {
        text_.append(static_cast<std::size_t>(2 * indent), ' ');
        fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
        text_ += '\n';
    }
    [[nodiscard]] const ir::Stage& definition(std::size_t m) const {
        return pipeline_.stages.at(static_cast<std::size_t>(shape_.group.stages[m]));
    }
    /// "1 tile", "2 tiles".
    static std::string counted(std::int64_t count, std::string_view what) {
        return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
    }

    void threads() {
        const Tiles& tiles = plan_.tiles;
        const auto& b = tiles.block;
        const auto& l = tiles.lanes;
        line(1, "block of {} x {} x {} threads: {} of {} x {} x {} lanes", b[0], b[1], b[2],
             counted(tiles.thread_groups(), "thread group"), l[0], l[1], l[2]);
    }

    void dimension(std::size_t g) {
        const Cut& cut = plan_.tiles.cuts[g];
        std::string more;
        if (cut.thread_groups > 1) more += fmt::format(", {} per block", cut.thread_groups);
        if (cut.lanes > 1) more += fmt::format(", {} lanes", cut.lanes);
        if (cut.vector > 1) more += fmt::format(", vectors of {}", cut.vector);
        if (cut.step > 0) more += fmt::format(", moved inward at the ends by multiples of {}", cut.step);
        if (cut.cover > cut.size) more += fmt::format(", then covering {}", cut.cover);
        line(1, "dimension {}: tiles of {}{}", dims_[g], cut.size, more);
    }

    void order() {
        if (dims_.size() < 2) return;
        std::vector<std::string> names;
        for (const std::size_t g : plan_.tiles.order) names.push_back(dims_[g]);
        line(1, "blocks follow each other along {}", fmt::join(names, ", then "));
    }

    void march() {
        const March& march = *plan_.march;
        line(1, "march along {}: {}", dims_[march.dim], counted(march.steps, "step"));
    }

    void register_tile() {
        const RegisterTile& tile = *plan_.registers;
        line(1, "register tile: {} of {} per lane", counted(tile.columns, "column"), dims_[tile.lane_dim]);
        if (tile.left + tile.right > 0)
            line(2, "{} on the left and {} on the right store nothing", counted(tile.left, "lane"),
                 counted(tile.right, "lane"));
        if (tile.load_bytes > 0)
            line(2, "loads of up to {} bytes, stores of up to {}", tile.load_bytes, tile.store_bytes);
        else
            line(2, "loads and stores of single elements");
        if (tile.prefetch > 0) line(2, "{} fetched ahead into shared memory", counted(tile.prefetch, "row"));
    }

    void hybrid() { line(1, "hybrid tile, split along {}", dims_[plan_.hybrid->split_dim]); }

    void stage(std::size_t m) {
        const Part& part = plan_.tiles.parts[m];
        const std::int64_t own = own_points(shape_, plan_.tiles, m);
        line(1, "stage {}{}: {} per tile, {} of them its own (overlap {:.1f} %)", definition(m).name,
             shape_.live[m] ? ", an output" : "", counted(part.points(), "point"), own,
             100.0 * static_cast<double>(part.points() - own) / static_cast<double>(own));
        for (std::size_t d = 0; d < part.extent.size(); ++d) extent(m, d);
        if (plan_.march) window(plan_.march->members[m]);
        if (plan_.registers && plan_.registers->shift[m] != 0)
            line(2, "columns of a lane are {} behind the tile's", plan_.registers->shift[m]);
        if (plan_.hybrid) division(m);
        for (const SharedArray& array : plan_.shared.arrays) {
            if (array.member == m) storage(array);
        }
    }

    void extent(std::size_t m, std::size_t d) {
        const poly::TileExtent& extent = plan_.tiles.parts[m].extent[d];
        const poly::Alignment& a = shape_.group.alignment[m][d];
        const std::string name = pipeline_.variables.at(static_cast<std::size_t>(definition(m).dims[d].var)).name;
        if (a.dim < 0) {
            line(2, "{}: all {}, from {}", name, extent.count, extent.first);
            return;
        }
        const auto g = static_cast<std::size_t>(a.dim);
        const std::int64_t own = plan_.tiles.cuts[g].size / a.scale;
        const Halo beside = halo(extent, own);
        std::string more;
        if (beside.before + beside.after > 0)
            more = fmt::format(", halo of {} before and {} behind", beside.before, beside.after);
        if (a.scale > 1) more += fmt::format(", each {} of {}", a.scale, dims_[g]);
        line(2, "{}: {} from {}{}", name, extent.count, extent.first, more);
    }

    void window(const March::Member& member) {
        if (!member.rows) {
            line(2, "before the march");
            return;
        }
        line(2, "{} per step, row {} in step 0{}", counted(member.each, "row"), member.ahead,
             member.window > 0 ? fmt::format(", window of {}", member.window) : "");
    }

    void division(std::size_t m) {
        const HybridTile::Part& part = plan_.hybrid->parts[m];
        if (part.split && part.iterations > 0) {
            line(2, "{} in lanes, of which {} from shared memory come first", counted(part.iterations, "iteration"),
                 counted(shared_count(shape_, plan_.tiles, *plan_.hybrid, m, *part.split), "column"));
        }
        if (part.in_registers) line(2, "iterations stay in registers");
        if (part.bytes > 0) line(2, "array of {} bytes at {} of the scratch", part.bytes, part.offset);
    }

    void storage(const SharedArray& array) {
        line(2, "array of {} elements, {} bytes, {}, needed from {} to {}", fmt::join(array.extents, " x "),
             array.bytes, array.offset < 0 ? "memory of its own" : fmt::format("at {} of the scratch", array.offset),
             definition(array.first).name, definition(array.last).name);
    }

    void shared_memory() {
        if (plan_.shared.scratch > 0) line(1, "scratch of {} bytes per thread group", plan_.shared.scratch);
        if (plan_.shared.bytes > 0)
            line(1, "shared memory: {} bytes per block, {} per tile", plan_.shared.bytes,
                 counted(plan_.shared.barriers, "barrier"));
    }

    const ir::Pipeline& pipeline_;
    const fusion::GroupShape& shape_;
    const Plan& plan_;
    std::vector<std::string> dims_;
    std::string text_;
};

}  // namespace

std::vector<std::string> dimension_names(const ir::Pipeline& pipeline, const poly::Group& group) {
    std::vector<std::string> names;
    for (int g = 0; g < group.rank; ++g) names.push_back(fmt::format("dim {}", g));
    for (std::size_t m = 0; m < group.stages.size(); ++m) {
        const ir::Stage& member = pipeline.stages.at(static_cast<std::size_t>(group.stages[m]));
        for (std::size_t d = 0; d < member.dims.size(); ++d) {
            const int g = group.alignment[m][d].dim;
            const ir::VariableInfo& var = pipeline.variables.at(static_cast<std::size_t>(member.dims[d].var));
            if (g >= 0 && var.range.valid()) names[static_cast<std::size_t>(g)] = var.name;
        }
    }
    return names;
}

std::string to_string(const ir::Pipeline& pipeline, const fusion::GroupShape& shape, const Plan& plan) {
    return Printer(pipeline, shape, plan).text();
}

}  // namespace pipec::plan
