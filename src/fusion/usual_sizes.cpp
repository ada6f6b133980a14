// The sizes that costs are counted for.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "fusion/evaluate.h"
#include "fusion/group_facts.h"
#include "fusion/schedule.h"
#include "ir/build.h"
#include "ir/parameter_sizes.h"
#include "ir/print.h"
#include "ir/visit.h"
#include "poly/nearest_sizes.h"

namespace pipec::fusion {

namespace {

/// The first condition or extent that does not hold for `sizes`, as it is written; what cannot be evaluated may hold.
std::optional<std::string> forbidden_by(const ir::Pipeline& pipeline, const std::vector<std::int64_t>& sizes) {
    constexpr std::int64_t kLimit = std::int64_t{1} << 30;
    for (const ir::Expr& condition : pipeline.where) {
        if (evaluate(condition, sizes).value_or(1) == 0) return "where " + ir::to_string(pipeline, condition);
    }
    const auto wrong_extent = [&](const ir::Buffer& buffer) -> std::optional<std::string> {
        for (const ir::Expr& extent : buffer.extents) {
            const std::int64_t value = evaluate(extent, sizes).value_or(1);
            if (value < 1 || value >= kLimit) return "the extent " + ir::to_string(pipeline, extent);
        }
        return std::nullopt;
    };
    for (const ir::Buffer& input : pipeline.inputs) {
        if (const auto wrong = wrong_extent(input)) return wrong;
    }
    for (const ir::Output& output : pipeline.outputs) {
        if (const auto wrong = wrong_extent(output.buffer)) return wrong;
    }
    return std::nullopt;
}

/// Elements of an image, and slices of a buffer with three or more dimensions of sizes that nobody says: a volume, or
/// several images.
constexpr double kUsualElements = static_cast<double>(kUsualSize) * kUsualSize;
constexpr double kUsualSlices = 64;
/// Nor has a buffer more elements than a photograph's four channels: the more of its dimensions have a length that the
/// program says (8 groups, 48 disparities), the smaller are the images in it.
constexpr double kMostElements = 4 * kUsualElements;

/// The size, among those that are `free`, that an extent depends on alone, and how the extent grows with it.
struct Growth {
    std::size_t size;
    double slope;
};

std::optional<Growth> growth(const ir::Expr& extent, const std::vector<bool>& free,
                             const std::vector<std::int64_t>& sizes) {
    std::optional<std::size_t> found;
    bool several = false;
    ir::for_each_node(extent, [&](const ir::Expr& e) {
        const auto* size = ir::as<ir::SizeRef>(e);
        if (size == nullptr || !free[static_cast<std::size_t>(size->index)]) return;
        several = several || (found && *found != static_cast<std::size_t>(size->index));
        found = static_cast<std::size_t>(size->index);
    });
    if (!found || several) return std::nullopt;
    std::vector<std::int64_t> twice = sizes;
    twice[*found] *= 2;
    const auto once = evaluate(extent, sizes), more = evaluate(extent, twice);
    if (!once || !more || *more <= *once) return std::nullopt;
    return Growth{*found, static_cast<double>(*more - *once) / static_cast<double>(sizes[*found])};
}

using Growths = std::vector<Growth>;

struct Dims {
    Growths growing;    ///< with a free size, from the outermost inward
    double others = 1;  ///< elements that the other dimensions have
};

/// For each dimension of a volume, whether it is one of the image's two: those that an image in the program has, too,
/// else the last ones.
std::vector<bool> image_dims(const Growths& volume, const std::set<std::size_t>& of_images) {
    std::vector<bool> result(volume.size(), false);
    const auto take_last = [&](const auto& may) {
        std::size_t taken = 0;
        for (std::size_t d = volume.size(); d > 0 && taken < 2; --d) {
            if (may(volume[d - 1])) result[d - 1] = true, ++taken;
        }
        return taken == 2;
    };
    if (take_last([&](const Growth& one) { return of_images.count(one.size) > 0; })) return result;
    result.assign(volume.size(), false);
    take_last([](const Growth&) { return true; });
    return result;
}

/// Makes the sizes that are `free` such that dimensions that grow have no more points than a photograph has pixels
/// (`img[8 * H, 8 * W]` has 448 blocks in each direction, a volume 64 slices), and no buffer more than kMostElements.
void fit_to_buffers(const ir::Pipeline& pipeline, const std::vector<bool>& free, std::vector<std::int64_t>& sizes) {
    std::vector<Dims> buffers;
    const auto add = [&](const ir::Buffer& buffer) {
        Dims& dims = buffers.emplace_back();
        for (const ir::Expr& extent : buffer.extents) {
            if (const auto one = growth(extent, free, sizes)) {
                dims.growing.push_back(*one);
            } else {
                dims.others *= static_cast<double>(std::max<std::int64_t>(1, evaluate(extent, sizes).value_or(1)));
            }
        }
    };
    for (const ir::Buffer& input : pipeline.inputs) add(input);
    for (const ir::Output& output : pipeline.outputs) add(output.buffer);
    // A result such as float32[N, C], a mean for each image and channel of float32[N, C, H, W], only looks like an
    // image.
    const bool has_several = std::ranges::any_of(buffers, [](const Dims& one) { return one.growing.size() > 3; });
    // Nor is float32[B, B] an image, such as the covariance of the channels of float32[H, W, B].
    std::set<std::size_t> of_images, of_squares;
    for (std::size_t b = 0; b < buffers.size(); ++b) {
        const Growths& dims = buffers[b].growing;
        if (dims.size() == 2 && (b < pipeline.inputs.size() || !has_several)) {
            of_images.insert({dims[0].size, dims[1].size});
        }
        if (dims.size() == 2 && dims[0].size == dims[1].size) of_squares.insert(dims[0].size);
    }
    for (const std::size_t size : of_squares) of_images.erase(size);
    std::vector<std::optional<double>> fitting(sizes.size());
    for (const auto& [dims, others] : buffers) {
        const std::vector<bool> in_image = image_dims(dims, of_images);
        const double slices = std::pow(kUsualSlices, 1.0 / std::max<double>(1, static_cast<double>(dims.size()) - 2));
        const double most = std::min(kUsualElements, kMostElements / others);
        const double side = dims.size() > 2   ? std::sqrt(most / kUsualSlices)
                            : dims.size() > 1 ? std::sqrt(most)
                                              : std::min<double>(kUsualSize, most);
        for (std::size_t d = 0; d < dims.size(); ++d) {
            const double size = std::max(1.0, (in_image[d] ? side : slices) / dims[d].slope);
            std::optional<double>& known = fitting[dims[d].size];
            known = std::min(known.value_or(size), size);
        }
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (fitting[i]) sizes[i] = std::llround(*fitting[i]);
    }
}

/// How much room a comparison of integers leaves: what is greater minus what is less; null where it is none.
ir::Expr margin_of(const ir::Expr& condition) {
    const auto* n = ir::as<ir::Binary>(condition);
    if (n == nullptr || ir::is_float(n->a->type)) return nullptr;
    using enum ir::BinaryOp;
    if (n->op == Lt || n->op == Le) return ir::binary(Sub, n->b, n->a);
    if (n->op == Gt || n->op == Ge) return ir::binary(Sub, n->a, n->b);
    return nullptr;
}

/// The sign of what twice as much of a size adds to an expression over sizes; 0 where nobody knows.
int slope(const ir::Expr& e, std::vector<std::int64_t> sizes, std::size_t size) {
    const auto once = evaluate(e, sizes);
    sizes[size] *= 2;
    const auto twice = evaluate(e, sizes);
    return !once || !twice || *once == *twice ? 0 : *once < *twice ? 1 : -1;
}

constexpr std::int64_t kLargeSize = 1 << 14, kLongLine = 1 << 22, kLongList = 1 << 20;
/// Elements of a row in such a list, at most.
constexpr double kShortRow = 64;

/// Every input that has the size has it once, and few elements for each of its values.
bool counts_short_rows(const ir::Pipeline& pipeline, int size, const std::vector<std::int64_t>& usual) {
    bool found = false;
    for (const ir::Buffer& input : pipeline.inputs) {
        int own = 0;
        double others = 1;
        for (const ir::Expr& extent : input.extents) {
            if (ir::uses_size(extent, size))
                ++own;
            else
                others *= usual_extent(ir::int_constant(ir::Type::Int32, 0), extent, usual);
        }
        if (own > 1 || (own == 1 && others > kShortRow)) return false;
        found = found || own == 1;
    }
    return found;
}

}  // namespace

std::vector<bool> window_sizes(const ir::Pipeline& pipeline) {
    const std::size_t n = pipeline.sizes.size();
    const std::vector<std::int64_t> all(n, kUsualSize);
    std::vector<ir::Expr> margins;
    for (const ir::Expr& condition : pipeline.where) {
        if (const ir::Expr margin = margin_of(condition)) margins.push_back(margin);
    }
    for (const ir::Output& output : pipeline.outputs) {
        margins.insert(margins.end(), output.buffer.extents.begin(), output.buffer.extents.end());
    }
    const auto is_free = [&](std::size_t i) {
        return !ir::parameter_of(pipeline, i) && !pipeline.sizes[i].default_value;
    };
    // R + N - 1 rows of an input are R of an output, and a margin.
    std::vector<ir::Expr> sums;
    for (const ir::Buffer& input : pipeline.inputs) {
        sums.insert(sums.end(), input.extents.begin(), input.extents.end());
    }
    std::vector<bool> result(n, false);
    for (std::size_t i = 0; i < n; ++i) {
        const auto beside_another = [&](const ir::Expr& e, int sign) {
            if (slope(e, all, i) != sign) return false;
            for (std::size_t other = 0; other < n; ++other) {
                if (other != i && is_free(other) && slope(e, all, other) > 0) return true;
            }
            return false;
        };
        const auto is_less = [&](const ir::Expr& margin) { return beside_another(margin, -1); };
        const auto is_added = [&](const ir::Expr& sum) { return beside_another(sum, 1); };
        const auto grows = [&](const ir::Output& output) {
            return std::ranges::any_of(output.buffer.extents, [&](const ir::Expr& e) { return slope(e, all, i) > 0; });
        };
        result[i] = is_free(i) && std::ranges::none_of(pipeline.outputs, grows) &&
                    (std::ranges::any_of(margins, is_less) || std::ranges::any_of(sums, is_added));
    }
    return result;
}

double usual_extent(const ir::Expr& lo, const ir::Expr& hi, const std::vector<std::int64_t>& sizes) {
    const auto first = evaluate(lo, sizes), end = evaluate(hi, sizes);
    return static_cast<double>(first && end ? std::max<std::int64_t>(0, *end - *first) : kUsualSize);
}

std::vector<std::optional<double>> parameter_extents(const ir::Pipeline& pipeline, const poly::Domain& domain) {
    const std::vector<std::int64_t> sizes = usual_sizes(pipeline);
    const auto follows = [&](const ir::Expr& bound) {
        return !ir::any_node(bound, [&](const ir::Expr& e) {
            const auto* size = ir::as<ir::SizeRef>(e);
            return size != nullptr && !ir::parameter_of(pipeline, static_cast<std::size_t>(size->index));
        });
    };
    std::vector<std::optional<double>> result;
    for (const auto& [lo, hi] : domain.box) {
        result.push_back(follows(lo) && follows(hi) ? std::optional(usual_extent(lo, hi, sizes)) : std::nullopt);
    }
    return result;
}

double usual_points(const std::vector<poly::Interval>& box, const std::vector<std::int64_t>& sizes) {
    double points = 1;
    for (const poly::Interval& all : box) points *= usual_extent(all.lo, all.hi, sizes);
    return points;
}

std::vector<std::int64_t> usual_sizes(const ir::Pipeline& pipeline) {
    // Passes ask for those of what they make of a program, whose extents and conditions stay the same nodes. Where the
    // sizes to begin with are forbidden, isl looks for others.
    constexpr std::size_t kMostKnown = 16;
    using Key = std::pair<std::vector<ir::Expr>, std::array<std::size_t, 3>>;
    thread_local std::map<Key, std::vector<std::int64_t>> known;
    Key of{pipeline.where, {pipeline.where.size(), pipeline.sizes.size(), pipeline.params.size()}};
    std::vector<ir::Expr>& key = of.first;
    for (const ir::SizeParameter& size : pipeline.sizes) key.push_back(size.default_value);
    for (const ir::ScalarParameter& param : pipeline.params) key.push_back(param.default_value);
    const auto add = [&](const ir::Buffer& buffer) {
        key.push_back(nullptr);
        key.insert(key.end(), buffer.extents.begin(), buffer.extents.end());
    };
    for (const ir::Buffer& input : pipeline.inputs) add(input);
    for (const ir::Output& output : pipeline.outputs) add(output.buffer);
    if (const auto found = known.find(of); found != known.end()) return found->second;
    if (known.size() >= kMostKnown) known.clear();
    auto sizes = usual_sizes(pipeline, std::vector<std::optional<std::int64_t>>(pipeline.sizes.size()));
    return known.emplace(std::move(of), std::move(sizes)).first->second;
}

std::vector<std::int64_t> usual_sizes(const ir::Pipeline& pipeline,
                                      const std::vector<std::optional<std::int64_t>>& given) {
    std::vector<std::int64_t> sizes;
    std::vector<bool> fixed, free;
    const std::vector<bool> windows = window_sizes(pipeline);
    for (std::size_t i = 0; i < given.size(); ++i) {
        const auto param = ir::parameter_of(pipeline, i);
        const auto usual = param ? ir::as_int(pipeline.params[*param].default_value) : std::nullopt;
        sizes.push_back(given[i].value_or(usual.value_or(windows[i] ? kUsualWindow : kUsualSize)));
        fixed.push_back(given[i].has_value());
        free.push_back(!given[i] && !param && !pipeline.sizes[i].default_value && !windows[i]);
    }
    const auto fit = [&] {
        fit_to_buffers(pipeline, free, sizes);
        for (std::size_t i = 0; i < given.size(); ++i) {
            const ir::Expr& preset = pipeline.sizes[i].default_value;
            if (preset && !given[i]) sizes[i] = evaluate(preset, sizes).value_or(sizes[i]);
        }
    };
    fit();
    if (!forbidden_by(pipeline, sizes)) return sizes;  // as nearly always
    // What the program admits less of is no slices of a volume, but as good as a constant extent.
    std::vector<std::int64_t> large = sizes;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (free[i]) large[i] = std::max(large[i], kUsualSize);
    }
    if (const auto admitted = poly::nearest_sizes(pipeline, large, fixed)) {
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            if (free[i] && (*admitted)[i] < sizes[i]) sizes[i] = (*admitted)[i], free[i] = false;
        }
        fit();
    }
    if (const auto nearest = poly::nearest_sizes(pipeline, sizes, fixed)) return *nearest;
    if (std::ranges::find(fixed, true) == fixed.end()) return sizes;
    // What is forbidden is told beside sizes that are not, where those that are given leave some.
    std::vector<std::int64_t> others = usual_sizes(pipeline);
    for (std::size_t i = 0; i < others.size(); ++i) others[i] = given[i].value_or(others[i]);
    const auto forbidden = forbidden_by(pipeline, others);
    throw ScheduleError(fmt::format("`{}` does not admit these sizes: {}", pipeline.name,
                                    forbidden.value_or("no other sizes fit them")));
}

std::vector<std::int64_t> large_sizes(const ir::Pipeline& pipeline, const std::vector<std::int64_t>& usual) {
    const auto is_line = [](const ir::Buffer& input) { return input.rank() <= 1; };
    const bool lines = std::ranges::all_of(pipeline.inputs, is_line);
    const std::vector<bool> windows = window_sizes(pipeline);
    std::vector<std::int64_t> result;
    for (std::size_t i = 0; i < usual.size(); ++i) {
        if (ir::parameter_of(pipeline, i) || windows[i])
            result.push_back(usual[i]);
        else if (lines)
            result.push_back(kLongLine);
        else
            result.push_back(counts_short_rows(pipeline, static_cast<int>(i), usual) ? kLongList : kLargeSize);
    }
    return result;
}

}  // namespace pipec::fusion
