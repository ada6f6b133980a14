#include "codegen/strategies/register/register_tile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "codegen/kernel/kernel_flow.h"
#include "codegen/strategies/register/register_code.h"
#include "codegen/strategies/register/register_pressure.h"
#include "codegen/strategies/register/register_reads.h"
#include "codegen/strategies/register/register_shape.h"
#include "fusion/group_fields.h"
#include "ir/visit.h"
#include "plan/make_plan.h"
#include "plan/register_lanes.h"
#include "plan/register_tile.h"
#include "plan/tiles.h"

namespace pipec::codegen {

namespace {

/// Bytes that accesses of several elements need arrays to be aligned to.
using Needs = std::map<ir::Source, std::int64_t>;

Needs needs_of(const kernel::Program& program, const kernel::Kernel& kernel) {
    Needs needs;
    const auto add_need = [&](ir::Source array, std::size_t count) {
        const auto index = static_cast<std::size_t>(array.index);
        const ir::Type type = array.kind == ir::Source::Kind::Input ? program.pipeline.inputs.at(index).type
                                                                    : program.pipeline.stages.at(index).type;
        if (count > 1) needs[array] = std::max(needs[array], static_cast<std::int64_t>(count) * ir::bytes(type));
    };
    kernel::for_each_stmt(kernel.body, [&](const kernel::Stmt& stmt) {
        if (const auto* copy = std::get_if<kernel::Copy>(&stmt.value)) add_need(copy->from, copy->count);
        const auto* load = std::get_if<kernel::Load>(&stmt.value);
        if (load != nullptr && load->array.kind != ir::Source::Kind::Local) add_need(load->array, load->vars.size());
        if (const auto* store = std::get_if<kernel::Store>(&stmt.value)) add_need(store->array, store->values.size());
    });
    return needs;
}

/// From the widest accesses to single elements. Narrow ones of many columns would not be coalesced, so that lanes have
/// fewer columns there; a store at half the width of loads still fills its sectors.
std::vector<RegisterShape> variants(const fusion::GroupShape& group, const plan::Plan& asked) {
    const std::int64_t most = plan::part_for_elements(group);
    std::vector<RegisterShape> result;
    const auto add_variant = [&](std::int64_t part, std::int64_t load, std::int64_t store) {
        RegisterShape& shape = result.emplace_back();
        shape.plan = plan::with_fewer_columns(group, asked, part);
        shape.plan.registers->load_bytes = load;
        shape.plan.registers->store_bytes = store;
    };
    add_variant(1, 16, 16);
    add_variant(1, 16, 8);
    for (std::int64_t part = 2; part < most; part *= 2) add_variant(part, 16 / part, 16 / part);
    add_variant(most, 0, 0);
    return result;
}

/// Attempts at a kernel; the variables of all but one that is kept go again. (A copy of the program would have all
/// kernels so far.)
class Attempts {
public:
    explicit Attempts(kernel::Program& program) : variables_(program.pipeline.variables), before_(variables_.size()) {}
    ~Attempts() {
        if (!kept_) drop();
    }
    Attempts(const Attempts&) = delete;
    Attempts& operator=(const Attempts&) = delete;

