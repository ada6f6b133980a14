#include "support_lib/data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>

#include "ir/visit.h"
#include "reference/numeric.h"

namespace pipec::testing {

using ir::Type;
using reference::Array;
using reference::Value;

namespace {

constexpr std::int64_t kMostElements = 1 << 22;

/// The standard distributions differ between libraries; this does not.
std::uint64_t below(std::mt19937_64& rng, std::uint64_t bound) {
    return rng() % bound;
}

double unit(std::mt19937_64& rng) {
    return static_cast<double>(rng() >> 11) * 0x1p-53;
}

Value extreme_integer(Type type, std::mt19937_64& rng) {
    const auto near = static_cast<std::int64_t>(below(rng, 3));
    switch (below(rng, 4)) {
        case 0: return reference::integer(type, ir::int_min(type) + near);
        case 1: return reference::integer(type, static_cast<std::int64_t>(ir::int_max(type)) - near);
        case 2: return reference::integer(type, near - 1);
        default: return reference::integer(type, static_cast<std::int64_t>(rng()));
    }
}

Value extreme_float(Type type, std::mt19937_64& rng) {
    const double infinity = std::numeric_limits<double>::infinity();
    const double greatest = type == Type::Float16 ? 65504 : type == Type::Float32 ? 0x1.fffffep127 : 1e308;
    const double specials[] = {0.0,       -0.0, infinity, -infinity, std::nan(""), greatest,
                               -greatest, 1e-7, 6e-8,     1e-40,     0.5,          1.5,
                               2.5,       -0.5, 255.5,    65535.5,   2147483648.0, -2147483649.0};
    if (below(rng, 4) == 0) return reference::real(type, specials[below(rng, std::size(specials))]);
    return reference::real(type, (unit(rng) - 0.5) * std::ldexp(1.0, static_cast<int>(below(rng, 40)) - 16));
}

Value random_value(Type type, Fill fill, std::mt19937_64& rng) {
    if (type == Type::Bool) return reference::boolean(below(rng, 2) != 0);
    if (fill == Fill::Extreme) return ir::is_float(type) ? extreme_float(type, rng) : extreme_integer(type, rng);
    return ir::is_float(type) ? reference::real(type, unit(rng))
                              : reference::integer(type, static_cast<std::int64_t>(rng()));
}

std::vector<std::int64_t> in_order(const ir::Pipeline& pipeline, const std::map<std::string, std::int64_t>& sizes) {
    std::vector<std::int64_t> result;
    for (const ir::SizeParameter& size : pipeline.sizes) result.push_back(sizes.at(size.name));
    return result;
}

bool uses_parameters(const ir::Expr& e) {
    bool found = false;
    ir::for_each_node(e, [&](const ir::Expr& n) { found = found || ir::as<ir::ParamRef>(n); });
    return found;
}

bool same(const Value& a, const Value& b) {
    if (!ir::is_float(a.type)) return a.i == b.i;
    if (std::isnan(a.f) || std::isnan(b.f)) return std::isnan(a.f) && std::isnan(b.f);
    return a.f == b.f && std::signbit(a.f) == std::signbit(b.f);
}

}  // namespace

Array random_array(Type type, const std::vector<std::int64_t>& extents, Fill fill, std::mt19937_64& rng) {
    Array array(type, extents);
    const Value constant = random_value(type, fill, rng);
    for (std::size_t i = 0; i < array.size(); ++i) {
        array.set(i, fill == Fill::Constant ? constant : random_value(type, fill, rng));
    }
    return array;
}

reference::Arguments random_arguments(const ir::Pipeline& pipeline, const std::map<std::string, std::int64_t>& sizes,
                                      Fill fill, std::mt19937_64& rng) {
    reference::Arguments arguments;
    arguments.sizes = sizes;
    const std::vector<std::int64_t> values = in_order(pipeline, sizes);
    for (const ir::Buffer& input : pipeline.inputs) {
        std::vector<std::int64_t> extents;
        for (const ir::Expr& e : input.extents) extents.push_back(reference::evaluate_size_expr(e, values));
        arguments.inputs.emplace(input.name, random_array(input.type, extents, fill, rng));
    }
    for (const ir::ScalarParameter& param : pipeline.params) {
        if (const auto size = sizes.find(param.name); size != sizes.end()) {
            arguments.params.emplace(param.name, reference::integer(param.type, size->second));
            continue;
        }
        if (!param.default_value) arguments.params.emplace(param.name, random_value(param.type, fill, rng));
    }
    return arguments;
}

bool sizes_are_legal(const ir::Pipeline& pipeline, const std::map<std::string, std::int64_t>& sizes) {
    const std::vector<std::int64_t> values = in_order(pipeline, sizes);
    const auto legal = [&](const ir::Buffer& buffer) {
        std::int64_t elements = 1;
        for (const ir::Expr& e : buffer.extents) {
            const std::int64_t extent = reference::evaluate_size_expr(e, values);
            if (extent < 1 || extent > kMostElements) return false;
            elements *= extent;
            if (elements > kMostElements) return false;
        }
        return true;
    };
    for (const ir::Buffer& input : pipeline.inputs) {
        if (!legal(input)) return false;
    }
    for (const ir::Output& output : pipeline.outputs) {
        if (!legal(output.buffer)) return false;
    }
    for (const ir::Expr& condition : pipeline.where) {
        if (!uses_parameters(condition) && reference::evaluate_size_expr(condition, values) == 0) return false;
    }
    return true;
}

std::string to_text(const Value& value) {
    if (value.type == Type::Bool) return value.i != 0 ? "true" : "false";
    if (value.type == Type::UInt64) return fmt::format("{}", static_cast<std::uint64_t>(value.i));
    if (!ir::is_float(value.type)) return fmt::format("{}", value.i);
    return fmt::format("{} ({:a})", value.f, value.f);
}

std::string difference(const Array& expected, const Array& actual) {
    if (expected.type != actual.type) return "the types differ";
    if (expected.extents != actual.extents) {
        return fmt::format("extents [{}] and [{}]", fmt::join(expected.extents, ", "), fmt::join(actual.extents, ", "));
    }
    std::size_t first = expected.size();
    std::size_t count = 0;
    for (std::size_t i = expected.size(); i-- > 0;) {
        if (!same(expected.get(i), actual.get(i))) first = i, ++count;
    }
    if (count == 0) return "";
    std::vector<std::int64_t> point(expected.extents.size());
    auto rest = static_cast<std::int64_t>(first);
    for (std::size_t d = point.size(); d-- > 0;) {
        point[d] = rest % expected.extents[d];
        rest /= expected.extents[d];
    }
    return fmt::format("{} of {} elements differ, first at ({}): {} and {}", count, expected.size(),
                       fmt::join(point, ", "), to_text(expected.get(first)), to_text(actual.get(first)));
}

}  // namespace pipec::testing
