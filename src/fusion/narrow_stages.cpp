#include "fusion/narrow_stages.h"

#include <array>
#include <functional>
#include <unordered_map>

#include "ir/build.h"
#include "ir/visit.h"
#include "poly/value_ranges.h"

namespace pipec::fusion {

namespace {

using ir::Type;
using poly::IntRange;

constexpr std::array kIntegers{Type::UInt8, Type::Int8, Type::UInt16, Type::Int16, Type::UInt32, Type::Int32};

/// Integers up to 2^n are floats of that type.
int exact_bits(Type floating) {
    return floating == Type::Float16 ? 11 : floating == Type::Float32 ? 24 : 53;
}

class Narrowing {
public:
    Narrowing(const ir::Pipeline& pipeline, const poly::Model& model)
        : pipeline_(pipeline),
          ranges_(pipeline_, std::vector<IntRange>(pipeline.sizes.size(), IntRange{-kSizeLimit, kSizeLimit})) {
        for (std::size_t s = 0; s < pipeline.stages.size(); ++s) stage(s, model.domains.at(s));
    }
    std::vector<std::optional<Type>> result;

private:
    static constexpr std::int64_t kSizeLimit = std::int64_t{1} << 30;

    void stage(std::size_t index, const poly::Domain& domain) {
        const ir::Stage stage = pipeline_.stages[index];  // a copy: variables are added to the pipeline
        // What its readers see: a variable that takes all of its values.
        const ir::VarId values = ir::new_variable(pipeline_, stage.name, stage.type);
        stand_ins_.push_back(ir::variable(values, stage.type));
        result.emplace_back();
        const auto* pure = std::get_if<ir::Pure>(&stage.definition);
        if (pure == nullptr || stage.scan) return;
        for (std::size_t d = 0; d < stage.dims.size(); ++d)
            ranges_.bind_index(stage.dims[d].var, domain.box[d].lo, domain.box[d].hi);
        const ir::Expr value = with_stand_ins(pure->value);
        const auto narrow = narrowest(value);
        if (narrow && ir::bits(*narrow) < ir::bits(stage.type)) result.back() = narrow;
        ranges_.bind(values, ranges_.of(value));
    }

    ir::Expr with_stand_ins(const ir::Expr& root) {
        std::unordered_map<const ir::Node*, ir::Expr> memo;
        const std::function<ir::Expr(const ir::Expr&)> replace = [&](const ir::Expr& e) -> ir::Expr {
            if (!e) return e;
            const auto* read = ir::as<ir::Read>(e);
            if (read != nullptr && read->source.kind == ir::Source::Kind::Stage) {
                return stand_ins_.at(static_cast<std::size_t>(read->source.index));
            }
            if (const auto known = memo.find(e.get()); known != memo.end()) return known->second;
            return memo.emplace(e.get(), ir::map_children(e, replace)).first->second;
        };
        roots_.push_back(replace(root));  // ranges are remembered by node: nodes stay
        return roots_.back();
    }

    std::optional<Type> narrowest(const ir::Expr& value) {
        if (ir::is_int(value->type)) return holder(ranges_.integer(value));
        const auto* cast = ir::as<ir::Cast>(value);
        if (cast == nullptr) return std::nullopt;
        if (ir::is_float(cast->a->type)) {
            if (ir::bits(cast->a->type) >= ir::bits(value->type)) return std::nullopt;
            const auto more = narrowest(cast->a);
            return more && ir::bits(*more) < ir::bits(cast->a->type) ? *more : cast->a->type;
        }
        if (!ir::is_int(cast->a->type)) return std::nullopt;
        const IntRange range = ranges_.integer(cast->a);
        const poly::Wide most = poly::Wide{1} << exact_bits(value->type);
        return range.lo >= -most && range.hi <= most ? holder(range) : std::nullopt;
    }

    static std::optional<Type> holder(const IntRange& range) {
        for (const Type type : kIntegers) {
            if (poly::fits(range, type)) return type;
        }
        return std::nullopt;
    }

    ir::Pipeline pipeline_;
    poly::ValueRanges ranges_;
    std::vector<ir::Expr> stand_ins_;  ///< by stage
    std::vector<ir::Expr> roots_;
};

/// Pure stages without scans: an update's memory has the type that atomic operations are for, and a scan reads itself.
/// No constants: nothing keeps them.
bool can_be_narrowed(const ir::Stage& stage) {
    const auto* pure = std::get_if<ir::Pure>(&stage.definition);
    return pure != nullptr && !stage.scan && stage.output < 0 && ir::is_int(stage.type) && !ir::as_int(pure->value);
}

}  // namespace

std::vector<std::optional<Type>> narrowest_types(const ir::Pipeline& pipeline, const poly::Model& model) {
    return Narrowing(pipeline, model).result;
}

ir::Pipeline narrow_stages(const ir::Pipeline& pipeline, const poly::Model& model) {
    std::vector<std::optional<Type>> narrow = narrowest_types(pipeline, model);
    for (std::size_t s = 0; s < narrow.size(); ++s) {
        if (!can_be_narrowed(pipeline.stages[s])) narrow[s].reset();
    }
    ir::Pipeline result = pipeline;
    for (std::size_t s = 0; s < narrow.size(); ++s) {
        ir::Stage& stage = result.stages[s];
        std::unordered_map<const ir::Node*, ir::Expr> memo;
        const std::function<ir::Expr(const ir::Expr&)> widened = [&](const ir::Expr& e) -> ir::Expr {
            if (const auto known = memo.find(e.get()); known != memo.end()) return known->second;
            ir::Expr same = ir::map_children(e, widened);
            const auto* read = ir::as<ir::Read>(same);
            if (read != nullptr && read->source.kind == ir::Source::Kind::Stage) {
                if (const auto& type = narrow.at(static_cast<std::size_t>(read->source.index))) {
                    same = ir::exact_cast(e->type, ir::read(read->source, *type, read->indices, e->range), e->range);
                }
            }
            return memo.emplace(e.get(), std::move(same)).first->second;
        };
        ir::map_expressions(stage, widened);
        if (!narrow[s]) continue;
        stage.type = *narrow[s];
        auto& pure = std::get<ir::Pure>(stage.definition);
        pure.value = ir::exact_cast(stage.type, pure.value, pure.value->range);
    }
    return result;
}

}  // namespace pipec::fusion
