#include "codegen/strategies/register/register_pressure.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "codegen/kernel/kernel_flow.h"
#include "ir/visit.h"

namespace pipec::codegen {

namespace {

constexpr int kMostOfThread = 255;  ///< that an instruction can name; the paper counts one more
constexpr int kOnTheWay = 55;
constexpr std::int64_t kGranule = 8;  ///< registers of a thread come in multiples of it
// Measured on an H200 for 24 tiles of seven kernels (reductions by two and their inverse, blur, unsharp masking, Harris
// corners), each with ten limits: with the estimate less 6, where that is not few, the time is within 4 % of the
// fastest.
constexpr std::int64_t kFewest = 56;
constexpr std::int64_t kLess = 6;
/// Of fewer there would be more blocks than some multiprocessors have threads for; of more there are too few.
constexpr std::int64_t kLeastRegisters = 64, kMostRegisters = 128;
/// Divisions and roots of floats are sequences with values of their own.
constexpr std::int64_t kSequence = 20;

bool has_sequences(const kernel::Body& body) {
    bool found = false;
    kernel::for_each_stmt(body, [&](const kernel::Stmt& stmt) {
        for (const ir::Expr& root : kernel::expressions(stmt)) {
            ir::for_each_node(root, [&](const ir::Expr& e) {
                if (!ir::is_float(e->type)) return;
                const auto* binary = ir::as<ir::Binary>(e);
                const auto* call = ir::as<ir::Call>(e);
                found = found || (binary != nullptr && binary->op == ir::BinaryOp::Div) ||
                        (call != nullptr && call->fn == ir::Builtin::Sqrt);
            });
        }
    });
    return found;
}

}  // namespace

std::int64_t blocks_for_registers(std::int64_t at_once, const kernel::Kernel& kernel, const fusion::Gpu& gpu) {
    if (at_once < kFewest) return 0;
    std::int64_t registers = at_once - kLess;
    if (has_sequences(kernel.body)) registers += kSequence;
    registers = (std::max(registers, kLeastRegisters) + kGranule - 1) / kGranule * kGranule;
    if (registers > kMostRegisters) return 0;
    return gpu.registers_per_sm / (std::int64_t{kernel.block[0]} * kernel.block[1] * kernel.block[2] * registers);
}

std::int64_t registers_for_values(const fusion::Gpu& gpu) {
    return std::min(gpu.registers_per_thread, kMostOfThread) - kOnTheWay;
}

std::int64_t register_bytes(const ir::Pipeline& pipeline, ir::VarId var, bool packed) {
    const ir::Type type = pipeline.variables.at(static_cast<std::size_t>(var)).type;
    if (type == ir::Type::Bool) return 0;  // predicates
    return packed ? ir::bytes(type) : std::max<std::int64_t>(ir::bytes(type), kRegisterBytes);
}

std::int64_t registers_at_once(const ir::Pipeline& pipeline, const kernel::Body& body) {
    struct Life {
        std::int64_t first, last;
        bool packed;
    };
    std::unordered_map<ir::VarId, Life> lives;
    std::int64_t now = 0;
    kernel::for_each_stmt(body, [&](const kernel::Stmt& stmt) {
        ++now;
        for (const ir::Expr& root : kernel::expressions(stmt)) {
            ir::for_each_node(root, [&](const ir::Expr& e) {
                const auto* variable = ir::as<ir::Variable>(e);
                if (variable == nullptr) return;
                const auto known = lives.find(variable->id);
                if (known != lives.end()) known->second.last = now;
            });
        }
        const auto begins = [&](ir::VarId var, bool packed = false) { lives.emplace(var, Life{now, now, packed}); };
        if (const auto* n = std::get_if<kernel::Define>(&stmt.value)) begins(n->var);
        if (const auto* n = std::get_if<kernel::Variable>(&stmt.value)) begins(n->var);
        if (const auto* n = std::get_if<kernel::Shuffle>(&stmt.value)) begins(n->var);
        if (const auto* n = std::get_if<kernel::Load>(&stmt.value)) {
            for (const ir::VarId var : n->vars) begins(var, n->vars.size() > 1);
        }
    });
    std::vector<std::int64_t> change(static_cast<std::size_t>(now) + 2, 0);
    for (const auto& [var, life] : lives) {
        const std::int64_t bytes = register_bytes(pipeline, var, life.packed);
        change[static_cast<std::size_t>(life.first)] += bytes;
        change[static_cast<std::size_t>(life.last)] -= bytes;
    }
    std::int64_t live = 0, most = 0;
    for (const std::int64_t c : change) most = std::max(most, live += c);
    return (most + 3) / 4;
}

}  // namespace pipec::codegen
