#include "codegen/strategies/register/register_order.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codegen/kernel/kernel_flow.h"
#include "codegen/strategies/register/register_pressure.h"
#include "fusion/written_out.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

using kernel::Body;
using kernel::Stmt;

namespace {

/// Of fewer terms nothing is gained.
constexpr std::size_t kLeastTerms = 3;
/// A load is later than arithmetic that takes as many registers: what is there is used first.
constexpr std::int64_t kLoadPenalty = 4;

/// What stays together: a statement with the remarks before it, and which part of a sum it is.
struct Unit {
    std::vector<Stmt> stmts;
    int sum = -1;                     ///< number of the sum that was split; -1: none
    std::int64_t begins{};            ///< bytes of the variables that it defines
    std::vector<std::size_t> before;  ///< units that must come earlier, each once
    std::vector<std::size_t> values;  ///< those of them whose variables it uses
};

/// Nothing may move past a statement for which this is false. Loops become one where they stand together.
bool is_movable(const Stmt& stmt) {
    const auto* define = std::get_if<kernel::Define>(&stmt.value);
    if (define != nullptr && fusion::has_loops(define->value)) return false;
    bool movable = true;
    kernel::for_each_stmt(stmt, [&](const Stmt& inner) {
        const auto* load = std::get_if<kernel::Load>(&inner.value);
        movable = movable && (load != nullptr ? !load->ahead
                                              : std::holds_alternative<kernel::Define>(inner.value) ||
                                                    std::holds_alternative<kernel::Shuffle>(inner.value) ||
                                                    std::holds_alternative<kernel::Store>(inner.value) ||
                                                    std::holds_alternative<kernel::If>(inner.value) ||
                                                    std::holds_alternative<kernel::Remark>(inner.value));
    });
    return movable;
}

bool is_load(const Unit& unit) {
    const Stmt& stmt = unit.stmts.back();
    if (std::holds_alternative<kernel::Load>(stmt.value)) return true;
    const auto* define = std::get_if<kernel::Define>(&stmt.value);
    return define != nullptr && std::holds_alternative<ir::Read>(define->value->value);
}

/// The variables that a statement defines for those after it.
std::vector<ir::VarId> defined(const Stmt& stmt) {
    if (const auto* n = std::get_if<kernel::Define>(&stmt.value)) return {n->var};
    if (const auto* n = std::get_if<kernel::Shuffle>(&stmt.value)) return {n->var};
    if (const auto* n = std::get_if<kernel::Load>(&stmt.value)) return n->vars;
    return {};
}

/// Straight-line statements between two that cannot move.
class Segment {
public:
    explicit Segment(ir::Pipeline& pipeline) : pipeline_(pipeline) {}

    void add(const Stmt& stmt) {
        if (std::holds_alternative<kernel::Remark>(stmt.value)) {
            remarks_.push_back(stmt);
            return;
        }
        const auto* define = std::get_if<kernel::Define>(&stmt.value);
        const std::vector<ir::Expr> parts = define != nullptr ? parts_of(define->value) : std::vector<ir::Expr>{};
        if (parts.size() < kLeastTerms) {
            add_unit(stmt, -1);
            return;
        }
        ir::Expr before = parts.front();
        for (std::size_t i = 1; i < parts.size(); ++i) {
            const auto& step = *ir::as<ir::Binary>(parts[i]);
            const ir::Expr value = i == 1 ? parts[i] : ir::binary(step.op, before, step.b);
            const bool is_last = i + 1 == parts.size();
            const std::string& name = pipeline_.variables.at(static_cast<std::size_t>(define->var)).name;
            const ir::VarId var = is_last ? define->var : ir::new_variable(pipeline_, name + "_sum", value->type);
            add_unit(Stmt{kernel::Define{var, value}}, sums_);
            before = ir::variable(var, value->type);
        }
        ++sums_;
    }

    /// Appends the statements in the new order, and begins again.
    void write(Body& body) {
        const std::vector<std::size_t> order = greedy();
        int last = -1;  // the sum of which a part has just been written
        for (const std::size_t i : order) {
            Unit& unit = units_[i];
            if (unit.sum >= 0 && unit.sum == last) {
                // Nothing came between: one statement again.
                auto& before = std::get<kernel::Define>(body.back().value);
                const auto& define = std::get<kernel::Define>(unit.stmts.back().value);
                const auto& step = *ir::as<ir::Binary>(define.value);
                before = kernel::Define{define.var, ir::binary(step.op, before.value, step.b)};
            } else {
                body.insert(body.end(), unit.stmts.begin(), unit.stmts.end());
            }
            last = unit.sum;
        }
        body.insert(body.end(), remarks_.begin(), remarks_.end());
        units_.clear();
        remarks_.clear();
        of_var_.clear();
        arrays_.clear();
    }

private:
    /// a + b - c + d of floats: a, a + b, a + b - c and the whole; of other expressions nothing.
    static std::vector<ir::Expr> parts_of(const ir::Expr& e) {
        std::vector<ir::Expr> parts;
        for (ir::Expr at = e; ir::is_float(at->type); at = ir::as<ir::Binary>(at)->a) {
            parts.push_back(at);
            const auto* sum = ir::as<ir::Binary>(at);
            if (sum == nullptr || (sum->op != ir::BinaryOp::Add && sum->op != ir::BinaryOp::Sub)) break;
        }
        std::reverse(parts.begin(), parts.end());
        return parts;
    }

