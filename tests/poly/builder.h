// Small pipelines for the tests of src/poly, written with C++ operators.
#pragma once

#include <numeric>
#include <string>
#include <vector>

#include "ir/build.h"
#include "ir/pipeline.h"
#include "poly/model.h"

namespace pipec::test {

/// An expression; int literals are Int32 constants.
struct E {
    ir::Expr e;
    E(int value) : e(ir::int_constant(ir::Type::Int32, value)) {}  // NOLINT: implicit on purpose
    E(ir::Expr expr) : e(std::move(expr)) {}                       // NOLINT
};

#define PIPEC_TEST_OPERATOR(symbol, op)                \
    inline E operator symbol(const E& a, const E& b) { \
        return ir::binary(ir::BinaryOp::op, a.e, b.e); \
    }
PIPEC_TEST_OPERATOR(+, Add)
PIPEC_TEST_OPERATOR(-, Sub)
PIPEC_TEST_OPERATOR(*, Mul)
PIPEC_TEST_OPERATOR(/, Div)
PIPEC_TEST_OPERATOR(%, Mod)
PIPEC_TEST_OPERATOR(&, BitAnd)
PIPEC_TEST_OPERATOR(<, Lt)
PIPEC_TEST_OPERATOR(<=, Le)
PIPEC_TEST_OPERATOR(>, Gt)
PIPEC_TEST_OPERATOR(>=, Ge)
PIPEC_TEST_OPERATOR(==, Eq)
PIPEC_TEST_OPERATOR(!=, Ne)
PIPEC_TEST_OPERATOR(&&, And)
PIPEC_TEST_OPERATOR(||, Or)
#undef PIPEC_TEST_OPERATOR
inline E operator!(const E& a) {
    return ir::unary(ir::UnaryOp::Not, a.e);
}

inline E min(const E& a, const E& b) {
    return ir::binary(ir::BinaryOp::Min, a.e, b.e);
}
inline E max(const E& a, const E& b) {
    return ir::binary(ir::BinaryOp::Max, a.e, b.e);
}
inline E clamp(const E& v, const E& lo, const E& hi) {
    return min(max(v, lo), hi);
}
/// if cond then a else b; without b it must be covered.
inline E when(const E& cond, const E& a) {
    return ir::select(cond.e, a.e, nullptr);
}
inline E when(const E& cond, const E& a, const E& b) {
    return ir::select(cond.e, a.e, b.e);
}
inline E to(ir::Type type, const E& a) {
    return ir::cast(type, a.e);
}

/// One dimension of a stage: a variable, and a range or nothing.
struct Dim {
    E var;
    std::vector<E> range = {};
};

class Program {
public:
    ir::Pipeline p;

    E size(const std::string& name) {
        p.sizes.push_back({name, {}});
        return ir::size_ref(static_cast<int>(p.sizes.size()) - 1);
    }
    E param(const std::string& name, ir::Type type) {
        p.params.push_back({name, type, nullptr, {}});
        return ir::param_ref(static_cast<int>(p.params.size()) - 1, type);
    }
    E var(const std::string& name, ir::Type type = ir::Type::Int32) {
        return ir::variable(ir::new_variable(p, name, type), type);
    }
    static ir::VarId id(const E& var) { return std::get<ir::Variable>(var.e->value).id; }

    /// Returns what `read` takes.
    ir::Source input(const std::string& name, const std::vector<E>& extents, ir::Type type = ir::Type::Int32) {
        p.inputs.push_back({name, type, exprs(extents), row_major(extents.size()), {}});
        return {ir::Source::Kind::Input, static_cast<int>(p.inputs.size()) - 1};
    }
    ir::Source stage(const std::string& name, const std::vector<Dim>& dims, const E& value) {
        ir::Stage stage;
        stage.name = name;
        stage.type = value.e->type;
        stage.dims = dimensions(dims);
        stage.definition = ir::Pure{value.e};
        p.stages.push_back(std::move(stage));
        return {ir::Source::Kind::Stage, static_cast<int>(p.stages.size()) - 1};
    }
    ir::Source accumulate(const std::string& name, const std::vector<Dim>& dims, const E& init,
                          std::vector<ir::Update> updates) {
        const ir::Source source = stage(name, dims, init);
        p.stages.back().definition = ir::Accumulate{init.e, std::move(updates)};
        return source;
    }
    /// An output: its dimensions range over its extents.
    ir::Source output(const std::string& name, const std::vector<E>& vars, const std::vector<E>& extents,
                      const E& value) {
        std::vector<Dim> dims;
        for (std::size_t d = 0; d < vars.size(); ++d) dims.push_back({vars[d], {0, extents[d]}});
        const ir::Source source = stage(name, dims, value);
        p.stages.back().output = static_cast<int>(p.outputs.size());
        p.outputs.push_back({{name, value.e->type, exprs(extents), row_major(extents.size()), {}}, source.index});
        return source;
    }
    void where(const E& condition) { p.where.push_back(condition.e); }

    [[nodiscard]] E read(ir::Source source, const std::vector<E>& indices) const {
        const auto i = static_cast<std::size_t>(source.index);
        const ir::Type type = source.kind == ir::Source::Kind::Input ? p.inputs[i].type : p.stages[i].type;
        return ir::read(source, type, exprs(indices));
    }

    static std::vector<ir::Expr> exprs(const std::vector<E>& list) {
        std::vector<ir::Expr> result;
        for (const E& e : list) result.push_back(e.e);
        return result;
    }
    static ir::Range range(const E& var, const E& lo, const E& hi) { return {id(var), lo.e, hi.e}; }

private:
    static std::vector<int> row_major(std::size_t rank) {
        std::vector<int> order(rank);
        std::iota(order.begin(), order.end(), 0);
        return order;
    }
    static std::vector<ir::Dimension> dimensions(const std::vector<Dim>& dims) {
        std::vector<ir::Dimension> result;
        for (const Dim& d : dims) {
            ir::Dimension dim{id(d.var), nullptr, nullptr, {}};
            if (!d.range.empty()) {
                dim.lo = d.range[0].e;
                dim.hi = d.range[1].e;
            }
            result.push_back(dim);
        }
        return result;
    }
};

inline E sum(std::vector<ir::Range> ranges, const E& body) {
    return ir::reduce(ir::ReduceOp::Sum, std::move(ranges), body.e);
}

}  // namespace pipec::test
