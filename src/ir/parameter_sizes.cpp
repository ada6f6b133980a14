#include "ir/parameter_sizes.h"

#include <unordered_map>

#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::ir {

namespace {

std::optional<int> size_of(const Pipeline& pipeline, const std::string& name) {
    for (std::size_t i = 0; i < pipeline.sizes.size(); ++i) {
        if (pipeline.sizes[i].name == name) return static_cast<int>(i);
    }
    return std::nullopt;
}

/// Keeps what it was given alive, as it knows that by address.
class Replacement {
public:
    Replacement(Pipeline& pipeline, bool add) : pipeline_(pipeline), add_(add) {}

    void replace(Expr& e) {
        if (e) e = of(e);
    }

    Expr of(const Expr& e) {
        if (const auto found = done_.find(e); found != done_.end()) return found->second;
        const auto* param = as<ParamRef>(e);
        Expr result =
            param == nullptr ? map_children(e, [&](const Expr& child) { return of(child); }) : size(e, *param);
        done_.emplace(e, result);
        return result;
    }

private:
    Expr size(const Expr& e, const ParamRef& ref) {
        const ScalarParameter& param = pipeline_.params.at(static_cast<std::size_t>(ref.index));
        if (param.type != Type::Int32) return e;
        std::optional<int> number = size_of(pipeline_, param.name);
        if (!number && !add_) return e;
        if (!number) {
            number = static_cast<int>(pipeline_.sizes.size());
            pipeline_.sizes.push_back({param.name, param.range});
        }
        return size_ref(*number, e->range);
    }

    Pipeline& pipeline_;
    bool add_;
    std::unordered_map<Expr, Expr> done_;
};

}  // namespace

Expr parameters_as_sizes(Pipeline& pipeline, const Expr& e, bool add) {
    return Replacement(pipeline, add).of(e);
}

void replace_parameters_by_sizes(Pipeline& pipeline) {
    Replacement sizes(pipeline, false);
    for (Expr& condition : pipeline.where) sizes.replace(condition);
    for (Stage& stage : pipeline.stages) map_all_expressions(stage, [&](const Expr& e) { return sizes.of(e); });
}

}  // namespace pipec::ir
