#include "codegen/strategies/register/register_prefetch.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "codegen/kernel/kernel_flow.h"
#include "codegen/kernel/shared_memory.h"
#include "codegen/strategies/register/register_shape.h"
#include "ir/visit.h"

namespace pipec::codegen {

namespace {

constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

class Queue {
public:
    Queue(TileSpace& space, std::size_t ahead) : space_(space), ahead_(ahead) {}

    kernel::Body run(std::vector<RowLoad> loads, kernel::Body computed) {
        const std::vector<std::size_t> due = first_uses(loads, computed);
        kernel::Body body;
        std::vector<std::size_t> order;  // of loads that are copied: that in which they are needed
        for (std::size_t i = 0; i < loads.size(); ++i) {
            if (bytes(loads[i].load) < kernel::kCopyBytes)
                add(body, std::move(loads[i].load));
            else if (due[i] != kNever)
                order.push_back(i);
        }
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return due[a] < due[b]; });
        for (const std::size_t i : order) {
            const bool same_row = !rows_.empty() && rows_.back().place == loads[i].row;
            if (!same_row) rows_.push_back({due[i], loads[i].row, {}});
            rows_.back().pieces.push_back({std::move(loads[i].load), 0});
        }

        while (begun_ < std::min(ahead_, rows_.size())) begin(body);
        std::size_t row = 0;
        for (std::size_t i = 0; i < computed.size(); ++i) {
            for (; row < rows_.size() && rows_[row].due == i; ++row) {
                read_back(body, row);
                if (begun_ < rows_.size()) begin(body);
            }
            body.push_back(std::move(computed[i]));
        }
        return body;
    }

private:
    /// A load that is copied, and where it is kept meanwhile.
    struct Piece {
        kernel::Load load;
        std::size_t slot;
    };
    struct Row {
        std::size_t due;  ///< before this statement
        std::vector<ir::Expr> place;
        std::vector<Piece> pieces;
    };
    /// Slots for accesses of one width to one array.
    struct Slots {
        int array;                ///< of the kernel
        std::vector<bool> taken;  ///< by what is under way, or has come and was not read
    };

    [[nodiscard]] ir::Type type_of(ir::Source array) const {
        const auto index = static_cast<std::size_t>(array.index);
        return array.kind == ir::Source::Kind::Input ? space_.program.pipeline.inputs.at(index).type
                                                     : space_.program.pipeline.stages.at(index).type;
    }
    [[nodiscard]] std::int64_t bytes(const kernel::Load& load) const {
        return static_cast<std::int64_t>(load.vars.size()) * ir::bytes(type_of(load.array));
    }

    /// Of each load, the first statement that uses what it loads.
    static std::vector<std::size_t> first_uses(const std::vector<RowLoad>& loads, const kernel::Body& computed) {
        std::unordered_map<ir::VarId, std::size_t> load_of;
        for (std::size_t i = 0; i < loads.size(); ++i) {
            for (const ir::VarId var : loads[i].load.vars) load_of[var] = i;
        }
        std::vector<std::size_t> uses(loads.size(), kNever);
        for (std::size_t i = 0; i < computed.size(); ++i) {
            const auto note = [&](const ir::Expr& e) {
                const auto* variable = ir::as<ir::Variable>(e);
                if (variable == nullptr) return;
                const auto found = load_of.find(variable->id);
                if (found != load_of.end()) uses[found->second] = std::min(uses[found->second], i);
            };
            kernel::for_each_stmt(computed[i], [&](const kernel::Stmt& stmt) {
                for (const ir::Expr& root : kernel::expressions(stmt)) ir::for_each_node(root, note);
            });
        }
        return uses;
    }

    Slots& slots_for(const kernel::Load& load) {
        const auto known = slots_.find({load.array, load.vars.size()});
        if (known != slots_.end()) return known->second;
        std::vector<kernel::SharedArray>& shared = space_.build.kernel.shared;
        const auto index = static_cast<std::size_t>(load.array.index);
        const std::string& name = load.array.kind == ir::Source::Kind::Input
                                      ? space_.program.pipeline.inputs.at(index).name
                                      : space_.program.pipeline.stages.at(index).name;
        kernel::SharedArray array{name + "_rows", type_of(load.array), {}};
        if (space_.teams > 1) array.extents.push_back(space_.teams);
        array.extents.push_back(0);
        array.extents.push_back(kWarp * static_cast<std::int64_t>(load.vars.size()));
        shared.push_back(std::move(array));
        const Slots fresh{static_cast<int>(shared.size()) - 1, {}};
        return slots_.emplace(std::pair{load.array, load.vars.size()}, fresh).first->second;
    }

    /// The lane's part of a slot.
    std::vector<ir::Expr> place(const Piece& piece) const {
        std::vector<ir::Expr> indices;
        if (space_.teams > 1) indices.push_back(space_.team);
        indices.push_back(constant(static_cast<std::int64_t>(piece.slot)));
        const auto count = static_cast<std::int64_t>(piece.load.vars.size());
        indices.push_back(count > 1 ? product(space_.lane, constant(count)) : space_.lane);
        return indices;
    }

    /// Begins the copies of the next row.
    void begin(kernel::Body& body) {
        for (Piece& piece : rows_[begun_].pieces) {
            Slots& slots = slots_for(piece.load);
            const auto free = std::find(slots.taken.begin(), slots.taken.end(), false);
            piece.slot = static_cast<std::size_t>(free - slots.taken.begin());
            if (free == slots.taken.end()) {
                slots.taken.push_back(true);
                kernel::SharedArray& array = space_.build.kernel.shared[static_cast<std::size_t>(slots.array)];
                ++array.extents[array.extents.size() - 2];
            }
            slots.taken[piece.slot] = true;
            add(body, kernel::Copy{{ir::Source::Kind::Local, slots.array},
                                   place(piece),
                                   piece.load.array,
                                   piece.load.indices,
                                   piece.load.vars.size()});
        }
        add(body, kernel::Commit{});
        ++begun_;
    }

    void read_back(kernel::Body& body, std::size_t row) {
        add(body, kernel::Wait{static_cast<int>(begun_ - row - 1)});
        for (const Piece& piece : rows_[row].pieces) {
            Slots& slots = slots_for(piece.load);
            add(body, kernel::Load{piece.load.vars, {ir::Source::Kind::Local, slots.array}, place(piece)});
            slots.taken[piece.slot] = false;
        }
    }

    TileSpace& space_;
    std::size_t ahead_;
    std::vector<Row> rows_;  ///< in the order in which they are due
    std::size_t begun_ = 0;
    std::map<std::pair<ir::Source, std::size_t>, Slots> slots_;  ///< by array and elements of an access
};

}  // namespace

kernel::Body with_prefetch(TileSpace& space, std::vector<RowLoad> loads, kernel::Body computed, int ahead) {
    return Queue(space, static_cast<std::size_t>(ahead)).run(std::move(loads), std::move(computed));
}

void place_prefetched(kernel::Kernel& kernel, const fusion::Target& target) {
    const std::int64_t bytes = own_bytes(kernel);
    if (auto reason = shared_refusal(bytes, target, "the rows that are fetched ahead")) {
        throw Refusal{std::move(*reason)};
    }
    if (bytes <= kStaticSharedBytes) return;
    std::int64_t offset = 0;
    for (kernel::SharedArray& array : kernel.shared) {
        array.offset = offset;
        offset += align_shared(bytes_of(array));
    }
}

}  // namespace pipec::codegen
