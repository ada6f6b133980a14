#include "codegen/emit/cuda/division_work.h"

#include <unordered_set>

#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

namespace {

/// Of a loop of which no more is known.
constexpr double kUsualRounds = 16;

double rounds_of(const ir::Expr& lo, const ir::Expr& hi, double step) {
    const auto first = ir::as_int(lo), end = ir::as_int(hi);
    return first && end ? static_cast<double>(*end - *first) / step : kUsualRounds;
}

class Work {
public:
    void add(const kernel::Body& body, double times) {
        for (const kernel::Stmt& stmt : body) add(stmt, times);
    }
    [[nodiscard]] double per_division() const { return divisions_ > 0 ? in_loops_ / divisions_ : 0; }

private:
    void add(const kernel::Stmt& stmt, double times) {
        if (const auto* define = std::get_if<kernel::Define>(&stmt.value)) add(define->value, times);
        if (const auto* variable = std::get_if<kernel::Variable>(&stmt.value)) add(variable->value, times);
        if (const auto* assign = std::get_if<kernel::Assign>(&stmt.value)) add(assign->value, times);
        if (const auto* shuffle = std::get_if<kernel::Shuffle>(&stmt.value)) add(shuffle->value, times);
        if (const auto* load = std::get_if<kernel::Load>(&stmt.value)) {
            if (times > 1) in_loops_ += times * static_cast<double>(load->vars.size());
        }
        if (const auto* store = std::get_if<kernel::Store>(&stmt.value)) {
            for (const ir::Expr& value : store->values) add(value, times);
        }
        if (const auto* loop = std::get_if<kernel::For>(&stmt.value)) {
            const auto step = static_cast<double>(ir::as_int(loop->step).value_or(1));
            add(loop->body, times * rounds_of(loop->lo, loop->hi, step));
        }
        if (const auto* branch = std::get_if<kernel::If>(&stmt.value)) add(branch->then, times);
    }

    void add(const ir::Expr& e, double times) {
        std::unordered_set<const ir::Node*> seen;
        add(e, times, seen);
    }
    void add(const ir::Expr& e, double times, std::unordered_set<const ir::Node*>& seen) {
        if (!seen.insert(e.get()).second) return;
        if (const auto* reduce = ir::as<ir::Reduce>(e)) {
            for (const ir::Range& range : reduce->ranges) times *= rounds_of(range.lo, range.hi, 1);
            std::unordered_set<const ir::Node*> inside;
            return add(reduce->body, times, inside);
        }
        const auto* binary = ir::as<ir::Binary>(e);
        const auto* call = ir::as<ir::Call>(e);
        const bool divides = (binary != nullptr && binary->op == ir::BinaryOp::Div) ||
                             (call != nullptr && (call->fn == ir::Builtin::Sqrt || call->fn == ir::Builtin::Rsqrt));
        if (e->type == ir::Type::Float32 && divides) divisions_ += times;
        if (times > 1 && (ir::is_float(e->type) || ir::as<ir::Read>(e) != nullptr)) in_loops_ += times;
        ir::for_each_child(*e, [&](const ir::Expr& child) { add(child, times, seen); });
    }

    double in_loops_ = 0, divisions_ = 0;
};

}  // namespace

double work_per_division(const kernel::Body& body) {
    Work work;
    work.add(body, 1);
    return work.per_division();
}

}  // namespace pipec::codegen