    void add_unit(const Stmt& stmt, int sum) {
        const std::size_t number = units_.size();
        Unit unit;
        unit.stmts = std::move(remarks_);
        remarks_.clear();
        unit.stmts.push_back(stmt);
        unit.sum = sum;
        std::set<std::size_t> before, values;
        std::set<ir::Source> reads, writes;
        kernel::for_each_stmt(stmt, [&](const Stmt& inner) {
            if (const auto* load = std::get_if<kernel::Load>(&inner.value)) reads.insert(load->array);
            if (const auto* store = std::get_if<kernel::Store>(&inner.value)) writes.insert(store->array);
            for (const ir::Expr& root : kernel::expressions(inner)) {
                ir::for_each_node(root, [&](const ir::Expr& e) {
                    if (const auto* read = ir::as<ir::Read>(e)) reads.insert(read->source);
                    const auto* variable = ir::as<ir::Variable>(e);
                    if (variable == nullptr) return;
                    const auto found = of_var_.find(variable->id);
                    if (found != of_var_.end()) values.insert(found->second);
                });
            }
        });
        before = values;
        for (const ir::Source& array : reads) {
            Accesses& accesses = arrays_[array];
            if (accesses.write) before.insert(*accesses.write);
            accesses.reads.push_back(number);
        }
        for (const ir::Source& array : writes) {
            Accesses& accesses = arrays_[array];
            if (accesses.write) before.insert(*accesses.write);
            before.insert(accesses.reads.begin(), accesses.reads.end());
            accesses = {number, {}};
        }
        before.erase(number);
        const std::vector<ir::VarId> vars = defined(stmt);
        for (const ir::VarId var : vars) {
            of_var_[var] = number;
            unit.begins += register_bytes(pipeline_, var, vars.size() > 1);
        }
        unit.before.assign(before.begin(), before.end());
        unit.values.assign(values.begin(), values.end());
        units_.push_back(std::move(unit));
    }

    /// List scheduling: of the statements that may come next, the one after which the fewest bytes are alive; of equal
    /// ones the first in the text.
    [[nodiscard]] std::vector<std::size_t> greedy() const {
        const std::size_t count = units_.size();
        std::vector<std::size_t> waits(count), users(count, 0);
        std::vector<std::vector<std::size_t>> after(count), used_by(count);
        for (std::size_t i = 0; i < count; ++i) {
            waits[i] = units_[i].before.size();
            for (const std::size_t j : units_[i].before) after[j].push_back(i);
            for (const std::size_t j : units_[i].values) used_by[j].push_back(i), ++users[j];
        }
        const std::vector<std::size_t> all_users = users;
        std::set<std::pair<std::int64_t, std::size_t>> ready;
        std::vector<std::optional<std::int64_t>> cost(count);  // of those that are ready
        const auto enter = [&](std::size_t i) {
            if (cost[i]) ready.erase({*cost[i], i});
            std::int64_t bytes = all_users[i] > 0 ? units_[i].begins : 0;
            if (is_load(units_[i])) bytes += kLoadPenalty;
            for (const std::size_t j : units_[i].values)
                if (users[j] == 1) bytes -= units_[j].begins;
            cost[i] = bytes;
            ready.insert({bytes, i});
        };
        for (std::size_t i = 0; i < count; ++i)
            if (waits[i] == 0) enter(i);
        std::vector<std::size_t> order;
        order.reserve(count);
        while (!ready.empty()) {
            const std::size_t next = ready.begin()->second;
            ready.erase(ready.begin());
            cost[next].reset();
            order.push_back(next);
            for (const std::size_t j : units_[next].values) {
                if (--users[j] != 1) continue;
                for (const std::size_t user : used_by[j])
                    if (cost[user]) enter(user);
            }
            for (const std::size_t i : after[next])
                if (--waits[i] == 0) enter(i);
        }
        return order;
    }

    struct Accesses {
        std::optional<std::size_t> write;  ///< the last one
        std::vector<std::size_t> reads;    ///< since then
    };

    ir::Pipeline& pipeline_;
    std::vector<Unit> units_;
    std::vector<Stmt> remarks_;
    std::unordered_map<ir::VarId, std::size_t> of_var_;  ///< the unit that defines a variable
    std::map<ir::Source, Accesses> arrays_;
    int sums_ = 0;  ///< that were split so far
};

Body ordered(ir::Pipeline& pipeline, const Body& body) {
    Body result;
    Segment segment(pipeline);
    for (Stmt stmt : body) {
        if (auto* loop = std::get_if<kernel::For>(&stmt.value)) loop->body = ordered(pipeline, loop->body);
        if (auto* branch = std::get_if<kernel::If>(&stmt.value)) {
            branch->then = ordered(pipeline, branch->then);
            branch->otherwise = ordered(pipeline, branch->otherwise);
        }
        if (is_movable(stmt)) {
            segment.add(stmt);
            continue;
        }
        segment.write(result);
        result.push_back(std::move(stmt));
    }
    segment.write(result);
    return result;
}

}  // namespace

std::optional<Body> with_fewer_registers(ir::Pipeline& pipeline, const Body& body) {
    const std::size_t variables = pipeline.variables.size();
    Body result = ordered(pipeline, body);
    if (registers_at_once(pipeline, result) < registers_at_once(pipeline, body)) return result;
    pipeline.variables.erase(pipeline.variables.begin() + static_cast<std::ptrdiff_t>(variables),
                             pipeline.variables.end());
    return std::nullopt;
}

}  // namespace pipec::codegen
