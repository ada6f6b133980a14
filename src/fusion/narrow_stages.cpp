#include "fusion/narrow_stages.h"

#include <array>
#include <functional>
#include <unordered_map>
#include <utility>

#include "ir/build.h"
#include "ir/visit.h"
#include "poly/stage_ranges.h"
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

std::optional<Type> holder(const IntRange& range) {
    for (const Type type : kIntegers) {
        if (poly::fits(range, type)) return type;
    }
    return std::nullopt;
}

std::optional<Type> narrowest(const ir::Expr& value, poly::ValueRanges& ranges) {
    if (ir::is_int(value->type)) return holder(ranges.integer(value));
    const auto* cast = ir::as<ir::Cast>(value);
    if (cast == nullptr) return std::nullopt;
    if (ir::is_float(cast->a->type)) {
        if (ir::bits(cast->a->type) >= ir::bits(value->type)) return std::nullopt;
        const auto more = narrowest(cast->a, ranges);
        return more && ir::bits(*more) < ir::bits(cast->a->type) ? *more : cast->a->type;
    }
    if (!ir::is_int(cast->a->type)) return std::nullopt;
    const IntRange range = ranges.integer(cast->a);
    const poly::Wide most = poly::Wide{1} << exact_bits(value->type);
    return range.lo >= -most && range.hi <= most ? holder(range) : std::nullopt;
}

/// Pure stages without scans: an update's memory has the type that atomic operations are for, and a scan reads itself.
/// No constants: nothing keeps them.
bool can_be_narrowed(const ir::Stage& stage) {
    const auto* pure = std::get_if<ir::Pure>(&stage.definition);
    return pure != nullptr && !stage.scan && stage.output < 0 && ir::is_int(stage.type) && !ir::as_int(pure->value);
}

}  // namespace

std::vector<std::optional<Type>> narrowest_types(const ir::Pipeline& pipeline, const poly::Model& model) {
    poly::ValueRanges ranges = poly::ranges_within(pipeline, &model);
    poly::KnownBoxes boxes;
    for (const poly::Domain& domain : model.domains) boxes.emplace_back(domain.box);
    ranges.know_stages(std::move(boxes));
    std::vector<std::optional<Type>> result;
    for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
        const ir::Stage& stage = pipeline.stages[s];
        result.emplace_back();
        const auto* pure = std::get_if<ir::Pure>(&stage.definition);
        if (pure == nullptr || stage.scan) continue;
        poly::bind_points(ranges, stage, model.domains.at(s).box);
        const auto narrow = narrowest(pure->value, ranges);
        if (narrow && ir::bits(*narrow) < ir::bits(stage.type)) result.back() = narrow;
    }
    return result;
}

namespace {

/// A stage that reads others as they are in `kept`, by number, in the types in which it read them.
void read_kept_as(ir::Stage& stage, const std::map<int, Type>& kept) {
    std::unordered_map<const ir::Node*, ir::Expr> memo;
    const std::function<ir::Expr(const ir::Expr&)> changed = [&](const ir::Expr& e) -> ir::Expr {
        if (const auto known = memo.find(e.get()); known != memo.end()) return known->second;
        ir::Expr same = ir::map_children(e, changed);
        if (const auto* cast = ir::as<ir::Cast>(same); cast != nullptr && cast->exact) {
            same = ir::exact_cast(e->type, cast->a, e->range);
        } else if (const auto* read = ir::as<ir::Read>(same);
                   read != nullptr && read->source.kind == ir::Source::Kind::Stage) {
            if (const auto type = kept.find(read->source.index); type != kept.end()) {
                same = ir::read(read->source, type->second, read->indices, e->range);
                same = ir::exact_cast(e->type, same, e->range);
            }
        }
        return memo.emplace(e.get(), std::move(same)).first->second;
    };
    const ir::Stage old = stage;  // nodes must outlive the memo, which knows them by address
    ir::map_expressions(stage, changed);
}

void keep_as(ir::Stage& stage, Type type) {
    ir::Expr& value = std::get<ir::Pure>(stage.definition).value;
    stage.type = type;
    value = ir::exact_cast(type, value, value->range);
}

}  // namespace

ir::Pipeline narrow_stages(const ir::Pipeline& pipeline, const poly::Model& model) {
    const std::vector<std::optional<Type>> narrow = narrowest_types(pipeline, model);
    std::map<int, Type> kept;
    for (std::size_t s = 0; s < narrow.size(); ++s) {
        if (narrow[s] && can_be_narrowed(pipeline.stages[s])) kept.emplace(static_cast<int>(s), *narrow[s]);
    }
    ir::Pipeline result = pipeline;
    for (ir::Stage& stage : result.stages) read_kept_as(stage, kept);
    for (const auto& [number, type] : kept) keep_as(result.stages[static_cast<std::size_t>(number)], type);
    return result;
}

Type wide_type(const ir::Stage& stage) {
    const auto* pure = std::get_if<ir::Pure>(&stage.definition);
    const auto* cast = pure == nullptr ? nullptr : ir::as<ir::Cast>(pure->value);
    return cast != nullptr && cast->exact ? cast->a->type : stage.type;
}

ir::Stage widened(const ir::Pipeline& pipeline, int number, const std::map<int, Type>& wide) {
    ir::Stage result = pipeline.stages.at(static_cast<std::size_t>(number));
    read_kept_as(result, wide);
    if (const auto type = wide.find(number); type != wide.end()) keep_as(result, type->second);
    return result;
}

}  // namespace pipec::fusion
