// An `accumulate` of bytes as one of 32 bits, where updates are atomic.
//
// The low bits of sums and products depend on the low bits of their operands alone, so they may be computed in 32 bits
// and cut at the end. Minima and maxima of values that fit stay values that fit. Only a minimum or maximum that comes
// after a sum must see what the sum is in the narrow type: there the first stage ends, and another one begins with its
// values cut.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "codegen/lower.h"
#include "codegen/strategies/reduce/update_facts.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

using ir::Type;

namespace {

bool must_be_wide(const ir::Stage& stage) {
    const auto* accumulate = std::get_if<ir::Accumulate>(&stage.definition);
    return accumulate != nullptr && ir::is_int(stage.type) && ir::bits(stage.type) < 32 && !gathered(stage, false) &&
           !std::all_of(accumulate->updates.begin(), accumulate->updates.end(), has_own_targets);
}

Type wide_type(Type narrow) {
    return ir::is_signed_int(narrow) ? Type::Int32 : Type::UInt32;
}

class Widening {
public:
    Widening(ir::Pipeline& pipeline, poly::Model& model) : pipeline_(pipeline), model_(model) {}

    void run() {
        for (std::size_t i = 0; i < pipeline_.stages.size(); ++i) {
            ir::Stage stage = renumbered(pipeline_.stages[i]);
            const poly::Domain& domain = model_.domains.at(i);
            if (must_be_wide(stage)) widen(stage, domain);
            new_index_.push_back(static_cast<int>(stages_.size()));
            add(std::move(stage), domain);
        }
        for (ir::Output& output : pipeline_.outputs)
            output.stage = new_index_.at(static_cast<std::size_t>(output.stage));
        pipeline_.stages = std::move(stages_);
        model_.domains = std::move(domains_);
    }

private:
    void add(ir::Stage stage, const poly::Domain& domain) {
        stages_.push_back(std::move(stage));
        domains_.push_back(domain);
    }

    /// Reads of stages by their new numbers. A stage reads only stages before it, and a scan also itself: it is added
    /// next, as it is.
    ir::Expr renumbered(const ir::Expr& e) {
        if (!e) return e;
        if (const auto found = done_.find(e.get()); found != done_.end()) return found->second.second;
        ir::Expr result = ir::map_children(e, [&](const ir::Expr& child) { return renumbered(child); });
        if (const auto* n = ir::as<ir::Read>(result); n != nullptr && n->source.kind == ir::Source::Kind::Stage) {
            const auto old = static_cast<std::size_t>(n->source.index);
            const bool reads_itself = old == new_index_.size();
            const ir::Source source{n->source.kind,
                                    reads_itself ? static_cast<int>(stages_.size()) : new_index_.at(old)};
            result = ir::read(source, result->type, n->indices, result->range);
        }
        done_.emplace(e.get(), std::pair{e, result});
        return result;
    }

    ir::Stage renumbered(ir::Stage stage) {
        ir::map_expressions(stage, [&](const ir::Expr& e) { return renumbered(e); });
        return stage;
    }

    /// Dimensions of its own for another stage of the same shape; `e` over them.
    std::vector<ir::Dimension> copy_dims(const ir::Stage& stage, std::map<ir::VarId, ir::Expr>& copies) {
        std::vector<ir::Dimension> dims = stage.dims;
        for (ir::Dimension& dim : dims) {
            const ir::VarId old = dim.var;
            const std::string name = pipeline_.variables.at(static_cast<std::size_t>(old)).name;
            dim.var = ir::new_variable(pipeline_, name);
            copies[old] = ir::variable(dim.var, Type::Int32);
        }
        return dims;
    }

    /// The value of the stage that was added last, in the narrow type.
    ir::Expr narrow(const ir::Stage& stage, const std::vector<ir::Dimension>& dims) {
        std::vector<ir::Expr> indices;
        for (const ir::Dimension& dim : dims) indices.push_back(ir::variable(dim.var, Type::Int32));
        const ir::Source last{ir::Source::Kind::Stage, static_cast<int>(stages_.size()) - 1};
        return ir::cast(stage.type, ir::read(last, wide_type(stage.type), std::move(indices)));
    }

    /// Adds the wide stages, and makes `stage` the pure one that reads the last of them.
    void widen(ir::Stage& stage, const poly::Domain& domain) {
        const Type wide = wide_type(stage.type);
        ir::Accumulate rest = std::get<ir::Accumulate>(stage.definition);
        auto next = rest.updates.begin();
        for (int number = 1; next != rest.updates.end(); ++number) {
            ir::Stage part = stage;
            part.name = unused_name(fmt::format("{}.wide", stage.name));
            part.type = wide;
            part.output = -1;
            part.generated = true;
            std::map<ir::VarId, ir::Expr> copies;
            part.dims = copy_dims(stage, copies);
            ir::Accumulate accumulate;
            accumulate.init =
                ir::cast(wide, number == 1 ? ir::substitute(rest.init, copies) : narrow(stage, part.dims));
            bool sums = false;
            for (; next != rest.updates.end(); ++next) {
                const bool is_sum = next->op == ir::ReduceOp::Sum || next->op == ir::ReduceOp::Prod;
                if (sums && !is_sum) break;
                sums = sums || is_sum;
                accumulate.updates.push_back(*next);
                accumulate.updates.back().value = ir::cast(wide, next->value);
            }
            part.definition = std::move(accumulate);
            add(std::move(part), domain);
        }
        stage.definition = ir::Pure{narrow(stage, stage.dims)};
    }

    std::string unused_name(const std::string& wanted) const {
        const auto taken = [&](const std::string& name) {
            const auto has_name = [&](const ir::Stage& s) { return s.name == name; };
            return std::any_of(stages_.begin(), stages_.end(), has_name) ||
                   std::any_of(pipeline_.stages.begin(), pipeline_.stages.end(), has_name);
        };
        std::string name = wanted;
        for (int i = 2; taken(name); ++i) name = fmt::format("{}_{}", wanted, i);
        return name;
    }

    ir::Pipeline& pipeline_;
    poly::Model& model_;
    std::vector<ir::Stage> stages_;
    std::vector<poly::Domain> domains_;
    std::vector<int> new_index_;  ///< of the stages so far
    /// With the old node, which must live as long as its address is a key.
    std::unordered_map<const ir::Node*, std::pair<ir::Expr, ir::Expr>> done_;
};

}  // namespace

void widen_narrow_accumulates(ir::Pipeline& pipeline, poly::Model& model) {
    if (std::any_of(pipeline.stages.begin(), pipeline.stages.end(), must_be_wide)) Widening(pipeline, model).run();
}

}  // namespace pipec::codegen