    /// Forgets the attempt before.
    void drop() { variables_.erase(variables_.begin() + static_cast<std::ptrdiff_t>(before_), variables_.end()); }
    void keep() { kept_ = true; }

private:
    std::vector<ir::VariableInfo>& variables_;
    std::size_t before_;
    bool kept_ = false;
};

/// The lanes that code will ask for values, as the plan says: none where they would be too many. Completes the plan by
/// which lanes load what.
std::optional<Reach> planned_reach(kernel::Program& program, const fusion::GroupShape& group, plan::Plan& plan) {
    const Attempts attempts(program);
    TileSpace space(program, group.group, plan.tiles);
    const auto serving = plan::divide_lanes(group, *plan.registers, lane_reads(space, *plan.registers));
    if (!serving) return std::nullopt;
    return Reach{-serving->left, serving->right};
}

/// A way to access memory, and which lanes it asks for values.
struct Variant {
    RegisterShape shape;
    Reach planned;
};

/// Throws a Refusal where too few lanes would store anything.
Variant with_lanes(kernel::Program& program, const fusion::GroupShape& group, RegisterShape shape) {
    const std::optional<Reach> lanes = planned_reach(program, group, shape.plan);
    if (!lanes) throw Refusal{"more than half of the 32 lanes would serve their neighbours only"};
    return {std::move(shape), *lanes};
}

/// The kernel with one way to access memory. What does not hold of the shape is found by making the code; it is made
/// again, too, where it asks other lanes for values than the plan says. Throws a Refusal.
GroupCode::Piece made(kernel::Program& program, const fusion::GroupShape& group, Variant variant) {
    Attempts attempts(program);
    RegisterShape& shape = variant.shape;
    const Reach planned = variant.planned;
    const std::int64_t registers = registers_for_values(program.target.gpu());
    if (program.fast_math) {
        RegisterCode sums(program, group.group, shape, INT64_MAX);
        sums.build();
        shape.fetched_sums = sums.uniform_sums();
        attempts.drop();
    }
    const std::optional<bool> asked = shape.plan.registers->packed;
    shape.halves = asked.value_or(true);
    kernel::Kernel kernel;
    const auto attempt = [&](const Reach& reach) {
        attempts.drop();
        RegisterShape narrower = shape;
        plan::leave_lanes(group, narrower.plan, -reach.lo, reach.hi);
        auto code = std::make_unique<RegisterCode>(program, group.group, narrower, registers);
        kernel = code->build();
        return code;
    };
    auto code = attempt(planned);
    if (asked == true && !code->halves_hold()) {
        throw Refusal{"`packed` must be false or auto: not all points of a stage are known to fit into 16 bits"};
    }
    if (!asked && code->packs() && (code->registers() > registers || !code->halves_hold())) {
        // Rows far apart are there at once where they are halves of one register.
        shape.halves = false;
        code = attempt(planned);
    }
    if (code->registers() > registers) throw too_many_registers(code->registers(), registers);
    const Reach reach = code->reach();
    if (reach.hi - reach.lo > plan::kMostServing) {
        throw Refusal{fmt::format("{} of 32 lanes would serve their neighbours only", reach.hi - reach.lo)};
    }
    if (reach != planned) {
        shape.edge_way = code->edge_way();
        code = attempt(reach);
    }
    attempts.keep();
    BlockOrder in_turns = code->in_turns();
    const plan::RegisterTile& tile = *shape.plan.registers;
    fusion::Choices decided = plan::decided(shape.plan.tiles);
    decided.edges = code->edges();
    if (!shape.halves || code->packs()) decided.packed = shape.halves;
    return {std::move(kernel), std::move(in_turns), tile.load_bytes, tile.store_bytes,
            code->registers(), code->is_ordered(),  decided};
}

/// As many as a thread can have registers: nvcc may begin all of them before it uses one.
constexpr std::size_t kMostSingleLoads = 256;

bool has_late_loads(const GroupCode::Piece& piece) {
    return piece.decided.edges == fusion::EdgeCode::WholeLate || piece.decided.edges == fusion::EdgeCode::SlicedLate;
}

/// Reads of global memory in expressions, each once: those of whole lanes are statements.
std::size_t single_loads(const kernel::Body& body) {
    std::unordered_set<const ir::Node*> found;
    kernel::for_each_stmt(body, [&](const kernel::Stmt& stmt) {
        for (const ir::Expr& root : kernel::expressions(stmt)) {
            ir::for_each_node(root, [&](const ir::Expr& e) {
                const auto* read = ir::as<ir::Read>(e);
                if (read != nullptr && read->source.kind != ir::Source::Kind::Local) found.insert(e.get());
            });
        }
    });
    return found.size();
}

/// Those of the variants that a group cannot do without: with the widest accesses, and with single elements.
std::vector<RegisterShape> needed_variants(const fusion::GroupShape& group, const plan::Plan& asked) {
    std::vector<RegisterShape> all = variants(group, asked);
    return {std::move(all.front()), std::move(all.back())};
}

}  // namespace

std::variant<GroupCode, fusion::Refused> register_tile_code(kernel::Program& program, const poly::Group& group,
                                                            const fusion::GroupSchedule& schedule) {
    const fusion::GroupShape group_shape = fusion::group_shape(program.pipeline, program.model, group);
    const auto plan = plan::make_plan(group_shape, schedule);
    if (const auto* reason = std::get_if<plan::Refusal>(&plan)) return Refusal{*reason};
    const std::size_t before = program.pipeline.variables.size();
    try {
        GroupCode code;
        // Lanes that serve their neighbours only make tiles smaller, which then are possible, too. They are counted
        // before any code is made, which takes a hundred times as long.
        std::vector<Variant> all;
        for (RegisterShape& shape : needed_variants(group_shape, std::get<plan::Plan>(plan)))
            all.push_back(with_lanes(program, group_shape, std::move(shape)));
        for (Variant& variant : all) code.pieces.push_back(made(program, group_shape, std::move(variant)));
        return code;
    } catch (const Refusal& refusal) {
        auto& variables = program.pipeline.variables;
        variables.erase(variables.begin() + static_cast<std::ptrdiff_t>(before), variables.end());
        return refusal;
    }
}

std::vector<plan::Plan> register_tile_plans(kernel::Program& program, const fusion::GroupShape& group,
                                            const plan::Plan& asked) {
    std::vector<plan::Plan> plans;
    for (RegisterShape& shape : variants(group, asked)) {
        const Reach reach = planned_reach(program, group, shape.plan).value_or(Reach{});
        plan::leave_lanes(group, shape.plan, -reach.lo, reach.hi);
        plans.push_back(std::move(shape.plan));
    }
    return plans;
}

std::variant<kernel::Step, std::string> register_tile_step(kernel::Program& program, const poly::Group& group,
                                                           const fusion::GroupSchedule& schedule,
                                                           const GroupCode* begun) {
    const fusion::GroupShape group_shape = fusion::group_shape(program.pipeline, program.model, group);
    const auto plan = plan::make_plan(group_shape, schedule);
    if (const auto* reason = std::get_if<plan::Refusal>(&plan)) return *reason;
    const auto& asked = std::get<plan::Plan>(plan);
    try {
        kernel::Step step;
        std::vector<Needs> needs;
        std::vector<fusion::Choices> decided;
        using fusion::AccessWidths;
        const AccessWidths widths =
            schedule.choices.access_widths.value_or(program.few_widths ? AccessWidths::Few : AccessWidths::All);
        const std::vector<RegisterShape> shapes =
            widths == AccessWidths::Few ? needed_variants(group_shape, asked) : variants(group_shape, asked);
        if (begun == nullptr) {  // refused in the order of register_tile_code
            for (const RegisterShape& shape : needed_variants(group_shape, asked))
                with_lanes(program, group_shape, shape);
        }
        for (const RegisterShape& shape : shapes) {
            const plan::RegisterTile& tile = *shape.plan.registers;
            std::optional<GroupCode::Piece> piece;
            if (begun != nullptr) {
                piece = begun->piece(tile.load_bytes, tile.store_bytes, program.has_turns);
            }
            try {
                if (!piece) piece = made(program, group_shape, with_lanes(program, group_shape, shape));
            } catch (const Refusal&) {
                if (&shape == &shapes.front() || &shape == &shapes.back()) throw;
                continue;
            }
            kernel::Kernel& kernel = piece->kernel;
            // What is fetched ahead lies in shared memory; narrower accesses take registers for more addresses, of
            // which the estimate knows nothing (nvcc spilled some). Nor does it know how early nvcc begins the single
            // loads of code at the edges that has each where it is used: of 480, for minima of 15 x 15 bytes, most were
            // spilled, and took three times as long as all else.
            const bool few_loads = !has_late_loads(*piece) || single_loads(kernel.body) <= kMostSingleLoads;
            if (tile.prefetch == 0 && tile.load_bytes == 16 && tile.store_bytes == 16 && !piece->is_ordered &&
                few_loads)
                kernel.least_blocks = blocks_for_registers(piece->registers, kernel, program.target.gpu());
            if (kernel.layout == kernel::Layout::Wide) {
                // Of no use where it needs nothing, or never less than one before it.
                const Needs now = needs_of(program, kernel);
                const auto covers = [&](const Needs& before) {
                    return std::all_of(before.begin(), before.end(), [&](const auto& need) {
                        const auto found = now.find(need.first);
                        return found != now.end() && found->second >= need.second;
                    });
                };
                if (now.empty() || std::any_of(needs.begin(), needs.end(), covers)) continue;
                needs.push_back(now);
                kernel.name += plan::access_suffix(tile);
            }
            step.variants.push_back(std::move(kernel));
            decided.push_back(piece->decided);
        }
        step.decided = fusion::agreed(decided);
        step.decided.access_widths = widths;
        return step;
    } catch (const Refusal& refusal) {
        return refusal.reason;
    }
}

}  // namespace pipec::codegen
